package lossless

import "math/bits"

// code is a prefix code: where its first table begins, and which bits are looked up in it. A code of one
// symbol has one entry and takes no bits.
//
// An entry has the length of its code in the lowest 5 bits and the symbol from bit 8 on; or, with longer set, in the lowest 4 bits
// how many bits the second table is looked up with, and from bit 8 on where that begins.
type code struct{ at, mask uint32 }

const (
	longer  = 1 << 7
	first   = 8 // bits of the first table, at most
	longest = 15
)

// order is the order in which the lengths of the code for lengths are stored (RFC 9649, 3.7.2.1.2).
var order = [19]byte{17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// code reads the description of a prefix code (RFC 9649, 3.7.2.1).
func (d *decoder) code(alphabet int) (code, bool) {
	if d.take(1) == 1 {
		return d.simple(alphabet)
	}
	var short [19]byte
	for _, s := range order[:4+d.take(4)] {
		short[s] = byte(d.take(3))
	}
	mark := len(d.tables)
	c, ok := d.of(short[:])
	if !ok {
		return code{}, false
	}
	most := alphabet
	var count [longest + 2]int
	n := 0
	if d.take(1) == 1 {
		wide := 2 + 2*d.take(3)
		if most = 2 + int(d.take(uint(wide))); most > alphabet {
			return code{}, false
		}
	}
	// A repetition before any length repeats 8.
	before := byte(8)
	for i := 0; i < alphabet && most > 0; most-- {
		d.refill()
		e := d.tables[c.at+uint32(d.bits)&c.mask]
		d.bits >>= e & 31
		d.count -= uint(e & 31)
		v := byte(e >> 8)
		times := 1
		switch v {
		case 16:
			v, times = before, 3+int(d.take(2))
		case 17:
			v, times = 0, 3+int(d.take(3))
		case 18:
			v, times = 0, 11+int(d.take(7))
		}
		if i+times > alphabet {
			return code{}, false
		}
		if v != 0 {
			before = v
			count[v] += times
			for j := range times {
				d.lengths[i+j] = v
				d.used[n] = uint16(i + j)
				n++
			}
		}
		i += times
	}
	d.tables = d.tables[:mark]
	return d.build(n, &count)
}

// simple reads a code of one or two symbols.
func (d *decoder) simple(alphabet int) (code, bool) {
	two, wide := d.take(1) == 1, 1+7*uint(d.take(1))
	symbols := [2]uint32{d.take(wide)}
	if two {
		symbols[1] = d.take(8)
	}
	d.largest = int(max(symbols[0], symbols[1]))
	if d.largest >= alphabet {
		return code{}, false
	}
	c := code{at: uint32(len(d.tables))}
	if !two {
		d.tables = append(d.tables, symbols[0]<<8)
		return c, len(d.tables) <= d.most
	}
	c.mask = 1
	d.tables = append(d.tables, symbols[0]<<8|1, symbols[1]<<8|1)
	return c, len(d.tables) <= d.most
}

// of is build for the given lengths, of which some may be 0.
func (d *decoder) of(lengths []byte) (code, bool) {
	var count [longest + 2]int
	n := 0
	for s, v := range lengths {
		if v > 0 {
			count[v]++
			d.lengths[s] = v
			d.used[n] = uint16(s)
			n++
		}
	}
	return d.build(n, &count)
}

// build appends the tables of a code. Its symbols are the first ones in used, in their order, and count is how many of them
// have each length. It returns false for lengths of no complete code, and where the tables would get too large.
func (d *decoder) build(symbols int, count *[longest + 2]int) (code, bool) {
	taken, most := 0, 0
	for n := 1; n <= longest; n++ {
		taken += count[n] << (longest - n)
		if count[n] > 0 {
			most = n
		}
	}
	used := d.used[:symbols]
	at := len(d.tables)
	if symbols == 1 {
		d.largest = int(used[0])
		d.tables = append(d.tables, uint32(used[0])<<8)
		return code{at: uint32(at)}, len(d.tables) <= d.most
	}
	if taken != 1<<longest {
		return code{}, false
	}
	var from [longest + 2]int
	for n := 1; n <= longest; n++ {
		from[n+1] = from[n] + count[n]
	}
	d.largest = int(used[symbols-1])
	sorted := &d.sorted
	for _, s := range used {
		n := d.lengths[s]
		sorted[from[n]] = s
		from[n]++
	}
	// Codes are stored with their first bit lowest, so that tables are indexed by the reversed code.
	wide := min(most, first)
	if at+1<<wide > d.most {
		return code{}, false
	}
	d.tables = append(d.tables, zeros[:1<<wide]...)
	table := d.tables[at:]
	word, size, i := 0, 1, 0
	for n := 1; n <= wide; n++ {
		copy(table[size:2*size], table[:size])
		size *= 2
		for range count[n] {
			table[word] = uint32(sorted[i])<<8 | uint32(n)
			i++
			word = following(word, n)
		}
	}
	prefix, start, second := -1, 0, 0
	for n := first + 1; n <= most; n++ {
		for left := count[n]; left > 0; left-- {
			if p := word & (1<<first - 1); p != prefix {
				// The second table is as wide as what is left of this length and the following ones fills.
				prefix, second = p, n-first
				for room, m := 1<<second, n; ; {
					if m == n {
						room -= left
					} else {
						room -= count[m]
					}
					if room <= 0 || m == most {
						break
					}
					m++
					second++
					room *= 2
				}
				start = len(d.tables)
				if start+1<<second > d.most {
					return code{}, false
				}
				d.tables = append(d.tables, zeros[:1<<second]...)
				d.tables[at+p] = uint32(start)<<8 | longer | uint32(second)
			}
			for j := word >> first; j < 1<<second; j += 1 << (n - first) {
				d.tables[start+j] = uint32(sorted[i])<<8 | uint32(n)
			}
			i++
			word = following(word, n)
		}
	}
	return code{at: uint32(at), mask: 1<<wide - 1}, true
}

// mostSymbols is the size of the largest alphabet.
const mostSymbols = literals + lengths + 1<<11

var zeros [1 << first]uint32

// following is the code behind a reversed code of n bits. Behind the last one it is 0.
func following(word, n int) int {
	free := word ^ (1<<n - 1)
	if free == 0 {
		return 0
	}
	bit := 1 << (bits.Len(uint(free)) - 1)
	return word&(bit-1) | bit
}
