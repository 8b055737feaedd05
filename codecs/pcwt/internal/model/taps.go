package model

import "github.com/pelmill/pelmill/codecs/pcwt/internal/constants"

// term is one number that a tap or feature adds up: plus or minus the cell of a field
// at (x+dx, y+dy), where (x, y) is the coefficient.
type term struct {
	minus  bool
	field  field
	dx, dy int
}

// near stands for dx in a field of parents: the neighbour to the left for even and to the
// right for odd columns. fieldPC1 and fieldPM1 are the nearest row likewise.
const near = 100

func plus(f field, dx, dy int) term  { return term{false, f, dx, dy} }
func minus(f field, dx, dy int) term { return term{true, f, dx, dy} }

type sum = []term

func one(f field, dx, dy int) sum { return sum{plus(f, dx, dy)} }

// transposed exchanges rows and columns.
func transposed(s sum) sum {
	out := make(sum, len(s))
	for i, t := range s {
		out[i] = term{t.minus, t.field, t.dy, t.dx}
	}
	return out
}

func join(a, b sum) sum { return append(append(sum{}, a...), b...) }

func cross(f field) sum {
	return sum{plus(f, -1, 0), plus(f, 1, 0), plus(f, 0, -1), plus(f, 0, 1)}
}

// nearCurve and farCurve are second differences of the low band in row y+dy across a
// coefficient of HL, which lies between the columns x and x+1.
func nearCurve(dy int) sum {
	return sum{plus(fieldLL, -1, dy), minus(fieldLL, 0, dy), plus(fieldLL, 2, dy), minus(fieldLL, 1, dy)}
}
func farCurve(dy int) sum {
	return sum{plus(fieldLL, -2, dy), minus(fieldLL, 0, dy), plus(fieldLL, 3, dy), minus(fieldLL, 1, dy)}
}

// acrossSlot is the tap and the feature that even columns have not: the columns beside.
const acrossSlot = 3

// taps returns the taps of the prediction of a band whose plane looks at a number of
// earlier planes, in the order of README.md, "What a coefficient knows".
func taps(band, earlier int) []sum {
	c := fieldC(band)
	list := []sum{
		one(c, 0, -1),
		{plus(c, -1, -1), plus(c, 1, -1)},
		one(c, 0, -2),
		{plus(c, -1, 0), plus(c, 1, 0)},
		one(fieldPC0, 0, 0),
	}
	low := []sum{
		nearCurve(0),
		farCurve(0),
		join(nearCurve(-1), nearCurve(1)),
		{plus(fieldLL, 0, -1), minus(fieldLL, 0, 0), plus(fieldLL, 1, -1), minus(fieldLL, 1, 0),
			plus(fieldLL, 0, 1), minus(fieldLL, 0, 0), plus(fieldLL, 1, 1), minus(fieldLL, 1, 0)},
	}
	h, v := fieldC(constants.HL), fieldC(constants.LH)
	switch band {
	case constants.HL:
		list = append(list, one(fieldPC0, near, 0), one(fieldPC1, 0, 0))
		list = append(list, low...)
		list = append(list, join(farCurve(-1), farCurve(1)), sum{plus(c, -2, -1), plus(c, 2, -1)})
	case constants.LH:
		list = append(list, one(fieldPC0, near, 0), one(fieldPC1, 0, 0))
		for _, s := range low {
			list = append(list, transposed(s))
		}
		list = append(list,
			sum{plus(h, -1, 0), plus(h, 0, 0), plus(h, -1, 1), plus(h, 0, 1)},
			sum{plus(h, -1, -1), plus(h, 0, -1), plus(h, -1, 2), plus(h, 0, 2)})
	case constants.HH:
		list = append(list,
			sum{plus(fieldPC0, near, 0), plus(fieldPC1, 0, 0)},
			join(nearCurve(0), nearCurve(1)),
			join(transposed(nearCurve(0)), transposed(nearCurve(1))),
			sum{plus(fieldLL, -1, -1), minus(fieldLL, 0, 0), plus(fieldLL, 2, -1), minus(fieldLL, 1, 0),
				plus(fieldLL, -1, 2), minus(fieldLL, 0, 1), plus(fieldLL, 2, 2), minus(fieldLL, 1, 1)},
			sum{plus(h, 0, 0), plus(h, 0, 1)},
			sum{plus(h, 0, -1), plus(h, 0, 2)},
			sum{plus(v, 0, 0), plus(v, 1, 0)},
			sum{plus(v, -1, 0), plus(v, 2, 0)})
	}
	if earlier >= 1 {
		list = append(list, one(fieldVC, 0, 0), one(fieldVE, 0, 0))
	}
	if earlier >= 2 {
		list = append(list, one(fieldXC, 0, 0))
	}
	return list
}

// features returns the features of the scale, whose absolute values count, and which of
// them are of the low band.
func features(band, earlier int, fast bool) (list []sum, ofLow []bool) {
	m := fieldM(band)
	list = []sum{
		one(m, 0, -1),
		{plus(m, -1, -1), plus(m, 1, -1)},
		one(m, 0, -2),
		{plus(m, -1, 0), plus(m, 1, 0)},
		one(fieldPM0, 0, 0),
		{plus(fieldPM0, near, 0), plus(fieldPM1, 0, 0), plus(fieldPM1, near, 0)},
	}
	// HL has room for both, the others for what earlier planes leave.
	if band == constants.HL || band == constants.LH || earlier == 0 || fast {
		list = append(list, sum{plus(m, -2, -1), plus(m, 2, -1)})
	}
	if band == constants.HL || earlier == 0 || fast {
		list = append(list, sum{plus(m, -1, -2), plus(m, 1, -2)})
	}
	if !fast {
		list = append(list, lowFeatures(band, earlier)...)
	}
	if band >= constants.LH {
		list = append(list, one(fieldM(constants.HL), 0, 0), cross(fieldM(constants.HL)))
	}
	if band == constants.HH {
		list = append(list, one(fieldM(constants.LH), 0, 0), cross(fieldM(constants.LH)))
	}
	if earlier >= 1 {
		list = append(list, one(fieldVM, 0, 0), cross(fieldVM))
	}
	if earlier >= 2 {
		list = append(list, one(fieldXM, 0, 0))
	}
	for _, s := range list {
		ofLow = append(ofLow, s[0].field == fieldLL)
	}
	return list, ofLow
}

func lowFeatures(band, earlier int) []sum {
	list := []sum{
		{plus(fieldLL, 1, 0), minus(fieldLL, 0, 0)},
		nearCurve(0),
		{plus(fieldLL, 0, 0), minus(fieldLL, -1, 0)},
		{plus(fieldLL, 2, 0), minus(fieldLL, 1, 0)},
	}
	switch band {
	case constants.LH:
		for i, s := range list {
			list[i] = transposed(s)
		}
	case constants.HH:
		list = []sum{
			{plus(fieldLL, 0, 0), minus(fieldLL, 1, 0), plus(fieldLL, 1, 1), minus(fieldLL, 0, 1)},
			{plus(fieldLL, 1, 0), minus(fieldLL, 0, 0), plus(fieldLL, 1, 1), minus(fieldLL, 0, 1)},
			{plus(fieldLL, 0, 1), minus(fieldLL, 0, 0), plus(fieldLL, 1, 1), minus(fieldLL, 1, 0)},
		}
		if earlier == 0 {
			list = append(list, join(nearCurve(0), nearCurve(1)))
		}
	}
	return list
}
