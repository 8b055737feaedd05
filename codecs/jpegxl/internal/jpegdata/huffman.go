package jpegdata

// lookupBits are found in one step; longer codes in a second.
const lookupBits = 11

// decoder decodes one Huffman table.
type decoder struct {
	lookup [1 << lookupBits]uint16 // length<<8 | symbol; 0: a longer code, or none
	limit  [18]int32               // one more than the last code of a length, in 16 bits; rises
	base   [17]int32               // place in symbols of a code of a length, less the code
	values []uint16
}

// newDecoder builds the decoder. The sentinel is no code of its own: it is met only where
// the file uses the code of all ones, which stands for nothing.
func newDecoder(t *HuffmanTable) *decoder {
	d := &decoder{values: t.Symbols}
	code, at := int32(0), int32(0)
	for n := 1; n <= 16; n++ {
		d.base[n] = at - code
		for range t.Counts[n] {
			if n <= lookupBits && int(at) < len(t.Symbols) && t.Symbols[at] != sentinel {
				first := code << (lookupBits - n)
				for i := first; i < first+1<<(lookupBits-n) && i < 1<<lookupBits; i++ {
					d.lookup[i] = uint16(n)<<8 | t.Symbols[at]
				}
			}
			code++
			at++
		}
		d.limit[n] = code << (16 - n)
		code <<= 1
	}
	return d
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
