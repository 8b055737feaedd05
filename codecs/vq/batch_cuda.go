package vq

import (
	"context"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/sha256batch"
	"github.com/pelmill/pelmill/raster"
)

// A batch is images that go through all steps together, whatever their sizes: every
// kernel is launched once for all of them. They have codebooks of their own, or share
// those of the options.
type batch struct {
	*deviceSteps
	options *Options
	images  []*raster.Image
	headers []*header
	sets    []*blockSet
	blocks  *gpu.Buffer // of all sets
	tables  *gpu.Buffer // of all sets
	entries []deviceIndex

	pictures *sha256batch.Pictures // what the files decode to; nil: nobody asks
	digests  []*codec.Digests      // of them
}

// blockSet is the blocks of luma or of chroma of an image of a batch.
type blockSet struct {
	image int  // number of the image
	which int  // 0 luma, 1 chroma
	grid  grid // of a plane
	n     int  // codewords at most
	at, m int  // where its blocks begin in the batch's, in bytes, and how many they are
	book  *codebook

	table   []uint16
	symbols []symbol
	coded   [][]byte // by segment
}

func (d *deviceSteps) newBatch(images []*raster.Image, o *Options) *batch {
	b := &batch{deviceSteps: d, options: o, images: images}
	for i, m := range images {
		h := newHeader(m, o)
		b.headers = append(b.headers, h)
		sizes := h.planeSizes()
		for which := range 2 {
			if which == 1 && !h.colour() {
				continue
			}
			s := &blockSet{image: i, which: which, grid: h.block.grid(sizes[which][0], sizes[which][1]), n: o.codewords(which)}
			s.m = h.d * (1 + which) * s.grid.blocks()
			b.sets = append(b.sets, s)
		}
	}
	return b
}

// analyses is what is known of the images in the end.
func (b *batch) analyses() []*analysis {
	list := make([]*analysis, len(b.images))
	for i, h := range b.headers {
		list[i] = &analysis{header: h, books: new(bookPair)}
		if b.digests != nil {
			list[i].decoded = b.digests[i]
		}
	}
	for _, s := range b.sets {
		a := list[s.image]
		if s.which == 0 {
			a.books.luma = s.book
		} else {
			a.books.chroma = s.book
		}
		a.table = append(a.table, s.table)
		a.symbols = append(a.symbols, s.symbols)
		if s.coded != nil {
			a.coded = append(a.coded, s.coded)
		}
	}
	return list
}

// extents are the sizes of the sets with the codewords that they have now.
func (b *batch) extents() []extent {
	list := make([]extent, len(b.sets))
	for i, s := range b.sets {
		list[i] = extent{blocks: s.m, k: b.options.block.k()}
		if s.book != nil {
			list[i].words = s.book.n()
		}
	}
	return list
}

// makeBlocks brings the images to the device and makes their blocks there.
func (b *batch) makeBlocks(context.Context) error {
	var pixels, all gpu.Layout
	parts, list, sizes := make([]gpu.Part, len(b.images)), make([]deviceImage, len(b.images)), make([]extent, len(b.images))
	for i, h := range b.headers {
		parts[i] = gpu.Part{At: pixels.Take(len(b.images[i].Pix)), Bytes: b.images[i].Pix}
		e := &list[i]
		*e = deviceImage{
			Width: uint32(h.w), Height: uint32(h.h), Slices: uint32(h.d), Channels: uint32(h.channels()),
			P: uint32(h.block.p), Q: uint32(h.block.q),
		}
		if h.half() {
			e.Half = 1
		}
		sizes[i] = extent{planes: h.channels(), rows: h.d * h.block.grid(h.w, h.h).blocks() * h.block.p}
	}
	for _, s := range b.sets {
		s.at = all.Take(s.m * b.options.block.k())
	}
	source, err := b.lane.Device(pixels.Size)
	if err != nil {
		return err
	}
	if b.blocks, err = b.lane.Device(all.Size); err != nil {
		return err
	}
	for i := range list {
		list[i].Pixels = source.Ptr + gpu.Ptr(parts[i].At)
	}
	for _, s := range b.sets {
		if e := &list[s.image]; s.which == 0 {
			e.Luma = b.at(s)
		} else {
			e.Chroma = b.at(s)
		}
	}
	// The list first: a copy of memory that is not pinned may wait for what the stream holds.
	entries, err := put(b.deviceSteps, list)
	if err != nil {
		return err
	}
	if err := b.staging.Upload(source, pixels.Size, parts); err != nil {
		return err
	}
	if err := launch(b.deviceSteps, "vq_blocks", sizes, &listParams{entries.Ptr}); err != nil {
		return err
	}
	source.Free()
	return nil
}

// at is where the blocks of a set are.
func (b *batch) at(s *blockSet) gpu.Ptr { return b.blocks.Ptr + gpu.Ptr(s.at) }

