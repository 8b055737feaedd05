package entropy

import (
	"slices"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
)

// prefixTable decodes one prefix code. Codes of up to fastBits bits are found by the
// next bits; longer ones by their place among the codes of their length.
type prefixTable struct {
	fast   []prefixEntry // 2^fastBits; nil: one symbol of no bits
	only   uint16
	first  [maxPrefix + 2]uint32 // first code of a length, as a number of that many bits
	start  [maxPrefix + 2]int    // its place in sorted
	sorted []uint16              // symbols by length and value
}

type prefixEntry struct {
	symbol uint16
	bits   uint8 // 0: the code is longer
}

const fastBits = 9

func (t *prefixTable) read(r *bits.Reader) uint32 {
	if t.fast == nil {
		return uint32(t.only)
	}
	r.Fill()
	e := t.fast[r.Peek(fastBits)]
	if e.bits > 0 {
		r.Skip(uint(e.bits))
		return uint32(e.symbol)
	}
	code := uint32(0)
	for n := 1; n <= maxPrefix; n++ {
		code = code<<1 | r.Peek(uint(n))>>(n-1)
		if count := t.start[n+1] - t.start[n]; code-t.first[n] < uint32(count) {
			r.Skip(uint(n))
			return uint32(t.sorted[t.start[n]+int(code-t.first[n])])
		}
	}
	return 0 // the code is complete: never
}

// newPrefixTable builds a table from the length of each symbol's code; a complete code,
// or one symbol.
func newPrefixTable(lengths []uint8) (*prefixTable, error) {
	t := &prefixTable{}
	var count [maxPrefix + 2]int
	space := 0
	for s, n := range lengths {
		if n > 0 {
			count[n]++
			space += 1 << (maxPrefix - n)
			t.only = uint16(s)
		}
	}
	if used := len(lengths) - zeros(lengths); used == 1 {
		return t, nil
	}
	if space != 1<<maxPrefix {
		return nil, malformed("a prefix code is not complete")
	}
	t.fast = make([]prefixEntry, 1<<fastBits)
	code, at := uint32(0), 0
	for n := 1; n <= maxPrefix; n++ {
		code <<= 1
		t.first[n], t.start[n] = code, at
		for s, l := range lengths {
			if int(l) != n {
				continue
			}
			t.sorted = append(t.sorted, uint16(s))
			if n <= fastBits {
				for i := int(reverse(code, n)); i < 1<<fastBits; i += 1 << n {
					t.fast[i] = prefixEntry{uint16(s), uint8(n)}
				}
			}
			code++
		}
		at += count[n]
	}
	t.start[maxPrefix+1] = at
	return t, nil
}

func zeros(lengths []uint8) int {
	n := 0
	for _, l := range lengths {
		if l == 0 {
			n++
		}
	}
	return n
}

// reverse turns the n bits of a code around: it is read from its highest bit.
func reverse(code uint32, n int) uint32 {
	r := uint32(0)
	for range n {
		r = r<<1 | code&1
		code >>= 1
	}
	return r
}

// readPrefix reads a prefix code for an alphabet (RFC 7932, 3.4 and 3.5).
func readPrefix(r *bits.Reader, alphabet int) (*prefixTable, error) {
	if alphabet == 1 {
		return &prefixTable{}, nil
	}
	skip := int(r.Read(2))
	if skip == 1 {
		return readSimplePrefix(r, alphabet)
	}
	lengths, err := readLengthCode(r, skip)
	if err != nil {
		return nil, err
	}
	return readLengths(r, lengths, alphabet)
}

func readSimplePrefix(r *bits.Reader, alphabet int) (*prefixTable, error) {
	n := int(r.Read(2)) + 1
	symbols := make([]int, n)
	for i := range symbols {
		symbols[i] = int(r.Read(bitsOf(alphabet - 1)))
		if symbols[i] >= alphabet || slices.Contains(symbols[:i], symbols[i]) {
			return nil, malformed("a prefix code names the symbol %d of %d", symbols[i], alphabet)
		}
	}
	shape := [][]uint8{{1}, {1, 1}, {1, 2, 2}, {2, 2, 2, 2}}[n-1]
	if n == 4 && r.Bool() {
		shape = []uint8{1, 2, 3, 3}
	}
	lengths := make([]uint8, alphabet)
	for i, s := range symbols {
		lengths[s] = shape[i]
	}
	return newPrefixTable(lengths)
}

// readLengthCode reads the code of the code lengths (RFC 7932, 3.5).
func readLengthCode(r *bits.Reader, skip int) (*prefixTable, error) {
	order := [18]int{1, 2, 3, 4, 0, 5, 17, 6, 16, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	fixed := [16][2]uint8{{2, 0}, {2, 4}, {2, 3}, {3, 2}, {2, 0}, {2, 4}, {2, 3}, {4, 1}, {2, 0}, {2, 4}, {2, 3}, {3, 2}, {2, 0}, {2, 4}, {2, 3}, {4, 5}}
	lengths := make([]uint8, 18)
	space, codes := 32, 0
	for _, s := range order[skip:] {
		if space <= 0 {
			break
		}
		r.Fill()
		c := fixed[r.Peek(4)]
		r.Skip(uint(c[0]))
		if lengths[s] = c[1]; c[1] > 0 {
			space -= 32 >> c[1]
			codes++
		}
	}
	if codes != 1 && space != 0 {
		return nil, malformed("the code of code lengths is not complete")
	}
	return newPrefixTable(lengths)
}

func readLengths(r *bits.Reader, code *prefixTable, alphabet int) (*prefixTable, error) {
	lengths := make([]uint8, alphabet)
	at, space := 0, 1<<maxPrefix
	before, repeated, repeat := uint8(8), uint8(0), 0
	for at < alphabet && space > 0 {
		l := code.read(r)
		if l < 16 {
			repeat = 0
			lengths[at] = uint8(l)
			at++
			if l > 0 {
				before = uint8(l)
				space -= 1 << (maxPrefix - l)
			}
			continue
		}
		extra, value := uint(2), before
		if l == 17 {
			extra, value = 3, 0
		}
		if repeated != value {
			repeat, repeated = 0, value
		}
		old := repeat
		if repeat > 0 {
			repeat = (repeat - 2) << extra
		}
		repeat += int(r.Read(extra)) + 3
		if at+repeat-old > alphabet {
			return nil, malformed("a prefix code has more lengths than symbols")
		}
		for range repeat - old {
			lengths[at] = value
			at++
		}
		if value > 0 {
			space -= (repeat - old) << (maxPrefix - value)
		}
	}
	if space != 0 {
		return nil, malformed("a prefix code is not complete")
	}
	return newPrefixTable(lengths)
}
