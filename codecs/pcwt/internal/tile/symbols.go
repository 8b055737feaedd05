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
	all     [2][8]uint32 // ORs, in eight parts, of residuals and of values; see magnitudes
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

func (s *symbols) reset() { s.halves, s.n, s.all = s.halves[:0], 0, [2][8]uint32{} }

// symbolCall is what the kernel of symbols takes and gives. Its layout is that of vector_amd64.s.
type symbolCall struct {
	values                           *int32 // nil if they are in cells
	predictions, fractions, contexts *int32
	entries, raw                     *uint32
	rawBits                          *uint8
	residuals, magnitudes            *int16
	n                                uint64
	cells                            *int16
	all                              *[2][8]uint32 // see symbols
	offset                           int32
	allRawBits                       uint32
}

// add makes the symbols of a half row of values, or of cells where values are nil. It writes the residuals, saturated, and
// their magnitudes.
func (s *symbols) add(m *model.Tile, values []int32, cells []int16, count int, offset int32, residuals, magnitudes []int16) {
	at := s.n
	s.n += count
	if !hasVectors {
		s.addGo(m, values, cells[:count], offset, residuals, magnitudes, at)
		return
	}
	var call symbolCall // field by field, as in half of decoder
	call.predictions, call.fractions, call.contexts = &m.Predictions[0], &m.Fractions[0], &m.Contexts[0]
	call.entries, call.raw, call.rawBits = &s.entries[at], &s.raw[at], &s.rawBits[at]
	call.residuals, call.magnitudes = &residuals[0], &magnitudes[0]
	call.n, call.cells, call.all, call.offset = uint64(count), &cells[0], &s.all, offset
	if values != nil {
		call.values = &values[0]
	}
	symbolsAVX2(&call)
	s.halves = append(s.halves, halfSymbols{count, call.allRawBits})
}

// residuals is the OR of all residuals.
func (s *symbols) residuals() uint32 { return join(&s.all[0]) }

// magnitudes is the OR of all values, of negative ones less one and without their sign.
func (s *symbols) magnitudes() uint32 { return join(&s.all[1]) }

func join(parts *[8]uint32) (v uint32) {
	for _, p := range parts {
		v |= p
	}
	return v
}

func (s *symbols) addGo(m *model.Tile, values []int32, cells []int16, offset int32, residuals, magnitudes []int16, at int) {
	h := halfSymbols{count: len(cells)}
	for j, c := range cells {
		v := int32(c)
		if values != nil {
			v = values[j]
		}
		e := v - m.Predictions[j]
		s.all[0][0] |= uint32(e)
		s.all[1][0] |= uint32(v ^ v>>31)
		symbol := model.MakeSymbol(e, m.Fractions[j], model.WithOffset(m.Contexts[j], offset))
		s.entries[at+j] = uint32(symbol.Table)*constants.Tokens + uint32(symbol.Token)
		s.raw[at+j], s.rawBits[at+j] = symbol.Raw, symbol.RawBits
		h.rawBits |= uint32(symbol.RawBits)
		residuals[j] = model.Saturate(e)
		magnitudes[j] = model.Magnitude(residuals[j])
	}
	s.halves = append(s.halves, h)
}
