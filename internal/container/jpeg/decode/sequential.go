package decode

// startSequential makes the tables of a sequential scan ready. Its spectral
// parameters are not looked at: there are encoders that write zeroes.
func (d *decoder) startSequential() error {
	s := &d.s
	for i, c := range s.components {
		var err error
		if s.dc[i], err = d.table(0, c.dc); err != nil {
			return err
		}
		if s.ac[i], err = d.table(1, c.ac); err != nil {
			return err
		}
	}
	return nil
}

// table returns a Huffman table of class 0 (DC) or 1 (AC).
func (d *decoder) table(class int, id byte) (*huffmanTable, error) {
	if id > 3 || d.huffman[class][id] == nil {
		return nil, malformed("it has no Huffman table %d", id)
	}
	t := d.huffman[class][id]
	return t, t.prepare(class == 0)
}

// sequential decodes a block of component i of the scan (T.81, F.2.2.1 and
// F.2.2.2). Coefficients that are zero are left as they are.
func (s *scanState) sequential(i int, to *[64]int16) error {
	diff, ok := s.difference(i)
	if !ok {
		return errNoCode
	}
	s.prediction[i] += diff
	to[0] = int16(s.prediction[i])

	r := &s.bits
	t := s.ac[i]
	acc, n := r.acc, r.n
	for k := 1; k < 64; k++ {
		if n < 32 {
			r.acc, r.n = acc, n
			r.fill()
			acc, n = r.acc, r.n
		}
		e := t.first[acc>>(64-lookupBits)]
		if e&numberHere != 0 {
			drop := uint(e & 255)
			acc <<= drop & 63
			n -= int(drop)
			k += int(e >> 12 & 15)
			to[zigzag[k&127]&63] = int16(e >> 20)
			continue
		}
		symbol := e >> 8 & 255
		if e != 0 {
			drop := uint(e & 255)
			acc <<= drop & 63
			n -= int(drop)
		} else {
			r.acc, r.n = acc, n
			if symbol = t.long(r); symbol < 0 {
				return errNoCode
			}
			acc, n = r.acc, r.n
		}
		run, size := int(symbol>>4), uint(symbol&15)
		if size == 0 {
			if run != 15 {
				break
			}
			k += 15
			continue
		}
		k += run
		v := int32(acc >> (64 - size))
		acc <<= size
		n -= int(size)
		to[zigzag[k&127]&63] = int16(extend(v, int(size)))
	}
	r.acc, r.n = acc, n
	return nil
}

const errNoCode = FormatError("its data hold a code that no Huffman table has")

// difference decodes a difference of DC coefficients (T.81, F.2.2.1).
func (s *scanState) difference(i int) (int32, bool) {
	r := &s.bits
	r.fill()
	t := s.dc[i]
	e := t.first[r.acc>>(64-lookupBits)]
	if e&numberHere != 0 {
		r.acc <<= uint(e&255) & 63
		r.n -= int(e & 255)
		return e >> 20, true
	}
	size := t.symbol(r)
	if size <= 0 {
		return 0, size == 0
	}
	return extend(r.take(int(size)), int(size)), true
}
