package jpeglossless

// scan decodes the data of the scan whose header was read last (T.81, H.2), and
// leaves d.pos behind them.
func (d *decoder) scan() error {
	tables := make([]*huffmanTable, len(d.scanned))
	for i, c := range d.scanned {
		t := d.tables[d.components[c].table]
		if t == nil {
			return malformed("a scan uses a Huffman table that the file does not have")
		}
		if err := t.prepare(); err != nil {
			return err
		}
		tables[i] = t
	}
	n := len(d.scanned)
	r := &bitReader{data: d.data, pos: d.pos}
	// A row of differences becomes a row of samples in place.
	row, above := make([]uint16, n*d.width), make([]uint16, n*d.width)
	restartRows := d.restartInterval / d.width
	initial := uint16(1) << (d.bits - d.shift - 1)
	for y := range d.height {
		first := y == 0
		if restartRows > 0 && y > 0 && y%restartRows == 0 {
			if err := r.restart((y/restartRows - 1) % 8); err != nil {
				return err
			}
			first = true
		}
		ok := true
		if n == 1 {
			ok = tables[0].row(r, row)
		} else {
			ok = interleavedRow(tables, r, row)
		}
		switch {
		case r.overrun():
			return errCutShort
		case !ok:
			return malformed("its data hold a code that no Huffman table has")
		}
		all := uint16(0)
		for c := range n {
			all |= reconstruct(row[c:], above[c:], n, d.predictor, first, initial)
		}
		if int(all)>>(d.bits-d.shift) != 0 {
			return malformed("a sample of row %d does not fit %d bits", y, d.bits-d.shift)
		}
		d.store(y, row)
		row, above = above, row
	}
	d.pos = r.pos
	return nil
}

// row decodes the differences of one component.
func (t *huffmanTable) row(r *bitReader, row []uint16) bool {
	for x := range row {
		if r.n < 32 {
			r.fill()
		}
		e := t.first[r.acc>>(64-lookupBits)]
		n := int(e & 255)
		r.acc <<= n
		r.n -= n
		if n == 0 {
			if e = t.long(r); e == notCode {
				return false
			}
			e <<= 16
		}
		row[x] = uint16(e >> 16)
	}
	return true
}

// interleavedRow decodes the differences of all components of a scan.
func interleavedRow(tables []*huffmanTable, r *bitReader, row []uint16) bool {
	for len(row) >= len(tables) {
		for i, t := range tables {
			if r.n < 32 {
				r.fill()
			}
			e := t.first[r.acc>>(64-lookupBits)]
			n := int(e & 255)
			r.acc <<= n
			r.n -= n
			if n == 0 {
				if e = t.long(r); e == notCode {
					return false
				}
				e <<= 16
			}
			row[i] = uint16(e >> 16)
		}
		row = row[len(tables):]
	}
	return true
}

// reconstruct adds predictions to the differences of a row, modulo 2^16 (T.81, H.1.2
// and table H.1). Samples are step numbers apart, in the row and the one above:
//
//	c b      predictors 1 to 7: a, b, c, a+b-c, a+(b-c)/2, b+(a-c)/2, (a+b)/2
//	a x
//
// The first sample of a row is predicted from b, the first row of a scan and of a
// restart interval from a, and its first sample by initial. It returns the samples'
// bitwise or.
func reconstruct(row, above []uint16, step, predictor int, first bool, initial uint16) (all uint16) {
	a := initial
	if !first {
		a = above[0]
	}
	a += row[0]
	row[0] = a
	all = a
	if first {
		predictor = 1
	}
	above = above[:len(row)]
	switch predictor {
	case 1:
		for x := step; x < len(row); x += step {
			a += row[x]
			row[x] = a
			all |= a
		}
	case 2:
		for x := step; x < len(row); x += step {
			a = above[x] + row[x]
			row[x] = a
			all |= a
		}
	case 3:
		for x := step; x < len(row); x += step {
			a = above[x-step] + row[x]
			row[x] = a
			all |= a
		}
	case 4:
		c := above[0]
		for x := step; x < len(row); x += step {
			b := above[x]
			a += b - c + row[x]
			row[x] = a
			all |= a
			c = b
		}
	case 5:
		c := int32(above[0])
		for x := step; x < len(row); x += step {
			b := int32(above[x])
			a += uint16((b-c)>>1) + row[x]
			row[x] = a
			all |= a
			c = b
		}
	case 6:
		c := int32(above[0])
		for x := step; x < len(row); x += step {
			b := int32(above[x])
			a = uint16(b+(int32(a)-c)>>1) + row[x]
			row[x] = a
			all |= a
			c = b
		}
	case 7:
		for x := step; x < len(row); x += step {
			a = uint16((int32(a)+int32(above[x]))>>1) + row[x]
			row[x] = a
			all |= a
		}
	}
	return all
}

// store puts a row of the scan's components into the image.
func (d *decoder) store(y int, row []uint16) {
	n, channels := len(d.scanned), len(d.components)
	for i, c := range d.scanned {
		if d.bits <= 8 {
			to := d.pix[y*d.width*channels+c:]
			for x := range d.width {
				to[x*channels] = byte(row[x*n+i] << d.shift)
			}
			continue
		}
		to := d.pix[2*(y*d.width*channels+c):]
		for x := range d.width {
			v := row[x*n+i] << d.shift
			to[2*x*channels] = byte(v)
			to[2*x*channels+1] = byte(v >> 8)
		}
	}
}
