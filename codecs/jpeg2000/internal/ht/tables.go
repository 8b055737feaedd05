package ht

import "math/bits"

// cxtVLCRow is a row of a code table: in a context, the codeword of a quad with this
// pattern of significance, whose u is 0 or not (offset), and what is known of the
// exponents of its samples.
type cxtVLCRow struct {
	context, rho, offset, ek, e1 uint8
	codeword                     uint8 // its first bit is the lowest
	length                       uint8 // 1 to 7
}

// vlcDecode gives, at context<<7 | the next seven bits, of the table of the first row of
// quads and of that of the others
//
//	bit  15     12 11      8 7       4   3    2      0
//	    |   e_k   |   e_1   |   rho   |offset| length |
var vlcDecode = func() (t [2][1024]uint16) {
	for table, rows := range cxtVLC {
		for _, r := range rows {
			entry := uint16(r.ek)<<12 | uint16(r.e1)<<8 | uint16(r.rho)<<4 | uint16(r.offset)<<3 | uint16(r.length)
			for next := int(r.codeword); next < 128; next += 1 << r.length {
				t[table][int(r.context)<<7|next] = entry
			}
		}
	}
	return t
}()

// quadDecode is vlcDecode in the order of the words of the decoder, see quadKnown:
//
//	bit    15    14    12 11     8 7      4 3      0
//	    |offset| length  |  e_1   |  e_k   |  rho   |
var quadDecode = func() (t [2][1024]uint16) {
	for table := range t {
		for i, e := range vlcDecode[table] {
			t[table][i] = e>>4&15 | e>>12<<quadKnown | e>>8&15<<quadOnes | e&7<<12 | e>>3&1<<15
		}
	}
	return t
}()

// vlcEncode gives, at context<<8 | rho<<4 | eps, where eps are the samples whose exponent
// is U, or 0 if u is,
//
//	bit  15     12 10            4 2      0
//	    |   e_k   |   codeword    | length |
//
// Of the codewords that fit it is the one that tells most exponents, which saves most
// bits of MagSgn; of several the last of the table.
var vlcEncode = func() (t [2][2048]uint16) {
	for table, rows := range cxtVLC {
		var most [2048]int // exponents that the entry tells, and 1
		for _, r := range rows {
			n := 1 + bits.OnesCount8(r.ek)
			for eps := range uint8(16) {
				index := int(r.context)<<8 | int(r.rho)<<4 | int(eps)
				if r.offset == min(eps, 1) && eps&r.ek == r.e1 && n >= most[index] {
					most[index] = n
					t[table][index] = uint16(r.ek)<<12 | uint16(r.codeword)<<4 | uint16(r.length)
				}
			}
		}
	}
	return t
}()

// uPrefix gives for the next three bits of the VLC stream the length of the prefix of u,
// the length of its suffix, and the u to which the suffix is added (T.814, Table 3).
//
//	prefix   u
//	1        1
//	01       2
//	001      3 + 1 bit
//	000      5 + 5 bits, and from suffix 28 on 4 more
var uPrefix = [8]struct{ length, suffix, base uint8 }{
	{3, 5, 5}, {1, 0, 1}, {2, 0, 2}, {1, 0, 1}, {3, 1, 3}, {1, 0, 1}, {2, 0, 2}, {1, 0, 1},
}

// melExponent is, by the state of the adaptive run length coder MEL, log2 of the run that
// it expects (T.814, Table 2).
var melExponent = [13]uint8{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5}
