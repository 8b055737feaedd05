package tile

import (
	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/model"
)

// symbols are those of a tile, in the order of coding.
type symbols struct {
	entries []uint32 // numbers of a token in the tables: table * constants.Tokens + token
	raw     []uint32
	rawBits []uint8
	halves  []halfSymbols
	n       int
}

// halfSymbols are the symbols of a half row.
type halfSymbols struct {
	count   int
	rawBits uint32 // OR of those of all
}

// newSymbols makes room for the symbols of a tile. Kernels write up to seven more.
func newSymbols(side int) *symbols {
	n := constants.Bands*side*side + model.Beyond
	return &symbols{entries: make([]uint32, n), raw: make([]uint32, n), rawBits: make([]uint8, n), halves: make([]halfSymbols, 0, 2*constants.Bands*side)}
}

func (s *symbols) reset() { s.halves, s.n = s.halves[:0], 0 }

// symbolCall is what the kernel of symbols takes and gives. Its layout is that of vector_amd64.s.
type symbolCall struct {
	values, predictions, fractions, contexts *int32
	entries, raw                             *uint32
	rawBits                                  *uint8
	residuals, magnitudes                    *int16
	n                                        uint64
	offset                                   int32
	_                                        [3]uint32
	// ORs in eight parts.
	allRawBits, allResiduals, allValues [8]uint32 // of values the magnitudes, less one of negative ones
}

// add makes the symbols of a half row of values. It writes the residuals, saturated, and their magnitudes, and ORs all residuals and all
// values in the form of symbolCall.
func (s *symbols) add(m *model.Tile, values []int32, count int, offset int32, residuals, magnitudes []int16) (allResiduals, allValues uint32) {
	at := s.n
	s.n += count
	if !hasVectors {
		return s.addGo(m, values[:count], offset, residuals, magnitudes, at)
	}
	call := symbolCall{
		values: &values[0], predictions: &m.Predictions[0], fractions: &m.Fractions[0], contexts: &m.Contexts[0],
		entries: &s.entries[at], raw: &s.raw[at], rawBits: &s.rawBits[at],
		residuals: &residuals[0], magnitudes: &magnitudes[0],
		n: uint64(count), offset: offset,
	}
	symbolsAVX2(&call)
	s.halves = append(s.halves, halfSymbols{count, join(&call.allRawBits)})
	return join(&call.allResiduals), join(&call.allValues)
}

func join(parts *[8]uint32) (v uint32) {
	for _, p := range parts {
		v |= p
	}
	return v
}

func (s *symbols) addGo(m *model.Tile, values []int32, offset int32, residuals, magnitudes []int16, at int) (allResiduals, allValues uint32) {
	h := halfSymbols{count: len(values)}
	for j, v := range values {
		e := v - m.Predictions[j]
		allValues |= uint32(v ^ v>>31)
		allResiduals |= uint32(e)
		symbol := model.MakeSymbol(e, m.Fractions[j], model.WithOffset(m.Contexts[j], offset))
		s.entries[at+j] = uint32(symbol.Table)*constants.Tokens + uint32(symbol.Token)
		s.raw[at+j], s.rawBits[at+j] = symbol.Raw, symbol.RawBits
		h.rawBits |= uint32(symbol.RawBits)
		residuals[j] = model.Saturate(e)
		magnitudes[j] = model.Magnitude(residuals[j])
	}
	s.halves = append(s.halves, h)
	return allResiduals, allValues
}
