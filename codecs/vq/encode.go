package vq

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// Encode makes one file per image. See the package comment for what it takes and
// guarantees.
func (c Codec) Encode(ctx context.Context, run codec.Run, items []codec.Item, opts codec.Options) []codec.Encoded {
	batch := codec.Images(items)
	out := make([]codec.Encoded, len(batch))
	o, err := c.resolve(opts)
	var taken []int
	for i, m := range batch {
		if err == nil {
			out[i].Err = check(m, o)
		} else {
			out[i].Err = err
		}
		if out[i].Err == nil {
			taken = append(taken, i)
		}
	}
	workers := run.Cores()
	sets, starters := oneByOne(taken), workers
	if run.Device != nil {
		// Who waits for the card keeps no core from working.
		sets = together(batch, taken, o)
		starters = pool.Of(len(sets))
	}
	starters.Each(len(sets), func(s int) {
		images := make([]*raster.Image, len(sets[s]))
		for j, i := range sets[s] {
			images[j] = batch[i]
		}
		known := make([]*analysis, len(images))
		err := divide(ctx, run.Device, workers, len(images), func(d device, from, to int) error {
			list, err := analyse(ctx, d, images[from:to], o)
			copy(known[from:to], list)
			return err
		})
		workers.Each(len(known), func(j int) {
			i := sets[s][j]
			if known[j] == nil {
				out[i].Err = err
				return
			}
			out[i].Data, out[i].Err = assemble(ctx, workers, known[j])
		})
	})
	return out
}

func oneByOne(items []int) [][]int {
	var sets [][]int
	for _, i := range items {
		sets = append(sets, []int{i})
	}
	return sets
}

// together divides images into sets of neighbours that a card takes in one go: those
// of one size that share a codebook, or a batch of small ones that have codebooks of
// their own, whatever their sizes.
func together(batch []*raster.Image, items []int, o *Options) [][]int {
	all := 0
	for _, i := range items {
		all += batch[i].Size()
	}
	batchSize := min(max(all/batches, leastBatch), batchBytes)
	var sets [][]int
	size := 0 // bytes of samples in the last set
	for _, i := range items {
		m := batch[i]
		if n := len(sets); n > 0 {
			first := batch[sets[n-1][0]]
			same := o.books != nil && m.Width == first.Width && m.Height == first.Height && m.Channels == first.Channels
			if same && (len(sets[n-1])+1)*max(m.Size(), first.Size()) <= setBytes || batched(m, o) && size+m.Size() <= batchSize {
				sets[n-1] = append(sets[n-1], i)
				size += m.Size()
				continue
			}
		}
		sets = append(sets, []int{i})
		size = m.Size()
	}
	return sets
}

// setBytes is enough for copies at the full speed of the link, and little enough that
// a batch makes several sets, of which one is copied while another is searched.
const setBytes = 32 << 20

// batched says whether a card takes m in a batch.
func batched(m *raster.Image, o *Options) bool { return o.books == nil && m.Size() <= batchBytes }

// A call makes some batches, so that the indices of one are coded while the next ones
// train, but none so small that a card trains it in no less time than a larger one.
const (
	batches    = 6
	leastBatch = 4 << 20  // bytes of samples
	batchBytes = 16 << 20 // at most
)

