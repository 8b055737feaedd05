package entropy

import (
	"math"
	mathbits "math/bits"
	"slices"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
	"github.com/pelmill/pelmill/codecs/pool"
)

// Token is an integer with its context: context<<18 | integer.
type Token uint32

const (
	valueBits = 18

	MaxValue    = 1<<valueBits - 1         // of a token's integer
	MaxContexts = 1<<(32-valueBits) - 1    // of a code
	repeatToken = MaxContexts << valueBits // tokens from there on are repetitions
)

// MakeToken joins a context and an integer.
func MakeToken(context int, v uint32) Token { return Token(uint32(context)<<valueBits | v) }

// Repeat stands for n more tokens like the one before it, at most [MaxValue].
func Repeat(n int) Token { return repeatToken | Token(n) }

func (t Token) context() int  { return int(t >> valueBits) }
func (t Token) value() uint32 { return uint32(t) & MaxValue }
func (t Token) repeats() bool { return t >= repeatToken }

// encoderSymbol is a symbol's frequency, the place of its first slot, and 2^64/freq rounded
// up, by which 32-bit integers are divided: 0 for a frequency of 1.
type encoderSymbol struct {
	freq, first uint32
	reciprocal  uint64
}

// smallToken is the token of a small integer in the standard configuration, its raw bits
// and their number: symbol | number<<8 | bits<<16.
type smallToken uint32

// smallTokens holds those of integers below 256.
var smallTokens = func() (table [256]smallToken) {
	for v := range table {
		t, raw, n := standard.token(uint32(v))
		table[v] = smallToken(t | uint32(n)<<8 | raw<<16)
	}
	return table
}()

// SymbolOf is the token of any integer.
func SymbolOf(v uint32) uint32 {
	if v < uint32(len(smallTokens)) {
		return uint32(smallTokens[v] & 0xff)
	}
	t, _, _ := standard.token(v)
	return t
}

// NewCode makes distributions for the tokens of all streams.
func NewCode(workers *pool.Pool, how *Clustering, contexts int, streams ...[]Token) *Code {
	spans := divide(streams)
	parts := max(1, min(len(spans), workers.Size()))
	largest := make([]uint32, parts)
	workers.Each(parts, func(p int) {
		for i := p; i < len(spans); i += parts {
			for _, t := range spans[i] {
				if !t.repeats() {
					largest[p] |= t.value()
				}
			}
		}
	})
	for _, v := range largest {
		largest[0] |= v
	}
	return newCode(workers, how, largest[0], contexts, spans)
}

// NewCodeUpTo is NewCode for tokens whose integers are known to be at most largest.
func NewCodeUpTo(workers *pool.Pool, how *Clustering, largest uint32, contexts int, streams ...[]Token) *Code {
	return newCode(workers, how, largest, contexts, divide(streams))
}

func newCode(workers *pool.Pool, how *Clustering, largest uint32, contexts int, spans [][]Token) *Code {
	parts := max(1, min(len(spans), workers.Size()))
	alphabet := int(SymbolOf(largest)) + 1
	counts := make([][]uint32, parts)
	workers.Each(parts, func(p int) {
		counts[p] = make([]uint32, contexts*alphabet)
		for i := p; i < len(spans); i += parts {
			count(counts[p], alphabet, spans[i])
		}
	})
	for _, more := range counts[1:] {
		for i, n := range more {
			counts[0][i] += n
		}
	}
	hists := make([]histogram, contexts)
	for i := range hists {
		hists[i] = newHistogram(counts[0][i*alphabet : (i+1)*alphabet])
	}
	if how == nil {
		how = &defaultClustering
	}
	c := &Code{}
	var sums []histogram
	c.clusters, sums = how.cluster(workers, hists)
	c.configs = slices.Repeat([]config{standard}, len(sums))
	c.distribute(sums)
	return c
}

// divide cuts streams into spans that are counted at once.
func divide(streams [][]Token) [][]Token {
	const most = 1 << 18
	var spans [][]Token
	for _, s := range streams {
		for len(s) > most {
			n := most
			if s[n].repeats() {
				n--
			}
			spans = append(spans, s[:n])
			s = s[n:]
		}
		if len(s) > 0 {
			spans = append(spans, s)
		}
	}
	return spans
}

