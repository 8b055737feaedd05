package jpegdata

// lookupBits are found in one step; longer codes in a second.
const lookupBits = 11

// decoder decodes one Huffman table.
type decoder struct {
	lookup [1 << lookupBits]lookup
	limit  [18]int32 // one more than the last code of a length, in 16 bits; rises
	base   [17]int32 // place in symbols of a code of a length, less the code
	values []uint16
}

// lookup is what the next bits tell, from the lowest bit: the symbol in 8 bits, the length
// of its code in 5, and where the bits of its number are among them too, their length with
// the code's in 5 bits, and the number. 0: the code is longer, or there is none.
type lookup int32

func (l lookup) symbol() int   { return int(l & 0xff) }
func (l lookup) length() int   { return int(l >> 8 & 31) }
func (l lookup) complete() int { return int(l >> 13 & 31) } // length with the number; 0: it is not there
func (l lookup) number() int16 { return int16(l >> 18) }

// newDecoder builds the decoder. The sentinel is no code of its own: it is met only where
// the file uses the code of all ones, which stands for nothing.
func newDecoder(t *HuffmanTable) *decoder {
	d := &decoder{values: t.Symbols}
	code, at := int32(0), int32(0)
	for n := 1; n <= 16; n++ {
		d.base[n] = at - code
		for range t.Counts[n] {
			if n <= lookupBits && int(at) < len(t.Symbols) && t.Symbols[at] != sentinel {
				d.fill(int(code), n, int(t.Symbols[at]))
			}
			code++
			at++
		}
		d.limit[n] = code << (16 - n)
		code <<= 1
	}
	return d
}

// fill enters a code of n bits.
func (d *decoder) fill(code, n, symbol int) {
	free := lookupBits - n
	s := symbol & 15
	e := lookup(symbol | n<<8)
	for i := range 1 << free {
		at := code<<free + i
		if at >= len(d.lookup) {
			return
		}
		d.lookup[at] = e
		if s > 0 && s <= free {
			v := i >> (free - s)
			if v < 1<<(s-1) {
				v += -1<<s + 1
			}
			d.lookup[at] = e | lookup((n+s)<<13|v<<18)
		}
	}
}

// long finds a code that the lookup does not have in the next 16 bits. Length 0: there is
// none.
func (d *decoder) long(next uint32) (symbol uint16, length uint) {
	for n := 1; n <= 16; n++ {
		if int32(next) < d.limit[n] {
			at := int32(next>>(16-n)) + d.base[n]
			if at < 0 || int(at) >= len(d.values) || d.values[at] == sentinel {
				return 0, 0
			}
			return d.values[at], uint(n)
		}
	}
	return 0, 0
}

// encoder holds the code of each symbol: code<<8 | length; 0: none.
type encoder [256]uint32

func newEncoder(t *HuffmanTable) *encoder {
	e := &encoder{}
	code, at := uint32(0), 0
	for n := 1; n <= 16; n++ {
		for range t.Counts[n] {
			if at < len(t.Symbols) && t.Symbols[at] < 256 {
				e[t.Symbols[at]] = code<<8 | uint32(n)
			}
			code++
			at++
		}
		code <<= 1
	}
	return e
}
