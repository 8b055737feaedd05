package decode

// lookupBits is the length of codes that one look finds.
const lookupBits = 10

// huffmanTable decodes the codes of one DHT table (T.81, F.2.2.3).
type huffmanTable struct {
	counts  [16]byte  // codes of each length, from 1 bit on
	symbols [256]byte // in the order of their codes
	n       int

	// What a scan makes of it before it uses the table.
	ready bool
	bad   bool

	// first has one entry for each value of the next lookupBits bits, 0 where the
	// code is longer:
	//
	//	bits 0 to 7    bits to drop: the code, and the number behind it if it is there too
	//	bits 8 to 15   symbol
	//	bit 16         the number is here
	//	bits 20 to 31  the number, with its sign
	//
	// With codes of 3 bits for symbol 0x02, the bits 000 10 give 0x00210205: 5
	// bits, no zeroes before it, the number 2.
	first [1 << lookupBits]int32

	limit  [18]int32 // by length: one more than the last code, left-aligned to 16 bits
	offset [17]int32 // by length: index of a symbol less its code
}

const numberHere = 1 << 16

func newHuffmanTable(counts, symbols []byte) *huffmanTable {
	t := &huffmanTable{n: len(symbols)}
	copy(t.counts[:], counts)
	copy(t.symbols[:], symbols)
	return t
}

// prepare assigns the codes (T.81, C.2). Symbols of a table for DC differences
// are lengths of up to 15 bits.
func (t *huffmanTable) prepare(dc bool) error {
	if !t.ready {
		t.ready = true
		t.bad = !t.assign()
	}
	if t.bad {
		return malformed("the codes of a Huffman table are malformed")
	}
	if dc {
		for _, v := range t.symbols[:t.n] {
			if v > 15 {
				return malformed("a Huffman table has a DC difference of %d bits", v)
			}
		}
	}
	return nil
}

func (t *huffmanTable) assign() bool {
	code, k := int32(0), 0
	for length := 1; length <= 16; length++ {
		t.offset[length] = int32(k) - code
		for range t.counts[length-1] {
			if code >= 1<<length {
				return false
			}
			if length <= lookupBits {
				t.look(code, length, t.symbols[k])
			}
			code++
			k++
		}
		// No code consists of ones only.
		if t.counts[length-1] > 0 && code >= 1<<length {
			return false
		}
		t.limit[length] = code << (16 - length)
		code <<= 1
	}
	return true
}

// look enters a code for all values of the bits behind it, and with it the
// number that it announces where that fits too.
func (t *huffmanTable) look(code int32, length int, symbol byte) {
	free := lookupBits - length
	size := int(symbol & 15)
	for rest := range int32(1) << free {
		e := int32(length) | int32(symbol)<<8
		if size > 0 && size <= free {
			v := extend(rest>>(free-size), size)
			e = int32(length+size) | int32(symbol)<<8 | numberHere | v<<20
		}
		t.first[code<<free|rest] = e
	}
}

// long decodes a code of more than lookupBits bits; 16 bits are there. It
// returns a negative number where the bits are no code.
func (t *huffmanTable) long(r *bitReader) int32 {
	bits := int32(r.acc >> 48)
	for length := lookupBits + 1; length <= 16; length++ {
		if bits < t.limit[length] {
			r.acc <<= length
			r.n -= length
			return int32(t.symbols[(bits>>(16-length)+t.offset[length])&255])
		}
	}
	return -1
}

// symbol decodes one symbol, or returns a negative number.
func (t *huffmanTable) symbol(r *bitReader) int32 {
	r.fill()
	e := t.first[r.acc>>(64-lookupBits)]
	if e == 0 {
		return t.long(r)
	}
	s := e >> 8 & 255
	n := int(e & 255)
	if e&numberHere != 0 {
		n -= int(s & 15)
	}
	r.acc <<= n
	r.n -= n
	return s
}

// standardTables sets the tables of T.81, K.3.3, where the file has none: frames
// of Motion JPEG leave them out.
func (d *decoder) standardTables() {
	for class := range 2 {
		for id := range 2 {
			if s := &standard[class][id]; d.huffman[class][id] == nil {
				d.huffman[class][id] = newHuffmanTable([]byte(s.counts), []byte(s.symbols))
			}
		}
	}
}

// standard holds tables K.3 and K.4 (DC), K.5 and K.6 (AC) of T.81.
var standard = [2][2]struct{ counts, symbols string }{
	{
		{"\x00\x01\x05\x01\x01\x01\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00", "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b"},
		{"\x00\x03\x01\x01\x01\x01\x01\x01\x01\x01\x01\x00\x00\x00\x00\x00", "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b"},
	},
	{
		{"\x00\x02\x01\x03\x03\x02\x04\x03\x05\x05\x04\x04\x00\x00\x01\x7d", "" +
			"\x01\x02\x03\x00\x04\x11\x05\x12\x21\x31\x41\x06\x13\x51\x61\x07\x22\x71\x14\x32\x81\x91\xa1\x08\x23\x42\xb1\xc1\x15\x52\xd1\xf0" +
			"\x24\x33\x62\x72\x82\x09\x0a\x16\x17\x18\x19\x1a\x25\x26\x27\x28\x29\x2a\x34\x35\x36\x37\x38\x39\x3a\x43\x44\x45\x46\x47\x48\x49" +
			"\x4a\x53\x54\x55\x56\x57\x58\x59\x5a\x63\x64\x65\x66\x67\x68\x69\x6a\x73\x74\x75\x76\x77\x78\x79\x7a\x83\x84\x85\x86\x87\x88\x89" +
			"\x8a\x92\x93\x94\x95\x96\x97\x98\x99\x9a\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xb2\xb3\xb4\xb5\xb6\xb7\xb8\xb9\xba\xc2\xc3\xc4\xc5" +
			"\xc6\xc7\xc8\xc9\xca\xd2\xd3\xd4\xd5\xd6\xd7\xd8\xd9\xda\xe1\xe2\xe3\xe4\xe5\xe6\xe7\xe8\xe9\xea\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8" +
			"\xf9\xfa"},
		{"\x00\x02\x01\x02\x04\x04\x03\x04\x07\x05\x04\x04\x00\x01\x02\x77", "" +
			"\x00\x01\x02\x03\x11\x04\x05\x21\x31\x06\x12\x41\x51\x07\x61\x71\x13\x22\x32\x81\x08\x14\x42\x91\xa1\xb1\xc1\x09\x23\x33\x52\xf0" +
			"\x15\x62\x72\xd1\x0a\x16\x24\x34\xe1\x25\xf1\x17\x18\x19\x1a\x26\x27\x28\x29\x2a\x35\x36\x37\x38\x39\x3a\x43\x44\x45\x46\x47\x48" +
			"\x49\x4a\x53\x54\x55\x56\x57\x58\x59\x5a\x63\x64\x65\x66\x67\x68\x69\x6a\x73\x74\x75\x76\x77\x78\x79\x7a\x82\x83\x84\x85\x86\x87" +
			"\x88\x89\x8a\x92\x93\x94\x95\x96\x97\x98\x99\x9a\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xb2\xb3\xb4\xb5\xb6\xb7\xb8\xb9\xba\xc2\xc3" +
			"\xc4\xc5\xc6\xc7\xc8\xc9\xca\xd2\xd3\xd4\xd5\xd6\xd7\xd8\xd9\xda\xe2\xe3\xe4\xe5\xe6\xe7\xe8\xe9\xea\xf2\xf3\xf4\xf5\xf6\xf7\xf8" +
			"\xf9\xfa"},
	},
}
