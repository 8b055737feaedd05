package ht

// uCode is, by u, its code: the bits of prefix and suffix and their lengths (T.814, Table
// 3). A magnitude below 2^31 has u below 33, which needs no extension.
var uCode = func() (t [33]struct{ prefix, prefixLength, suffix, suffixLength uint8 }) {
	for u := 1; u < len(t); u++ {
		switch c := &t[u]; {
		case u == 1:
			c.prefix, c.prefixLength = 1, 1
		case u == 2:
			c.prefix, c.prefixLength = 2, 2
		case u <= 4:
			c.prefix, c.prefixLength, c.suffix, c.suffixLength = 4, 3, uint8(u-3), 1
		default:
			c.prefixLength, c.suffix, c.suffixLength = 3, uint8(u-5), 5
		}
	}
	return t
}()

// pairCode is the code of two u: both prefixes, then both suffixes.
type pairCode struct {
	bits   uint16
	length uint8
}

var pairCodes = func() (t [33][33]pairCode) {
	for a := range t {
		for b := range t {
			t[a][b] = makePairCode(uint32(a), uint32(b))
		}
	}
	return t
}()

func makePairCode(u0, u1 uint32) pairCode {
	a, b := uCode[u0], uCode[u1]
	bits, length := uint32(a.prefix), a.prefixLength
	bits |= uint32(b.prefix) << length
	length += b.prefixLength
	bits |= uint32(a.suffix) << length
	length += a.suffixLength
	bits |= uint32(b.suffix) << length
	return pairCode{uint16(bits), length + b.suffixLength}
}

// firstRow codes patterns and u of the first row of quads, and puts e_k into their words.
func (e *encoder) firstRow(row []uint32) {
	left := uint32(0)
	for q := 0; q < len(row); q += 2 {
		word := row[q]
		context := left>>1 | left&1
		left = word & 15
		if context == 0 {
			e.mel.event(left != 0)
		}
		code := codeword(&vlcEncode[0], context, word)
		bits, length := uint64(code>>4&127), uint(code&7)
		row[q] |= code >> 12 << rowKnown
		u0, u1 := word>>rowExtra, uint32(0)
		if q+1 < len(row) {
			word = row[q+1]
			context = left>>1 | left&1
			left = word & 15
			if context == 0 {
				e.mel.event(left != 0)
			}
			code = codeword(&vlcEncode[0], context, word)
			bits |= uint64(code>>4&127) << length
			length += uint(code & 7)
			row[q+1] |= code >> 12 << rowKnown
			u1 = word >> rowExtra
		}
		pair := e.firstPair(u0, u1)
		e.putVLC(bits|uint64(pair.bits)<<length, length+uint(pair.length))
	}
}

// firstPair is the code of the u of a pair in the first row of quads. If both are there, an
// event says whether both are above 2.
func (e *encoder) firstPair(u0, u1 uint32) pairCode {
	if u0 == 0 || u1 == 0 {
		return pairCodes[u0][u1]
	}
	large := min(u0, u1) > 2
	e.mel.event(large)
	if large {
		return pairCodes[u0-2][u1-2]
	}
	if u0 <= 2 {
		return pairCodes[u0][u1]
	}
	// The second is 1 or 2: one bit, in the place of its prefix.
	a := uCode[u0]
	bits := uint16(a.prefix) | uint16(u1-1)<<a.prefixLength | uint16(a.suffix)<<(a.prefixLength+1)
	return pairCode{bits, a.prefixLength + 1 + a.suffixLength}
}

// nextRow codes patterns and u of a further row of quads. above holds the row above, with
// one quad more at each side.
func (e *encoder) nextRow(row, above []uint32) {
	above = above[:len(row)+2]
	left := uint32(0)
	for q := 0; q < len(row); q += 2 {
		word, n := row[q], above[q+1]
		context := (above[q]>>3|n>>1)&1 | (left>>2|left>>3)&1<<1 | (n>>3|above[q+2]>>1)&1<<2
		left = word & 15
		if context == 0 {
			e.mel.event(left != 0)
		}
		code := codeword(&vlcEncode[1], context, word)
		bits, length := uint64(code>>4&127), uint(code&7)
		row[q] |= code >> 12 << rowKnown
		u0, u1 := word>>rowExtra, uint32(0)
		if q+1 < len(row) {
			word = row[q+1]
			context = (n>>3|above[q+2]>>1)&1 | (left>>2|left>>3)&1<<1 | (above[q+2]>>3|above[q+3]>>1)&1<<2
			left = word & 15
			if context == 0 {
				e.mel.event(left != 0)
			}
			code = codeword(&vlcEncode[1], context, word)
			bits |= uint64(code>>4&127) << length
			length += uint(code & 7)
			row[q+1] |= code >> 12 << rowKnown
			u1 = word >> rowExtra
		}
		pair := pairCodes[u0][u1]
		e.putVLC(bits|uint64(pair.bits)<<length, length+uint(pair.length))
	}
}

// codeword is the entry of a quad in a table. An insignificant quad without context has
// none: its event says all.
func codeword(table *[2048]uint16, context, word uint32) uint32 {
	return uint32(table[(context<<8|word&15<<4|word>>rowEps&15)&2047])
}