func count(counts []uint32, alphabet int, tokens []Token) {
	at := 0
	for _, t := range tokens {
		if t.repeats() {
			counts[at] += t.value()
			continue
		}
		at = t.context()*alphabet + int(SymbolOf(t.value()))
		counts[at]++
	}
}

// distribute chooses frequencies and builds the tables.
func (c *Code) distribute(sums []histogram) {
	longest := 1
	for _, h := range sums {
		longest = max(longest, len(h.counts))
	}
	c.logAlpha = max(5, bitsOf(longest-1))
	c.freqs = make([][]uint16, len(sums))
	c.stride = longest
	c.symbols = make([]encoderSymbol, len(sums)*longest)
	c.places = make([]uint16, len(sums)*total)
	for i := range sums {
		freqs := chooseFreqs(&sums[i])
		c.freqs[i] = freqs.freqs
		c.headers = append(c.headers, freqs)
		for s, n := range sums[i].counts {
			if n > 0 {
				c.cost += int64(n) * (logTotal*bit - log2(uint32(freqs.freqs[s])))
			}
		}
		c.setEncoder(i)
	}
	c.bases = make([]uint32, len(c.clusters))
	for i, k := range c.clusters {
		c.bases[i] = uint32(int(k) * longest)
	}
}

// setEncoder fills the tables of a cluster: the slot of a symbol with offset o is at
// places[first+o].
func (c *Code) setEncoder(k int) {
	freqs := c.freqs[k]
	alias, err := aliasTable(freqs, c.logAlpha)
	if err != nil {
		panic(err) // the frequencies are ours
	}
	symbols := c.symbols[k*c.stride:]
	at := uint32(k * total)
	for s, f := range freqs {
		symbols[s] = encoderSymbol{freq: uint32(f), first: at}
		if f > 1 {
			symbols[s].reciprocal = math.MaxUint64/uint64(f) + 1
		}
		at += uint32(f)
	}
	entry := total >> c.logAlpha
	for i := range alias {
		t := &alias[i]
		state := i * entry
		own, cut := c.places[symbols[min(i, len(freqs)-1)].first:], int(t.cut)
		for o := range cut {
			own[o] = uint16(state + o)
		}
		other, offset := c.places[symbols[t.right].first:], cut+int(t.offset2)
		for o := cut; o < entry; o++ {
			other[offset&(total-1)] = uint16(state + o)
			offset++
		}
	}
}

// Bits is what the distributions and the tokens take but for their raw bits, of which equal
// integers have as many with every code.
func (c *Code) Bits() int64 {
	w := &bits.Writer{}
	c.WriteHeader(w)
	return int64(w.Len()) + c.cost/bit
}

// WriteHeader writes the distributions.
func (c *Code) WriteHeader(w *bits.Writer) {
	w.Bool(false) // no LZ77
	if len(c.clusters) > 1 {
		writeMap(w, c.clusters, len(c.freqs))
	}
	w.Bool(false) // no prefix codes
	w.Write(uint64(c.logAlpha-5), 2)
	for _, f := range c.configs {
		w.Write(uint64(f.split), bitsOf(int(c.logAlpha)))
		if uint(f.split) != c.logAlpha {
			w.Write(uint64(f.msb), bitsOf(int(f.split)))
			w.Write(uint64(f.lsb), bitsOf(int(f.split-f.msb)))
		}
	}
	for _, h := range c.headers {
		h.write(w)
	}
}

// WriteTokens writes one stream.
func (c *Code) WriteTokens(w *bits.Writer, tokens []Token) {
	c.WriteStreams([]*bits.Writer{w}, [][]Token{tokens})
}

// Lanes is how many streams are written at once. The state of a stream after a token is
// found in a table too large for the nearest cache: while one stream waits for it, others
// go on.
const Lanes = 4

// WriteStreams writes each stream to the writer of its place.
func (c *Code) WriteStreams(writers []*bits.Writer, streams [][]Token) {
	for len(streams) > Lanes {
		c.WriteStreams(writers[:Lanes], streams[:Lanes])
		writers, streams = writers[Lanes:], streams[Lanes:]
	}
	var all [Lanes]lane
	active := make([]*lane, 0, Lanes)
	for i, s := range streams {
		all[i] = lane{tokens: s, state: initial, words: make([]uint32, 0, len(s)/8+16)}
		if len(s) > 0 {
			active = append(active, &all[i])
		}
	}
	for len(active) > 0 {
		left := len(active[0].tokens)
		for _, l := range active {
			left = min(left, len(l.tokens))
		}
		c.writeLast(active, left)
		active = slices.DeleteFunc(active, func(l *lane) bool { return len(l.tokens) == 0 })
	}
	for i, w := range writers {
		w.Write(uint64(all[i].state), 32)
		w.AppendBackward(all[i].words, all[i].acc, all[i].n)
	}
}

