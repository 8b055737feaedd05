package model

// field is a plane of 16-bit cells that taps and features read.
type field int

const (
	// Fields of split columns have their even and their odd columns in two parts.
	fieldLL  field = iota // the low band of the level
	fieldHLC              // coefficients, by band
	fieldLHC
	fieldHHC
	fieldHLM // magnitudes of residuals, by band
	fieldLHM
	fieldHHM
	fieldVC // of the plane before: coefficients, residuals, magnitudes
	fieldVE
	fieldVM
	fieldXC // of the plane before that: coefficients, magnitudes
	fieldXM

	// Parents, in their own columns: of row y/2, and of the row beside it that is nearest to y.
	fieldPC0
	fieldPC1
	fieldPM0
	fieldPM1
	fieldCount

	splitFields = fieldPC0
)

func fieldC(band int) field { return fieldHLC + field(band) }
func fieldM(band int) field { return fieldHLM + field(band) }

const (
	pad   = 8 // cells before and behind the columns of a part
	above = 2 // rows before the tile's first
	below = 3
)

// workspace holds what the taps and features of a tile read: for each row of the tile,
// one after the other, a part for the even columns of each field, one for its odd
// columns, and then a part for each field of parents.
type workspace struct {
	side   int // of the tile
	part   int // cells of a part
	stride int // cells of a row
	cells  []int16
}

func newWorkspace(side int) workspace {
	w := workspace{side: side, part: side/2 + 2*pad}
	w.stride = w.part * (2*int(splitFields) + int(fieldCount-splitFields))
	w.cells = make([]int16, w.stride*(above+side+below))
	return w
}

// column is the place in a row of column x of a field.
func (w *workspace) column(f field, x int) int {
	if f >= splitFields {
		return (2*int(splitFields)+int(f-splitFields))*w.part + pad + x
	}
	return (2*int(f)+x&1)*w.part + pad + x>>1
}

func (w *workspace) row(y int) int { return (y + above) * w.stride }

func (w *workspace) at(f field, x, y int) int { return w.row(y) + w.column(f, x) }

// both returns the even and the odd columns of row y of a field, pads included, or those of a
// field of parents.
func (w *workspace) both(f field, y int) []int16 {
	n := 2 * w.part
	if f >= splitFields {
		n = w.part
	}
	return w.cells[w.at(f, 0, y)-pad:][:n]
}

// offset is the place of a term for index 0 of the columns of a parity, from the start
// of the row on.
func (w *workspace) offset(t term, parity int) int {
	x := t.dx
	if t.dx == near {
		x = 2*parity - 1
	} else if t.field < splitFields {
		x += parity
	}
	return w.column(t.field, x) + t.dy*w.stride
}

// mirror is the column of a band of n columns that stands for column x.
func mirror(x, n int) int {
	if n == 1 {
		return 0
	}
	for x < 0 || x >= n {
		if x < 0 {
			x = -x
		} else {
			x = 2*(n-1) - x
		}
	}
	return x
}

func clamp(v, n int) int { return min(max(v, 0), n-1) }

// splitRow puts samples at the columns first, first+1 ... of row y of a field. first is -2 or -1.
func (w *workspace) splitRow(f field, first, y int, samples []int16) {
	a, b := w.cells[w.at(f, first, y):], w.cells[w.at(f, first+1, y):]
	if hasAVX2 {
		// Up to seven cells of the next part's pad are written too, and with blocks from the last to the first
		// what is there is right in the end.
		splitAVX2(&a[0], &b[0], &samples[0], uint64(len(samples)+31)/32)
		return
	}
	for i, v := range samples {
		if i&1 == 0 {
			a[i/2] = v
		} else {
			b[i/2] = v
		}
	}
}

// Split divides a row into its even and odd columns.
func Split(even, odd, row []int16) {
	n := 0
	if hasAVX2 {
		if n = len(row) / 32; n > 0 {
			splitAVX2(&even[0], &odd[0], &row[0], uint64(n))
		}
	}
	for i := 32 * n; i < len(row); i++ {
		if i&1 == 0 {
			even[i/2] = row[i]
		} else {
			odd[i/2] = row[i]
		}
	}
}

// magnitudes stores the magnitudes of residuals.
func magnitudes(out, e []int16) {
	n := 0
	if hasAVX2 {
		if n = len(e) &^ 15; n > 0 {
			magnitudesAVX2(&out[0], &e[0], uint64(n/16))
		}
	}
	magnitudesGo(out[n:], e[n:])
}

// SaturateRow stores numbers in 16 bits.
func SaturateRow(out []int16, v []int32) {
	n := 0
	if hasAVX2 {
		if n = len(v) &^ 15; n > 0 {
			saturateAVX2(&out[0], &v[0], uint64(n/16))
		}
	}
	out, v = out[n:len(v)], v[n:]
	for i, x := range v {
		out[i] = saturate(x)
	}
}
