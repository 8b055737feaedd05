package jpegdata

// scan reads a segment SOS and the coded samples behind it.
func (r *reader) scan(b []byte) error {
	f := r.file
	if !r.frame {
		return malformed("a scan stands before its frame")
	}
	if len(b) < 4 || len(b) != 4+2*int(b[0]) {
		return malformed("a segment SOS has %d bytes", len(b))
	}
	n := int(b[0])
	if n == 0 || n > len(f.Components) {
		return malformed("a scan has %d components", n)
	}
	s := Scan{First: int(b[1+2*n]), Last: int(b[2+2*n]), High: int(b[3+2*n] >> 4), Low: int(b[3+2*n] & 15)}
	if s.First > 63 || s.Last > 63 {
		return unsupported("a scan has the band %d to %d", s.First, s.Last)
	}
	first, last, high, low := f.band(&s)
	if first > last || low > 10 {
		return unsupported("a scan has the band %d to %d and %d low bits left out", first, last, low)
	}
	for i := range n {
		c := ScanComponent{Index: -1, DC: b[2+2*i] >> 4, AC: b[2+2*i] & 15}
		for j := range f.Components {
			if f.Components[j].ID == b[1+2*i] {
				c.Index = j
			}
		}
		for _, o := range s.Components {
			if o.Index == c.Index {
				c.Index = -1
			}
		}
		if c.Index < 0 || c.DC > 3 || c.AC > 3 {
			return malformed("a scan names a component or a table that is not there")
		}
		if first == 0 && r.dc[c.DC] == nil || last > 0 && r.ac[c.AC] == nil {
			if !(high > 0 && last == 0) {
				return malformed("a scan has no Huffman table")
			}
		}
		s.Components = append(s.Components, c)
	}
	if first == 0 && high > 0 {
		for _, c := range s.Components { // writers look for the table although refinement needs none
			if r.dc[c.DC] == nil {
				return unsupported("a scan that refines DC names a Huffman table that is not there")
			}
		}
	}
	for _, sc := range s.Components {
		r.latch(sc.Index)
	}
	d := &scanReader{bitReader: bitReader{data: r.data, at: r.at}, owner: r, scan: &s, first: first, last: last, high: high, low: low, run: -1}
	if err := d.read(); err != nil {
		return err
	}
	r.at = d.at
	f.Scans = append(f.Scans, s)
	return nil
}

// scanReader decodes one scan.
type scanReader struct {
	bitReader
	owner                  *reader
	scan                   *Scan
	first, last, high, low int

	block  int      // number of the block in the scan
	run    int      // blocks that the last end of band still stands for; -1: none was read since
	before [4]int32 // DC of the last block of each component
	end    *uint8   // of the current block, see Component.Ends
}

func (d *scanReader) read() error {
	f := d.owner.file
	wide, high := f.units(d.scan)
	left, marker := f.Restart, byte(rst0)
	for y := range high {
		for x := range wide {
			if f.Restart > 0 {
				if left == 0 {
					if err := d.restart(marker); err != nil {
						return err
					}
					marker = rst0 + (marker+1)&7
					left = f.Restart
				}
				left--
			}
			for i := range d.scan.Components {
				sc := &d.scan.Components[i]
				c := &f.Components[sc.Index]
				h, v := c.H, c.V
				if len(d.scan.Components) == 1 {
					h, v = 1, 1
				}
				for by := y * v; by < (y+1)*v; by++ {
					for bx := x * h; bx < (x+1)*h; bx++ {
						at := by*c.Wide + bx
						d.end = &c.Ends[at]
						if err := d.one((*[64]int16)(c.Blocks[at*64:at*64+64]), sc); err != nil {
							return err
						}
						d.block++
					}
				}
			}
		}
		if d.zeros > 8 && d.n < 8*d.zeros {
			return d.pad() // no need to go on: it is cut short
		}
	}
	if d.run > 0 {
		return malformed("a run of ends of band goes beyond its scan")
	}
	return d.pad()
}

// one reads a block.
func (d *scanReader) one(b *[64]int16, sc *ScanComponent) error {
	if d.high > 0 {
		return d.refine(b, sc)
	}
	k := d.first
	if k == 0 {
		if err := d.dc(b, sc); err != nil {
			return err
		}
		k = 1
	}
	if k > d.last {
		return nil
	}
	if d.run > 0 {
		d.run--
		return nil
	}
	return d.ac(b, d.owner.ac[sc.AC], k)
}

func (d *scanReader) dc(b *[64]int16, sc *ScanComponent) error {
	s := d.symbol(d.owner.dc[sc.DC])
	if s < 0 {
		return malformed("a DC coefficient has a code that its table does not have")
	}
	diff := int32(0)
	if s > 0 {
		diff = int32(d.value(s))
	}
	v := diff + d.before[sc.Index]
	d.before[sc.Index] = v
	if v <<= d.low; v < -32768 || v > 32767 {
		return malformed("a DC coefficient is %d", v)
	}
	if v > sureDC || v < -sureDC {
		d.owner.file.Large = true
	}
	b[0] = int16(v)
	return nil
}