// lane is a stream that is written from its last token to the first, as rANS does, and so
// are its bits: words are those of the stream from its end, and the lowest n bits of acc
// stand before them.
type lane struct {
	tokens []Token // that are left
	state  uint32
	n      uint
	acc    uint64
	words  []uint32
}

// writeLast writes the last n tokens of each lane, all of which have as many.
func (c *Code) writeLast(lanes []*lane, n int) {
	symbols, bases, places := c.symbols, c.bases, c.places
	for range n {
		for _, l := range lanes {
			last := len(l.tokens) - 1
			t := l.tokens[last]
			l.tokens = l.tokens[:last]
			if t.repeats() {
				c.expand(l, int(t.value()))
				continue
			}
			v := t.value()
			var sym, raw uint32
			var length uint
			if v < uint32(len(smallTokens)) {
				small := smallTokens[v]
				sym, raw, length = uint32(small&0xff), uint32(small>>16), uint(small>>8&0xff)
			} else {
				sym, raw, length = standard.token(v)
			}
			symbol := &symbols[bases[t.context()]+sym]
			state, freq := l.state, symbol.freq
			// shed is 16 where state>>20 >= freq, else 0.
			shed := uint(int64(uint64(freq)<<(32-logTotal)-1-uint64(state))>>63) & 16
			acc := (l.acc<<(length&31)|uint64(raw))<<shed | uint64(state&(1<<shed-1))
			l.acc = acc
			bits := l.n + length + shed
			if bits >= 32 {
				bits -= 32
				l.words = append(l.words, uint32(acc>>(bits&31)))
			}
			l.n = bits
			state >>= shed
			q := state
			if symbol.reciprocal != 0 {
				high, _ := mathbits.Mul64(uint64(state), symbol.reciprocal)
				q = uint32(high)
			}
			l.state = q<<logTotal | uint32(places[symbol.first+state-q*freq])
		}
	}
}

// expand replaces a repetition of the last token that is left by n tokens. The only symbol
// of a distribution takes no bits, and needs no tokens.
func (c *Code) expand(l *lane, n int) {
	t := l.tokens[len(l.tokens)-1]
	if v := t.value(); v < 1<<standard.split && c.freqs[c.clusters[t.context()]][v] == total {
		return
	}
	l.tokens = slices.Concat(l.tokens, slices.Repeat([]Token{t}, n))
}

// WriteMap writes a map of contexts that stands alone; see [Map].
func WriteMap(w *bits.Writer, clusters []uint8) {
	n := 0
	for _, c := range clusters {
		n = max(n, int(c)+1)
	}
	writeMap(w, clusters, n)
}

// writeMap writes a map in the smallest of its forms.
func writeMap(w *bits.Writer, clusters []uint8, n int) {
	var best *bits.Writer
	for front := range 2 {
		o := &bits.Writer{}
		o.Bool(false)
		o.Bool(front == 1)
		values := clusters
		if front == 1 {
			values = toFront(clusters)
		}
		tokens := make([]Token, len(values))
		for i, v := range values {
			tokens[i] = MakeToken(0, uint32(v))
		}
		code := NewCode(pool.Of(1), nil, 1, tokens)
		code.WriteHeader(o)
		code.WriteTokens(o, tokens)
		if best == nil || o.Len() < best.Len() {
			best = o
		}
	}
	if n <= 8 {
		o := &bits.Writer{}
		field := bitsOf(n - 1)
		o.Bool(true)
		o.Write(uint64(field), 2)
		for _, v := range clusters {
			o.Write(uint64(v), field)
		}
		if o.Len() < best.Len() {
			best = o
		}
	}
	w.Append(best)
}

// toFront is the inverse of fromFront.
func toFront(clusters []uint8) []uint8 {
	var list [256]uint8
	for i := range list {
		list[i] = uint8(i)
	}
	out := make([]uint8, len(clusters))
	for i, v := range clusters {
		at := slices.Index(list[:], v)
		out[i] = uint8(at)
		copy(list[1:at+1], list[:at])
		list[0] = v
	}
	return out
}
