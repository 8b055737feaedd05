package vq

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// Encode makes one file per picture. See the package comment for what it takes and
// guarantees.
func (c Codec) Encode(ctx context.Context, dev *gpu.Device, batch []*raster.Image, opts codec.Options) []codec.Encoded {
	out := make([]codec.Encoded, len(batch))
	o, err := c.resolve(opts)
	crew := newCrew()
	crew.each(len(batch), func(i int) {
		if err != nil {
			out[i].Err = err
			return
		}
		out[i].Data, out[i].Err = encode(ctx, crew, batch[i], o)
	})
	return out
}

// resolve returns the codec's options, ready for use.
func (c Codec) resolve(opts codec.Options) (*Options, error) {
	if opts == nil {
		var err error
		if opts, err = c.Options(nil); err != nil {
			return nil, err
		}
	}
	o, ok := opts.(*Options)
	if !ok {
		return nil, fmt.Errorf("vq: options of another codec: %T", opts)
	}
	if o.Want() != (codec.Want{}) {
		return nil, fmt.Errorf("vq: options %q: the codebook is missing", o)
	}
	return o, nil
}

// check says whether the codec takes m.
func check(m *raster.Image) error {
	if err := (Codec{}).Info().Check(m); err != nil {
		return err
	}
	if overSamples(m.Width, m.Height, m.Depth, m.Channels) {
		return codec.Unsupportedf("vq: %s; vq takes at most %d samples", m.Shape(), maxSamples)
	}
	return nil
}

func encode(ctx context.Context, c *crew, m *raster.Image, o *Options) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := check(m); err != nil {
		return nil, err
	}
	if o.books != nil && m.Channels == 3 && o.books.chroma == nil {
		return nil, codec.Unsupportedf("vq: a colour picture, and the shared codebook was made from grey pictures only")
	}
	h := newHeader(m, o)
	lumaSamples, chromaSamples := cutPicture(c, m, h)
	luma, chroma := newVectors(c, o.block.k(), lumaSamples), newVectors(c, o.block.k(), chromaSamples)

	books := o.books
	if books != nil && !h.colour() {
		books = &bookPair{luma: books.luma}
	}
	if books == nil {
		books = new(bookPair)
		var err error
		if books.luma, err = train(ctx, c, luma, o.block, o.n, o.start, o.passes); err != nil {
			return nil, err
		}
		if m.Channels == 3 {
			if books.chroma, err = train(ctx, c, chroma, o.block, o.chroma, o.start, o.passes); err != nil {
				return nil, err
			}
		}
	}
	table := make([][]uint16, 1, 2) // of luma and chroma, all slices
	table[0], books = assign(c, luma, books, 0, h.shared())
	if h.colour() {
		var t []uint16
		t, books = assign(c, chroma, books, 1, h.shared())
		table = append(table, t)
	}
	return assemble(ctx, c, h, books, table)
}

// cutPicture returns the blocks of luma (or grey) and of chroma of all slices:
// slice after slice, of chroma first Co, then Cg.
func cutPicture(c *crew, m *raster.Image, h *header) (luma, chroma []byte) {
	size := h.planeSizes()
	k := h.block.k()
	per := h.block.grid(size[0][0], size[0][1]).blocks() * k
	luma = make([]byte, per*m.Depth)
	perChroma := 0
	if h.colour() {
		perChroma = h.block.grid(size[1][0], size[1][1]).blocks() * k
		chroma = make([]byte, 2*perChroma*m.Depth)
	}
	c.each(m.Depth, func(z int) {
		ps := planes(c, m.Slice(z), h.half())
		blocks(c, ps[0], h.block, luma[z*per:(z+1)*per])
		for i, p := range ps[1:] {
			at := (2*z + i) * perChroma
			blocks(c, p, h.block, chroma[at:at+perChroma])
		}
	})
	return luma, chroma
}

// assign gives every block its index in codebook i of books. Codewords of a
// picture's own codebook that no block chose are dropped.
func assign(c *crew, b vectors, books *bookPair, i int, shared bool) ([]uint16, *bookPair) {
	book := books.list()[i]
	keys := make([]key, b.m())
	search(c, b, book, keys)
	with := *books
	if !shared {
		book = used(book, keys)
		if i == 0 {
			with.luma = book
		} else {
			with.chroma = book
		}
	}
	table := make([]uint16, len(keys))
	for i, k := range keys {
		table[i] = uint16(k.index())
	}
	return table, &with
}

