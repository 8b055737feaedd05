// Package tile codes the tiles of profile 1 of PCWT: symbols by package model, interleaved
// rANS, or raw coefficients where those take less. README.md of package pcwt is the format.
package tile

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

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
// residuals. Indices are nil if they are the coefficients of the level. It returns the body, which is the coder's until the next call, and
// what stands for its length.
func (k *Coder) Encode(p *Params, n *model.Neighbours, tx, ty, level int, indices *Bands) (body []uint16, length uint64) {
	levelClass := constants.LevelClass(level)
	m := k.model
	m.Start(n, tx, ty, levelClass, p.Set, p.Qmin)
	if k.symbols == nil {
		k.symbols = newSymbols(k.side)
	}
	s := k.symbols
	s.reset()
	for b := range constants.Bands {
		_, h := m.Band(b)
		class, from := levelClass*constants.Bands+b, s.n
		for y := range h {
			k.encodeRow(n, b, tx, ty, y, int32(p.Offsets[class]), indices)
		}
		if h > 0 {
			m.EndBand()
		}
		if p.Count != nil {
			p.Count(class, s.entries[from:s.n])
		}
	}
	if s.residuals() == 0 {
		return nil, 0
	}
	body = k.code(p)
	width := 1 + bits.Len32(s.magnitudes())
	if raw := 1 + (s.n*width+15)/16; raw < len(body) {
		body = k.raw(n, tx, ty, indices, width)
		return body, 2*uint64(len(body)) + 1
	}
	return body, 2 * uint64(len(body))
}

// encodeRow makes the symbols of row y of a tile in band b.
func (k *Coder) encodeRow(n *model.Neighbours, b, tx, ty, y int, offset int32, indices *Bands) {
	m := k.model
	plane := &n.Own.Bands[b]
	w := min(k.side, plane.W-tx*k.side)
	at := (ty*k.side+y)*plane.W + tx*k.side
	m.PutCoefficients(y, plane.C[at:at+w])
	if indices != nil {
		split32(k.values[0], k.values[1], indices[b].Row(ty*k.side + y)[tx*k.side:][:w])
	}
	for parity := range 2 {
		if count := m.HalfRow(y, parity); count > 0 {
			var values []int32
			if indices != nil {
				values = k.values[parity]
			}
			c, magnitudes := m.Cells(y, parity)
			k.symbols.add(m, values, c, count, offset, k.e[parity], magnitudes)
		}
		m.PutMagnitudes(y, parity)
	}
	if !plane.Same() {
		join16(plane.E[at:at+w], k.e[0], k.e[1])
	}
}

// code codes the symbols, the last first.
func (k *Coder) code(p *Params) []uint16 {
	if k.words == nil {
		k.words = make([]uint16, k.room())
	}
	k.enc.start(k.words)
	k.enc.tile(k.symbols, p.Lanes, p.encode())
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
		for j := range count {
			v := uint64(uint32(indexAt(&n.Own.Bands[b], indices, b, x+2*j, y))) & (1<<width - 1)
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

// indexAt is the index of a coefficient, see [Coder.Encode].
func indexAt(plane *model.Band, indices *Bands, b, x, y int) int32 {
	if indices == nil {
		return int32(plane.C[y*plane.W+x])
	}
	return indices[b].Row(y)[x]
}

// Words returns the words of a body.
func (k *Coder) Words(body []byte) []uint16 {
	n, zeros := len(body)/2, wordsAfter(k.side/2)
	if cap(k.words) < n+zeros {
		k.words = make([]uint16, max(n+zeros, k.room()))
	}
	words := k.words[: n : n+zeros]
	if little {
		copy(bytesOf(words), body)
	} else {
		for i := range words {
			words[i] = binary.LittleEndian.Uint16(body[2*i:])
		}
	}
	clear(words[n:cap(words)])
	return words
}

// Bytes is a copy of the words of a body as they are in files.
func Bytes(words []uint16) []byte {
	if little {
		return append([]byte(nil), bytesOf(words)...)
	}
	body := make([]byte, 0, 2*len(words))
	for _, w := range words {
		body = binary.LittleEndian.AppendUint16(body, w)
	}
	return body
}

// little says whether words are in memory as they are in files.
var little = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// bytesOf are the bytes of words in memory.
func bytesOf(words []uint16) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 2*len(words))
}

