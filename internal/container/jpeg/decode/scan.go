package decode

import segments "github.com/pelmill/pelmill/internal/container/jpeg"

// scanState is what holds for one scan (T.81, B.2.3) and for one of its restart
// intervals.
type scanState struct {
	components  []*component
	first, last int // of the coefficients, in zigzag order: Ss, Se
	high, low   int // bit positions of the previous and of this scan: Ah, Al
	bits        bitReader
	prediction  [4]int32 // of DC, by component of the scan
	endOfBand   int32    // blocks that the run of ends of band has left
	arith       arithmeticDecoder
	left        int // MCUs before the next restart marker
	nextRestart int
	dc, ac      [4]*huffmanTable // by component of the scan
	unquantized [64]int16
	band        uint64 // a bit for each coefficient from first to last

	// progressive decodes one block of a progressive scan. Known has a bit for each coefficient that is not 0; it is nil with
	// arithmetic coding.
	progressive func(i int, to *[64]int16, known *uint64) error
}

// sos reads the parameters of a scan.
func (d *decoder) sos(body []byte) error {
	if d.components == nil {
		return malformed("its scan comes before its frame header")
	}
	if len(body) < 1 {
		return malformed("a scan header is malformed")
	}
	n := int(body[0])
	if n < 1 || n > 4 || len(body) != 4+2*n {
		return malformed("a scan header is malformed")
	}
	s := &d.s
	s.components = s.components[:0]
	var taken [4]bool
	blocks := 0
	for i := range n {
		id, found := body[1+2*i], false
		for j := range d.components {
			// Where components share an id, the place in the scan chooses among them.
			if c := &d.components[j]; c.id == id && !taken[j] {
				c.dc, c.ac = body[2+2*i]>>4, body[2+2*i]&15
				s.components = append(s.components, c)
				blocks += c.h * c.v
				taken[j], found = true, true
				break
			}
		}
		if !found {
			return malformed("a scan has a component that the frame has not")
		}
	}
	if n > 1 && blocks > maxBlocks {
		return malformed("an MCU of %d blocks is not allowed", blocks)
	}
	rest := body[1+2*n:]
	s.first, s.last, s.high, s.low = int(rest[0]), int(rest[1]), int(rest[2]>>4), int(rest[2]&15)
	d.multiple = d.multiple || d.progressive || n < len(d.components)
	return nil
}

// scan decodes the entropy-coded data of a scan. Those of the only scan of a
// frame go on to pix; others are kept as coefficients.
func (d *decoder) scan() error {
	s := &d.s
	for _, c := range s.components {
		// A later change of the table is not for components that were begun.
		if c.quant == nil {
			if c.table > 3 || d.quant[c.table] == nil {
				return malformed("it has no quantization table %d", c.table)
			}
			c.quant = d.quant[c.table]
		}
	}
	var err error
	switch {
	case d.progressive:
		err = d.startProgressive()
	case !d.arithmetic:
		err = d.startSequential()
	}
	if err == nil && d.arithmetic {
		err = d.startArithmetic()
	}
	if err != nil {
		return err
	}
	s.bits = bitReader{data: d.data, pos: d.pos}
	s.left, s.nextRestart = d.restartInterval, 0
	d.resetInterval()
	for row := range d.mcuRows {
		if len(s.components) == 1 {
			err = d.singleRow(row)
		} else {
			err = d.interleavedRow(row)
		}
		if err != nil {
			return err
		}
		if !d.multiple {
			d.emit(row)
		}
	}
	d.pos = s.bits.pos
	return nil
}

// singleRow decodes the blocks of one component that belong to one row of MCUs
// of the frame (T.81, A.2.2).
func (d *decoder) singleRow(row int) error {
	c := d.s.components[0]
	skipping := c.known != nil && d.s.first > 0 && d.restartInterval == 0
	for y := row * c.v; y < min((row+1)*c.v, c.blocksHigh); y++ {
		for x := 0; x < c.blocksWide; x++ {
			if skipping && d.s.endOfBand > 0 {
				if x = d.s.skip(c.known[y*c.paddedWide:][:c.blocksWide], x); x == c.blocksWide {
					break
				}
			}
			if err := d.interval(); err != nil {
				return err
			}
			if err := d.decodeBlock(0, c, x, y); err != nil {
				return err
			}
			if d.s.bits.overrun() && !d.arithmetic {
				return d.overrun()
			}
		}
	}
	return nil
}

// skip passes over blocks of a row from x on of which a run of ends of band leaves nothing to decode, and returns where
// it stopped.
func (s *scanState) skip(known []uint64, x int) int {
	end := min(len(known), x+int(s.endOfBand))
	from := x
	if s.high == 0 {
		x = end
	} else {
		for x < end && known[x]&s.band == 0 {
			x++
		}
	}
	s.endOfBand -= int32(x - from)
	return x
}

// interleavedRow decodes one row of MCUs of several components (T.81, A.2.3).
func (d *decoder) interleavedRow(row int) error {
	for mcu := range d.mcusWide {
		if err := d.interval(); err != nil {
			return err
		}
		for i, c := range d.s.components {
			for y := row * c.v; y < (row+1)*c.v; y++ {
				for x := mcu * c.h; x < (mcu+1)*c.h; x++ {
					if err := d.decodeBlock(i, c, x, y); err != nil {
						return err
					}
				}
			}
		}
		if d.s.bits.overrun() && !d.arithmetic {
			return d.overrun()
		}
	}
	return nil
}

// overrun says what happened to a scan whose data end before its samples.
func (d *decoder) overrun() error {
	if marker, _ := segments.NextMarker(d.data, d.s.bits.pos); marker == 0 {
		return errCutShort
	}
	return malformed("a scan holds fewer data than its samples need")
}

// interval counts an MCU, and reads the restart marker that is before it.
func (d *decoder) interval() error {
	s := &d.s
	if d.restartInterval == 0 {
		return nil
	}
	if s.left == 0 {
		if err := s.bits.restart(s.nextRestart); err != nil {
			return err
		}
		s.nextRestart = (s.nextRestart + 1) & 7
		s.left = d.restartInterval
		d.resetInterval()
	}
	s.left--
	return nil
}

// resetInterval sets what begins anew with each restart interval (T.81, F.2.1.3.1).
func (d *decoder) resetInterval() {
	d.s.prediction = [4]int32{}
	d.s.endOfBand = 0
	if d.arithmetic {
		d.s.arith.reset(&d.s.bits)
	}
}

// decodeBlock decodes block x, y of a component, which is number i of the scan.
// Blocks that only fill up an MCU are decoded and kept with the coefficients,
// but give no samples.
func (d *decoder) decodeBlock(i int, c *component, x, y int) error {
	s := &d.s
	if d.multiple {
		to := (*[64]int16)(c.coefficients[64*(y*c.paddedWide+x):])
		switch {
		case d.progressive:
			var known *uint64
			if c.known != nil {
				known = &c.known[y*c.paddedWide+x]
			}
			return s.progressive(i, to, known)
		case d.arithmetic:
			return d.arithmeticSequential(i, to)
		}
		return s.sequential(i, to)
	}
	to := &s.unquantized
	*to = [64]int16{}
	if d.arithmetic {
		if err := d.arithmeticSequential(i, to); err != nil {
			return err
		}
	} else if err := s.sequential(i, to); err != nil {
		return err
	}
	if x < c.blocksWide && y < c.blocksHigh {
		c.inverse(to, x, y)
	}
	return nil
}
