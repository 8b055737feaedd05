package pcwt

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"math/bits"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/model"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/tile"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/wavelettree"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// Encode makes one file per image. See the package comment for what it takes and
// guarantees.
func (c Codec) Encode(ctx context.Context, run codec.Run, items []codec.Item, opts codec.Options) []codec.Encoded {
	out := make([]codec.Encoded, len(items))
	o, err := resolve(opts)
	info := c.Info()
	cores := run.Cores()
	var taken []int
	for i := range items {
		m := items[i].Image
		e := &out[i]
		if e.Err = err; e.Err == nil {
			e.Err = info.Check(m.Shape)
		}
		if e.Err == nil && int64(m.Width)*int64(m.Height) > maxPixels {
			e.Err = codec.Unsupportedf("pcwt: %s; a slice has at most %d pixels", m.Shape, maxPixels)
		}
		if e.Err == nil {
			taken = append(taken, i)
		}
	}
	if run.Device != nil && err == nil {
		d := deviceEncoder{ctx: ctx, run: run, cores: cores, images: codec.Images(items), o: o, out: out}
		d.encode(taken)
		return out
	}
	cores.Each(len(taken), func(j int) {
		i := taken[j]
		out[i].Data, out[i].Err = encode(ctx, cores, items[i].Image, o)
	})
	return out
}

// encoder makes the file of an image.
type encoder struct {
	ctx   context.Context
	cores *pool.Pool
	image *raster.Image
	o     *Options
}

func encode(ctx context.Context, cores *pool.Pool, m *raster.Image, o *Options) ([]byte, error) {
	e := &encoder{ctx, cores, m, o}
	var file []byte
	var err error
	if o.profile == 0 {
		file, err = e.trees()
	} else {
		file, err = e.best()
	}
	if err != nil {
		return nil, err
	}
	return e.smaller(file), ctx.Err()
}

// smaller is the file, or one with the samples as they are where that is smaller and changes nothing.
func (e *encoder) smaller(file []byte) []byte {
	m := e.image
	if n := (m.Width*m.Height*m.Channels*m.Bits + 7) / 8 * m.Depth; !e.o.Lossy() && len(file) > n {
		if stored := e.store(); len(stored) < len(file) {
			return stored
		}
	}
	return file
}

// header is that of the image, without parameters.
func (e *encoder) header() *header {
	m := e.image
	h := &header{profile: e.o.profile, shape: m.Shape, meta: m.Meta, near: min(e.o.near, 1<<m.Bits-1)}
	if m.Signed {
		h.flags |= flagSigned
	}
	if m.Frames {
		h.flags |= flagFrames
	}
	if m.Channels >= 3 {
		h.flags |= flagRCT
	}
	return h
}

// store makes a file with samples as they are.
func (e *encoder) store() []byte {
	m := e.image
	h := e.header()
	h.profile, h.near = 1, 0
	h.flags = h.flags&^flagRCT | flagStored
	h.checksum = crc32.Checksum(m.Pix, castagnoli)
	sections := make([][]byte, m.Depth)
	for z := range sections {
		sections[z] = packSamples(m.Slice(z))
	}
	return assemble(h, sections)
}

// assemble makes a file of a header and sections.
func assemble(h *header, sections [][]byte) []byte {
	h.sections = make([]int, len(sections))
	all := 0
	for i, s := range sections {
		h.sections[i] = len(s)
		all += len(s)
	}
	head := h.append()
	file := append(make([]byte, 0, len(head)+all), head...)
	for _, s := range sections {
		file = append(file, s...)
	}
	return file
}

// packSamples packs the samples of an image without gaps.
func packSamples(m *raster.Image) []byte {
	var w bitPacker
	w.data = make([]byte, 0, (m.Samples()*m.Bits+7)/8)
	for i := range m.Samples() {
		w.put(uint32(m.Sample(i))&(1<<m.Bits-1), m.Bits)
	}
	return w.end()
}

// bitPacker fills bytes from the most significant bit on.
type bitPacker struct {
	data    []byte
	pending uint64
	count   int
}

func (w *bitPacker) put(v uint32, n int) {
	w.pending = w.pending<<n | uint64(v)
	for w.count += n; w.count >= 8; w.count -= 8 {
		w.data = append(w.data, byte(w.pending>>(w.count-8)))
	}
}

func (w *bitPacker) end() []byte {
	if w.count > 0 {
		w.put(0, 8-w.count)
	}
	return w.data
}

