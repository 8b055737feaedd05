package webp

import (
	"encoding/binary"
	"math/bits"
)

// symbols is how many symbols a group has.
func (p *parse) symbols() int {
	if p.cacheBits > 0 {
		return cacheAt + 1<<p.cacheBits
	}
	return cacheAt
}

// prefix splits a length or distance code into a symbol and extra bits (RFC 9649, 3.6.2.2).
func prefix(v uint32) (symbol, extra uint32, n uint) {
	v--
	if v < 4 {
		return v, 0, 0
	}
	h := uint32(bits.Len32(v)) - 1
	n = uint(h - 1)
	return 2*h + v>>n&1, v & (1<<n - 1), n
}

// spans calls f for the pixels of each row that use one group, in raster order.
func (s *stream) spans(f func(lo, hi, group int)) {
	w, h, g := s.pixels.w, s.pixels.h, &s.groups
	if g.bits == 0 {
		f(0, w*h, 0)
		return
	}
	tile := 1 << g.bits
	across := (w + tile - 1) >> g.bits
	for y := range h {
		of := g.of[y>>g.bits*across:][:across]
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

// used is the number of groups up to the last that a tile uses.
func (g *groups) used() int {
	n := 0
	for _, k := range g.of {
		n = max(n, int(k))
	}
	return n + 1
}

// histograms counts the symbols of each group.
func (s *stream) histograms() [][]uint32 {
	out := make([][]uint32, max(s.groups.n, s.groups.used()))
	for k := range out {
		out[k] = make([]uint32, s.parse.symbols())
	}
	s.spans(func(lo, hi, k int) {
		h := out[k]
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
		for i := lo; i < hi; i++ {
			switch l := s.parse.length[i]; l {
			case 0:
				v := s.pixels.argb[i]
				h[alphaAt+v>>24]++
				h[redAt+v>>16&255]++
				h[blueAt+v&255]++
				h[greenAt+v>>8&255]++
			case covered:
			case cached:
				h[cacheAt+s.parse.value[i]]++
			default:
				c, _, _ := prefix(uint32(l))
				h[lengthAt+c]++
				c, _, _ = prefix(s.parse.value[i])
				h[distanceAt+c]++
			}
		}
	})
	return out
}

// write returns the VP8L bitstream (RFC 9649, 3.4 to 3.8).
func (s *stream) write() []byte {
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
			writeSub(w, t.data)
		case colourIndexing:
			w.put(uint64(t.data.w-1), 8)
			writeSub(w, differences(t.data))
		}
	}
	w.put(0, 1)
	s.writeImage(w, true)
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

// writeSub writes one of the small images that describe the main one.
func writeSub(w *bitWriter, p pixels) {
	(&stream{pixels: p}).writeImage(w, false)
}

// writeImage writes the pixels with their cache, groups and codes (RFC 9649, 3.7). Only
// the main image has groups.
func (s *stream) writeImage(w *bitWriter, main bool) {
	if s.parse.cacheBits > 0 {
		w.put(1, 1)
		w.put(uint64(s.parse.cacheBits), 4)
	} else {
		w.put(0, 1)
	}
	// Decoders read as many groups as the map names.
	n := s.groups.used()
	if main && n > 1 {
		w.put(1, 1)
		w.put(uint64(s.groups.bits-2), 3)
		across := (s.pixels.w + 1<<s.groups.bits - 1) >> s.groups.bits
		sub := pixels{across, len(s.groups.of) / across, make([]uint32, len(s.groups.of))}
		for i, g := range s.groups.of {
			sub.argb[i] = 0xff000000 | uint32(g)<<8
		}
		writeSub(w, sub)
	} else if main {
		w.put(0, 1)
	}
	codes := make([][]code, n)
	size := 0
	for k, h := range s.histograms()[:n] {
		codes[k] = make([]code, len(h))
		for _, part := range alphabets(len(h)) {
			counts := h[part[0]:part[1]]
			lengths, d := bestCode(counts)
			d.write(w)
			size += makeCodes(lengths, codes[k][part[0]:part[1]], counts)
		}
		for c, count := range h[lengthAt:cacheAt] {
			size += int(count) * max(0, c/2-1)
		}
		for c, count := range h[distanceAt:greenAt] {
			size += int(count) * max(0, c/2-1)
		}
	}
	s.writePixels(w, codes, size)
}

// alphabets are the limits of the five codes of a group of n symbols in the order in
// which they are written.
func alphabets(n int) [5][2]int {
	return [5][2]int{{greenAt, n}, {redAt, blueAt}, {blueAt, distanceAt}, {alphaAt, redAt}, {distanceAt, greenAt}}
}

// code is a symbol's code as it is put, above its length in the low 4 bits. A lone
// symbol's has no bits.
type code uint32

// makeCodes fills codes and returns the bits that counts symbols take.
func makeCodes(lengths []uint8, codes []code, counts []uint32) (size int) {
	used := 0
	for _, l := range lengths {
		if l > 0 {
			used++
		}
	}
	if used < 2 {
		return 0
	}
	for i, c := range canonical(lengths) {
		codes[i] = code(c)<<4 | code(lengths[i])
		size += int(counts[i]) * int(lengths[i])
	}
	return size
}

// writePixels writes the symbols, size bits in all.
func (s *stream) writePixels(w *bitWriter, codes [][]code, size int) {
	room, held, n := w.reserve(size)
	at := 0
	// flush leaves less than 8 bits, so that 56 more have room.
	flush := func() {
		binary.LittleEndian.PutUint64(room[at:], held)
		at += int(n >> 3)
		held >>= n &^ 7
		n &= 7
	}
	s.spans(func(lo, hi, k int) {
		t := codes[k]
		if s.parse.length == nil {
			at, held, n = writeLiterals(room, at, held, n, s.pixels.argb[lo:hi], (*[cacheAt]code)(t))
			return
		}
		for i := lo; i < hi; i++ {
			switch l := s.parse.length[i]; l {
			case 0:
				at, held, n = writeLiterals(room, at, held, n, s.pixels.argb[i:i+1], (*[cacheAt]code)(t))
			case covered:
			case cached:
				c := t[cacheAt+s.parse.value[i]]
				held |= uint64(c>>4) << n
				n += uint(c & 15)
				flush()
			default:
				symbol, extra, count := prefix(uint32(l))
				c := t[lengthAt+symbol]
				held |= (uint64(extra)<<(c&15) | uint64(c>>4)) << n // 15 + 10 bits
				n += uint(c&15) + count
				flush()
				symbol, extra, count = prefix(s.parse.value[i])
				c = t[distanceAt+symbol]
				held |= (uint64(extra)<<(c&15) | uint64(c>>4)) << n // 15 + 18 bits
				n += uint(c&15) + count
				flush()
			}
		}
	})
	w.commit(at, held, n)
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
