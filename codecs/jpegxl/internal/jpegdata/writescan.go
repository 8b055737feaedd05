package jpegdata

import (
	"math/bits"

	"github.com/pelmill/pelmill/internal/container"
)

// scan writes a segment SOS and the coded samples behind it.
func (w *writer) scan(s *Scan) error {
	f := w.file
	at := len(w.out)
	w.out = append(w.out, 0xff, sos, 0, 0, byte(len(s.Components)))
	for _, c := range s.Components {
		w.out = append(w.out, f.Components[c.Index].ID, c.DC<<4|c.AC)
	}
	w.out = append(w.out, byte(s.First), byte(s.Last), byte(s.High<<4|s.Low))
	if err := w.length(at); err != nil {
		return err
	}
	first, last, high, low := f.band(s)
	if first > last {
		return malformed("a scan has the band %d to %d", first, last)
	}
	e := &scanWriter{writer: w, scan: s, first: first, last: last, low: low, refines: high > 0, sequential: first == 0 && last == 63 && high == 0 && low == 0}
	for _, c := range s.Components {
		if first == 0 && w.dc[c.DC] == nil || last > 0 && w.ac[c.AC] == nil {
			return malformed("a scan has no Huffman table")
		}
	}
	return e.write()
}

// scanWriter codes one scan.
type scanWriter struct {
	*writer
	scan                *Scan
	first, last, low    int
	refines, sequential bool

	block       int
	resets      int // used of scan.Resets
	zeroRuns    int // used of scan.ZeroRuns
	before      [4]int32
	run         int      // ends of band that wait
	runTable    *encoder // of the first of them
	corrections []byte   // bits behind them
	failed      bool     // a symbol has no code
}

func (e *scanWriter) write() error {
	f := e.file
	wide, high := f.units(e.scan)
	restart := 0
	if e.restarts {
		restart = f.Restart
	}
	left, marker := restart, byte(rst0)
	for y := range high {
		if len(e.out) > e.limit {
			return container.OverLimit("the JPEG file in it is larger than %d bytes", e.limit)
		}
		for x := range wide {
			if restart > 0 {
				if left == 0 {
					e.endRun()
					if err := e.pad(); err != nil {
						return err
					}
					e.out = append(e.out, 0xff, marker)
					marker = rst0 + (marker+1)&7
					left = restart
					e.before = [4]int32{}
				}
				left--
			}
			for i := range e.scan.Components {
				sc := &e.scan.Components[i]
				c := &f.Components[sc.Index]
				h, v := c.H, c.V
				if len(e.scan.Components) == 1 {
					h, v = 1, 1
				}
				for by := y * v; by < (y+1)*v; by++ {
					for bx := x * h; bx < (x+1)*h; bx++ {
						e.one(&c.Blocks[by*c.Wide+bx], sc)
						e.block++
					}
				}
			}
		}
		if e.failed {
			return malformed("a coefficient has no code in its table")
		}
	}
	e.endRun()
	return e.pad()
}

func (e *scanWriter) symbol(t *encoder, s int) {
	c := t[s]
	if c == 0 {
		e.failed = true
	}
	e.bits(uint64(c>>8), uint(c&0xff))
}

// coefficient writes a symbol and the s bits of a number behind it.
func (e *scanWriter) coefficient(t *encoder, sym int, v int32, s uint) {
	c := t[sym]
	if c == 0 {
		e.failed = true
	}
	if v < 0 {
		v--
	}
	e.bits(uint64(c>>8)<<s|uint64(v)&(1<<s-1), uint(c&0xff)+s)
}

func magnitude(v int32) uint {
	if v < 0 {
		v = -v
	}
	return uint(bits.Len32(uint32(v)))
}

// one writes a block.
func (e *scanWriter) one(b *Block, sc *ScanComponent) {
	s := e.scan
	if e.resets < len(s.Resets) && s.Resets[e.resets] == e.block {
		e.resets++
		e.endRun()
	}
	runs := 0
	if e.zeroRuns < len(s.ZeroRuns) && s.ZeroRuns[e.zeroRuns].Block == e.block {
		runs = s.ZeroRuns[e.zeroRuns].Runs
		e.zeroRuns++
	}
	if e.refines {
		e.refine(b, e.ac[sc.AC])
		return
	}
	k := e.first
	if k == 0 {
		v := int32(b.DC) >> e.low
		d := v - e.before[sc.Index]
		e.before[sc.Index] = v
		n := magnitude(d)
		e.coefficient(e.dc[sc.DC], int(n), d, n)
		k = 1
	}
	switch {
	case k > e.last:
	case e.sequential:
		e.allBands(b, e.ac[sc.AC], runs)
	default:
		e.oneBand(b, e.ac[sc.AC], k, runs)
	}
}

