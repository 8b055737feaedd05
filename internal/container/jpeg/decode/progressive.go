package decode

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
func (s *scanState) dcFirst(i int, to *[64]int16) error {
	diff, ok := s.difference(i)
	if !ok {
		return errNoCode
	}
	s.prediction[i] += diff
	to[0] = int16(s.prediction[i] << s.low)
	return nil
}

// dcRefine decodes one more bit of a DC coefficient.
func (s *scanState) dcRefine(_ int, to *[64]int16) error {
	if s.bits.bit() != 0 {
		to[0] |= 1 << s.low
	}
	return nil
}

// acFirst decodes the upper bits of a band of coefficients (T.81, G.1.2.2).
func (s *scanState) acFirst(_ int, to *[64]int16) error {
	if s.endOfBand > 0 {
		s.endOfBand--
		return nil
	}
	r := &s.bits
	t := s.ac[0]
	for k := s.first; k <= s.last; k++ {
		r.fill()
		e := t.first[r.acc>>(64-lookupBits)]
		if e&numberHere != 0 {
			r.acc <<= uint(e&255) & 63
			r.n -= int(e & 255)
			k += int(e >> 12 & 15)
			to[zigzag[k]] = int16(e >> 20 << s.low)
			continue
		}
		symbol := t.symbol(r)
		if symbol < 0 {
			return errNoCode
		}
		run, size := int(symbol>>4), int(symbol&15)
		switch {
		case size > 0:
			k += run
			to[zigzag[k]] = int16(extend(r.take(size), size) << s.low)
		case run == 15:
			k += 15
		default:
			s.endOfBand = s.run(run) - 1
			return nil
		}
	}
	return nil
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
func (s *scanState) acRefine(_ int, to *[64]int16) error {
	r := &s.bits
	t := s.ac[0]
	k := s.first
	if s.endOfBand == 0 {
		for ; k <= s.last; k++ {
			symbol := t.symbol(r)
			if symbol < 0 {
				return errNoCode
			}
			run, size := int(symbol>>4), symbol&15
			var v int16
			switch {
			case size > 1:
				return malformed("a scan of one bit holds a coefficient of several")
			case size == 1:
				v = -1 << s.low
				if r.bit() != 0 {
					v = 1 << s.low
				}
			case run != 15:
				s.endOfBand = s.run(run)
			}
			if s.endOfBand > 0 {
				break
			}
			k = s.correct(to, k, run)
			if v != 0 {
				to[zigzag[k]] = v
			}
		}
	}
	if s.endOfBand > 0 {
		s.correct(to, k, 64)
		s.endOfBand--
	}
	return nil
}

// correct passes over coefficients from k on, up to the one behind zeroes of
// them that are still 0, and reads a bit for each that is not. It returns where
// it stopped.
func (s *scanState) correct(to *[64]int16, k, zeroes int) int {
	for ; k <= s.last; k++ {
		c := &to[zigzag[k]]
		if *c == 0 {
			if zeroes == 0 {
				return k
			}
			zeroes--
			continue
		}
		if s.bits.bit() == 0 || *c>>s.low&1 != 0 {
			continue
		}
		if *c > 0 {
			*c += 1 << s.low
		} else {
			*c -= 1 << s.low
		}
	}
	return k
}
