package decode

// bin is the state of one adaptive binary decision: the index of its estimate
// in the lower seven bits, the more probable value in the highest.
type bin byte

// half is the index of the estimate for decisions that do not adapt: signs, and
// bits that refine.
const half = 113

// arithmeticDecoder decodes binary decisions (T.81, D.2) and holds the bins of
// the tables of a scan.
type arithmeticDecoder struct {
	c, a    uint32 // code register, with the code in its upper half; interval
	count   int    // bits of c before the next byte
	in      *bitReader
	dcBins  [16][64]bin
	acBins  [16][256]bin
	context [4]int // of the next DC difference, by component of the scan
}

// reset begins an interval (T.81, D.2.7 and F.1.4.4.1.4).
func (a *arithmeticDecoder) reset(in *bitReader) {
	*a = arithmeticDecoder{in: in, a: 0x10000}
	a.c = a.next() << 24
	a.c |= a.next() << 16
}

// next reads a byte without stuffing; behind the end there are zeroes, which
// encoders leave out (T.81, D.1.8).
func (a *arithmeticDecoder) next() uint32 {
	r := a.in
	if r.end || r.pos >= len(r.data) {
		r.end = true
		return 0
	}
	v := r.data[r.pos]
	if v != 0xff {
		r.pos++
		return uint32(v)
	}
	next := r.pos + 1
	for next < len(r.data) && r.data[next] == 0xff {
		next++
	}
	if next >= len(r.data) || r.data[next] != 0 {
		r.end = true
		return 0
	}
	r.pos = next + 1
	return 0xff
}

// decide decodes one decision.
func (a *arithmeticDecoder) decide(b *bin) int32 {
	state := *b
	e := &probabilities[state&0x7f]
	qe := uint32(e.qe)
	a.a -= qe
	likely := true
	if a.c>>16 < a.a {
		if a.a >= 0x8000 {
			return int32(state >> 7)
		}
		likely = a.a >= qe
	} else {
		// The smaller part is the more probable one where they were exchanged.
		a.c -= a.a << 16
		likely = a.a < qe
		a.a = qe
	}
	value := state >> 7
	if likely {
		*b = state&0x80 | bin(e.nextMore)
	} else {
		value ^= 1
		*b = (state^bin(e.exchange)<<7)&0x80 | bin(e.nextLess)
	}
	for a.a < 0x8000 {
		if a.count == 0 {
			a.c |= a.next() << 8
			a.count = 8
		}
		a.a <<= 1
		a.c <<= 1
		a.count--
	}
	return int32(value)
}

// fair decodes a decision that does not adapt.
func (a *arithmeticDecoder) fair() int32 {
	b := bin(half)
	return a.decide(&b)
}

// errMagnitude and errSpectrum are for data that no encoder writes.
const (
	errMagnitude = FormatError("its data hold a coefficient of more than 15 bits")
	errSpectrum  = FormatError("its data hold a run that leads out of its block")
)

// startArithmetic checks the tables of a scan and chooses how blocks of
// progressive scans are decoded.
func (d *decoder) startArithmetic() error {
	s := &d.s
	if !d.progressive {
		return nil
	}
	switch {
	case s.first == 0 && s.high == 0:
		s.progressive = func(i int, to *[64]int16, _ *uint64) error {
			err := d.arithmeticDC(i)
			to[0] = int16(s.prediction[i] << s.low)
			return err
		}
	case s.first == 0:
		s.progressive = func(_ int, to *[64]int16, _ *uint64) error {
			to[0] |= int16(s.arith.fair() << s.low)
			return nil
		}
	case s.high == 0:
		s.progressive = func(_ int, to *[64]int16, _ *uint64) error {
			return d.arithmeticAC(s.components[0].ac, s.first, s.last, s.low, to)
		}
	default:
		s.progressive = func(_ int, to *[64]int16, _ *uint64) error { return s.arithmeticRefine(to) }
	}
	return nil
}

// arithmeticSequential decodes a block of component i of the scan.
func (d *decoder) arithmeticSequential(i int, to *[64]int16) error {
	if err := d.arithmeticDC(i); err != nil {
		return err
	}
	to[0] = int16(d.s.prediction[i])
	return d.arithmeticAC(d.s.components[i].ac, 1, 63, 0, to)
}

