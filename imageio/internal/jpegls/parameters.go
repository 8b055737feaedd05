package jpegls

import "math/bits"

// parameters are what the coding of a scan depends on (T.87, A.1 and C.2.4.1.1), for
// NEAR = 0.
type parameters struct {
	maxval     int32
	t1, t2, t3 int32
	resetAt    int32 // RESET: occurrences at which statistics are halved
	qbpp       int   // bits of a mapped error that is escaped
	limit      int   // longest code
	a          int32 // initial A
}

// parameters checks the preset and fills in its defaults.
func (d *decoder) parameters() (p parameters, err error) {
	s := d.preset
	if s.maxval == 0 {
		s.maxval = 1<<d.bits - 1
	}
	if s.maxval >= 1<<d.bits {
		return p, malformed("a MAXVAL of %d does not fit %d bits", s.maxval, d.bits)
	}
	t1, t2, t3 := thresholds(s.maxval)
	orDefault(&s.t1, t1)
	orDefault(&s.t2, t2)
	orDefault(&s.t3, t3)
	orDefault(&s.reset, 64)
	if s.t1 < 1 || s.t1 > s.t2 || s.t2 > s.t3 || s.t3 > s.maxval {
		return p, malformed("thresholds of %d, %d and %d are not defined for a MAXVAL of %d", s.t1, s.t2, s.t3, s.maxval)
	}
	if s.reset < 3 || s.reset > max(255, s.maxval) {
		return p, malformed("a RESET of %d is not defined", s.reset)
	}
	valueRange := s.maxval + 1
	bpp := max(2, bits.Len(uint(s.maxval)))
	return parameters{
		maxval: int32(s.maxval),
		t1:     int32(s.t1), t2: int32(s.t2), t3: int32(s.t3),
		resetAt: int32(s.reset),
		qbpp:    bits.Len(uint(s.maxval)),
		limit:   2 * (bpp + max(8, bpp)),
		a:       int32(max(2, (valueRange+32)/64)),
	}, nil
}

func orDefault(v *int, d int) {
	if *v == 0 {
		*v = d
	}
}

// thresholds are the defaults of T1, T2 and T3 (T.87, C.2.4.1.1.1).
func thresholds(maxval int) (t1, t2, t3 int) {
	if maxval >= 128 {
		f := (min(maxval, 4095) + 128) / 256
		t1 = within(f+2, 1, maxval)
		t2 = within(4*f+3, t1, maxval)
		return t1, t2, within(17*f+4, t2, maxval)
	}
	f := 256 / (maxval + 1)
	t1 = within(max(2, 3/f), 1, maxval)
	t2 = within(max(3, 7/f), t1, maxval)
	return t1, t2, within(max(4, 21/f), t2, maxval)
}

// within is the function CLAMP of figure C.3.
func within(v, low, maxval int) int {
	if v > maxval || v < low {
		return low
	}
	return v
}

// runLengths is the array J: run lengths in bits (T.87, A.2.1).
var runLengths = [32]uint8{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// gradients maps a local gradient, brought to -t3 to t3, plus t3 to its region, -4 to 4
// (T.87, A.3.3).
func (p *parameters) gradients() []int8 {
	g := make([]int8, 2*p.t3+1)
	for i := range g {
		d := int32(i) - p.t3
		region := int8(0)
		for _, t := range [...]int32{1, p.t1, p.t2, p.t3} {
			if max(d, -d) >= t {
				region++
			}
		}
		if d < 0 {
			region = -region
		}
		g[i] = region
	}
	return g
}

// contextOf is the context of three local gradients, -364 to 364.
func contextOf(gradient []int8, t3, d1, d2, d3 int32) int {
	d1, d2, d3 = min(max(d1, -t3), t3), min(max(d2, -t3), t3), min(max(d3, -t3), t3)
	return (int(gradient[d1+t3])*9+int(gradient[d2+t3]))*9 + int(gradient[d3+t3])
}
