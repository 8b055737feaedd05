package vq

import "math/bits"

// indexWidth is the width in bits of an index of the plain table: what the greatest
// index needs, none for a single codeword.
func indexWidth(n int) int { return bits.Len(uint(n - 1)) }

// rawSize is the size in bytes of the plain index table of one plane.
func rawSize(g grid, n int) int64 {
	return (int64(g.blocks())*int64(indexWidth(n)) + 7) / 8
}

// appendRaw writes indices of indexWidth bits each, the most significant bit first,
// filled up with zeros to a whole byte.
func appendRaw(out []byte, table []uint16, n int) []byte {
	width := indexWidth(n)
	var acc uint32
	have := 0
	for _, x := range table {
		acc = acc<<width | uint32(x)
		for have += width; have >= 8; have -= 8 {
			out = append(out, byte(acc>>(have-8)))
		}
	}
	if have > 0 {
		out = append(out, byte(acc<<(8-have)))
	}
	return out
}

// readRaw is the inverse of appendRaw for an input of rawSize bytes. It reports
// whether all indices are below n and the filling is zero.
func readRaw(in []byte, table []uint16, n int) bool {
	width := indexWidth(n)
	var acc uint32
	have, at := 0, 0
	for i := range table {
		for have < width {
			acc = acc<<8 | uint32(in[at])
			at++
			have += 8
		}
		have -= width
		x := acc >> have & (1<<width - 1)
		if int(x) >= n {
			return false
		}
		table[i] = uint16(x)
	}
	return acc&(1<<have-1) == 0
}