// arithmeticDC decodes a difference of DC coefficients and adds it to the
// prediction (T.81, F.1.4.1 and F.2.4.1).
func (d *decoder) arithmeticDC(i int) error {
	s, a := &d.s, &d.s.arith
	table := s.components[i].dc
	bins := &a.dcBins[table]
	at := a.context[i]
	if a.decide(&bins[at]) == 0 {
		a.context[i] = 0
		return nil
	}
	sign := a.decide(&bins[at+1])
	at += 2 + int(sign)
	m := a.decide(&bins[at])
	if m != 0 {
		for at = 20; a.decide(&bins[at]) != 0; at++ {
			if m <<= 1; m == 0x8000 {
				return errMagnitude
			}
		}
	}
	switch {
	case m < 1<<d.dcLower[table]>>1:
		a.context[i] = 0
	case m > 1<<d.dcUpper[table]>>1:
		a.context[i] = 12 + 4*int(sign)
	default:
		a.context[i] = 4 + 4*int(sign)
	}
	s.prediction[i] = (s.prediction[i] + a.magnitude(m, sign, bins[at+14:])) & 0xffff
	return nil
}

// magnitude decodes the bits below the highest one, m, of a number less one
// (T.81, F.1.4.3.2).
func (a *arithmeticDecoder) magnitude(m, sign int32, bins []bin) int32 {
	v := m
	for m >>= 1; m != 0; m >>= 1 {
		if a.decide(&bins[0]) != 0 {
			v |= m
		}
	}
	if v++; sign != 0 {
		v = -v
	}
	return v
}

// arithmeticAC decodes a band of AC coefficients (T.81, F.1.4.2 and F.2.4.2).
func (d *decoder) arithmeticAC(table byte, first, last, low int, to *[64]int16) error {
	a := &d.s.arith
	bins := &a.acBins[table]
	for k := first; k <= last; k++ {
		if a.decide(&bins[3*k-3]) != 0 {
			return nil
		}
		for a.decide(&bins[3*k-2]) == 0 {
			if k++; k > last {
				return errSpectrum
			}
		}
		sign := a.fair()
		at := 3*k - 1
		m := a.decide(&bins[at])
		if m != 0 && a.decide(&bins[at]) != 0 {
			m <<= 1
			at = 189
			if k > int(d.acMiddle[table]) {
				at = 217
			}
			for ; a.decide(&bins[at]) != 0; at++ {
				if m <<= 1; m == 0x8000 {
					return errMagnitude
				}
			}
		}
		to[zigzag[k]] = int16(a.magnitude(m, sign, bins[at+14:]) << low)
	}
	return nil
}

// arithmeticRefine decodes one more bit of a band (T.81, G.1.3.3).
func (s *scanState) arithmeticRefine(to *[64]int16) error {
	a := &s.arith
	bins := &a.acBins[s.components[0].ac]
	end := s.last // of what earlier scans know
	for end > 0 && to[zigzag[end]] == 0 {
		end--
	}
	one := int16(1) << s.low
	for k := s.first; k <= s.last; k++ {
		if k > end && a.decide(&bins[3*k-3]) != 0 {
			return nil
		}
		for ; ; k++ {
			if k > s.last {
				return errSpectrum
			}
			c := &to[zigzag[k]]
			if *c != 0 {
				if a.decide(&bins[3*k-1]) != 0 {
					if *c < 0 {
						*c -= one
					} else {
						*c += one
					}
				}
				break
			}
			if a.decide(&bins[3*k-2]) != 0 {
				if *c = one; a.fair() != 0 {
					*c = -one
				}
				break
			}
		}
	}
	return nil
}

