package jpegdata

import "math/bits"

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
	d := &scanReader{bitReader: bitReader{data: r.data, at: r.at}, owner: r, scan: &s, first: first, last: last, high: high, low: low, run: -1, values: f.Values}
	if err := d.read(); err != nil {
		return err
	}
	f.Values = d.values
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

	values []int16 // file.Values while the scan is read
	merged [64]int16
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
						if err := d.one(&c.Blocks[by*c.Wide+bx], sc); err != nil {
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
		if len(d.values) > maxValues {
			return unsupported("it has more than %d coefficients", maxValues)
		}
		d.compact()
	}
	if d.run > 0 {
		return malformed("a run of ends of band goes beyond its scan")
	}
	return d.pad()
}

// one reads a block.
func (d *scanReader) one(b *Block, sc *ScanComponent) error {
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
	old := *b
	b.Mask, b.Start = 0, uint32(len(d.values))
	if below := old.Mask & (1<<k - 1); below != 0 {
		b.Mask = below
		d.values = append(d.values, d.values[old.Start:][:bits.OnesCount64(below)]...)
	}
	err := d.ac(b, d.owner.ac[sc.AC], k)
	if above := old.Mask &^ (2<<d.last - 1); above != 0 {
		b.Mask |= above
		d.values = append(d.values, d.values[old.Start:][bits.OnesCount64(old.Mask&^above):bits.OnesCount64(old.Mask)]...)
	}
	d.owner.dropped += bits.OnesCount64(old.Mask)
	return err
}

// compact drops values that no block has any more, where they are the greater part.
func (d *scanReader) compact() {
	r := d.owner
	if r.dropped <= len(d.values)/2+1<<16 {
		return
	}
	values := make([]int16, 0, len(d.values)-r.dropped+1<<16)
	for i := range r.file.Components {
		list := r.file.Components[i].Blocks
		for j := range list {
			b := &list[j]
			if b.Mask == 0 {
				b.Start = 0 // it may lie beyond the values that are left
			} else {
				own := d.values[b.Start:][:bits.OnesCount64(b.Mask)]
				b.Start = uint32(len(values))
				values = append(values, own...)
			}
		}
	}
	d.values, r.dropped = values, 0
}

func (d *scanReader) dc(b *Block, sc *ScanComponent) error {
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
	b.DC = int16(v)
	return nil
}

// ac reads the coefficients of a band from k on, and appends them to the values.
func (d *scanReader) ac(b *Block, table *decoder, k int) error {
	zeroRuns, start := 0, k
	mask, values := b.Mask, d.values
	short := d.low <= 2 // a number of the lookup is small enough, whatever it is
	var err error
	for ; k <= d.last; k++ {
		if d.n < 32 {
			d.fill()
		}
		e := table.lookup[d.acc>>(64-lookupBits)]
		if n := e.complete(); n > 0 && short {
			d.acc <<= n
			d.n -= n
			if k += e.symbol() >> 4; k > d.last {
				err = malformed("a coefficient lies outside its band")
				break
			}
			mask |= 1 << (k & 63)
			values = append(values, e.number()<<d.low)
			zeroRuns = 0
			continue
		}
		sym := d.symbol(table)
		if sym < 0 {
			err = malformed("a coefficient has a code that its table does not have")
			break
		}
		r, s := sym>>4, sym&15
		if s > 0 {
			k += r
			if k > d.last || s+d.low > 15 {
				err = malformed("a coefficient lies outside its band")
				break
			}
			mask |= 1 << (k & 63)
			values = append(values, int16(d.value(s)<<d.low))
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
		err = d.endOfBand(r, k == start)
		break
	}
	b.Mask, d.values = mask, values
	if err != nil {
		return err
	}
	if d.run--; d.run < -1 {
		d.run = -1
	}
	return d.needless(zeroRuns)
}

// endOfBand begins a run of ends of band: of one block, or of some 2^r. At says that the
// block holds nothing else.
func (d *scanReader) endOfBand(r int, at bool) error {
	if d.first > 0 && at && d.run == 0 {
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
	return nil
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
func (d *scanReader) refine(b *Block, sc *ScanComponent) error {
	k := d.first
	if k == 0 {
		b.DC |= int16(d.bits(1) << d.low)
		k = 1
	}
	if k > d.last {
		return nil
	}
	band := uint64(2<<d.last - 1<<k)
	if d.run <= 0 {
		var err error
		if k, err = d.refineCoded(b, d.owner.ac[sc.AC], k); err != nil {
			return err
		}
	}
	if d.run > 0 && k <= d.last {
		// What is left of the band becomes no longer: its values change where they stand.
		one := int16(1) << d.low
		at := int(b.Start) + bits.OnesCount64(b.Mask&(1<<k-1))
		for range bits.OnesCount64(b.Mask & band >> k << k) {
			d.correct(&d.values[at], one)
			at++
		}
	}
	if d.run--; d.run < -1 {
		d.run = -1
	}
	return nil
}

// refineCoded reads the part of a block from k on that has symbols of its own and returns
// where it ends.
func (d *scanReader) refineCoded(b *Block, table *decoder, k int) (int, error) {
	one := int16(1) << d.low
	start, inRun := k, false
	old := d.values[b.Start:][:bits.OnesCount64(b.Mask)]
	for m, i := b.Mask, 0; m != 0; m, i = m&(m-1), i+1 {
		d.merged[bits.TrailingZeros64(m)] = old[i]
	}
	mask := b.Mask
	for k <= d.last {
		sym := d.symbol(table)
		if sym < 0 || sym&15 > 1 {
			return k, malformed("a bit of a coefficient has a code that is not valid")
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
			if err := d.endOfBand(r, k == start); err != nil {
				return k, err
			}
		default:
			inRun = true
		}
		if d.run > 0 {
			break
		}
		for k <= d.last {
			if mask>>k&1 != 0 {
				d.correct(&d.merged[k&63], one)
			} else if r--; r < 0 {
				break
			}
			k++
		}
		if s == 1 {
			if k > d.last {
				return k, malformed("a coefficient lies outside its band")
			}
			d.merged[k&63] = v
			mask |= 1 << k
		}
		k++
	}
	if inRun {
		return k, unsupported("a block that is refined ends with a needless run of zeros")
	}
	d.replace(b, mask)
	return k, nil
}

// replace gives a block the merged coefficients of a mask.
func (d *scanReader) replace(b *Block, mask uint64) {
	if mask != b.Mask {
		d.owner.dropped += bits.OnesCount64(b.Mask)
		b.Mask, b.Start = mask, uint32(len(d.values))
		for m := mask; m != 0; m &= m - 1 {
			d.values = append(d.values, d.merged[bits.TrailingZeros64(m)])
		}
		return
	}
	at := d.values[b.Start:]
	for m, i := mask, 0; m != 0; m, i = m&(m-1), i+1 {
		at[i] = d.merged[bits.TrailingZeros64(m)]
	}
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
