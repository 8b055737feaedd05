//go:build cuda && cgo

package vq

import (
	"context"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// A batch is small images that go through all steps on a card together, each with
// codebooks of its own: every kernel is launched once for all of them, and what goes
// to the card or back goes in one copy, with the room between its parts, which is why
// that is filled with zeros.
type batch struct {
	*card
	options *Options
	images  []*raster.Image
	headers []*header
	sets    []*batchSet
	blocks  *gpu.Buffer  // of all sets
	samples []byte       // the same on the host, page-locked
	most    int          // blocks of a set
	entries []batchIndex // of the sets
	tables  *gpu.Buffer  // of all sets
}

// batchSet is the blocks of luma or of chroma of an image of a batch.
type batchSet struct {
	of    int  // number of the image
	which int  // 0 luma, 1 chroma
	grid  grid // of a plane
	n     int  // codewords at most
	at, m int  // where its blocks begin in the batch's, in bytes, and how many they are
	book  *codebook
	pupil *pupil // nil where the codebook needs no training

	table   []uint16
	symbols []symbol
}

// memoryBlocks is blocks of K samples in memory.
type memoryBlocks struct {
	k       int
	samples []byte
}

func (b memoryBlocks) m() int                          { return len(b.samples) / b.k }
func (b memoryBlocks) read(lo, hi int) ([]byte, error) { return b.samples[lo*b.k : hi*b.k], nil }

// analyseBatch is the function analyse for a batch.
func (d *card) analyseBatch(ctx context.Context, images []*raster.Image, o *Options) ([]*analysis, error) {
	g := &batch{card: d, options: o, images: images}
	for _, step := range []func(context.Context) error{g.cut, g.train, g.assign, g.code} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return g.analyses(), nil
}

// analyses is what is known of the images in the end.
func (g *batch) analyses() []*analysis {
	list := make([]*analysis, len(g.images))
	for i, h := range g.headers {
		list[i] = &analysis{header: h, books: new(bookPair)}
	}
	for _, s := range g.sets {
		a := list[s.of]
		if s.which == 0 {
			a.books.luma = s.book
		} else {
			a.books.chroma = s.book
		}
		a.table = append(a.table, s.table)
		a.symbols = append(a.symbols, s.symbols)
	}
	return list
}

// cut brings the images to the card, and their blocks to the host as well.
func (g *batch) cut(context.Context) error {
	var pixels, all gpu.Layout
	k, threads, planes := g.options.block.k(), 0, 1
	entries, starts := make([]batchImage, len(g.images)), make([]int, len(g.images))
	for i, m := range g.images {
		h := newHeader(m, g.options)
		g.headers = append(g.headers, h)
		starts[i] = pixels.Take(m.Size())
		e := &entries[i]
		*e = batchImage{
			Width: uint32(h.w), Height: uint32(h.h), Slices: uint32(h.d), Channels: uint32(h.channels()),
			BP: uint32(h.block.p), BQ: uint32(h.block.q),
		}
		if h.half() {
			e.Half = 1
		}
		sizes := h.planeSizes()
		for which, n := range []int{g.options.n, g.options.chroma} {
			if which == 1 && !h.colour() {
				continue
			}
			s := &batchSet{of: i, which: which, grid: h.block.grid(sizes[which][0], sizes[which][1]), n: n}
			s.m = h.d * (1 + which) * s.grid.blocks()
			s.at = all.Take(s.m * k)
			g.most = max(g.most, s.m)
			g.sets = append(g.sets, s)
		}
		if h.colour() {
			planes = 3
		}
		threads = max(threads, h.d*h.block.grid(h.w, h.h).blocks()*h.block.p)
	}
	source, err := g.lane.Device(pixels.Size)
	if err != nil {
		return err
	}
	if g.blocks, err = g.zeros(all.Size); err != nil {
		return err
	}
	for _, s := range g.sets {
		if e := &entries[s.of]; s.which == 0 {
			e.Luma, e.Pixels = g.blocks.Ptr+gpu.Ptr(s.at), source.Ptr+gpu.Ptr(starts[s.of])
		} else {
			e.Chroma = g.blocks.Ptr + gpu.Ptr(s.at)
		}
	}
	way, err := g.lane.Host(max(pixels.Size, all.Size))
	if err != nil {
		return err
	}
	g.pool.Each(len(g.images), func(i int) { copy(way.Bytes[starts[i]:], g.images[i].Pix) })
	if err := g.stream.Upload(source, 0, way.Bytes[:pixels.Size]); err != nil {
		return err
	}
	list, err := uploadList(g.card, entries)
	if err != nil {
		return err
	}
	grid := gpu.Grid{Blocks: [3]int{(threads + cardThreads - 1) / cardThreads, planes, len(entries)}}
	if err := launchGrid(g.card, "vq_batch_blocks", grid, &batchParams{list.Ptr}); err != nil {
		return err
	}
	g.samples = way.Bytes[:all.Size] // the pixels have left it before the blocks come: one stream
	if err := g.stream.Download(g.samples, g.blocks, 0); err != nil {
		return err
	}
	return g.stream.Sync()
}

// train finds the codebooks.
func (g *batch) train(ctx context.Context) error {
	k := g.options.block.k()
	samples := make([][]byte, len(g.sets)) // what is trained on where that is not all blocks
	g.pool.Each(len(g.sets), func(i int) {
		s := g.sets[i]
		b := memoryBlocks{k, g.samples[s.at:][:s.m*k]}
		if s.book, _ = distinct(b, g.options.block, s.n); s.book != nil || s.m <= s.n*trainBlocks {
			return
		}
		for _, at := range samplePlaces(s.m, s.n*trainBlocks) {
			samples[i] = append(samples[i], b.samples[at*k:(at+1)*k]...)
		}
		s.book, _ = distinct(memoryBlocks{k, samples[i]}, g.options.block, s.n)
	})
	var pupils []*pupil
	for i, s := range g.sets {
		if s.book != nil {
			continue
		}
		s.pupil = &pupil{blocks: g.blocks.Ptr + gpu.Ptr(s.at), m: s.m, n: s.n}
		if samples[i] != nil {
			b, err := g.upload(samples[i])
			if err != nil {
				return err
			}
			s.pupil.blocks, s.pupil.m = b.Ptr, len(samples[i])/k
		}
		pupils = append(pupils, s.pupil)
	}
	if err := g.teach(ctx, g.options.block, pupils, g.options.start, g.options.passes); err != nil {
		return err
	}
	g.pool.Each(len(g.sets), func(i int) {
		if s := g.sets[i]; s.pupil != nil {
			s.book = finished(s.pupil.book)
		}
	})
	return nil
}

// uploadBooks brings all codebooks to the card and notes where.
func (g *batch) uploadBooks() error {
	var p gpu.Layout
	at := make([]int, len(g.sets))
	for i, s := range g.sets {
		at[i] = p.Take(len(s.book.words))
	}
	all := make([]byte, p.Size)
	for i, s := range g.sets {
		copy(all[at[i]:], s.book.words)
	}
	b, err := g.upload(all)
	if err != nil {
		return err
	}
	for i := range g.sets {
		g.entries[i].Words = b.Ptr + gpu.Ptr(at[i])
	}
	return nil
}

// assign gives every block its index, and drops the codewords that no block chose.
func (g *batch) assign(context.Context) error {
	k := g.options.block.k()
	g.entries = make([]batchIndex, len(g.sets))
	if err := g.uploadBooks(); err != nil {
		return err
	}
	var tables, counted gpu.Layout
	at := make([]int, len(g.sets))
	for i, s := range g.sets {
		at[i] = counted.Take(4 * s.book.n())
		g.entries[i] = batchIndex{Table: gpu.Ptr(tables.Take(2 * s.m)), Words: g.entries[i].Words, M: uint32(s.m), Most: uint32(s.book.n())}
	}
	var err error
	if g.tables, err = g.zeros(tables.Size); err != nil {
		return err
	}
	counts, err := g.zeros(counted.Size)
	if err != nil {
		return err
	}
	searches := make([]batchSearch, len(g.sets))
	for i, s := range g.sets {
		e := &g.entries[i]
		e.Table += g.tables.Ptr
		e.Counts = counts.Ptr + gpu.Ptr(at[i])
		searches[i] = batchSearch{Table: e.Table, Blocks: g.blocks.Ptr + gpu.Ptr(s.at), Words: e.Words, M: e.M, N: e.Most}
	}
	list, err := uploadList(g.card, searches)
	if err != nil {
		return err
	}
	if err := g.searchBatch(k, list, len(searches), g.most, 1<<indexBits); err != nil {
		return err
	}
	if list, err = uploadList(g.card, g.entries); err != nil {
		return err
	}
	if err := g.launch("vq_batch_count", (g.most+15)/16, list); err != nil {
		return err
	}
	out, err := g.download(counts, counted.Size)
	if err != nil {
		return err
	}
	return g.renumber(gpu.View[uint32](out), at)
}

// launch starts a kernel over the index tables with at least the given number of
// threads for each.
func (g *batch) launch(kernel string, threads int, list *gpu.Buffer) error {
	blocks := (threads + cardThreads - 1) / cardThreads
	return launchGrid(g.card, kernel, gpu.Grid{Blocks: [3]int{blocks, len(g.entries)}}, &batchParams{list.Ptr})
}

// renumber drops the codewords of which count, from at on in bytes, is 0.
func (g *batch) renumber(count []uint32, at []int) error {
	var p gpu.Layout
	numbers := make([]int, len(g.sets))
	to := make([][]uint16, len(g.sets))
	for i, s := range g.sets {
		n := s.book.n()
		less, numbered := used(s.book, count[at[i]/4:][:n])
		if less.n() < n {
			s.book, to[i], numbers[i] = less, numbered, p.Take(2*n)
		}
		g.entries[i].N = uint32(s.book.n())
	}
	if p.Size == 0 {
		return nil
	}
	all := make([]byte, p.Size)
	for i, list := range to {
		copy(all[numbers[i]:], table16(list))
	}
	b, err := g.upload(all)
	if err != nil {
		return err
	}
	for i := range to {
		if to[i] != nil {
			g.entries[i].To = b.Ptr + gpu.Ptr(numbers[i])
		}
	}
	list, err := uploadList(g.card, g.entries)
	if err != nil {
		return err
	}
	if err := g.launch("vq_batch_renumber", g.most, list); err != nil {
		return err
	}
	return g.uploadBooks()
}

// code brings the index tables back, as the index coder takes them.
func (g *batch) code(context.Context) error {
	if g.options.raw {
		return g.fetchTables()
	}
	var sides, symbols gpu.Layout
	at := make([]int, len(g.sets))
	books := 0
	for i, s := range g.sets {
		n := s.book.n()
		books = max(books, n)
		at[i] = symbols.Take(4 * s.m)
		e := &g.entries[i]
		e.Up, e.Left, e.Spans = gpu.Ptr(sides.Take(4*n*n)), gpu.Ptr(sides.Take(4*n*n)), gpu.Ptr(sides.Take(4*n))
		e.Rows, e.Cols, e.Step = uint32(s.grid.rows), uint32(s.grid.cols), uint32(s.grid.segments()[0].rows)
		e.Shift, e.BP, e.BQ = uint32(bestShift(n)), uint32(g.options.block.p), uint32(g.options.block.q)
	}
	side, err := g.lane.Device(sides.Size)
	if err != nil {
		return err
	}
	from, err := g.zeros(symbols.Size)
	if err != nil {
		return err
	}
	for i := range g.entries {
		e := &g.entries[i]
		e.Up, e.Left, e.Spans = e.Up+side.Ptr, e.Left+side.Ptr, e.Spans+side.Ptr
		e.Symbols = from.Ptr + gpu.Ptr(at[i])
	}
	list, err := uploadList(g.card, g.entries)
	if err != nil {
		return err
	}
	if err := g.launch("vq_batch_sides", books*books, list); err != nil {
		return err
	}
	if err := g.launch("vq_batch_ranks", 32*g.most, list); err != nil {
		return err
	}
	out, err := g.download(from, symbols.Size)
	if err != nil {
		return err
	}
	g.pool.Each(len(g.sets), func(i int) {
		s := g.sets[i]
		s.symbols = asSymbols(gpu.View[uint32](out[at[i]:][:4*s.m]))
	})
	return nil
}

// fetchTables brings the index tables back as they are.
func (g *batch) fetchTables() error {
	last := len(g.sets) - 1
	first := g.entries[0].Table
	out, err := g.download(g.tables, int(g.entries[last].Table-first)+2*g.sets[last].m)
	if err != nil {
		return err
	}
	for i, s := range g.sets {
		s.table = gpu.View[uint16](out[g.entries[i].Table-first:][:2*s.m])
	}
	return nil
}