// piece is one coded part of the index section: a segment of a plane's table.
type piece struct {
	book  int      // 0 luma, 1 chroma
	grid  grid     // of the plane
	table []uint16 // of the plane
	segment
}

// pieces lists the parts of the index section in their order in the file: by slice,
// then by plane, then downwards. table holds the entries of luma and of chroma.
func pieces(h *header, table [][]uint16) []piece {
	var list []piece
	var at [2]int
	sizes := h.planeSizes()
	for range h.d {
		for i, s := range sizes {
			book := min(i, 1)
			g := h.block.grid(s[0], s[1])
			t := table[book][at[book]:][:g.blocks()]
			at[book] += g.blocks()
			for _, seg := range g.segments() {
				list = append(list, piece{book, g, t, seg})
			}
		}
	}
	return list
}

// assemble codes the index tables and writes the file.
func assemble(ctx context.Context, c *crew, h *header, books *bookPair, table [][]uint16) ([]byte, error) {
	h.n = books.luma.n()
	if h.colour() {
		h.chroma = books.chroma.n()
	}
	var section []byte
	if !h.shared() {
		section = encodeBooks(books)
	}
	index, err := encodeTables(ctx, c, h, books, table)
	if err != nil {
		return nil, err
	}
	h.bookSize, h.tableSize = len(section), len(index)
	le := binary.LittleEndian
	out := h.marshal()
	out = append(out, section...)
	out = le.AppendUint32(out, checksum(section))
	out = append(out, index...)
	return le.AppendUint32(out, checksum(index)), nil
}

// encodeTables is the index section.
func encodeTables(ctx context.Context, c *crew, h *header, books *bookPair, table [][]uint16) ([]byte, error) {
	list := pieces(h, table)
	if h.raw() {
		var out []byte
		for _, p := range list {
			if p.first == 0 {
				out = appendRaw(out, p.table, h.codewords(p.book))
			}
		}
		return out, nil
	}
	book := books.list()
	coded := make([][]byte, len(list))
	c.each(len(list), func(i int) {
		if p := list[i]; ctx.Err() == nil {
			coded[i] = encodeSegment(p.table, p.grid.cols, p.segment, book[p.book].ranker(c))
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var out []byte
	for _, b := range coded {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(b)))
	}
	return append(out, bytes.Join(coded, nil)...), nil
}

// Train makes a codebook file from the blocks of all pictures of the sample that
// the codec takes; of a very large picture it uses no more blocks than training
// looks at in all, 256 for each codeword. The file has a chroma codebook if there is
// an RGB picture among them.
func (c Codec) Train(ctx context.Context, dev *gpu.Device, pictures []*raster.Image, opts codec.Options) ([]byte, error) {
	if opts == nil {
		opts, _ = c.Options(nil)
	}
	o, ok := opts.(*Options)
	if !ok {
		return nil, fmt.Errorf("vq: options of another codec: %T", opts)
	}
	crew := newCrew()
	var luma, chroma []byte
	refused := errors.New("the sample is empty")
	for _, m := range pictures {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := check(m); err != nil {
			refused = err
			continue
		}
		l, ch := cutPicture(crew, m, newHeader(m, o))
		k := o.block.k()
		luma = append(luma, sample(newVectors(crew, k, l), o.n*trainBlocks).samples...)
		chroma = append(chroma, sample(newVectors(crew, k, ch), o.chroma*trainBlocks).samples...)
	}
	if luma == nil {
		return nil, fmt.Errorf("vq: train: no picture to train on: %w", refused)
	}
	books := new(bookPair)
	var err error
	if books.luma, err = train(ctx, crew, newVectors(crew, o.block.k(), luma), o.block, o.n, o.start, o.passes); err != nil {
		return nil, err
	}
	if len(chroma) > 0 {
		if books.chroma, err = train(ctx, crew, newVectors(crew, o.block.k(), chroma), o.block, o.chroma, o.start, o.passes); err != nil {
			return nil, err
		}
	}
	return marshalAsset(books), nil
}