// findBooks finds the codebooks: those of the options, or the different blocks where they
// are few, or those that are trained.
func (b *batch) findBooks(ctx context.Context) error {
	if shared := b.options.books; shared != nil {
		for _, s := range b.sets {
			s.book = shared.list()[s.which]
		}
		return nil
	}
	found := make([][2]*codebook, len(b.images))
	b.pool.Each(len(b.images), func(i int) { found[i] = distinctOf(b.pool, b.images[i], b.headers[i], b.options) })
	var sets []*blockSet
	for _, s := range b.sets {
		if s.book = found[s.image][s.which]; s.book == nil {
			sets = append(sets, s)
		}
	}
	jobs, err := b.trainingBlocks(sets)
	if err != nil {
		return err
	}
	var untrained []*trainingJob
	for j, s := range sets {
		if s.book == nil {
			untrained = append(untrained, jobs[j])
		}
	}
	if err := b.trainBooks(ctx, b.options, untrained); err != nil {
		return err
	}
	b.pool.Each(len(sets), func(j int) {
		if s := sets[j]; s.book == nil {
			s.book = finished(jobs[j].book)
		}
	})
	return nil
}

// trainingBlocks are what the sets' codebooks are trained on: all blocks, or a sample. A
// set gets its codebook where the sample has few different blocks.
func (b *batch) trainingBlocks(sets []*blockSet) ([]*trainingJob, error) {
	jobs := make([]*trainingJob, len(sets))
	var large []int
	for j, s := range sets {
		jobs[j] = &trainingJob{blocks: b.at(s), m: s.m, n: s.n}
		if s.m > s.n*trainBlocks {
			large = append(large, j)
		}
	}
	if large == nil {
		return jobs, nil
	}
	var list []*blockSet
	for _, j := range large {
		list = append(list, sets[j])
	}
	samples, err := b.drawSamples(list)
	if err != nil {
		return nil, err
	}
	for i, j := range large {
		jobs[j].blocks, jobs[j].m = samples[i].ptr(), samples[i].count
		if sets[j].book, err = distinct(samples[i], b.options.block, sets[j].n); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// drawSamples copies of sets, which are larger than that, the blocks to train on.
func (b *batch) drawSamples(sets []*blockSet) ([]*deviceBlocks, error) {
	k := b.options.block.k()
	var room gpu.Layout
	samples, list, sizes := make([]*deviceBlocks, len(sets)), make([]deviceSample, len(sets)), make([]extent, len(sets))
	for i, s := range sets {
		most := s.n * trainBlocks
		samples[i] = &deviceBlocks{deviceSteps: b.deviceSteps, at: room.Take(most * k), count: most, k: k}
		list[i] = deviceSample{Blocks: b.at(s), M: uint32(s.m), Most: uint32(most), K: uint32(k)}
		sizes[i] = extent{blocks: most, k: k}
	}
	buffer, err := b.lane.Device(room.Size)
	if err != nil {
		return nil, err
	}
	for i, s := range samples {
		s.buffer = buffer
		list[i].Out = s.ptr()
	}
	entries, err := put(b.deviceSteps, list)
	if err != nil {
		return nil, err
	}
	return samples, launch(b.deviceSteps, "vq_sample", sizes, &listParams{entries.Ptr})
}

// deviceBlocks is blocks in a buffer that the host reads some of.
type deviceBlocks struct {
	*deviceSteps
	buffer   *gpu.Buffer
	at       int // where the first begins, in bytes
	count, k int
}

func (b *deviceBlocks) ptr() gpu.Ptr { return b.buffer.Ptr + gpu.Ptr(b.at) }
func (b *deviceBlocks) m() int       { return b.count }

func (b *deviceBlocks) read(lo, hi int) ([]byte, error) {
	out := make([]byte, (hi-lo)*b.k)
	if err := b.stream.Download(out, b.buffer, b.at+lo*b.k); err != nil {
		return nil, err
	}
	return out, b.stream.Sync()
}

// expandAll makes of the index tables what a decoder makes of them, where its digests are wanted: they are made while the tables are
// coded.
func (b *batch) expandAll(context.Context) (err error) {
	if !b.asked {
		return nil
	}
	heads, sizes, sets := make([][]byte, len(b.images)), make([]int, len(b.images)), make([][2]int, len(b.images))
	for i, m := range b.images {
		heads[i], sizes[i] = m.HashHead(), len(m.Pix)
	}
	for i, s := range b.sets {
		sets[s.image][s.which] = i
	}
	if b.pictures, err = sha256batch.NewPictures(b.lane, heads, sizes); err != nil {
		return err
	}
	var expanding expansions
	for i, h := range b.headers {
		at := b.pictures.At(i)
		if at == 0 {
			continue
		}
		p := h.expanding()
		p.Pixels = at
		luma, chroma := &b.entries[sets[i][0]], &b.entries[sets[i][1]]
		p.Luma, p.Words, p.N = luma.Table, luma.Words, luma.N
		if h.colour() {
			p.Chroma, p.ChromaWords, p.NChroma = chroma.Table, chroma.Words, chroma.N
		}
		expanding.add(h, p, 0, h.h*h.d)
	}
	if err := b.launchExpand(&expanding); err != nil {
		return err
	}
	return b.pictures.Start()
}

// endDigests waits for the digests.
func (b *batch) endDigests(context.Context) (err error) {
	if b.pictures != nil {
		b.digests, err = b.pictures.End()
	}
	return err
}
