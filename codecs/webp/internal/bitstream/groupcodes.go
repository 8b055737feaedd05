package bitstream

import (
	"encoding/binary"
	"math/bits"

	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// GroupCodes are the prefix codes of a group (RFC 9649, 3.7.1), as BestCode finds them for its
// histogram.
type GroupCodes struct {
	Bits int // that the descriptions of the codes take, and all symbols with their extra bits

	symbolBits   int // of these, those of the symbols
	lengths      []uint8
	descriptions [5]description
}

// NewGroupCodes makes the codes of a group.
func NewGroupCodes(hist []uint32) *GroupCodes {
	g := &GroupCodes{lengths: make([]uint8, len(hist)), symbolBits: int(format.ExtraBitsOf(hist))}
	g.Bits = g.symbolBits
	at := 0
	for i, p := range format.WrittenAlphabets(len(hist)) {
		lengths := g.lengths[at:][:p[1]-p[0]]
		at += len(lengths)
		d, n := setBestCode(lengths, hist[p[0]:p[1]])
		if d.simple != 1 && usedSymbols(lengths) > 1 {
			g.symbolBits += n
			g.Bits += n
		}
		g.Bits += d.Bits
		g.descriptions[i] = d
	}
	return g
}

// write writes the codes (RFC 9649, 3.7.2).
func (g *GroupCodes) write(w *bitWriter) {
	for i := range g.descriptions {
		g.descriptions[i].write(w)
	}
}

// codes returns the code of each symbol.
func (g *GroupCodes) codes() []Code {
	codes := make([]Code, len(g.lengths))
	lengths := g.lengths
	for _, p := range format.WrittenAlphabets(len(codes)) {
		n := p[1] - p[0]
		makeCodes(lengths[:n], codes[p[0]:p[1]])
		lengths = lengths[n:]
	}
	return codes
}

// usedSymbols is how many symbols have a code, or 2 for more.
func usedSymbols(lengths []uint8) (used int) {
	for i := nextUsed(lengths, 0); i < len(lengths); i = nextUsed(lengths, i+1) {
		if used++; used > 1 {
			break
		}
	}
	return used
}

// nextUsed is the first symbol from i on that has a code, or else the end of lengths. Most symbols of some alphabets have none.
func nextUsed(lengths []uint8, i int) int {
	for ; i+8 <= len(lengths); i += 8 {
		if v := binary.LittleEndian.Uint64(lengths[i:]); v != 0 {
			return i + bits.TrailingZeros64(v)/8
		}
	}
	for i < len(lengths) && lengths[i] == 0 {
		i++
	}
	return i
}
