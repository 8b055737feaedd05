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
}

// Bands are the coefficients of HL, LH and HH of a level: indices for the encoder, and values
// that stand for them, from the decoder. Without qmin both are the same.
type Bands [constants.Bands]wavelet.Plane[int32]

// Coder codes tiles of one side. It belongs to one goroutine.
type Coder struct {
	side    int
	model   *model.Tile
	symbols []model.Symbol
	halves  []int // symbols of each half row
	words   []uint16
	enc     encoder
	dec     decoder

	index []int32 // of a half row
	c, e  []int16
}

// NewCoder makes a coder of tiles of a side.
func NewCoder(side int) *Coder {
	return &Coder{side: side, model: model.NewTile(side), index: make([]int32, side/2), c: make([]int16, side/2), e: make([]int16, side/2)}
}

// A symbol takes a word for its token and two for raw bits at most.
func (k *Coder) room() int { return 3*constants.Bands*k.side*k.side + 2*maxLanes }

// Encode codes tile (tx, ty) of a level, of which coefficients are known; it writes their
// residuals. It returns the body, which is the coder's until the next call, and what stands for its length.
func (k *Coder) Encode(p *Params, n *model.Neighbours, tx, ty, level int, indices *Bands) (body []uint16, length uint64) {
	levelClass := constants.LevelClass(level)
	m := k.model
	m.Start(n, tx, ty, levelClass, p.Set, p.Qmin)
	k.symbols, k.halves = k.symbols[:0], k.halves[:0]
	zero := true
	var all [constants.Bands]int32 // the greatest magnitude of indices
	for b := range constants.Bands {
		_, h := m.Band(b)
		if h == 0 {
			continue
		}
		offset := int32(p.Offsets[levelClass*constants.Bands+b])
		plane := &n.Own.Bands[b]
		for y := range h {
			row := indices[b].Row(ty*k.side + y)[tx*k.side:]
			at := (ty*k.side+y)*plane.W + tx*k.side
			for parity := range 2 {
				count := m.HalfRow(y, parity)
				k.halves = append(k.halves, count)
				for j := range count {
					x := 2*j + parity
					v := row[x]
					e := v - m.Predictions[j]
					all[b] |= v ^ v>>31
					zero = zero && e == 0
					k.symbols = append(k.symbols, model.MakeSymbol(e, m.Fractions[j], model.WithOffset(m.Contexts[j], offset)))
					k.c[j], k.e[j] = plane.C[at+x], model.Saturate(e)
					plane.E[at+x] = k.e[j]
				}
				m.Put(y, parity, k.c[:count], k.e[:count])
			}
		}
		m.EndBand()
	}
	if zero {
		return nil, 0
	}
	body = k.code(p)
	width := 1 + bits.Len32(uint32(all[0]|all[1]|all[2]))
	if raw := 1 + (len(k.symbols)*width+15)/16; raw < len(body) {
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
	end := len(k.symbols)
	for i := len(k.halves) - 1; i >= 0; i-- {
		k.enc.half(k.symbols[end-k.halves[i]:end], p.Lanes, table)
		end -= k.halves[i]
	}
	at := k.enc.at - 2*p.Lanes
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
	if k.words == nil {
		k.words = make([]uint16, k.room())
	}
	n := len(body) / 2
	for i := range k.words[:n] {
		k.words[i] = binary.LittleEndian.Uint16(body[2*i:])
	}
	return k.words[:n]
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
		_, h := m.Band(b)
		if h == 0 {
			continue
		}
		offset := int32(p.Offsets[levelClass*constants.Bands+b])
		plane := &n.Own.Bands[b]
		for y := range h {
			row := values[b].Row(ty*k.side + y)[tx*k.side:]
			at := (ty*k.side+y)*plane.W + tx*k.side
			for parity := range 2 {
				count := m.HalfRow(y, parity)
				index := k.index[:count]
				switch {
				case raw:
					for j := range index {
						index[j] = reader.next() - m.Predictions[j]
					}
				case len(words) > 0:
					for j, q := range m.Contexts[:count] {
						m.Contexts[j] = model.WithOffset(q, offset)
					}
					k.dec.half(index, m.Fractions[:count], m.Contexts[:count], p.Lanes, tables)
				default:
					clear(index)
				}
				for j, e := range index {
					v := Dequantize(e+m.Predictions[j], p.Qmin)
					x := 2*j + parity
					row[x] = v
					k.c[j], k.e[j] = model.Saturate(v), model.Saturate(e)
					plane.C[at+x], plane.E[at+x] = k.c[j], k.e[j]
				}
				m.Put(y, parity, k.c[:count], k.e[:count])
			}
		}
		m.EndBand()
	}
	switch {
	case raw:
		return reader.whole()
	case len(words) > 0:
		return k.dec.whole(p.Lanes)
	}
	return true
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
