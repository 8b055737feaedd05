package tile

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/model"
)

// States of a lane lie from least on; at the beginning of encoding and at the end of
// decoding they are least.
const least = 1 << 16

// encodeEntry is a token of a table for the encoder.
type encodeEntry struct {
	inverse uint64 // 2^46 / frequency, rounded up: exact for states below limit
	limit   uint32 // states from here on give a word away first: frequency << 18
	start   uint16
	rest    uint16 // 2^14 - frequency
}

// decodeTables are all tables of a set for the decoder.
type decodeTables struct {
	// For each part of 2^bucketBits slots of a table its first token, and in the upper byte the slot of the part where the next
	// token begins, 2^bucketBits if none does. The last is not used: kernels read two at a time.
	buckets [constants.TableCount*bucketCount + 1]uint16
	ranges  [constants.TableCount * constants.Tokens]slotRange
}

// slotRange is the part of 2^14 that a token has.
type slotRange struct{ start, frequency uint16 }

const (
	bucketBits  = 6
	bucketCount = 1 << (constants.Bits - bucketBits)
)

// encodeTables are all tables of a set for the encoder: entries for Go, and ranges for the kernel.
type encodeTables struct {
	entries [constants.TableCount * constants.Tokens]encodeEntry
	ranges  [constants.TableCount * constants.Tokens]slotRange
}

// Tables are those of a set as the coder takes them. They are made when they are first needed.
type Tables struct {
	Set    *constants.Set
	encode func() *encodeTables
	decode func() *decodeTables
}

// NewTables prepares the tables of a set.
func NewTables(s *constants.Set) *Tables {
	return &Tables{Set: s,
		encode: sync.OnceValue(func() *encodeTables { return newEncodeTables(s) }),
		decode: sync.OnceValue(func() *decodeTables { return newDecodeTables(s) }),
	}
}

func newEncodeTables(s *constants.Set) *encodeTables {
	out := new(encodeTables)
	for i := range s.Tables {
		start := uint16(0)
		for t, f := range s.Tables[i] {
			out.ranges[i*constants.Tokens+t] = slotRange{start, f}
			out.entries[i*constants.Tokens+t] = encodeEntry{(1<<46 + uint64(f) - 1) / uint64(f), uint32(f) << 18, start, 1<<constants.Bits - f}
			start += f
		}
	}
	return out
}

func newDecodeTables(s *constants.Set) *decodeTables {
	out := new(decodeTables)
	for i := range s.Tables {
		start, bucket := 0, 0
		for t, f := range s.Tables[i] {
			out.ranges[i*constants.Tokens+t] = slotRange{uint16(start), f}
			start += int(f)
			for ; bucket < bucketCount && bucket<<bucketBits < start; bucket++ {
				next := min(start-bucket<<bucketBits, 1<<bucketBits)
				out.buckets[i*bucketCount+bucket] = uint16(t | next<<8)
			}
		}
	}
	return out
}

// formatTables are those of the format's sets.
var formatTables = sync.OnceValue(func() (t [2][constants.Variants]*Tables) {
	for i := range constants.Variants {
		t[0][i] = NewTables(constants.Format(i, false))
		t[1][i] = NewTables(constants.Format(i, true))
	}
	return t
})

// FormatTables are those of set n of the format.
func FormatTables(n int, fast bool) *Tables {
	kind := 0
	if fast {
		kind = 1
	}
	return formatTables()[kind][n]
}

// maxLanes is the most that the format allows.
const maxLanes = 32

// encoder writes words from the end of its buffer backwards.
type encoder struct {
	states [maxLanes]uint32
	words  []uint16
	at     int
}

func (e *encoder) start(words []uint16) {
	for i := range e.states {
		e.states[i] = least
	}
	e.words, e.at = words, len(words)
}

// encodeCall is what the kernel of the encoder takes. Its layout is that of vector_amd64.s.
type encodeCall struct {
	entries, raw *uint32
	rawBits      *uint8
	ranges       *slotRange
	states       *uint32
	words        *uint16 // where the next word is written
	n, lanes     uint64
	anyRawBits   uint64 // not 0 if there are raw bits
}