// probabilities is table D.3 of T.81: the estimate Qe of the less probable
// value, the index behind it and behind the more probable one, and whether the
// values change places. The last row is for half.
var probabilities = [128]struct {
	qe                           uint16
	nextLess, nextMore, exchange byte
}{
	{0x5a1d, 1, 1, 1}, {0x2586, 14, 2, 0}, {0x1114, 16, 3, 0}, {0x080b, 18, 4, 0}, {0x03d8, 20, 5, 0}, {0x01da, 23, 6, 0},
	{0x00e5, 25, 7, 0}, {0x006f, 28, 8, 0}, {0x0036, 30, 9, 0}, {0x001a, 33, 10, 0}, {0x000d, 35, 11, 0}, {0x0006, 9, 12, 0},
	{0x0003, 10, 13, 0}, {0x0001, 12, 13, 0}, {0x5a7f, 15, 15, 1}, {0x3f25, 36, 16, 0}, {0x2cf2, 38, 17, 0}, {0x207c, 39, 18, 0},
	{0x17b9, 40, 19, 0}, {0x1182, 42, 20, 0}, {0x0cef, 43, 21, 0}, {0x09a1, 45, 22, 0}, {0x072f, 46, 23, 0}, {0x055c, 48, 24, 0},
	{0x0406, 49, 25, 0}, {0x0303, 51, 26, 0}, {0x0240, 52, 27, 0}, {0x01b1, 54, 28, 0}, {0x0144, 56, 29, 0}, {0x00f5, 57, 30, 0},
	{0x00b7, 59, 31, 0}, {0x008a, 60, 32, 0}, {0x0068, 62, 33, 0}, {0x004e, 63, 34, 0}, {0x003b, 32, 35, 0}, {0x002c, 33, 9, 0},
	{0x5ae1, 37, 37, 1}, {0x484c, 64, 38, 0}, {0x3a0d, 65, 39, 0}, {0x2ef1, 67, 40, 0}, {0x261f, 68, 41, 0}, {0x1f33, 69, 42, 0},
	{0x19a8, 70, 43, 0}, {0x1518, 72, 44, 0}, {0x1177, 73, 45, 0}, {0x0e74, 74, 46, 0}, {0x0bfb, 75, 47, 0}, {0x09f8, 77, 48, 0},
	{0x0861, 78, 49, 0}, {0x0706, 79, 50, 0}, {0x05cd, 48, 51, 0}, {0x04de, 50, 52, 0}, {0x040f, 50, 53, 0}, {0x0363, 51, 54, 0},
	{0x02d4, 52, 55, 0}, {0x025c, 53, 56, 0}, {0x01f8, 54, 57, 0}, {0x01a4, 55, 58, 0}, {0x0160, 56, 59, 0}, {0x0125, 57, 60, 0},
	{0x00f6, 58, 61, 0}, {0x00cb, 59, 62, 0}, {0x00ab, 61, 63, 0}, {0x008f, 61, 32, 0}, {0x5b12, 65, 65, 1}, {0x4d04, 80, 66, 0},
	{0x412c, 81, 67, 0}, {0x37d8, 82, 68, 0}, {0x2fe8, 83, 69, 0}, {0x293c, 84, 70, 0}, {0x2379, 86, 71, 0}, {0x1edf, 87, 72, 0},
	{0x1aa9, 87, 73, 0}, {0x174e, 72, 74, 0}, {0x1424, 72, 75, 0}, {0x119c, 74, 76, 0}, {0x0f6b, 74, 77, 0}, {0x0d51, 75, 78, 0},
	{0x0bb6, 77, 79, 0}, {0x0a40, 77, 48, 0}, {0x5832, 80, 81, 1}, {0x4d1c, 88, 82, 0}, {0x438e, 89, 83, 0}, {0x3bdd, 90, 84, 0},
	{0x34ee, 91, 85, 0}, {0x2eae, 92, 86, 0}, {0x299a, 93, 87, 0}, {0x2516, 86, 71, 0}, {0x5570, 88, 89, 1}, {0x4ca9, 95, 90, 0},
	{0x44d9, 96, 91, 0}, {0x3e22, 97, 92, 0}, {0x3824, 99, 93, 0}, {0x32b4, 99, 94, 0}, {0x2e17, 93, 86, 0}, {0x56a8, 95, 96, 1},
	{0x4f46, 101, 97, 0}, {0x47e5, 102, 98, 0}, {0x41cf, 103, 99, 0}, {0x3c3d, 104, 100, 0}, {0x375e, 99, 93, 0}, {0x5231, 105, 102, 0},
	{0x4c0f, 106, 103, 0}, {0x4639, 107, 104, 0}, {0x415e, 103, 99, 0}, {0x5627, 105, 106, 1}, {0x50e7, 108, 107, 0}, {0x4b85, 109, 103, 0},
	{0x5597, 110, 109, 0}, {0x504f, 111, 107, 0}, {0x5a10, 110, 111, 1}, {0x5522, 112, 109, 0}, {0x59eb, 112, 111, 1}, {0x5a1d, 113, 113, 0},
}