// trees makes a file of profile 0.
func (e *encoder) trees() ([]byte, error) {
	m := e.image
	h := e.header()
	sections := make([][]byte, m.Depth)
	e.cores.Each(m.Depth, func(z int) {
		if e.ctx.Err() != nil {
			return
		}
		p := wavelettree.DefaultParams(m.Width, m.Height)
		p.ZeroSigns = e.o.zeroSigns
		stream := wavelettree.Encode(e.cores, loadPlanes(e.cores, m, z, h.near, h.rct()), p)
		sections[z] = little.AppendUint32(stream, crc32.Checksum(stream, castagnoli))
	})
	h.checksum = checksum(e.cores, h, m)
	return assemble(h, sections), e.ctx.Err()
}

// checksumOf is the checksum that a file has for its samples. With qmin different sections may give equal samples, so
// that it covers the sections too.
func (h *header) checksumOf(c *pool.Pool, pix, file []byte) uint32 {
	sum := crc(c, pix)
	if h.qmin > 0 {
		sum = crc32.Update(sum, castagnoli, file[h.start:])
	}
	return sum
}

// checksum is that of the samples as they come back from indices.
func checksum(cores *pool.Pool, h *header, m *raster.Image) uint32 {
	if h.near == 0 {
		return crc(cores, m.Pix)
	}
	back := raster.Make(raster.Shape{Width: m.Width, Height: m.Height, Depth: 1, Channels: m.Channels, Bits: m.Bits, Signed: m.Signed})
	sum := uint32(0)
	for z := range m.Depth {
		storePlanes(cores, back, 0, h.near, h.rct(), loadPlanes(cores, m, z, h.near, h.rct()))
		sum = crc32.Update(sum, castagnoli, back.Pix)
	}
	return sum
}

// slice codes the planes of a stored slice, and returns its sections: that of the last LL, and then the levels from
// the last on. It changes planes.
func (e *encoder) slice(h *header, k *coders, planes []wavelet.Plane[int32], number int) [][]byte {
	pyramids := make([]*pyramid, len(planes))
	for i, p := range planes {
		pyramids[i] = transform(e.cores, p, h.params(number, i).wavelet, h.levels, uint(h.qmin))
	}
	return e.code(h, k, pyramids, number)
}

// code codes the pyramids of a stored slice, whose residuals it writes.
func (e *encoder) code(h *header, k *coders, pyramids []*pyramid, number int) [][]byte {
	sections := make([][]byte, h.levels+1)
	for _, p := range pyramids {
		sections[0] = appendLow(sections[0], p.last)
	}
	for level := h.levels; level > 0; level-- {
		var tiles []codedTile
		for i, p := range pyramids {
			params := h.params(number, i)
			n := neighbours(p, earlierOf(pyramids, i, params.earlier), level-1)
			tiles = append(tiles, e.tiles(k, h.tileParams(params), n, level, p.bandsOf(level-1))...)
		}
		sections[1+h.levels-level] = levelSection(tiles)
	}
	return sections
}

// levelSection is the section of a level: the lengths of tiles, and their bodies.
func levelSection(tiles []codedTile) []byte {
	size := 0
	for _, t := range tiles {
		size += binary.MaxVarintLen64 + len(t.body)
	}
	section := make([]byte, 0, size)
	for _, t := range tiles {
		section = appendLEB(section, t.length)
	}
	for _, t := range tiles {
		section = append(section, t.body...)
	}
	return section
}

func earlierOf(pyramids []*pyramid, i, n int) (list []*pyramid) {
	for k := range n {
		list = append(list, pyramids[i-1-k])
	}
	return list
}

func (h *header) tileParams(p *planeParams) *tile.Params {
	return &tile.Params{Tables: p.tables, Offsets: p.offsets, Lanes: 1 << h.laneLog, Qmin: uint(h.qmin), Count: p.count}
}

type codedTile struct {
	length uint64
	body   []byte
}

// tiles is the step of that name for a level of a plane.
func (e *encoder) tiles(k *coders, p *tile.Params, n *model.Neighbours, level int, indices *tile.Bands) []codedTile {
	columns, rows := n.Own.Tiles(k.side)
	out := make([]codedTile, columns*rows)
	e.cores.Each(len(out), func(i int) {
		if e.ctx.Err() != nil {
			return
		}
		c := k.take()
		defer k.give(c)
		words, length := c.Encode(p, n, i%columns, i/columns, level, indices)
		out[i] = codedTile{length, tile.Bytes(words)}
	})
	return out
}

// appendLow writes a plane of the last LL.
func appendLow(data []byte, p wavelet.Plane[int32]) []byte {
	least, most := p.Samples[0], p.Samples[0]
	for y := range p.Height {
		for _, v := range p.Row(y) {
			least, most = min(least, v), max(most, v)
		}
	}
	n := bits.Len32(uint32(most - least))
	w := bitPacker{data: little.AppendUint32(append(data, byte(n)), uint32(least))}
	for y := range p.Height {
		for _, v := range p.Row(y) {
			w.put(uint32(v-least), n)
		}
	}
	return w.end()
}
