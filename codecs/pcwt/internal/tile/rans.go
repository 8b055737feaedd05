package tile

import (
	"sync"

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

// decodeTable is a table for the decoder.
type decodeTable struct {
	token  [bucketCount]uint8 // the first that may hold the slots of a bucket
	ranges [constants.Tokens]slotRange
}

// slotRange is the part of 2^14 that a token has.
type slotRange struct{ start, frequency uint16 }

const (
	bucketBits  = 6
	bucketCount = 1 << (constants.Bits - bucketBits)
)

// Tables are those of a set as the coder takes them. They are made when they are first needed.
type Tables struct {
	Set    *constants.Set
	encode func() *[constants.TableCount][constants.Tokens]encodeEntry
	decode func() *[constants.TableCount]decodeTable
}

// NewTables prepares the tables of a set.
func NewTables(s *constants.Set) *Tables {
	return &Tables{Set: s,
		encode: sync.OnceValue(func() *[constants.TableCount][constants.Tokens]encodeEntry {
			out := new([constants.TableCount][constants.Tokens]encodeEntry)
			for i := range out {
				start := uint16(0)
				for t, f := range s.Tables[i] {
					out[i][t] = encodeEntry{(1<<46 + uint64(f) - 1) / uint64(f), uint32(f) << 18, start, 1<<constants.Bits - f}
					start += f
				}
			}
			return out
		}),
		decode: sync.OnceValue(func() *[constants.TableCount]decodeTable {
			out := new([constants.TableCount]decodeTable)
			for i := range out {
				start, bucket := 0, 0
				for t, f := range s.Tables[i] {
					out[i].ranges[t] = slotRange{uint16(start), f}
					start += int(f)
					for ; bucket < bucketCount && bucket<<bucketBits < start; bucket++ {
						out[i].token[bucket] = uint8(t)
					}
				}
			}
			return out
		}),
	}
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

// half codes the symbols of a half row, the last step first.
func (e *encoder) half(symbols []model.Symbol, lanes int, table *[constants.TableCount][constants.Tokens]encodeEntry) {
	for end := len(symbols); end > 0; {
		n := (end-1)%lanes + 1
		step := symbols[end-n : end]
		end -= n
		raw := uint8(0)
		for i := range step {
			raw |= step[i].RawBits
		}
		if raw != 0 {
			e.raw(step, 1)
			e.raw(step, 0)
		}
		for i := n - 1; i >= 0; i-- {
			s := &step[i]
			t := &table[s.Table][s.Token]
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
func (e *encoder) raw(step []model.Symbol, part int) {
	for i := len(step) - 1; i >= 0; i-- {
		n := int(step[i].RawBits) - 16*part
		if n <= 0 {
			continue
		}
		n = min(n, 16)
		v := step[i].Raw >> (16 * part) & (1<<n - 1)
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
	words  []uint16
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

// half decodes the residuals of a half row.
func (d *decoder) half(out, fractions, contexts []int32, lanes int, tables *[constants.TableCount]decodeTable) {
	var tokens [maxLanes]uint8
	for first := 0; first < len(out); first += lanes {
		n := min(lanes, len(out)-first)
		bits := 0
		for i := range n {
			x := d.states[i]
			slot := uint16(x & (1<<constants.Bits - 1))
			q, f := contexts[first+i], fractions[first+i]
			if q >= constants.Contexts {
				q = 40 + q&3
				bits = 1
			}
			t := &tables[min(max(f, -f)>>9, 3)*constants.Contexts+q]
			token := t.token[slot>>bucketBits]
			r := t.ranges[token]
			for slot-r.start >= r.frequency {
				token++
				r = t.ranges[token]
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
