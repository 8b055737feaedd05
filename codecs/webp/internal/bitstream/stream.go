// Package bitstream writes VP8L bitstreams (RFC 9649, 3): bits, prefix codes with the
// lengths that describe them, and a whole image with its transforms and entropy image.
package bitstream

import (
	"encoding/binary"
	"math/bits"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// Stream is an image as it is written: its transforms, its pixels after them, and how these
// are coded.
type Stream struct {
	Width, Height int
	Alpha         bool
	Transforms    []format.Transform
	Pixels        format.Pixels // after all transforms; narrower than width where pixels are bundled
	Packer        Packer        // nil, or a device that has the pixels and how they are coded
	Parse         format.Parse
	Entropy       format.EntropyImage
	Coded         []*GroupCodes // of the groups of Entropy; nil: not made yet
	Small         SmallParser   // nil: small images are written as literals
	Written       []byte        // nil: not written yet
}

// SmallParser chooses backward references for one of the small images that describe the
// main one: modes, multipliers, a palette or the entropy image.
type SmallParser func(p format.Pixels) format.Parse

// Packer has the pixels of a stream and their parse on a device, and writes their symbols
// there. Where the device fails, the methods give anything of the right size, and Failed
// the error.
type Packer interface {
	// Counts returns the histograms of the groups.
	Counts() [][]uint32

	// Pack writes to out the symbols of all pixels by the codes of the groups, size bits in
	// all, behind first bits of 0, and what fills them up to 32 bits.
	Pack(out []byte, codes [][]Code, first, size int)

	Failed() error

	// Release gives back what it has on a device. It is not used any more.
	Release()
}

// Release lets go of what the stream has on a device; it cannot be written any more.
func (s *Stream) Release() {
	if s.Packer != nil {
		s.Packer.Release()
	}
}

// groupSpans calls f for the pixels of rows from up to end, in raster order: once for all
// neighbours in a row that use one prefix code group.
func (s *Stream) groupSpans(from, end int, f func(lo, hi, group int)) {
	w, g := s.Pixels.W, &s.Entropy
	tile := 1 << g.Bits
	across := (w + tile - 1) >> g.Bits
	for y := from; y < end; y++ {
		if g.Bits == 0 {
			f(y*w, (y+1)*w, 0)
			continue
		}
		of := g.Group[y>>g.Bits*across:][:across]
		for x := 0; x < w; {
			// Neighbours of one group go together.
			k, end := of[x>>g.Bits], x+tile
			for end < w && of[end>>g.Bits] == k {
				end += tile
			}
			f(y*w+x, y*w+min(end, w), int(k))
			x = end
		}
	}
}

// pixelsAtOnce is about how many pixels a goroutine takes at a time.
const pixelsAtOnce = 1 << 17

// bands calls f for bands of rows.
func (s *Stream) bands(c *pool.Pool, f func(band, from, end int)) (n int) {
	rows := max(1, pixelsAtOnce/s.Pixels.W)
	n = (s.Pixels.H + rows - 1) / rows
	if f != nil {
		c.Each(n, func(i int) { f(i, i*rows, min(s.Pixels.H, (i+1)*rows)) })
	}
	return n
}

// Write returns the VP8L bitstream (RFC 9649, 3.4 to 3.8).
func (s *Stream) Write(c *pool.Pool) []byte { return s.AppendTo(nil, 0, c) }

// AppendTo is Write behind what is in out, with room for so many bytes behind it.
func (s *Stream) AppendTo(out []byte, behind int, c *pool.Pool) []byte {
	if s.Written != nil {
		return append(out, s.Written...)
	}
	w := &bitWriter{out: out, behind: behind}
	w.put(format.Signature, 8)
	w.put(uint64(s.Width-1), 14)
	w.put(uint64(s.Height-1), 14)
	alpha := uint64(0)
	if s.Alpha {
		alpha = 1
	}
	w.put(alpha, 1)
	w.put(0, 3) // version
	for _, t := range s.Transforms {
		w.put(1, 1)
		w.put(uint64(t.Kind), 2)
		switch t.Kind {
		case format.PredictorTransform, format.ColourTransform:
			w.put(uint64(t.Bits-2), 3)
			s.writeSub(c, w, t.Data)
		case format.ColourIndexing:
			w.put(uint64(t.Data.W-1), 8)
			s.writeSub(c, w, differences(t.Data))
		}
	}
	w.put(0, 1)
	s.writeImage(c, w, true)
	return w.bytes()
}

// differences codes a palette as it is stored: every colour less the one before, by
// channel (RFC 9649, 3.5.4).
func differences(palette format.Pixels) format.Pixels {
	d := format.Pixels{W: palette.W, H: 1, ARGB: make([]uint32, palette.W)}
	last := uint32(0)
	for i, v := range palette.ARGB {
		d.ARGB[i] = ((v|0x00ff00ff)-(last&0xff00ff00))&0xff00ff00 | ((v|0xff00ff00)-(last&0x00ff00ff))&0x00ff00ff
		last = v
	}
	return d
}

// writeSub writes one of the small images that describe the main one, as literals or with
// backward references, whichever is shorter.
func (s *Stream) writeSub(c *pool.Pool, w *bitWriter, p format.Pixels) {
	best := &Stream{Pixels: p}
	best.makeCodes(c)
	if s.Small != nil && p.Repeats() {
		t := &Stream{Pixels: p, Parse: s.Small(p)}
		if t.makeCodes(c); t.smallBits() < best.smallBits() {
			best = t
		}
	}
	best.writeImage(c, w, false)
}

// LiteralImageBits is the size of p, coded as literals with one prefix code group.
func LiteralImageBits(c *pool.Pool, p format.Pixels) int {
	s := &Stream{Pixels: p}
	s.makeCodes(c)
	return s.smallBits()
}

// smallBits is the size of a small image whose codes have been made.
func (s *Stream) smallBits() int {
	if s.Parse.CacheBits > 0 {
		return 1 + 4 + s.Coded[0].Bits
	}
	return 1 + s.Coded[0].Bits
}

// makeCodes makes the codes of the groups.
func (s *Stream) makeCodes(c *pool.Pool) {
	if s.Coded == nil {
		hist := s.Histograms(c)
		s.Coded = make([]*GroupCodes, s.Entropy.Used())
		c.Each(len(s.Coded), func(k int) { s.Coded[k] = NewGroupCodes(hist[k]) })
	}
}

// writeImage writes the pixels with their cache, groups and codes (RFC 9649, 3.7). Only
// the main image has groups.
func (s *Stream) writeImage(c *pool.Pool, w *bitWriter, main bool) {
	if s.Parse.CacheBits > 0 {
		w.put(1, 1)
		w.put(uint64(s.Parse.CacheBits), 4)
	} else {
		w.put(0, 1)
	}
	// Decoders read as many groups as the map names.
	n := s.Entropy.Used()
	if main && n > 1 {
		w.put(1, 1)
		w.put(uint64(s.Entropy.Bits-2), 3)
		across := (s.Pixels.W + 1<<s.Entropy.Bits - 1) >> s.Entropy.Bits
		sub := format.Pixels{W: across, H: len(s.Entropy.Group) / across, ARGB: make([]uint32, len(s.Entropy.Group))}
		for i, g := range s.Entropy.Group {
			sub.ARGB[i] = 0xff000000 | uint32(g)<<8
		}
		s.writeSub(c, w, sub)
	} else if main {
		w.put(0, 1)
	}
	s.makeCodes(c)
	codes := make([][]Code, n)
	c.Each(n, func(k int) { codes[k] = s.Coded[k].codes() })
	for _, g := range s.Coded {
		g.write(w)
	}
	if s.Packer != nil {
		s.writePacked(w, codes)
		return
	}
	s.writePixels(c, w, codes)
}

// writePacked writes the symbols as the packer has them.
func (s *Stream) writePacked(w *bitWriter, codes [][]Code) {
	size := 0
	for _, g := range s.Coded {
		size += g.symbolBits
	}
	w.grow(size)
	room, held, n := w.reserve(size)
	all := int(n) + size
	s.Packer.Pack(room, codes, int(n), size)
	room[0] |= byte(held)
	w.commit(all/8, uint64(room[all/8])&(1<<(all%8)-1), uint(all%8))
}

// Code is a symbol's code as it is put, above its length in the low 4 bits. A lone
// symbol's has no bits.
type Code uint32

// makeCodes fills codes, which are 0, with the canonical ones of the given lengths (RFC 9649,
// 3.7.2).
func makeCodes(lengths []uint8, codes []Code) {
	if usedSymbols(lengths) < 2 {
		return
	}
	var count, next [MaxCodeLength + 2]uint16
	for s := nextUsed(lengths, 0); s < len(lengths); s = nextUsed(lengths, s+1) {
		count[lengths[s]]++
	}
	for l := 1; l <= MaxCodeLength; l++ {
		next[l+1] = (next[l] + count[l]) << 1
	}
	for s := nextUsed(lengths, 0); s < len(lengths); s = nextUsed(lengths, s+1) {
		// Bits are reversed, so that they can be put as they are.
		l := lengths[s]
		codes[s] = Code(bits.Reverse16(next[l])>>(16-l))<<4 | Code(l)
		next[l]++
	}
}

// pixelBits is more than any pixel takes: a literal of four codes, or a length and a
// distance with their extra bits.
const pixelBits = 4 * MaxCodeLength

// writePixels writes the symbols, each band to a place of its own.
func (s *Stream) writePixels(c *pool.Pool, w *bitWriter, codes [][]Code) {
	n := s.bands(c, nil)
	if n == 1 {
		s.writeBand(w, 0, s.Pixels.H, codes)
		return
	}
	parts := make([]bitWriter, n)
	s.bands(c, func(i, from, end int) { s.writeBand(&parts[i], from, end, codes) })
	size := 0
	for i := range parts {
		size += parts[i].len()
	}
	w.grow(size)
	for i := range parts {
		w.append(&parts[i])
	}
}

// writeBand writes the symbols of rows.
func (s *Stream) writeBand(w *bitWriter, from, end int, codes [][]Code) {
	next := s.Parse.FirstFrom(from * s.Pixels.W)
	for y := from; y < end; y++ {
		next = s.writeRow(w, y, next, codes)
	}
}

// writeRow writes the symbols of the pixels of a row from next on. It returns the first
// pixel behind them.
func (s *Stream) writeRow(w *bitWriter, y, next int, codes [][]Code) int {
	room, held, n := w.reserve(pixelBits * s.Pixels.W)
	at := 0
	// flush leaves less than 8 bits, so that 56 more have room.
	flush := func() {
		binary.LittleEndian.PutUint64(room[at:], held)
		at += int(n >> 3)
		held >>= n &^ 7
		n &= 7
	}
	s.groupSpans(y, y+1, func(lo, hi, k int) {
		t := codes[k]
		if s.Parse.Length == nil {
			at, held, n = writeLiterals(room, at, held, n, s.Pixels.ARGB[lo:hi], (*[format.CacheAt]Code)(t))
			return
		}
		for ; next < hi; next++ {
			switch l := s.Parse.Length[next]; l {
			case 0:
				end := next + 1
				for end < hi && s.Parse.Length[end] == 0 {
					end++
				}
				at, held, n = writeLiterals(room, at, held, n, s.Pixels.ARGB[next:end], (*[format.CacheAt]Code)(t))
				next = end - 1
			case format.Cached:
				c := t[format.CacheAt+s.Parse.Value[next]]
				held |= uint64(c>>4) << n
				n += uint(c & 15)
				flush()
			default:
				symbol, extra, count := format.Prefix(uint32(l))
				c := t[format.LengthAt+symbol]
				held |= (uint64(extra)<<(c&15) | uint64(c>>4)) << n // 15 + 10 bits
				n += uint(c&15) + count
				flush()
				symbol, extra, count = format.Prefix(s.Parse.Value[next])
				c = t[format.DistanceAt+symbol]
				held |= (uint64(extra)<<(c&15) | uint64(c>>4)) << n // 15 + 18 bits
				n += uint(c&15) + count
				flush()
				next += int(l) - 1
			}
		}
	})
	w.commit(at, held, n)
	return next
}

// writeLiterals stores pixels from room[at] on, of which n bits are held, less than 8,
// and returns what follows.
func writeLiterals(room []byte, at int, held uint64, n uint, argb []uint32, t *[format.CacheAt]Code) (int, uint64, uint) {
	if v := argb[0]; t[format.AlphaAt+v>>24]|t[format.RedAt+v>>16&255]|t[format.BlueAt+v&255] == 0 { // the only ones there are
		for ; len(argb) >= 3; argb = argb[3:] {
			// At most 45 bits, to at most 7.
			for _, v := range argb[:3] {
				g := t[format.GreenAt+v>>8&255]
				held |= uint64(g>>4) << (n & 63)
				n += uint(g & 15)
			}
			binary.LittleEndian.PutUint64(room[at:], held)
			at += int(n >> 3)
			held >>= n &^ 7 & 63
			n &= 7
		}
	}
	if len(argb) > 0 && t[format.AlphaAt+argb[0]>>24] == 0 { // the only alpha there is
		for _, v := range argb {
			held, n = putColour(held, n, v, t)
			binary.LittleEndian.PutUint64(room[at:], held)
			at += int(n >> 3)
			held >>= n &^ 7 & 63
			n &= 7
		}
		return at, held, n
	}
	for _, v := range argb {
		held, n = putColour(held, n, v, t)
		binary.LittleEndian.PutUint64(room[at:], held)
		at += int(n >> 3)
		held >>= n &^ 7 & 63
		n &= 7
		c := t[format.AlphaAt+v>>24]
		held |= uint64(c>>4) << n
		n += uint(c & 15)
		binary.LittleEndian.PutUint64(room[at:], held)
		at += int(n >> 3)
		held >>= n &^ 7 & 63
		n &= 7
	}
	return at, held, n
}

// putColour adds green, red and blue, at most 45 bits, to at most 7.
func putColour(held uint64, n uint, v uint32, t *[format.CacheAt]Code) (uint64, uint) {
	g, r, b := t[format.GreenAt+v>>8&255], t[format.RedAt+v>>16&255], t[format.BlueAt+v&255]
	held |= uint64(g>>4) << (n & 63)
	n += uint(g & 15)
	held |= uint64(r>>4) << (n & 63)
	n += uint(r & 15)
	held |= uint64(b>>4) << (n & 63)
	return held, n + uint(b&15)
}
