// Package tile codes the tiles of profile 1 of PCWT: symbols by package model, interleaved
// rANS, or raw coefficients where those take less. README.md of package pcwt is the format.
package tile

import (
	"encoding/binary"
	"math/bits"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/model"
)

// Params are how the tiles of a plane are coded.
type Params struct {
	*Tables
	Offsets [constants.LevelClasses * constants.Bands]int8 // q offsets, level class first
	Lanes   int
	Qmin    uint

	// Count, unless it is nil, is told the tokens of a band of each tile that is encoded: table * constants.Tokens +
	// token. The class is that of Offsets.
	Count func(class int, entries []uint32)
}

// Bands are the coefficients of HL, LH and HH of a level: indices for the encoder, and values
// that stand for them, from the decoder. Without qmin both are the same.
type Bands [constants.Bands]wavelet.Plane[int32]

// Coder codes tiles of one side. It belongs to one goroutine.
type Coder struct {
	side    int
	model   *model.Tile
	symbols *symbols // nil until tiles are encoded
	words   []uint16
	enc     encoder
	dec     decoder

	index  []int32    // residuals of a half row
	values [2][]int32 // of both halves of a row: indices for the encoder, values from the decoder
	e      [2][]int16 // likewise residuals, saturated
}

// NewCoder makes a coder of tiles of a side.
func NewCoder(side int) *Coder {
	k := &Coder{side: side, model: model.NewTile(side)}
	n := side/2 + model.Beyond
	k.index = make([]int32, n)
	for i := range k.values {
		k.values[i], k.e[i] = make([]int32, n), make([]int16, n)
	}
	return k
}

// Release lets go of the planes and constants of the last tile.
func (k *Coder) Release() { k.model.Release() }

// A symbol takes a word for its token and two for raw bits at most.
func (k *Coder) room() int { return 3*constants.Bands*k.side*k.side + 2*maxLanes }

// Encode codes tile (tx, ty) of a level, of which coefficients are known; it writes their
// residuals. It returns the body, which is the coder's until the next call, and what stands for its length.
func (k *Coder) Encode(p *Params, n *model.Neighbours, tx, ty, level int, indices *Bands) (body []uint16, length uint64) {
	levelClass := constants.LevelClass(level)
	m := k.model
	m.Start(n, tx, ty, levelClass, p.Set, p.Qmin)
	if k.symbols == nil {
		k.symbols = newSymbols(k.side)
	}
	k.symbols.reset()
	var residuals, magnitudes uint32 // OR of all
	for b := range constants.Bands {
		w, h := m.Band(b)
		class, from := levelClass*constants.Bands+b, k.symbols.n
		offset := int32(p.Offsets[class])
		plane := &n.Own.Bands[b]
		for y := range h {
			split32(k.values[0], k.values[1], indices[b].Row(ty*k.side + y)[tx*k.side:][:w])
			at := (ty*k.side+y)*plane.W + tx*k.side
			even, _ := m.Cells(y, 0)
			odd, _ := m.Cells(y, 1)
			model.Split(even, odd, plane.C[at:at+w])
			for parity := range 2 {
				count := m.HalfRow(y, parity)
				if count > 0 {
					_, cells := m.Cells(y, parity)
					e, v := k.symbols.add(m, k.values[parity], count, offset, k.e[parity], cells)
					residuals |= e
					magnitudes |= v
				}
				m.PutCells(y, parity)
			}
			join16(plane.E[at:at+w], k.e[0], k.e[1])
		}
		if h > 0 {
			m.EndBand()
		}
		if p.Count != nil {
			p.Count(class, k.symbols.entries[from:k.symbols.n])
		}
	}
	if residuals == 0 {
		return nil, 0
	}
	body = k.code(p)
	width := 1 + bits.Len32(magnitudes)
	if raw := 1 + (k.symbols.n*width+15)/16; raw < len(body) {
		body = k.raw(n, tx, ty, indices, width)
		return body, 2*uint64(len(body)) + 1
	}
	return body, 2 * uint64(len(body))
}

// code codes the symbols, the last first.
func (k *Coder) code(p *Params) []uint16 {
	if k.words == nil {
		k.words = make([]uint16, k.room())
	}
	k.enc.start(k.words)
	table := p.encode()
	s := k.symbols
	at := s.n
	for i := len(s.halves) - 1; i >= 0; i-- {
		at -= s.halves[i].count
		k.enc.half(s, at, s.halves[i], p.Lanes, table)
	}
	at = k.enc.at - 2*p.Lanes
	for i, x := range k.enc.states[:p.Lanes] {
		k.words[at+2*i], k.words[at+2*i+1] = uint16(x), uint16(x>>16)
	}
	return k.words[at:]
}

// each calls f for every half row of a tile with its band and place.
func (k *Coder) each(n *model.Neighbours, tx, ty int, f func(band, x, y, count int)) {
	for b := range constants.Bands {
		p := &n.Own.Bands[b]
		w, h := min(k.side, p.W-tx*k.side), min(k.side, p.H-ty*k.side)
		if w <= 0 {
			continue
		}
		for y := range max(h, 0) {
			for parity := range 2 {
				f(b, tx*k.side+parity, ty*k.side+y, (w+1-parity)/2)
			}
		}
	}
}

