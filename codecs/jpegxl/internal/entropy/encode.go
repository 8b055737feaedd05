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

	MaxValue    = 1<<valueBits - 1      // of a token's integer
	MaxContexts = 1 << (32 - valueBits) // of a code
	alphabet    = 72                    // tokens that integers up to MaxValue have at most, in the configurations in use
)

// MakeToken joins a context and an integer.
func MakeToken(context int, v uint32) Token { return Token(uint32(context)<<valueBits | v) }

func (t Token) context() int  { return int(t >> valueBits) }
func (t Token) value() uint32 { return uint32(t) & MaxValue }

// encoderTable finds the slots of a symbol: the one with offset o is at places[first+o].
type encoderTable struct {
	symbols []encoderSymbol
	places  []uint16
}

// encoderSymbol is a symbol's frequency and first place, and 2^64/freq rounded up, by which
// 32-bit integers are divided: 0 for a frequency of 1.
type encoderSymbol struct {
	freq, first uint32
	reciprocal  uint64
}

// smallToken is the token of a small integer in the standard configuration, and its n raw
// bits.
type smallToken struct{ symbol, raw, n uint8 }

// smallTokens holds those of integers below 256.
var smallTokens = func() (table [256]smallToken) {
	for v := range table {
		t, raw, n := standard.token(uint32(v))
		table[v] = smallToken{uint8(t), uint8(raw), uint8(n)}
	}
	return table
}()

// symbolOf is the token of any integer.
func symbolOf(v uint32) uint32 {
	if v < uint32(len(smallTokens)) {
		return uint32(smallTokens[v].symbol)
	}
	t, _, _ := standard.token(v)
	return t
}

// NewCode makes distributions for the tokens of all streams.
func NewCode(workers *pool.Pool, contexts int, streams ...[]Token) *Code {
	spans := divide(streams)
	parts := min(len(spans), workers.Size())
	counts := make([][]uint32, max(parts, 1))
	counts[0] = make([]uint32, contexts*alphabet)
	workers.Each(parts, func(p int) {
		if p > 0 {
			counts[p] = make([]uint32, contexts*alphabet)
		}
		for i := p; i < len(spans); i += parts {
			count(counts[p], spans[i])
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
	c := &Code{}
	var sums []histogram
	c.clusters, sums = cluster(workers, hists)
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
			spans = append(spans, s[:most])
			s = s[most:]
		}
		if len(s) > 0 {
			spans = append(spans, s)
		}
	}
	return spans
}

func count(counts []uint32, tokens []Token) {
	for _, t := range tokens {
		counts[t.context()*alphabet+int(symbolOf(t.value()))]++
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
	c.encoder = make([]encoderTable, len(sums))
	for i := range sums {
		freqs := chooseFreqs(&sums[i])
		c.freqs[i] = freqs.freqs
		c.headers = append(c.headers, freqs)
		c.encoder[i] = newEncoderTable(freqs.freqs, c.logAlpha)
	}
}

func newEncoderTable(freqs []uint16, logAlpha uint) encoderTable {
	alias, err := aliasTable(freqs, logAlpha)
	if err != nil {
		panic(err) // the frequencies are ours
	}
	e := encoderTable{symbols: make([]encoderSymbol, len(freqs)), places: make([]uint16, total)}
	at := uint32(0)
	for s, f := range freqs {
		e.symbols[s] = encoderSymbol{freq: uint32(f), first: at}
		if f > 1 {
			e.symbols[s].reciprocal = math.MaxUint64/uint64(f) + 1
		}
		at += uint32(f)
	}
	shift := logTotal - logAlpha
	for state := range uint32(total) {
		t := &alias[state>>shift]
		position := state & (1<<shift - 1)
		symbol, offset := state>>shift, position
		if position >= uint32(t.cut) {
			symbol, offset = uint32(t.right), (position+uint32(t.offset2))&(total-1)
		}
		if freqs[symbol] == total {
			offset = state
		}
		e.places[e.symbols[symbol].first+offset] = uint16(state)
	}
	return e
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
	state := uint32(initial)
	const renormalised = 1 << 16
	low := make([]uint32, len(tokens)) // renormalised and the bits that the state sheds at a token
	for i := len(tokens) - 1; i >= 0; i-- {
		t := tokens[i]
		k := c.clusters[t.context()]
		e := &c.encoder[k]
		symbol := &e.symbols[symbolOf(t.value())]
		if state>>(32-logTotal) >= symbol.freq {
			low[i] = renormalised | state&0xffff
			state >>= 16
		}
		q := state
		if symbol.reciprocal != 0 {
			high, _ := mathbits.Mul64(uint64(state), symbol.reciprocal)
			q = uint32(high)
		}
		state = q<<logTotal | uint32(e.places[symbol.first+state-q*symbol.freq])
	}
	w.Write(uint64(state), 32)
	for i, t := range tokens {
		if low[i] != 0 {
			w.Write(uint64(low[i]&0xffff), 16)
		}
		switch v := t.value(); {
		case v < 16:
		case v < uint32(len(smallTokens)):
			w.Write(uint64(smallTokens[v].raw), uint(smallTokens[v].n))
		default:
			_, raw, n := standard.token(v)
			w.Write(uint64(raw), n)
		}
	}
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
		code := NewCode(pool.Of(1), 1, tokens)
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
