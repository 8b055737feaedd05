package ht

import "encoding/binary"

// A quad as its row's first pass leaves it is a word
//
//	bit  31     16 11     8 7      4 3      0
//	    |    u    |  e_1   |  e_k   |  rho   |
//
// The second pass puts U in place of u.
const (
	quadKnown = 4 // position of e_k
	quadOnes  = 8 // of e_1
	quadU     = 16
)

// uPair decodes the u of a pair of quads. A mode says for which of the two u is coded
// and, where for both, how; the index is mode<<6 | the next six bits.
//
//	bit  23  20 19  16 15  12 11      8 7      4 3      0
//	    | u1   | u0   |      | suffix0 | suffix | prefix |
//
// prefix and suffix are the bits of both, suffix0 those of the first's suffix; u0 and u1
// are what the suffixes are added to. Two more modes spare a check.
var uPair = func() (t [8 << 6]uint32) {
	for mode := range uint32(6) {
		for next := range uint32(64) {
			var prefix, suffix, suffix0, u0, u1 uint32
			if mode != modeSecond && mode != modeNone {
				p := uPrefix[next&7]
				prefix, suffix0, u0 = uint32(p.length), uint32(p.suffix), uint32(p.base)
				suffix = suffix0
			}
			switch {
			case mode == modeNone || mode == modeFirst:
			case mode == modeBothSmall && u0 > 2:
				u1 = next>>prefix&1 + 1
				prefix++
			default:
				p := uPrefix[next>>prefix&7]
				prefix, suffix, u1 = prefix+uint32(p.length), suffix+uint32(p.suffix), uint32(p.base)
			}
			if mode == modeBothLarge {
				u0, u1 = u0+2, u1+2
			}
			t[mode<<6|next] = u1<<20 | u0<<16 | suffix0<<8 | suffix<<4 | prefix
		}
	}
	return t
}()

// The modes of uPair. In the first row of quads a pair with two u has an event that says
// whether both are above 2.
const (
	modeNone = iota
	modeFirst
	modeSecond
	modeBoth
	modeBothSmall
	modeBothLarge
)

// extendedU is the least sum of base and suffix that has an extension, less 5 of its base.
const extendedU = 28

// uValues decodes u of both quads at the front of w, 34 bits of the VLC stream, and returns how many bits it took.
func uValues(mode uint32, w uint64) (u0, u1 uint32, used uint) {
	e := uPair[(mode<<6|uint32(w)&63)&511]
	prefix, suffix, suffix0 := uint(e&15), uint(e>>4&15), uint(e>>8&15)
	w >>= prefix
	used = prefix + suffix
	s0 := uint32(w) & (1<<suffix0 - 1)
	s1 := uint32(w>>suffix0) & (1<<(suffix-suffix0) - 1)
	u0, u1 = e>>16&15+s0, e>>20&15+s1
	if max(s0, s1) >= extendedU {
		more0, more1, more := extensions(s0, s1, w>>suffix)
		return u0 + more0, u1 + more1, used + more
	}
	return u0, u1, used
}

// extensions decodes what the extensions at the front of w add to u of both quads.
func extensions(s0, s1 uint32, w uint64) (more0, more1 uint32, used uint) {
	if s0 >= extendedU {
		more0 = uint32(w&15) << 2
		w >>= 4
		used = 4
	}
	if s1 >= extendedU {
		more1 = uint32(w&15) << 2
		used += 4
	}
	return more0, more1, used
}

// vlcBits is at least 57 bits of the VLC stream from bit at.
func (d *decoder) vlcBits(at uint) uint64 {
	return binary.LittleEndian.Uint64(d.vlc[at>>3:]) >> (at & 7)
}

// firstRow decodes patterns and u of the first row of quads (T.814, 7.3.5 and 7.3.6).
func (d *decoder) firstRow(row []uint32) {
	at := d.at
	left := uint32(0)
	for q := 0; q < len(row); q += 2 {
		w := d.vlcBits(at)
		context := left>>1&7 | left&1
		t0, t1 := uint32(quadDecode[0][context<<7|uint32(w&127)]), uint32(0)
		if context == 0 && !d.mel.event() {
			t0 = 0
		}
		at += uint(t0 >> 12 & 7)
		w >>= t0 >> 12 & 7
		left = t0 & 15
		if q+1 < len(row) {
			context = left>>1 | left&1
			t1 = uint32(quadDecode[0][context<<7|uint32(w&127)])
			if context == 0 && !d.mel.event() {
				t1 = 0
			}
			at += uint(t1 >> 12 & 7)
			left = t1 & 15
		}
		mode := t0>>15 | t1>>15<<1
		if mode == modeBoth {
			mode = modeBothSmall
			if d.mel.event() {
				mode = modeBothLarge
			}
		}
		u0, u1, used := uValues(mode, d.vlcBits(at))
		at += used
		row[q] = quadWord(t0, u0)
		if q+1 < len(row) {
			row[q+1] = quadWord(t1, u1)
		}
	}
	d.at = at
}

// nextRow decodes patterns and u of a further row of quads. above holds the row above,
// with one quad more at each side. All that is read of a pair lies in one word of the stream.
func (d *decoder) nextRow(row, above []uint32) {
	at := d.at
	above = above[:len(row)+3]
	table := &quadDecode[1]
	left := uint32(0)
	west, north := above[0], above[1]
	for q := 0; q < len(row); q += 2 {
		w := d.vlcBits(at)
		east, far := above[q+2], above[q+3]
		context := (west>>3|north>>1)&1 | (left>>2|left>>3)&1<<1 | (north>>3|east>>1)&1<<2
		t0, t1 := uint32(table[(context<<7|uint32(w&127))&1023]), uint32(0)
		if context == 0 && d.mel.zero() {
			t0 = 0
		}
		length := uint(t0 >> 12 & 7)
		w >>= length
		left = t0 & 15
		if q+1 < len(row) {
			context = (north>>3|east>>1)&1 | (left>>2|left>>3)&1<<1 | (east>>3|far>>1)&1<<2
			t1 = uint32(table[(context<<7|uint32(w&127))&1023])
			if context == 0 && d.mel.zero() {
				t1 = 0
			}
			w >>= t1 >> 12 & 7
			length += uint(t1 >> 12 & 7)
			left = t1 & 15
		}
		u0, u1 := uint32(0), uint32(0)
		if mode := t0>>15 | t1>>15<<1; mode != modeNone {
			// This is uValues, which the compiler does not inline.
			e := uPair[(mode<<6|uint32(w)&63)&511]
			prefix, suffix, suffix0 := uint(e&15), uint(e>>4&15), uint(e>>8&15)
			w >>= prefix
			length += prefix + suffix
			s0 := uint32(w) & (1<<suffix0 - 1)
			s1 := uint32(w>>suffix0) & (1<<(suffix-suffix0) - 1)
			u0, u1 = e>>16&15+s0, e>>20&15+s1
			if max(s0, s1) >= extendedU {
				more0, more1, more := extensions(s0, s1, w>>suffix)
				u0, u1, length = u0+more0, u1+more1, length+more
			}
		}
		at += length
		west, north = east, far
		row[q] = quadWord(t0, u0)
		if q+1 < len(row) {
			row[q+1] = quadWord(t1, u1)
		}
	}
	d.at = at
}

// quadWord makes the word of a quad of an entry of quadDecode and u.
func quadWord(t, u uint32) uint32 { return t&0xfff | u<<quadU }
