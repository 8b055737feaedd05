package webp

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/codecs/pool"
)

// stream is everything that is turned into bits.
type stream struct {
	width, height int
	alpha         bool
	transforms    []transform
	pixels        pixels // after all transforms; narrower than width where pixels are bundled
	packer        packer // nil, or a device that has the pixels and how they are coded
	parse         parse
	entropy       entropyImage
	small         smallParser // nil: small images are written as literals
	written       []byte      // nil: not written yet
}

// smallParser chooses backward references for one of the small images that describe the
// main one: modes, multipliers, a palette or the entropy image.
type smallParser func(p pixels) parse

// packer is a device that has the pixels of a stream. Where it fails, its methods return
// anything of the right size, and failed the error.
type packer interface {
	// counts returns the histograms of the groups.
	counts() [][]uint32

	// pack returns the symbols of all pixels by the codes of the groups, size bits in
	// all, behind first bits of 0.
	pack(codes [][]code, first, size int) []byte

	failed() error

	// release gives back what it has on a device. It is not used any more.
	release()
}

// release lets go of what the stream has on a device; it cannot be written any more.
func (s *stream) release() {
	if s.packer != nil {
		s.packer.release()
	}
}

// groupSpans calls f for the pixels of rows from to before end, in raster order, and together
// for those of a row that use one group.
func (s *stream) groupSpans(from, end int, f func(lo, hi, group int)) {
	w, g := s.pixels.w, &s.entropy
	tile := 1 << g.bits
	across := (w + tile - 1) >> g.bits
	for y := from; y < end; y++ {
		if g.bits == 0 {
			f(y*w, (y+1)*w, 0)
			continue
		}
		of := g.group[y>>g.bits*across:][:across]
		for x := 0; x < w; {
			// Neighbours of one group go together.
			k, end := of[x>>g.bits], x+tile
			for end < w && of[end>>g.bits] == k {
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
func (s *stream) bands(c *pool.Pool, f func(band, from, end int)) (n int) {
	rows := max(1, pixelsAtOnce/s.pixels.w)
	n = (s.pixels.h + rows - 1) / rows
	if f != nil {
		c.Each(n, func(i int) { f(i, i*rows, min(s.pixels.h, (i+1)*rows)) })
	}
	return n
}

// histograms counts the symbols of each group.
func (s *stream) histograms(c *pool.Pool) [][]uint32 {
	if s.packer != nil {
		return s.packer.counts()
	}
	n, size := max(s.entropy.groups, s.entropy.used()), s.parse.symbols()
	parts := make([][]uint32, min(c.Size(), s.bands(c, nil)))
	free := make(chan int, len(parts)) // parts that nobody counts in
	for i := range parts {
		free <- i
	}
	s.bands(c, func(_, from, end int) {
		p := <-free
		if parts[p] == nil {
			parts[p] = make([]uint32, n*size)
		}
		s.count(from, end, parts[p])
		free <- p
	})
	for _, part := range parts[1:] {
		for i, v := range part {
			parts[0][i] += v
		}
	}
	out := make([][]uint32, n)
	for k := range out {
		out[k] = parts[0][k*size:][:size]
	}
	return out
}

// count adds the symbols of rows to hist, which has those of each group in turn.
func (s *stream) count(from, end int, hist []uint32) {
	size := s.parse.symbols()
	next := s.parse.firstFrom(from * s.pixels.w)
	s.groupSpans(from, end, func(lo, hi, k int) {
		h := hist[k*size:][:size]
		if s.parse.length == nil {
			h := (*[cacheAt]uint32)(h)
			for _, v := range s.pixels.argb[lo:hi] {
				h[alphaAt+v>>24]++
				h[redAt+v>>16&255]++
				h[blueAt+v&255]++
				h[greenAt+v>>8&255]++
			}
			return
		}
		for ; next < hi; next++ {
			switch l := s.parse.length[next]; l {
			case 0:
				v := s.pixels.argb[next]
				h[alphaAt+v>>24]++
				h[redAt+v>>16&255]++
				h[blueAt+v&255]++
				h[greenAt+v>>8&255]++
			case cached:
				h[cacheAt+s.parse.value[next]]++
			default:
				c, _, _ := prefix(uint32(l))
				h[lengthAt+c]++
				c, _, _ = prefix(s.parse.value[next])
				h[distanceAt+c]++
				next += int(l) - 1
			}
		}
	})
}

// write returns the VP8L bitstream (RFC 9649, 3.4 to 3.8).
func (s *stream) write(c *pool.Pool) []byte {
	if s.written != nil {
		return s.written
	}
	w := &bitWriter{}
	w.put(signature, 8)
	w.put(uint64(s.width-1), 14)
	w.put(uint64(s.height-1), 14)
	alpha := uint64(0)
	if s.alpha {
		alpha = 1
	}
	w.put(alpha, 1)
	w.put(0, 3) // version
	for _, t := range s.transforms {
		w.put(1, 1)
		w.put(uint64(t.kind), 2)
		switch t.kind {
		case predictorTransform, colourTransform:
			w.put(uint64(t.bits-2), 3)
			s.writeSub(c, w, t.data)
		case colourIndexing:
			w.put(uint64(t.data.w-1), 8)
			s.writeSub(c, w, differences(t.data))
		}
	}
	w.put(0, 1)
	s.writeImage(c, w, true)
	return w.bytes()
}

// differences codes a palette as it is stored: every colour less the one before, by
// channel (RFC 9649, 4.4).
func differences(palette pixels) pixels {
	d := pixels{palette.w, 1, make([]uint32, palette.w)}
	last := uint32(0)
	for i, v := range palette.argb {
		d.argb[i] = ((v|0x00ff00ff)-(last&0xff00ff00))&0xff00ff00 | ((v|0xff00ff00)-(last&0x00ff00ff))&0x00ff00ff
		last = v
	}
	return d
}

// writeSub writes one of the small images that describe the main one, as literals or with
// copies, whichever is shorter.
func (s *stream) writeSub(c *pool.Pool, w *bitWriter, p pixels) {
	best := &bitWriter{}
	(&stream{pixels: p}).writeImage(c, best, false)
	if s.small != nil && p.repeats() {
		t := &bitWriter{}
		(&stream{pixels: p, parse: s.small(p)}).writeImage(c, t, false)
		if t.len() < best.len() {
			best = t
		}
	}
	w.append(best)
}

// literalImageBits is the size of p, coded as literals with one prefix code group.
func literalImageBits(c *pool.Pool, p pixels) int {
	w := &bitWriter{}
	(&stream{pixels: p}).writeImage(c, w, false)
	return w.len()
}

// writeImage writes the pixels with their cache, groups and codes (RFC 9649, 3.7). Only
// the main image has groups.
func (s *stream) writeImage(c *pool.Pool, w *bitWriter, main bool) {
	if s.parse.cacheBits > 0 {
		w.put(1, 1)
		w.put(uint64(s.parse.cacheBits), 4)
	} else {
		w.put(0, 1)
	}
	// Decoders read as many groups as the map names.
	n := s.entropy.used()
	if main && n > 1 {
		w.put(1, 1)
		w.put(uint64(s.entropy.bits-2), 3)
		across := (s.pixels.w + 1<<s.entropy.bits - 1) >> s.entropy.bits
		sub := pixels{across, len(s.entropy.group) / across, make([]uint32, len(s.entropy.group))}
		for i, g := range s.entropy.group {
			sub.argb[i] = 0xff000000 | uint32(g)<<8
		}
		s.writeSub(c, w, sub)
	} else if main {
		w.put(0, 1)
	}
	hist := s.histograms(c)
	codes := make([][]code, n)
	heads := make([]bitWriter, n)
	c.Each(n, func(k int) {
		h := hist[k]
		codes[k] = make([]code, len(h))
		for _, part := range writtenAlphabets(len(h)) {
			lengths, d := bestCode(h[part[0]:part[1]])
			d.write(&heads[k])
			makeCodes(lengths, codes[k][part[0]:part[1]])
		}
	})
	for k := range heads {
		w.append(&heads[k])
	}
	if s.packer != nil {
		s.writePacked(c, w, hist, codes)
		return
	}
	s.writePixels(c, w, codes)
}

// writePacked writes the symbols, which hist counts, as the packer has them.
func (s *stream) writePacked(c *pool.Pool, w *bitWriter, hist [][]uint32, codes [][]code) {
	size := 0
	for k, list := range codes {
		for i, v := range list {
			size += int(v&15) * int(hist[k][i])
		}
		size += int(extraBitsOf(hist[k]))
	}
	room, held, n := w.reserve(size)
	all := int(n) + size
	packed := s.packer.pack(codes, int(n), size)[:(all+7)/8]
	c.Spans(len(packed), 1<<20, func(lo, hi int) { copy(room[lo:hi], packed[lo:hi]) })
	room[0] |= byte(held)
	w.commit(all/8, uint64(room[all/8])&(1<<(all%8)-1), uint(all%8))
}

// code is a symbol's code as it is put, above its length in the low 4 bits. A lone
// symbol's has no bits.
type code uint32

// makeCodes fills codes.
func makeCodes(lengths []uint8, codes []code) {
	used := 0
	for _, l := range lengths {
		if l > 0 {
			used++
		}
	}
	if used < 2 {
		return
	}
	for i, c := range canonical(lengths) {
		codes[i] = code(c)<<4 | code(lengths[i])
	}
}

// pixelBits is more than any pixel takes: a literal of four codes, or a length and a
// distance with their extra bits.
const pixelBits = 4 * maxCodeLength

// writePixels writes the symbols, each band to a place of its own.
func (s *stream) writePixels(c *pool.Pool, w *bitWriter, codes [][]code) {
	n := s.bands(c, nil)
	if n == 1 {
		s.writeBand(w, 0, s.pixels.h, codes)
		return
	}
	parts := make([]bitWriter, n)
	s.bands(c, func(i, from, end int) { s.writeBand(&parts[i], from, end, codes) })
	for i := range parts {
		w.append(&parts[i])
	}
}

// writeBand writes the symbols of rows.
func (s *stream) writeBand(w *bitWriter, from, end int, codes [][]code) {
	next := s.parse.firstFrom(from * s.pixels.w)
	for y := from; y < end; y++ {
		next = s.writeRow(w, y, next, codes)
	}
}

// writeRow writes the symbols of the pixels of a row from next on. It returns the first
// pixel behind them.
func (s *stream) writeRow(w *bitWriter, y, next int, codes [][]code) int {
	room, held, n := w.reserve(pixelBits * s.pixels.w)
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
		if s.parse.length == nil {
			at, held, n = writeLiterals(room, at, held, n, s.pixels.argb[lo:hi], (*[cacheAt]code)(t))
			return
		}
		for ; next < hi; next++ {
			switch l := s.parse.length[next]; l {
			case 0:
				at, held, n = writeLiterals(room, at, held, n, s.pixels.argb[next:next+1], (*[cacheAt]code)(t))
			case cached:
				c := t[cacheAt+s.parse.value[next]]
				held |= uint64(c>>4) << n
				n += uint(c & 15)
				flush()
			default:
				symbol, extra, count := prefix(uint32(l))
				c := t[lengthAt+symbol]
				held |= (uint64(extra)<<(c&15) | uint64(c>>4)) << n // 15 + 10 bits
				n += uint(c&15) + count
				flush()
				symbol, extra, count = prefix(s.parse.value[next])
				c = t[distanceAt+symbol]
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
func writeLiterals(room []byte, at int, held uint64, n uint, argb []uint32, t *[cacheAt]code) (int, uint64, uint) {
	if t[alphaAt+argb[0]>>24] == 0 { // the only alpha there is
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
		c := t[alphaAt+v>>24]
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
func putColour(held uint64, n uint, v uint32, t *[cacheAt]code) (uint64, uint) {
	g, r, b := t[greenAt+v>>8&255], t[redAt+v>>16&255], t[blueAt+v&255]
	held |= uint64(g>>4) << (n & 63)
	n += uint(g & 15)
	held |= uint64(r>>4) << (n & 63)
	n += uint(r & 15)
	held |= uint64(b>>4) << (n & 63)
	return held, n + uint(b&15)
}