// allBands writes the AC coefficients of a block of a sequential scan.
func (e *scanWriter) allBands(b *Block, t *encoder, runs int) {
	values := e.file.Values[b.Start:]
	before := 0
	for m, i := b.Mask, 0; m != 0; m, i = m&(m-1), i+1 {
		k := bits.TrailingZeros64(m)
		zeros := k - before - 1
		before = k
		for ; zeros > 15; zeros -= 16 {
			e.symbol(t, 0xf0)
		}
		v := int32(values[i])
		n := magnitude(v)
		e.coefficient(t, (zeros<<4|int(n))&0xff, v, n)
	}
	zeros := 63 - before
	for range runs {
		e.symbol(t, 0xf0)
		zeros -= 16
	}
	if zeros > 0 {
		e.symbol(t, 0)
	}
}

// within is the part of a block that lies in a band: its mask and its values.
func (e *scanWriter) within(b *Block, k int) (mask uint64, values []int16) {
	if mask = b.Mask & (2<<e.last - 1<<k); mask == 0 {
		return 0, nil
	}
	return mask, e.file.Values[int(b.Start)+bits.OnesCount64(b.Mask&(1<<k-1)):]
}

// oneBand writes the first bits of a band.
func (e *scanWriter) oneBand(b *Block, t *encoder, k, runs int) {
	before := k - 1
	m, values := e.within(b, k)
	for i := 0; m != 0; m, i = m&(m-1), i+1 {
		v := int32(values[i])
		if v < 0 {
			v = -(-v >> e.low)
		} else {
			v >>= e.low
		}
		if v == 0 {
			continue
		}
		k := bits.TrailingZeros64(m)
		zeros := k - before - 1
		before = k
		e.endRun()
		for ; zeros > 15; zeros -= 16 {
			e.symbol(t, 0xf0)
		}
		n := magnitude(v)
		e.coefficient(t, (zeros<<4|int(n))&0xff, v, n)
	}
	zeros := e.last - before
	if runs > 0 {
		e.endRun()
		for range runs {
			e.symbol(t, 0xf0)
			zeros -= 16
		}
	}
	if zeros > 0 {
		e.endOfBand(t, nil)
	}
}

// endOfBand adds a block to the run of ends of band, with the bits that follow it.
func (e *scanWriter) endOfBand(t *encoder, corrections []byte) {
	if e.run == 0 {
		e.runTable = t
	}
	e.run++
	e.corrections = append(e.corrections, corrections...)
	if e.run == 0x7fff || e.first == 0 {
		e.endRun()
	}
}

// endRun writes the run of ends of band that waits.
func (e *scanWriter) endRun() {
	if e.run > 0 {
		n := uint(bits.Len(uint(e.run)) - 1)
		e.symbol(e.runTable, int(n)<<4)
		e.bits(uint64(e.run)&(1<<n-1), n)
		e.run = 0
	}
	e.writeCorrections(e.corrections)
	e.corrections = e.corrections[:0]
}

func (e *scanWriter) writeCorrections(list []byte) {
	for _, b := range list {
		e.bits(uint64(b), 1)
	}
}

// refine writes one more bit of the coefficients of a band (T.81, G.1.2.3).
func (e *scanWriter) refine(b *Block, t *encoder) {
	k := e.first
	if k == 0 {
		e.bits(uint64(b.DC>>e.low&1), 1)
		k = 1
	}
	if k > e.last {
		return
	}
	mask, values := e.within(b, k)
	newest := 0 // the last coefficient that becomes not zero
	for m, i := mask, 0; m != 0; m, i = m&(m-1), i+1 {
		if absolute(values[i])>>e.low == 1 {
			newest = bits.TrailingZeros64(m)
		}
	}
	zeros, before := 0, k-1
	var buffer [64]byte
	corrections := buffer[:0]
	for m, i := mask, 0; m != 0; m, i = m&(m-1), i+1 {
		v := absolute(values[i]) >> e.low
		if v == 0 {
			continue
		}
		k := bits.TrailingZeros64(m)
		zeros += k - before - 1
		before = k
		for zeros > 15 && k <= newest {
			e.endRun()
			e.symbol(t, 0xf0)
			zeros -= 16
			e.writeCorrections(corrections)
			corrections = corrections[:0]
		}
		if v > 1 {
			corrections = append(corrections, byte(v&1))
			continue
		}
		e.endRun()
		e.symbol(t, (zeros<<4|1)&0xff)
		sign := uint64(1)
		if values[i] < 0 {
			sign = 0
		}
		e.bits(sign, 1)
		e.writeCorrections(corrections)
		corrections = corrections[:0]
		zeros = 0
	}
	zeros += e.last - before
	if zeros > 0 || len(corrections) > 0 {
		e.endOfBand(t, corrections)
	}
}

func absolute(v int16) int32 {
	if v < 0 {
		return -int32(v)
	}
	return int32(v)
}
