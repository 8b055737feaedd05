package wavelet

// Filter is a wavelet as its lifting steps.
type Filter[T Sample] struct {
	name   string
	steps  []step[T] // of the forward transform, alternately of high- and low-pass samples, the first high
	scaled bool
	low    T // factors of the forward transform after its steps
	high   T

	// Where they are not nil, both directions of a row of at least two samples whose first coordinate is even, from
	// low- and high-pass samples to others elsewhere.
	splitRow func(low, high, lows, highs []T)
	joinRow  func(lows, highs, low, high []T)
}

// step adds to every sample of one parity a function of its neighbours, which have the other.
type step[T Sample] struct {
	parity  int // of the samples that change
	reach   int // distance of the farthest neighbours: 1 or 3
	forward lift[T]
	inverse lift[T]
}

// lift changes dst by its neighbours: near at a distance of 1, far at a distance of 3, or nil.
// All have the length of dst.
type lift[T Sample] func(dst []T, near, far [2][]T)

func (f *Filter[T]) String() string { return f.name }

// LeGall53 is the reversible 5/3 filter. With x the samples:
//
//	high[n] = x[2n+1] - floor((x[2n] + x[2n+2]) / 2)
//	low[n]  = x[2n] + floor((high[n-1] + high[n] + 2) / 4)
func LeGall53() *Filter[int32] {
	return &Filter[int32]{name: "5/3", splitRow: split53, joinRow: join53, steps: []step[int32]{
		twoTaps(1, 0, 1, -1, lift2),
		twoTaps(0, 2, 2, +1, lift2),
	}}
}

// split53 makes low and high of the samples at even and odd coordinates.
func split53(low, high, evens, odds []int32) {
	inside := min(len(odds), len(evens)-1)
	lift2Of(high[:inside], odds, evens, evens[1:], 0, 1, -1)
	if inside < len(odds) {
		high[inside] = odds[inside] - (evens[inside]+evens[inside])>>1 // the neighbours are one
	}
	updateRow53(low, evens, high, +1)
}

// join53 is the inverse of split53.
func join53(evens, odds, low, high []int32) {
	updateRow53(evens, low, high, -1)
	inside := min(len(odds), len(evens)-1)
	lift2Of(odds[:inside], high, evens, evens[1:], 0, 1, +1)
	if inside < len(odds) {
		odds[inside] = high[inside] + (evens[inside]+evens[inside])>>1
	}
}

// updateRow53 is the update with high-pass samples, whose extension is the first and, where there are fewer of them, the
// last one again.
func updateRow53(dst, src, high []int32, sign int32) {
	both := min(len(src), len(high))
	dst[0] = src[0] + sign*((2*high[0]+2)>>2)
	lift2Of(dst[1:both], src[1:], high, high[1:], 2, 2, sign)
	if both < len(src) {
		dst[both] = src[both] + sign*((2*high[both-1]+2)>>2)
	}
}

// LeGall53Narrow is LeGall53 on 16 bits.
func LeGall53Narrow() *Filter[int16] {
	return &Filter[int16]{name: "5/3", steps: []step[int16]{
		twoTaps(1, 0, 1, -1, lift2Narrow),
		twoTaps(0, 2, 2, +1, lift2Narrow),
	}}
}

// TwoTap is the reversible filter that has the prediction of 5/3 and no update:
//
//	high[n] = x[2n+1] - floor((x[2n] + x[2n+2]) / 2)
//	low[n]  = x[2n]
func TwoTap() *Filter[int32] {
	return &Filter[int32]{name: "2-tap", steps: []step[int32]{twoTaps(1, 0, 1, -1, lift2)}}
}

// TwoTapNarrow is TwoTap on 16 bits.
func TwoTapNarrow() *Filter[int16] {
	return &Filter[int16]{name: "2-tap", steps: []step[int16]{twoTaps(1, 0, 1, -1, lift2Narrow)}}
}

// Wavelet137T is the reversible 13/7-T filter:
//
//	high[n] = x[2n+1] + floor((x[2n-2] + x[2n+4] - 9 (x[2n] + x[2n+2]) + 8) / 16)
//	low[n]  = x[2n] + floor((9 (high[n-1] + high[n]) - high[n-2] - high[n+1] + 16) / 32)
func Wavelet137T() *Filter[int32] {
	return &Filter[int32]{name: "13/7-T", steps: []step[int32]{
		fourTaps(1, -1, 8, 4),
		fourTaps(0, +1, 16, 5),
	}}
}

// twoTaps adds sign * ((a + b + round) >> shift).
func twoTaps[T Sample](parity int, round, shift, sign int32, add func(dst, a, b []T, round, shift, sign int32)) step[T] {
	of := func(sign int32) lift[T] {
		return func(dst []T, near, _ [2][]T) { add(dst, near[0], near[1], round, shift, sign) }
	}
	return step[T]{parity: parity, reach: 1, forward: of(sign), inverse: of(-sign)}
}

// fourTaps adds (sign * (9 (a + b) - (c + d)) + round) >> shift.
func fourTaps(parity int, sign, round, shift int32) step[int32] {
	of := func(outer int32) lift[int32] {
		return func(dst []int32, near, far [2][]int32) {
			lift4(dst, near[0], near[1], far[0], far[1], sign, round, shift, outer)
		}
	}
	return step[int32]{parity: parity, reach: 3, forward: of(1), inverse: of(-1)}
}

// Parameters of the 9/7 filter (ISO/IEC 15444-1, Table F.4), and its K.
const (
	alpha97 = -1.586134342059924
	beta97  = -0.052980118572961
	gamma97 = 0.882911075530934
	delta97 = 0.443506852043971
	scale97 = 1.230174104914001
)

// Daubechies97 is the irreversible 9/7 filter. Its bands have the gains of the standard: 1 at a frequency of
// zero for low-pass and 2 at the highest for high-pass samples. A step adds the product, rounded to float32, of
// its parameter and the sum, rounded to float32, of two neighbours.
func Daubechies97() *Filter[float32] {
	return &Filter[float32]{name: "9/7", scaled: true, low: 1 / scale97, high: scale97, steps: []step[float32]{
		products(1, alpha97),
		products(0, beta97),
		products(1, gamma97),
		products(0, delta97),
	}}
}

func products(parity int, k float32) step[float32] {
	of := func(k float32) lift[float32] {
		return func(dst []float32, near, _ [2][]float32) { liftFloat(dst, near[0], near[1], k) }
	}
	return step[float32]{parity: parity, reach: 1, forward: of(k), inverse: of(-k)}
}