// tops[m] puts the lanes of m in the last places of eight, in their order.
var tops = func() (r [256][vectorLanes]uint8) {
	for m := range r {
		at := vectorLanes - bits.OnesCount(uint(m))
		for i := range uint8(vectorLanes) {
			if m>>i&1 != 0 {
				r[m][at] = i
				at++
			}
		}
	}
	return r
}()

// The kernels take so many lanes and raw bits of a symbol at most.
const (
	vectorLanes   = 8
	vectorRawBits = 15
)

// half codes the symbols of a half row that begin at from, the last step first.
func (e *encoder) half(s *symbols, from int, h halfSymbols, lanes int, table *encodeTables) {
	if !hasVectors || lanes > vectorLanes || h.rawBits > vectorRawBits || h.count == 0 {
		e.halfGo(s, from, h, lanes, table)
		return
	}
	first := &e.words[e.at-1]
	c := encodeCall{
		entries: &s.entries[from], raw: &s.raw[from], rawBits: &s.rawBits[from], ranges: &table.ranges[0],
		states: &e.states[0], words: first, n: uint64(h.count), lanes: uint64(lanes), anyRawBits: uint64(h.rawBits),
	}
	encodeAVX2(&c)
	e.at -= int(uintptr(unsafe.Pointer(first))-uintptr(unsafe.Pointer(c.words))) / 2
}

func (e *encoder) halfGo(s *symbols, from int, h halfSymbols, lanes int, table *encodeTables) {
	for end := h.count; end > 0; {
		n := (end-1)%lanes + 1
		end -= n
		at := from + end
		if h.rawBits != 0 {
			e.raw(s.raw[at:at+n], s.rawBits[at:at+n], 1)
			e.raw(s.raw[at:at+n], s.rawBits[at:at+n], 0)
		}
		for i := n - 1; i >= 0; i-- {
			t := &table.entries[s.entries[at+i]]
			x := e.states[i]
			if x >= t.limit {
				e.at--
				e.words[e.at] = uint16(x)
				x >>= 16
			}
			q := uint32(uint64(x) * t.inverse >> 46)
			e.states[i] = x + uint32(t.start) + q*uint32(t.rest)
		}
	}
}

// raw codes one of the two parts of raw bits: the lower 16, or those above.
func (e *encoder) raw(raw []uint32, rawBits []uint8, part int) {
	for i := len(raw) - 1; i >= 0; i-- {
		n := int(rawBits[i]) - 16*part
		if n <= 0 {
			continue
		}
		n = min(n, 16)
		v := raw[i] >> (16 * part) & (1<<n - 1)
		x := e.states[i]
		if uint64(x) >= 1<<(32-n) {
			e.at--
			e.words[e.at] = uint16(x)
			x >>= 16
		}
		e.states[i] = x<<n | v
	}
}

// decoder reads the words of a body.
type decoder struct {
	states [maxLanes]uint32
	words  []uint16 // behind them, as far as their capacity, zeros
	at     int
}

// start reads the states. Words are missing if it returns false.
func (d *decoder) start(words []uint16, lanes int) bool {
	if len(words) < 2*lanes {
		return false
	}
	for i := range lanes {
		d.states[i] = uint32(words[2*i]) | uint32(words[2*i+1])<<16
	}
	d.words, d.at = words, 2*lanes
	return true
}

// next is the next word, 0 after the last.
func (d *decoder) next() uint32 {
	v := uint32(0)
	if d.at < len(d.words) {
		v = uint32(d.words[d.at])
	}
	d.at++
	return v
}

// whole reports whether the body ended as it should.
func (d *decoder) whole(lanes int) bool {
	for _, x := range d.states[:lanes] {
		if x != least {
			return false
		}
	}
	return d.at == len(d.words)
}

// decodeCall is what the kernel of the decoder takes. Its layout is that of vector_amd64.s.
type decodeCall struct {
	out, fractions, contexts *int32
	buckets                  *uint16
	ranges                   *slotRange
	states                   *uint32
	words                    *uint16 // the next
	n                        uint64
	offset                   int32
	lanes                    uint32
}

