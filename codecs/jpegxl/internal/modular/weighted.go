package modular

import mathbits "math/bits"

// weights are the parameters of the weighted predictor (H.5.1): p1, p2, p3a to p3e, and
// the weights of its four parts.
type weights struct {
	p [7]int64
	w [4]uint32
}

var standardWeights = weights{p: [7]int64{16, 10, 7, 7, 7, 0, 0}, w: [4]uint32{13, 12, 12, 12}}

// weightTables holds the weights of small errors with the two standard weights of parts.
var weightTables = func() (tables [2][1024]uint32) {
	for i, most := range standardWeights.w[:2] {
		for e := range tables[i] {
			tables[i][e] = errorWeight(uint64(e), most)
		}
	}
	return tables
}()

func weightOf(e uint32, part int) uint32 {
	if e < uint32(len(weightTables[0])) {
		return weightTables[part][e]
	}
	return errorWeight(uint64(e), standardWeights.w[part])
}

// weightedState is the weighted predictor (H.5.1) at work in a channel. Predictions and
// samples have three more bits there.
type weightedState struct {
	h         *weights
	width     int
	errs      [2][]int32     // of the prediction, for this row and the one above
	parts     [2][][4]uint32 // errors of the four parts, the same
	e, above  []int32
	s, sAbove [][4]uint32

	prediction [4]int64
	all        int64
}

func newWeightedState(h *weights, width int) *weightedState {
	s := &weightedState{h: h, width: width}
	for i := range 2 {
		s.errs[i] = make([]int32, width+2)
		s.parts[i] = make([][4]uint32, width+2)
	}
	return s
}

func (s *weightedState) row(y int) {
	now, before := y&1, 1-y&1
	s.e, s.above = s.errs[now], s.errs[before]
	s.s, s.sAbove = s.parts[now], s.parts[before]
}

// reciprocals approximate 2^24/(i+1).
var reciprocals = func() (table [64]uint32) {
	for i := range table {
		table[i] = uint32(1<<24) / uint32(i+1)
	}
	return table
}()

func errorWeight(e uint64, most uint32) uint32 {
	shift := max(0, mathbits.Len64(e+1)-6)
	return 4 + uint32(uint64(most)*uint64(reciprocals[e>>shift])>>shift)
}

// predict returns the prediction and the property (the largest error near).
func (s *weightedState) predict(x int, a *around) (int64, int32) {
	east, west := x, x
	if x < s.width-1 {
		east = x + 1
	}
	if x > 0 {
		west = x - 1
	}
	var w [4]uint32
	sum := uint32(0)
	pn, pe, pw := &s.sAbove[x], &s.sAbove[east], &s.sAbove[west]
	for i := range w {
		w[i] = errorWeight(uint64(pn[i]+pe[i]+pw[i]), s.h.w[i])
		sum += w[i]
	}
	n, west8, ne, nw, nn := int64(a.n)<<3, int64(a.w)<<3, int64(a.ne)<<3, int64(a.nw)<<3, int64(a.nn)<<3
	var tw int64
	if x > 0 {
		tw = int64(s.e[x-1])
	}
	tn, tnw, tne := int64(s.above[x]), int64(s.above[west]), int64(s.above[east])
	property := tw
	for _, t := range [3]int64{tn, tnw, tne} {
		if abs64(t) > abs64(property) {
			property = t
		}
	}
	p := &s.h.p
	s.prediction[0] = west8 + ne - n
	s.prediction[1] = n - (tn+tw+tne)*p[0]>>5
	s.prediction[2] = west8 - (tn+tw+tnw)*p[1]>>5
	s.prediction[3] = n - (tnw*p[2]+tn*p[3]+tne*p[4]+(nn-n)*p[5]+(nw-west8)*p[6])>>5

	log := mathbits.Len32(sum) - 1
	sum = 0
	for i := range w {
		w[i] >>= log - 4
		sum += w[i]
	}
	all := int64(sum>>1) - 1
	for i := range w {
		all += s.prediction[i] * int64(w[i])
	}
	s.all = all * int64(reciprocals[sum-1]) >> 24
	if (tn^tw)|(tn^tnw) <= 0 {
		s.all = max(min(west8, ne, n), min(s.all, max(west8, ne, n)))
	}
	return (s.all + 3) >> 3, int32(property)
}

func (s *weightedState) update(x int, v int32) {
	sample := int64(v) << 3
	s.e[x] = int32(s.all - sample)
	for i := range s.prediction {
		e := uint32((abs64(s.prediction[i]-sample) + 3) >> 3)
		s.s[x][i] = e
		s.sAbove[x+1][i] += e
	}
}