// MaxLength is the greatest number of words of a body.
func (k *Coder) MaxLength() uint64 { return uint64(k.room()) }

// Decode decodes a tile: values into bands, unless these are nil, and what the model keeps of them into n.Own. It reports whether the
// body was whole, and whether a value does not fit in 16 bits. raw says that it holds coefficients as they are; no words are for a tile
// without residuals.
func (k *Coder) Decode(p *Params, words []uint16, raw bool, n *model.Neighbours, tx, ty, level int, values *Bands) (whole, wide bool) {
	d := tileDecoder{Coder: k, p: p, n: n, tx: tx, ty: ty, values: values}
	switch {
	case raw:
		if !d.reader.start(words) {
			return false, false
		}
		d.kind = rawBody
	case len(words) > 0:
		if !k.dec.start(words, p.Lanes) {
			return false, false
		}
		d.kind, d.tables = codedBody, p.decode()
	}
	levelClass := constants.LevelClass(level)
	k.model.Start(n, tx, ty, levelClass, p.Set, p.Qmin)
	for b := range constants.Bands {
		_, h := k.model.Band(b)
		d.band, d.offset = b, int32(p.Offsets[levelClass*constants.Bands+b])
		for y := range h {
			d.row(y)
		}
		if h > 0 {
			k.model.EndBand()
		}
	}
	switch d.kind {
	case rawBody:
		return d.reader.whole(), d.wide
	case codedBody:
		return k.dec.whole(p.Lanes), d.wide
	}
	return true, d.wide
}

// Kinds of bodies of tiles.
const (
	emptyBody = iota // all residuals are 0
	rawBody
	codedBody
)

// tileDecoder is a call of Decode.
type tileDecoder struct {
	*Coder
	p      *Params
	n      *model.Neighbours
	tx, ty int
	values *Bands
	kind   int
	reader rawReader
	tables *decodeTables
	band   int
	offset int32 // of q
	wide   bool
}

// row decodes row y of the tile in a band.
func (d *tileDecoder) row(y int) {
	m := d.model
	for parity := range 2 {
		if count := m.HalfRow(y, parity); count > 0 {
			d.half(y, parity, count)
		}
		m.PutCells(y, parity)
	}
	side := d.side
	plane := &d.n.Own.Bands[d.band]
	w := min(side, plane.W-d.tx*side)
	if d.values != nil {
		join32(d.values[d.band].Row(d.ty*side + y)[d.tx*side:][:w], d.Coder.values[0], d.Coder.values[1])
	}
	at := (d.ty*side+y)*plane.W + d.tx*side
	even, _ := m.Cells(y, 0)
	odd, _ := m.Cells(y, 1)
	join16(plane.C[at:at+w], even, odd)
	if !plane.Same() {
		join16(plane.E[at:at+w], d.e[0], d.e[1])
	}
}

// half decodes half a row of coefficients.
func (d *tileDecoder) half(y, parity, count int) {
	m := d.model
	var h decodedHalf // field by field, as in half of decoder
	h.count, h.values, h.e = count, d.Coder.values[parity], d.e[parity]
	h.c, h.m = m.Cells(y, parity)
	switch d.kind {
	case codedBody:
		d.dec.half(&h, m, d.offset, d.p.Lanes, d.tables)
	case rawBody:
		for j := range d.index[:count] {
			d.index[j] = d.reader.next() - m.Predictions[j]
		}
		h.set(d.index[:count], m.Predictions)
	default:
		clear(d.index[:count])
		h.set(d.index[:count], m.Predictions)
	}
	if qmin := d.p.Qmin; qmin > 0 {
		for j, v := range h.values[:count] {
			h.values[j] = Dequantize(v, qmin)
			h.c[j] = model.Saturate(h.values[j])
		}
	}
	d.wide = d.wide || h.wide != 0
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