// divide runs f for the items 0 to n-1: on the CPU one after the other, or on dev as many
// at a time as fit there, and on the CPU those that do not even fit alone.
func divide(ctx context.Context, dev *gpu.Device, c *pool.Pool, n int, f func(d device, from, to int) error) error {
	var left []int
	if dev != nil {
		var err error
		if left, err = onCard(ctx, dev, c, n, f); err != nil {
			return err
		}
	} else {
		for i := range n {
			left = append(left, i)
		}
	}
	for _, i := range left {
		if err := f(cpu{c}, i, i+1); err != nil {
			return err
		}
	}
	return nil
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

// check says whether the codec takes m with the options.
func check(m *raster.Image, o *Options) error {
	if err := (Codec{}).Info().Check(m.Shape); err != nil {
		return err
	}
	if overSamples(m.Width, m.Height, m.Depth, m.Channels) {
		return codec.Unsupportedf("vq: %s; vq takes at most %d samples", m.Shape, maxSamples)
	}
	if o.books != nil && m.Channels == 3 && o.books.chroma == nil {
		return codec.Unsupportedf("vq: a colour picture, and the shared codebook was made from grey pictures only")
	}
	return nil
}

// analysis is what is known of an image before its index table is coded.
type analysis struct {
	header  *header
	books   *bookPair
	table   [][]uint16 // of luma and chroma, all slices, for the plain index table
	symbols [][]symbol // likewise, for the coded one
}

// analyse finds the codebooks and the index tables of images: of one image, of
// several that share the codebook and the size of slices, or of a batch.
func analyse(ctx context.Context, d device, images []*raster.Image, o *Options) ([]*analysis, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if g, ok := d.(batchDevice); ok && batched(images[0], o) {
		return g.analyseBatch(ctx, images, o)
	}
	h := newHeader(images[0], o)
	luma, chroma, err := d.cut(h, slicesOf(images))
	if err != nil {
		return nil, err
	}
	sets := []blockSet{luma}
	if h.colour() {
		sets = append(sets, chroma)
	}
	books, err := booksFor(ctx, d, h, sets, o)
	if err != nil {
		return nil, err
	}
	list := make([]*analysis, len(images))
	for i, m := range images {
		list[i] = &analysis{header: newHeader(m, o), books: books}
	}
	size := h.planeSizes()
	for i, b := range sets {
		book, err := assign(b, books, i, h.shared())
		if err != nil {
			return nil, err
		}
		g := h.block.grid(size[i][0], size[i][1])
		per := (1 + i) * g.blocks() // of a slice
		if h.raw() {
			err = shareOut(list, per, b.table, func(a *analysis) *[][]uint16 { return &a.table })
		} else {
			err = shareOut(list, per, func() ([]symbol, error) { return b.symbols(book, g) }, func(a *analysis) *[][]symbol { return &a.symbols })
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// slicesOf is the samples of all slices. Those that lie one after the other can be seen
// to: no slice's capacity ends before the next one.
func slicesOf(images []*raster.Image) [][]byte {
	var list [][]byte
	for _, m := range images {
		n := m.Size() / m.Depth
		for z := range m.Depth {
			list = append(list, m.Pix[z*n:(z+1)*n])
		}
	}
	return list
}

// booksFor is the shared codebook, or one that is trained on the blocks of luma and of
// chroma.
func booksFor(ctx context.Context, d device, h *header, sets []blockSet, o *Options) (*bookPair, error) {
	if o.books != nil {
		if h.colour() {
			return o.books, nil
		}
		return &bookPair{luma: o.books.luma}, nil
	}
	var sources []source
	for _, b := range sets {
		sources = append(sources, b)
	}
	list, err := d.train(ctx, sources, o.block, []int{o.n, o.chroma}, o.start, o.passes)
	if err != nil {
		return nil, err
	}
	books := &bookPair{luma: list[0]}
	if h.colour() {
		books.chroma = list[1]
	}
	return books, nil
}

// assign gives every block its index in codebook i of books, which it returns.
// Codewords of an image's own codebook that no block chose are dropped.
func assign(b blockSet, books *bookPair, i int, shared bool) (*codebook, error) {
	book := books.list()[i]
	if err := b.assign(book); err != nil || shared {
		return book, err
	}
	count, err := b.count(book.n())
	if err != nil {
		return nil, err
	}
	less, to := used(book, count)
	if less.n() == book.n() {
		return book, nil
	}
	if i == 0 {
		books.luma = less
	} else {
		books.chroma = less
	}
	return less, b.renumber(to)
}

// shareOut hands the images their parts of a table of all their slices, per entries
// for each slice.
func shareOut[T any](list []*analysis, per int, all func() ([]T, error), to func(*analysis) *[][]T) error {
	t, err := all()
	if err != nil {
		return err
	}
	for _, a := range list {
		n := a.header.d * per
		p := to(a)
		*p = append(*p, t[:n:n])
		t = t[n:]
	}
	return nil
}

// piece is one coded part of the index section: a segment of a plane's table, of
// indices or symbols.
type piece[T any] struct {
	book  int  // 0 luma, 1 chroma
	grid  grid // of the plane
	table []T  // of the plane
	segment
}

// pieces lists the parts of the index section in their order in the file: by slice,
// then by plane, then downwards. table holds the entries of luma and of chroma.
func pieces[T any](h *header, table [][]T) []piece[T] {
	var list []piece[T]
	var at [2]int
	sizes := h.planeSizes()
	for range h.d {
		for i, s := range sizes {
			book := min(i, 1)
			g := h.block.grid(s[0], s[1])
			t := table[book][at[book]:][:g.blocks()]
			at[book] += g.blocks()
			for _, seg := range g.segments() {
				list = append(list, piece[T]{book, g, t, seg})
			}
		}
	}
	return list
}

// assemble codes the index tables and writes the file.
func assemble(ctx context.Context, c *pool.Pool, a *analysis) ([]byte, error) {
	h := a.header
	h.n = a.books.luma.n()
	if h.colour() {
		h.chroma = a.books.chroma.n()
	}
	var section []byte
	if !h.shared() {
		section = encodeBooks(a.books)
	}
	index, err := encodeTables(ctx, c, a)
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
func encodeTables(ctx context.Context, c *pool.Pool, a *analysis) ([]byte, error) {
	h := a.header
	if h.raw() {
		var out []byte
		for _, p := range pieces(h, a.table) {
			if p.first == 0 {
				out = appendRaw(out, p.table, h.codewords(p.book))
			}
		}
		return out, nil
	}
	list := pieces(h, a.symbols)
	coded := make([][]byte, len(list))
	c.Each(len(list), func(i int) {
		if p := list[i]; ctx.Err() == nil {
			coded[i] = encodeSegment(p.table, p.grid.cols, p.segment, h.codewords(p.book))
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

// Train makes a codebook file from the blocks of all images of the sample that
// the codec takes; of a very large image it uses no more blocks than training
// looks at in all, 256 for each codeword. The file has a chroma codebook if there is
// an RGB image among them.
func (c Codec) Train(ctx context.Context, run codec.Run, images []*raster.Image, opts codec.Options) ([]byte, error) {
	if opts == nil {
		opts, _ = c.Options(nil)
	}
	o, ok := opts.(*Options)
	if !ok {
		return nil, fmt.Errorf("vq: options of another codec: %T", opts)
	}
	workers := run.Cores()
	var samples [2][]byte // of luma and chroma
	refused := errors.New("the sample is empty")
	for _, m := range images {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := check(m, &Options{}); err != nil {
			refused = err
			continue
		}
		err := divide(ctx, run.Device, workers, 1, func(d device, _, _ int) error { return takeSample(d, m, o, &samples) })
		if err != nil {
			return nil, err
		}
	}
	if samples[0] == nil {
		return nil, fmt.Errorf("vq: train: no picture to train on: %w", refused)
	}
	var list []*codebook
	err := divide(ctx, run.Device, workers, 1, func(d device, _, _ int) error {
		var sets []source
		for _, s := range samples {
			if len(s) > 0 {
				b, err := d.load(o.block.k(), s)
				if err != nil {
					return err
				}
				sets = append(sets, b)
			}
		}
		var err error
		list, err = d.train(ctx, sets, o.block, []int{o.n, o.chroma}, o.start, o.passes)
		return err
	})
	if err != nil {
		return nil, err
	}
	books := &bookPair{luma: list[0]}
	if len(list) > 1 {
		books.chroma = list[1]
	}
	return marshalAsset(books), nil
}

// takeSample appends what training may look at of m to the samples of luma and chroma.
func takeSample(d device, m *raster.Image, o *Options, samples *[2][]byte) error {
	luma, chroma, err := d.cut(newHeader(m, o), slicesOf([]*raster.Image{m}))
	if err != nil {
		return err
	}
	var taken [2][]byte
	for i, b := range []blockSet{luma, chroma} {
		if b == nil {
			continue
		}
		t, err := b.sample([]int{o.n, o.chroma}[i] * trainBlocks)
		if err != nil {
			return err
		}
		if taken[i], err = t.read(0, t.m()); err != nil {
			return err
		}
	}
	for i, t := range taken {
		samples[i] = append(samples[i], t...)
	}
	return nil
}