// ranks[m][i] is how many bits of m below bit i are set: which of the next words lane i takes if the lanes of m take one each.
var ranks = func() (r [256][vectorLanes]uint8) {
	for m := range r {
		for i := range r[m] {
			r[m][i] = uint8(bits.OnesCount(uint(m) & (1<<i - 1)))
		}
	}
	return r
}()

// wordsAfter is how many words behind the next one a half row may read: three for each coefficient, and what the kernel
// reads at once.
func wordsAfter(n int) int { return 3*n + vectorLanes }

// half decodes the residuals of a half row of n coefficients. Up to [model.Beyond] more are written.
func (d *decoder) half(out []int32, n int, fractions, contexts []int32, offset int32, lanes int, tables *decodeTables) {
	if !hasVectors || lanes > vectorLanes || lanes < vectorLanes/2 || n == 0 || d.at+wordsAfter(n) > cap(d.words) {
		d.halfGo(out[:n], fractions, contexts, offset, lanes, tables)
		return
	}
	first := &d.words[:cap(d.words)][d.at]
	c := decodeCall{
		out: &out[0], fractions: &fractions[0], contexts: &contexts[0],
		buckets: &tables.buckets[0], ranges: &tables.ranges[0],
		states: &d.states[0], words: first, n: uint64(n), offset: offset, lanes: uint32(lanes),
	}
	decodeAVX2(&c)
	d.at += int(uintptr(unsafe.Pointer(c.words))-uintptr(unsafe.Pointer(first))) / 2
}

func (d *decoder) halfGo(out, fractions, contexts []int32, offset int32, lanes int, tables *decodeTables) {
	var tokens [maxLanes]uint8
	for first := 0; first < len(out); first += lanes {
		n := min(lanes, len(out)-first)
		bits := 0
		for i := range n {
			x := d.states[i]
			slot := uint16(x & (1<<constants.Bits - 1))
			q, f := model.WithOffset(contexts[first+i], offset), fractions[first+i]
			contexts[first+i] = q
			if q >= constants.Contexts {
				q = 40 + q&3
				bits = 1
			}
			table := int(min(max(f, -f)>>9, 3)*constants.Contexts + q)
			token := uint8(tables.buckets[table*bucketCount+int(slot>>bucketBits)])
			ranges := tables.ranges[table*constants.Tokens:][:constants.Tokens]
			r := ranges[token]
			for slot-r.start >= r.frequency {
				token++
				r = ranges[token]
			}
			x = uint32(r.frequency)*(x>>constants.Bits) + uint32(slot-r.start)
			if x < least {
				x = x<<16 | d.next()
			}
			d.states[i] = x
			tokens[i] = token
			if token > lastDirect {
				bits = 1
			}
		}
		if bits == 0 {
			for i := range n {
				// Even tokens are negative.
				m, sign := int32(tokens[i]+1)>>1, int32(tokens[i]&1)-1
				if fractions[first+i] < 0 {
					sign = ^sign
				}
				out[first+i] = m ^ sign - sign
			}
			continue
		}
		d.rawHalf(out[first:first+n], fractions[first:], contexts[first:], tokens[:n])
	}
}

// lastDirect is the last token without raw bits of its own.
const lastDirect = 2 * 15

// rawHalf is the rest of a step of which some have raw bits.
func (d *decoder) rawHalf(out, fractions, contexts []int32, tokens []uint8) {
	var raw [maxLanes]uint32
	for part := range 2 {
		for i, t := range tokens {
			n := model.RawBits(t, contexts[i]) - 16*part
			if n <= 0 {
				continue
			}
			n = min(n, 16)
			x := d.states[i]
			raw[i] |= x & (1<<n - 1) << (16 * part)
			if x >>= n; x < least {
				x = x<<16 | d.next()
			}
			d.states[i] = x
		}
	}
	for i, t := range tokens {
		out[i] = model.Residual(t, raw[i], fractions[i], contexts[i])
	}
}
