package decode

import "math/bits"

// startProgressive checks the parameters of a progressive scan (T.81, G.1.1.1),
// notes which bits will be known behind it, and chooses how its blocks are
// decoded. A scan that repeats or leaves out bits is taken as it is.
func (d *decoder) startProgressive() error {
	s := &d.s
	dc := s.first == 0
	switch {
	case dc && s.last != 0, !dc && (s.first > s.last || s.last > 63 || len(s.components) != 1),
		s.high != 0 && s.low != s.high-1, s.low > 13:
		return malformed("a scan of coefficients %d to %d and bits %d to %d is not allowed", s.first, s.last, s.high, s.low)
	}
	for i, c := range s.components {
		for k := s.first; k <= s.last; k++ {
			c.lowestBit[k] = int8(s.low)
		}
		if d.arithmetic || dc && s.high != 0 {
			continue
		}
		var err error
		if dc {
			s.dc[i], err = d.table(0, c.dc)
		} else {
			s.ac[i], err = d.table(1, c.ac)
		}
		if err != nil {
			return err
		}
	}
	s.band = ^uint64(0) >> (63 - s.last) &^ (1<<s.first - 1)
	switch {
	case dc && s.high == 0:
		s.progressive = s.dcFirst
	case dc:
		s.progressive = s.dcRefine
	case s.high == 0:
		s.progressive = s.acFirst
	default:
		s.progressive = s.acRefine
	}
	return nil
}

// dcFirst decodes the upper bits of a DC coefficient (T.81, G.1.2.1).
func (s *scanState) dcFirst(i int, to *[64]int16, _ *uint64) error {
	diff, ok := s.difference(i)
	if !ok {
		return errNoCode
	}
	s.prediction[i] += diff
	to[0] = int16(s.prediction[i] << s.low)
	return nil
}

// dcRefine decodes one more bit of a DC coefficient.
func (s *scanState) dcRefine(_ int, to *[64]int16, _ *uint64) error {
	if s.bits.bit() != 0 {
		to[0] |= 1 << s.low
	}
	return nil
}

// acFirst decodes the upper bits of a band of coefficients (T.81, G.1.2.2).
func (s *scanState) acFirst(_ int, to *[64]int16, known *uint64) error {
	if s.endOfBand > 0 {
		s.endOfBand--
		return nil
	}
	r := &s.bits
	t := s.ac[0]
	acc, n := r.acc, r.n
	for k := s.first; k <= s.last; k++ {
		if n < 32 {
			r.acc, r.n = acc, n
			r.fill()
			acc, n = r.acc, r.n
		}
		e := t.first[acc>>(64-lookupBits)]
		if e&numberHere != 0 {
			acc <<= uint(e&255) & 63
			n -= int(e & 255)
			k += int(e >> 12 & 15)
			setKnown(to, known, k, int16(e>>20<<s.low))
			continue
		}
		symbol := e >> 8 & 255
		if e != 0 {
			acc <<= uint(e&255) & 63
			n -= int(e & 255)
		} else {
			r.acc, r.n = acc, n
			if symbol = t.long(r); symbol < 0 {
				return errNoCode
			}
			acc, n = r.acc, r.n
		}
		run, size := int(symbol>>4), int(symbol&15)
		switch {
		case size > 0:
			k += run
			v := int32(acc >> (64 - size))
			acc <<= size
			n -= size
			setKnown(to, known, k, int16(extend(v, size)<<s.low))
		case run == 15:
			k += 15
		default:
			r.acc, r.n = acc, n
			s.endOfBand = s.run(run) - 1
			return nil
		}
	}
	r.acc, r.n = acc, n
	return nil
}

// setKnown sets coefficient k, which may lead out of the block, and notes whether it is not zero.
func setKnown(to *[64]int16, known *uint64, k int, v int16) {
	to[zigzag[k&127]&63] = v
	bit := uint64(1) << min(k, 63)
	if *known |= bit; v == 0 {
		*known &^= bit
	}
}

// run decodes the length of a run of ends of band, 2^n to 2^(n+1)-1.
func (s *scanState) run(n int) int32 {
	if n == 0 {
		return 1
	}
	s.bits.fill()
	return 1<<n + s.bits.take(n)
}

// acRefine decodes one more bit of a band of coefficients (T.81, G.1.2.3).
func (s *scanState) acRefine(_ int, to *[64]int16, known *uint64) error {
	rest := *known & s.band // from k on
	if s.endOfBand == 0 {
		r := &s.bits
		t := s.ac[0]
		for k := s.first; k <= s.last; k++ {
			r.fill()
			var v int16
			e := t.first[r.acc>>(64-lookupBits)]
			symbol := e >> 8 & 255
			if e&numberHere != 0 {
				r.acc <<= uint(e&255) & 63
				r.n -= int(e & 255)
				v = int16(e >> 20 << s.low)
			} else if symbol = t.symbol(r); symbol < 0 {
				return errNoCode
			} else if symbol&15 == 1 {
				v = -1 << s.low
				if r.bit() != 0 {
					v = 1 << s.low
				}
			}
			run := int(symbol >> 4)
			switch size := symbol & 15; {
			case size > 1:
				return malformed("a scan of one bit holds a coefficient of several")
			case size == 0 && run != 15:
				s.endOfBand = s.run(run)
			}
			if s.endOfBand > 0 {
				break
			}
			k = s.passOver(to, &rest, k, run)
			if v != 0 {
				setKnown(to, known, k, v)
			}
		}
	}
	if s.endOfBand > 0 {
		s.correct(to, rest)
		s.endOfBand--
	}
	return nil
}

// passOver passes over coefficients of the band from k on, up to the one behind zeroes of them that are still 0, and
// corrects those that are not, which are taken out of rest. It returns where it stopped.
func (s *scanState) passOver(to *[64]int16, rest *uint64, k, zeroes int) int {
	after := *rest
	for after != 0 {
		next := bits.TrailingZeros64(after)
		if next-k > zeroes {
			break
		}
		zeroes -= next - k
		k = next + 1
		after &= after - 1
	}
	if passed := *rest ^ after; passed != 0 {
		s.correct(to, passed)
		*rest = after
	}
	return min(k+zeroes, s.last+1)
}

// correct reads a bit for each of some coefficients, which are not 0.
func (s *scanState) correct(to *[64]int16, which uint64) {
	r := &s.bits
	acc, n := r.acc, r.n
	for ; which != 0; which &= which - 1 {
		if n == 0 {
			r.acc, r.n = acc, n
			r.fill()
			acc, n = r.acc, r.n
		}
		c := &to[zigzag[bits.TrailingZeros64(which)&63]&63]
		// One more in its own direction, where the bit is set that the coefficient has not yet.
		v := *c
		one := -(int16(acc>>63) &^ (v >> s.low) & 1) & (1 << s.low)
		sign := v >> 15
		*c = v + (one ^ sign) - sign
		acc <<= 1
		n--
	}
	r.acc, r.n = acc, n
}
