package tile

import (
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
type decodeTables [constants.TableCount]decodeTable

// decodeTable is a table for the decoder. Its layout is that of vector_amd64.s.
type decodeTable struct {
	// For each part of 2^bucketBits slots its first token, and in the upper byte the slot of the part where the next
	// token begins, 2^bucketBits if none does.
	buckets [bucketCount]uint16
	ranges  [constants.Tokens]slotRange
}

// slotRange is the part of 2^14 that a token has.
type slotRange struct{ start, frequency uint16 }

const (
	bucketBits  = 7
	bucketCount = 1 << (constants.Bits - bucketBits)
)

// encodeTables are all tables of a set for the encoder.
type encodeTables [constants.TableCount * constants.Tokens]encodeEntry

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
			out[i*constants.Tokens+t] = encodeEntry{(1<<46 + uint64(f) - 1) / uint64(f), uint32(f) << 18, start, 1<<constants.Bits - f}
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
			out[i].ranges[t] = slotRange{uint16(start), f}
			start += int(f)
			for ; bucket < bucketCount && bucket<<bucketBits < start; bucket++ {
				next := min(start-bucket<<bucketBits, 1<<bucketBits)
				out[i].buckets[bucket] = uint16(t | next<<8)
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

// encodeCall is what the kernel of the encoder takes. Its layout is that of rans_amd64.s.
type encodeCall struct {
	entries, raw *uint32
	rawBits      *uint8
	table        *encodeEntry
	states       *uint32
	words        *uint16
	at           uint64 // the first word that is written
	halves       *halfSymbols
	left         uint64 // halves that are not coded
	n            uint64 // symbols of these
	lanes        uint64
}

// vectorRawBits is how many raw bits of a symbol the kernel takes at most.
const vectorRawBits = 15

// tile codes the symbols of a tile, the last first.
func (e *encoder) tile(s *symbols, lanes int, table *encodeTables) {
	at := s.n
	for left := len(s.halves); left > 0; {
		if hasVectors && s.halves[left-1].rawBits <= vectorRawBits {
			c := encodeCall{
				entries: &s.entries[0], raw: &s.raw[0], rawBits: &s.rawBits[0], table: &table[0],
				states: &e.states[0], words: &e.words[0], at: uint64(e.at),
				halves: &s.halves[0], left: uint64(left), n: uint64(at), lanes: uint64(lanes),
			}
			encodeTile(&c)
			e.at, left, at = int(c.at), int(c.left), int(c.n)
			continue
		}
		left--
		at -= s.halves[left].count
		e.halfGo(s, at, s.halves[left], lanes, table)
	}
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
			t := &table[s.entries[at+i]]
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
	work   [workRows][workLength]int32
	index  [maxSide / 2]int32
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
	contexts, fractions, predictions *int32
	tables                           *decodeTable
	states                           *uint32
	words                            *uint16 // the next
	work                             *[workRows][workLength]int32
	values                           *int32
	c, e, m                          *int16
	n, lanes                         uint64
	offset                           int32
	wide                             uint32 // not 0 if values do not fit in 16 bits
}

// The kernel of the decoder works on half rows in rows of numbers: where tables begin, in bytes, raw bits of scales, tokens, and raw
// bits.
const (
	workRows   = 4
	workLength = maxSide/2 + model.Beyond
)

// tokenRawBits is the number of raw bits that belong to a token itself.
var tokenRawBits = func() (n [constants.Tokens]uint8) {
	for t := range n {
		n[t] = uint8(model.RawBits(uint8(t), 0))
	}
	return n
}()

// refills says for each set of the eight lanes that take a word, a bit each, which of the next words a lane takes, a byte each. Those of
// other lanes do not matter.
var refills = func() (r [256]uint64) {
	for set := range r {
		n := 0
		for lane := range 8 {
			if set>>lane&1 != 0 {
				r[set] |= uint64(n) << (8 * lane)
				n++
			}
		}
	}
	return r
}()

// maxSide is the greatest side of tiles.
const maxSide = 256

// wordsAfter is how many words behind the next one a half row may read: three for each coefficient, and one more.
func wordsAfter(n int) int { return 3*n + 1 }

// half decodes the residuals of a half row into h, and values and what the model keeps of both. Up to [model.Beyond] more are written.
func (d *decoder) half(h *decodedHalf, m *model.Tile, offset int32, lanes int, tables *decodeTables) {
	if !hasVectors || h.count == 0 || d.at+wordsAfter(h.count) > cap(d.words) {
		index := d.index[:h.count]
		d.halfGo(index, m.Fractions, m.Contexts, offset, lanes, tables)
		h.set(index, m.Predictions)
		return
	}
	first := &d.words[:cap(d.words)][d.at]
	// Fields are set one by one: a literal would be made elsewhere and copied in parts greater than those it was written in, for which the
	// processor waits.
	var c decodeCall
	c.contexts, c.fractions, c.predictions = &m.Contexts[0], &m.Fractions[0], &m.Predictions[0]
	c.tables, c.states, c.words, c.work = &tables[0], &d.states[0], first, &d.work
	c.values, c.c, c.e, c.m = &h.values[0], &h.c[0], &h.e[0], &h.m[0]
	c.n, c.lanes, c.offset = uint64(h.count), uint64(lanes), offset
	decodeHalf(&c)
	d.at += int(uintptr(unsafe.Pointer(c.words))-uintptr(unsafe.Pointer(first))) / 2
	h.wide |= c.wide
}

// decodedHalf is what is kept of a half row.
type decodedHalf struct {
	count   int
	values  []int32
	c, e, m []int16 // values and residuals, saturated, and magnitudes of residuals
	wide    uint32  // not 0 if values of this or an earlier half row do not fit in 16 bits
}

// set fills a half row from its residuals.
func (h *decodedHalf) set(index, predictions []int32) {
	for j, r := range index {
		v := r + predictions[j]
		h.values[j], h.c[j], h.e[j] = v, model.Saturate(v), model.Saturate(r)
		h.m[j] = model.Magnitude(h.e[j])
		if int32(h.c[j]) != v {
			h.wide = 1
		}
	}
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
			table := &tables[min(max(f, -f)>>9, 3)*constants.Contexts+q]
			token := uint8(table.buckets[slot>>bucketBits])
			r := table.ranges[token]
			for slot-r.start >= r.frequency {
				token++
				r = table.ranges[token]
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