// raw writes indices in width bits each.
func (k *Coder) raw(n *model.Neighbours, tx, ty int, indices *Bands, width int) []uint16 {
	out := append(k.words[:0], uint16(width))
	pending, free := uint64(0), 16
	k.each(n, tx, ty, func(b, x, y, count int) {
		row := indices[b].Row(y)
		for j := range count {
			v := uint64(uint32(row[x+2*j])) & (1<<width - 1)
			for left := width; left > 0; {
				m := min(left, free)
				left -= m
				free -= m
				pending |= v >> left & (1<<m - 1) << free
				if free == 0 {
					out, pending, free = append(out, uint16(pending)), 0, 16
				}
			}
		}
	})
	if free < 16 {
		out = append(out, uint16(pending))
	}
	return out
}

// Words returns the words of a body.
func (k *Coder) Words(body []byte) []uint16 {
	n, zeros := len(body)/2, wordsAfter(k.side/2)
	if cap(k.words) < n+zeros {
		k.words = make([]uint16, max(n+zeros, k.room()))
	}
	words := k.words[: n : n+zeros]
	for i := range words {
		words[i] = binary.LittleEndian.Uint16(body[2*i:])
	}
	clear(words[n:cap(words)])
	return words
}

// MaxLength is the greatest number of words of a body.
func (k *Coder) MaxLength() uint64 { return uint64(k.room()) }

// Decode decodes a tile: values into bands, and what the model keeps of them into n.Own. It reports whether the
// body was whole. raw says that it holds coefficients as they are; no words are for a tile without residuals.
func (k *Coder) Decode(p *Params, words []uint16, raw bool, n *model.Neighbours, tx, ty, level int, values *Bands) bool {
	levelClass := constants.LevelClass(level)
	m := k.model
	m.Start(n, tx, ty, levelClass, p.Set, p.Qmin)
	var reader rawReader
	switch {
	case raw:
		if !reader.start(words) {
			return false
		}
	case len(words) > 0:
		if !k.dec.start(words, p.Lanes) {
			return false
		}
	}
	tables := p.decode()
	for b := range constants.Bands {
		w, h := m.Band(b)
		offset := int32(p.Offsets[levelClass*constants.Bands+b])
		plane := &n.Own.Bands[b]
		for y := range h {
			for parity := range 2 {
				count := m.HalfRow(y, parity)
				switch index := k.index[:count]; {
				case raw:
					for j := range index {
						index[j] = reader.next() - m.Predictions[j]
					}
				case len(words) > 0:
					k.dec.half(k.index, count, m.Fractions, m.Contexts, offset, p.Lanes, tables)
				default:
					clear(index)
				}
				k.put(y, parity, count, p.Qmin)
			}
			join32(values[b].Row(ty*k.side + y)[tx*k.side:][:w], k.values[0], k.values[1])
			at := (ty*k.side+y)*plane.W + tx*k.side
			even, _ := m.Cells(y, 0)
			odd, _ := m.Cells(y, 1)
			join16(plane.C[at:at+w], even, odd)
			join16(plane.E[at:at+w], k.e[0], k.e[1])
		}
		if h > 0 {
			m.EndBand()
		}
	}
	switch {
	case raw:
		return reader.whole()
	case len(words) > 0:
		return k.dec.whole(p.Lanes)
	}
	return true
}

// put gives values and residuals of a half row to the model.
func (k *Coder) put(y, parity, count int, qmin uint) {
	m := k.model
	v, e := k.values[parity], k.e[parity]
	c, cells := m.Cells(y, parity)
	if hasVectors && qmin == 0 && count > 0 {
		valuesAVX2(&v[0], &k.index[0], &m.Predictions[0], &c[0], &e[0], &cells[0], uint64(count+7)/8)
	} else {
		for j, r := range k.index[:count] {
			v[j] = Dequantize(r+m.Predictions[j], qmin)
			c[j], e[j] = model.Saturate(v[j]), model.Saturate(r)
			cells[j] = model.Magnitude(e[j])
		}
	}
	m.PutCells(y, parity)
}

// Quantize is the index of a coefficient.
func Quantize(c int32, qmin uint) int32 {
	if c < 0 {
		return -(-c >> qmin)
	}
	return c >> qmin
}

// Dequantize is the coefficient that an index stands for.
func Dequantize(i int32, qmin uint) int32 {
	switch {
	case qmin == 0 || i == 0:
		return i
	case i < 0:
		return -(-i<<qmin + 1<<(qmin-1))
	}
	return i<<qmin + 1<<(qmin-1)
}

// rawReader reads the coefficients of a raw body.
type rawReader struct {
	words []uint16
	width int
	at    int // in bits
}

func (r *rawReader) start(words []uint16) bool {
	if len(words) == 0 || words[0] < 1 || words[0] > 32 {
		return false
	}
	r.words, r.width = words[1:], int(words[0])
	return true
}

func (r *rawReader) next() int32 {
	v := uint32(0)
	for left := r.width; left > 0; {
		free := 16 - r.at&15
		m := min(left, free)
		w := uint32(0)
		if r.at>>4 < len(r.words) {
			w = uint32(r.words[r.at>>4])
		}
		v = v<<m | w>>(free-m)&(1<<m-1)
		r.at += m
		left -= m
	}
	return int32(v<<(32-r.width)) >> (32 - r.width)
}

// whole reports whether all words were used, and no bits of the last are left that are not zero.
func (r *rawReader) whole() bool {
	if (r.at+15)/16 != len(r.words) {
		return false
	}
	return r.at&15 == 0 || r.words[len(r.words)-1]&(1<<(16-r.at&15)-1) == 0
}