// ac reads the coefficients of a band from k on.
func (d *scanReader) ac(b *[64]int16, table *decoder, k int) error {
	zeroRuns := 0
	start, top := k, 0
	for ; k <= d.last; k++ {
		sym := d.symbol(table)
		if sym < 0 {
			return malformed("a coefficient has a code that its table does not have")
		}
		r, s := sym>>4, sym&15
		if s > 0 {
			k += r
			if k > d.last || s+d.low > 15 {
				return malformed("a coefficient lies outside its band")
			}
			v := d.bits(s)
			if v < 1<<(s-1) {
				v += -1<<s + 1
			}
			b[k] = int16(v << d.low)
			top = k
			if s+d.low > 12 {
				d.owner.file.Large = true
			}
			zeroRuns = 0
			continue
		}
		if r == 15 {
			k += 15
			zeroRuns++
			continue
		}
		if d.first > 0 && k == start && d.run == 0 {
			d.scan.Resets = append(d.scan.Resets, d.block)
			if len(d.scan.Resets) > maxRuns {
				return unsupported("a scan has more than %d runs of ends of band that end early", maxRuns)
			}
		}
		d.run = 1 << r
		if r > 0 {
			if d.first == 0 {
				return malformed("a run of ends of band in a scan with DC")
			}
			d.run += d.bits(r)
		}
		break
	}
	d.run--
	if d.run < -1 {
		d.run = -1
	}
	*d.end = max(*d.end, uint8(top+1))
	return d.needless(zeroRuns)
}

// needless notes runs of zeros that stand before the end of a block.
func (d *scanReader) needless(runs int) error {
	if runs > 0 {
		d.scan.ZeroRuns = append(d.scan.ZeroRuns, ZeroRun{d.block, runs})
		if len(d.scan.ZeroRuns) > maxRuns || runs > 4 {
			return unsupported("a scan has more than %d blocks that end with needless runs of zeros", maxRuns)
		}
	}
	return nil
}

// refine reads one more bit of the coefficients of a band (T.81, G.1.2.3).
func (d *scanReader) refine(b *[64]int16, sc *ScanComponent) error {
	k := d.first
	if k == 0 {
		b[0] |= int16(d.bits(1) << d.low)
		k = 1
	}
	if k > d.last {
		return nil
	}
	one := int16(1) << d.low
	if d.run <= 0 {
		start, inRun := k, false
		for k <= d.last {
			sym := d.symbol(d.owner.ac[sc.AC])
			if sym < 0 || sym&15 > 1 {
				return malformed("a bit of a coefficient has a code that is not valid")
			}
			r, s := sym>>4, sym&15
			var v int16
			switch {
			case s == 1:
				v, inRun = -one, false
				if d.bits(1) == 1 {
					v = one
				}
			case r < 15:
				if d.first > 0 && k == start && d.run == 0 {
					d.scan.Resets = append(d.scan.Resets, d.block)
					if len(d.scan.Resets) > maxRuns {
						return unsupported("a scan has more than %d runs of ends of band that end early", maxRuns)
					}
				}
				d.run = 1 << r
				if r > 0 {
					if d.first == 0 {
						return malformed("a run of ends of band in a scan with DC")
					}
					d.run += d.bits(r)
				}
			default:
				inRun = true
			}
			if d.run > 0 {
				break
			}
			for k <= d.last {
				if b[k] != 0 {
					d.correct(&b[k], one)
				} else if r--; r < 0 {
					break
				}
				k++
			}
			if s == 1 {
				if k > d.last {
					return malformed("a coefficient lies outside its band")
				}
				b[k] = v
				*d.end = max(*d.end, uint8(k+1))
			}
			k++
		}
		if inRun {
			return unsupported("a block that is refined ends with a needless run of zeros")
		}
	}
	if d.run > 0 {
		for end := min(d.last, int(*d.end)-1); k <= end; k++ {
			if b[k] != 0 {
				d.correct(&b[k], one)
			}
		}
	}
	if d.run--; d.run < -1 {
		d.run = -1
	}
	return nil
}

// correct reads the next bit of a coefficient that is not zero.
func (d *scanReader) correct(v *int16, one int16) {
	if d.bits(1) == 1 && *v&one == 0 {
		if *v >= 0 {
			*v += one
		} else {
			*v -= one
		}
	}
}

// pad keeps the bits that pad an interval.
func (d *scanReader) pad() error {
	n, v, err := d.align()
	if err != nil {
		return err
	}
	r := d.owner
	if v != 1<<n-1 {
		r.padZero = true
	}
	for i := n - 1; i >= 0; i-- {
		r.padding = append(r.padding, byte(v>>i&1))
	}
	return nil
}

// restart ends an interval and passes over its marker.
func (d *scanReader) restart(marker byte) error {
	if err := d.pad(); err != nil {
		return err
	}
	if d.at+2 > len(d.data) || d.data[d.at] != 0xff || d.data[d.at+1] != marker {
		return malformed("a restart marker is not where it must be")
	}
	d.at += 2
	if d.run > 0 {
		return malformed("a run of ends of band goes beyond its interval")
	}
	d.run = -1
	d.before = [4]int32{}
	return nil
}
