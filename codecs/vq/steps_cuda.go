package vq

import (
	"context"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// deviceSteps runs the steps on a lane.
type deviceSteps struct {
	pool    *pool.Pool
	lane    *gpu.Lane
	stream  *gpu.Stream // the lane's first
	staging *gpu.Staging
	kernels *gpu.Table[extent]
	band    int // bytes of pixels to expand at a time
}

// bandBytes bounds the pixels that are expanded at a time: enough for copies at the full
// speed of the link.
const bandBytes = 256 << 20

func newDeviceSteps(l *gpu.Lane, c *pool.Pool) *deviceSteps {
	return &deviceSteps{
		pool: c, lane: l, stream: l.Stream(0),
		staging: &gpu.Staging{Lane: l, Spans: c.Spans},
		kernels: &kernels, band: min(bandBytes, int(l.Budget()/8)),
	}
}

// launch puts a launch of a kernel for the items into the stream.
func launch[P any](d *deviceSteps, kernel string, items []extent, params *P) error {
	return gpu.LaunchFor(d.kernels, d.stream, kernel, items, params)
}

// put brings a list of the entries of a batch to the device.
func put[T any](d *deviceSteps, list []T) (*gpu.Buffer, error) { return d.stream.Put(gpu.Bytes(list)) }

// download brings the first n bytes of b to the host and waits for them.
func (d *deviceSteps) download(b *gpu.Buffer, n int) ([]byte, error) {
	out := make([]byte, n)
	return out, d.staging.Download([]gpu.Part{{Bytes: out}}, b, n)
}

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

func (d *deviceSteps) analyse(ctx context.Context, images []*raster.Image, o *Options) ([]*analysis, error) {
	b := d.newBatch(images, o)
	for _, step := range []func(context.Context) error{b.makeBlocks, b.findBooks, b.assign, b.code} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return b.analyses(), nil
}

// analyses is what is known of the images in the end.
func (b *batch) analyses() []*analysis {
	list := make([]*analysis, len(b.images))
	for i, h := range b.headers {
		list[i] = &analysis{header: h, books: new(bookPair)}
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

// putBooks brings the codebooks to the device, each once, and notes where.
func (b *batch) putBooks() error {
	var room gpu.Layout
	at := make(map[*codebook]int)
	for _, s := range b.sets {
		if _, ok := at[s.book]; !ok {
			at[s.book] = room.Take(len(s.book.words))
		}
	}
	all := make([]byte, room.Size)
	for book, at := range at {
		copy(all[at:], book.words)
	}
	words, err := b.stream.Put(all)
	if err != nil {
		return err
	}
	for i, s := range b.sets {
		b.entries[i].Words, b.entries[i].N = words.Ptr+gpu.Ptr(at[s.book]), uint32(s.book.n())
	}
	return nil
}

// assign gives every block its index, and drops the codewords of the images' own
// codebooks that no block chose.
func (b *batch) assign(context.Context) error {
	if err := b.search(); err != nil || b.options.books != nil {
		return err
	}
	counts, err := b.count()
	if err != nil {
		return err
	}
	return b.renumber(counts)
}

// search makes the index tables.
func (b *batch) search() (err error) {
	b.entries = make([]deviceIndex, len(b.sets))
	if err := b.putBooks(); err != nil {
		return err
	}
	var tables gpu.Layout
	for i, s := range b.sets {
		e := &b.entries[i]
		e.Table, e.M, e.Most = gpu.Ptr(tables.Take(2*s.m)), uint32(s.m), e.N
	}
	if b.tables, err = b.stream.Zeros(tables.Size); err != nil {
		return err
	}
	list := make([]deviceSearch, len(b.sets))
	for i, s := range b.sets {
		e := &b.entries[i]
		e.Table += b.tables.Ptr
		list[i] = deviceSearch{Table: e.Table, Blocks: b.at(s), Words: e.Words, M: e.M, N: e.N}
	}
	searches, err := b.putSearches(list)
	if err != nil {
		return err
	}
	return b.searchAll(b.options.block.k(), searches, b.extents(), maxCodewords)
}

// searches are the searches of a batch.
type searches struct {
	one  deviceSearch
	list *gpu.Buffer // nil: there is one
}

func (d *deviceSteps) putSearches(list []deviceSearch) (s searches, err error) {
	if len(list) == 1 {
		return searches{one: list[0]}, nil
	}
	s.list, err = put(d, list)
	return s, err
}

// searchAll runs searches for the nearest of at most most codewords of each.
func (d *deviceSteps) searchAll(k int, s searches, sizes []extent, most int) error {
	names := map[int]string{4: "vq_search_4", 8: "vq_search_8", 16: "vq_search_16", 64: "vq_search_64"}
	name, p := names[k], &searchParams{One: s.one, Most: uint32(most)}
	if s.list != nil {
		p.List = s.list.Ptr
	}
	if d.many(k, sizes) {
		// It is not worth while to ask the device whether a long search is needed.
		p.One.Rest = 0
	} else {
		name += "_few"
	}
	return launch(d, name, sizes, p)
}

// many says whether the kernels for many blocks serve: with two blocks of threads for each
// multiprocessor, of which not many threads are idle.
func (d *deviceSteps) many(k int, sizes []extent) bool {
	per := searchMany
	if k == maxBlock {
		per = searchMany64
	}
	blocks, filled := 0, 0
	for i := range sizes {
		n := sizes[i].blocks
		blocks, filled = blocks+n, filled+(n+per-1)/per*per
	}
	return blocks >= 2*per*d.lane.Card().Multiprocessors && filled <= blocks+blocks/8
}

// count is how many blocks of each set chose each of its codewords.
func (b *batch) count() ([][]uint32, error) {
	var room gpu.Layout
	for i := range b.entries {
		b.entries[i].Counts = gpu.Ptr(room.Take(int(4 * b.entries[i].N)))
	}
	counts, err := b.stream.Zeros(room.Size)
	if err != nil {
		return nil, err
	}
	for i := range b.entries {
		b.entries[i].Counts += counts.Ptr
	}
	list, err := put(b.deviceSteps, b.entries)
	if err != nil {
		return nil, err
	}
	if err := launch(b.deviceSteps, "vq_count", b.extents(), &listParams{list.Ptr}); err != nil {
		return nil, err
	}
	all, err := b.download(counts, room.Size)
	if err != nil {
		return nil, err
	}
	out := make([][]uint32, len(b.sets))
	for i, e := range b.entries {
		out[i] = gpu.View[uint32](all[e.Counts-counts.Ptr:][:4*e.N])
	}
	return out, nil
}

// renumber drops the codewords of which the count is 0.
func (b *batch) renumber(counts [][]uint32) error {
	var room gpu.Layout
	at, to := make([]int, len(b.sets)), make([][]uint16, len(b.sets))
	for i, s := range b.sets {
		less, numbers := used(s.book, counts[i])
		if n := s.book.n(); less.n() < n {
			s.book, to[i], at[i] = less, numbers, room.Take(2*n)
		}
	}
	if room.Size == 0 {
		return nil
	}
	all := make([]byte, room.Size)
	for i, numbers := range to {
		copy(all[at[i]:], gpu.Bytes(numbers))
	}
	numbers, err := b.stream.Put(all)
	if err != nil {
		return err
	}
	for i := range to {
		if to[i] != nil {
			b.entries[i].To = numbers.Ptr + gpu.Ptr(at[i])
		}
	}
	list, err := put(b.deviceSteps, b.entries)
	if err != nil {
		return err
	}
	if err := launch(b.deviceSteps, "vq_renumber", b.extents(), &listParams{list.Ptr}); err != nil {
		return err
	}
	return b.putBooks()
}

// code brings the index tables to the host, as the index coder takes them.
func (b *batch) code(context.Context) error {
	if b.options.raw {
		parts := make([]gpu.Part, len(b.sets))
		for i, s := range b.sets {
			s.table = make([]uint16, s.m)
			parts[i] = gpu.Part{At: int(b.entries[i].Table - b.tables.Ptr), Bytes: gpu.Bytes(s.table)}
		}
		return b.staging.Download(parts, b.tables, b.tables.Size)
	}
	if err := b.sides(); err != nil {
		return err
	}
	var room gpu.Layout
	for i, s := range b.sets {
		b.entries[i].Symbols = gpu.Ptr(room.Take(4 * s.m))
	}
	symbols, err := b.stream.Zeros(room.Size)
	if err != nil {
		return err
	}
	parts := make([]gpu.Part, len(b.sets))
	for i, s := range b.sets {
		s.symbols = make([]symbol, s.m)
		parts[i] = gpu.Part{At: int(b.entries[i].Symbols), Bytes: gpu.Bytes(s.symbols)}
		e := &b.entries[i]
		e.Symbols += symbols.Ptr
		e.Rows, e.Cols, e.Step = uint32(s.grid.rows), uint32(s.grid.cols), uint32(s.grid.segments()[0].rows)
		e.Shift = uint32(bestShift(s.book.n()))
	}
	list, err := put(b.deviceSteps, b.entries)
	if err != nil {
		return err
	}
	if err := launch(b.deviceSteps, "vq_ranks", b.extents(), &listParams{list.Ptr}); err != nil {
		return err
	}
	return b.staging.Download(parts, symbols, room.Size)
}

// sides makes, once for each codebook, what the index coder has to know of neighbours.
func (b *batch) sides() error {
	var room gpu.Layout
	first := make(map[*codebook]int) // set with the codebook
	var sets []int
	for i, s := range b.sets {
		if _, ok := first[s.book]; ok {
			continue
		}
		first[s.book], sets = i, append(sets, i)
		n, e := s.book.n(), &b.entries[i]
		e.Up, e.Left, e.Spans = gpu.Ptr(room.Take(4*n*n)), gpu.Ptr(room.Take(4*n*n)), gpu.Ptr(room.Take(4*n))
	}
	side, err := b.lane.Device(room.Size)
	if err != nil {
		return err
	}
	all := b.extents()
	var own []deviceIndex
	var sizes []extent
	for _, i := range sets {
		e := &b.entries[i]
		e.Up, e.Left, e.Spans = e.Up+side.Ptr, e.Left+side.Ptr, e.Spans+side.Ptr
		e.P, e.Q = uint32(b.options.block.p), uint32(b.options.block.q)
		own, sizes = append(own, *e), append(sizes, all[i])
	}
	for i, s := range b.sets {
		e, from := &b.entries[i], &b.entries[first[s.book]]
		e.Up, e.Left, e.Spans = from.Up, from.Left, from.Spans
	}
	list, err := put(b.deviceSteps, own)
	if err != nil {
		return err
	}
	return launch(b.deviceSteps, "vq_sides", sizes, &listParams{list.Ptr})
}

// sample is blocks of m that training may look at, of luma and of chroma.
func (d *deviceSteps) sample(ctx context.Context, m *raster.Image, o *Options) (samples [2][]byte, err error) {
	b := d.newBatch([]*raster.Image{m}, o)
	if err := b.makeBlocks(ctx); err != nil {
		return samples, err
	}
	for _, s := range b.sets {
		on := &deviceBlocks{deviceSteps: d, buffer: b.blocks, at: s.at, count: s.m, k: o.block.k()}
		if s.m > s.n*trainBlocks {
			drawn, err := b.drawSamples([]*blockSet{s})
			if err != nil {
				return samples, err
			}
			on = drawn[0]
		}
		if samples[s.which], err = on.read(0, on.count); err != nil {
			return samples, err
		}
	}
	return samples, nil
}

func (d *deviceSteps) train(ctx context.Context, sets [][]byte, o *Options) ([]*codebook, error) {
	books := make([]*codebook, len(sets))
	var jobs []*trainingJob
	var of []int
	k := o.block.k()
	for i, samples := range sets {
		all := memoryBlocks{k, samples}
		var err error
		if books[i], err = distinct(all, o.block, o.codewords(i)); err != nil {
			return nil, err
		}
		if books[i] == nil && all.m() > o.codewords(i)*trainBlocks {
			all = all.sample(o.codewords(i) * trainBlocks)
			if books[i], err = distinct(all, o.block, o.codewords(i)); err != nil {
				return nil, err
			}
		}
		if books[i] != nil {
			continue
		}
		blocks, err := d.lane.Device(len(all.samples))
		if err != nil {
			return nil, err
		}
		if err := d.staging.Upload(blocks, len(all.samples), []gpu.Part{{Bytes: all.samples}}); err != nil {
			return nil, err
		}
		jobs, of = append(jobs, &trainingJob{blocks: blocks.Ptr, m: all.m(), n: o.codewords(i)}), append(of, i)
	}
	if err := d.trainBooks(ctx, o, jobs); err != nil {
		return nil, err
	}
	for j, job := range jobs {
		books[of[j]] = finished(job.book)
	}
	return books, nil
}

func (d *deviceSteps) expand(ctx context.Context, h *header, books *bookPair, table [][]uint16, m *raster.Image) error {
	p := expandParams{
		Width: uint32(h.w), Height: uint32(h.h), Channels: uint32(h.channels()), P: uint32(h.block.p), Q: uint32(h.block.q),
	}
	if h.half() {
		p.Half = 1
	}
	for i, book := range books.list() {
		entries, err := d.lane.Device(2 * len(table[i]))
		if err != nil {
			return err
		}
		if err := d.staging.Upload(entries, entries.Size, []gpu.Part{{Bytes: gpu.Bytes(table[i])}}); err != nil {
			return err
		}
		words, err := d.stream.Put(book.words)
		if err != nil {
			return err
		}
		if i == 0 {
			p.Luma, p.Words, p.N = entries.Ptr, words.Ptr, uint32(book.n())
		} else {
			p.Chroma, p.ChromaWords, p.NChroma = entries.Ptr, words.Ptr, uint32(book.n())
		}
	}
	// Whole rows of blocks at a time, down through all slices.
	line := h.w * h.channels()
	step := max(h.block.p, d.band/line/h.block.p*h.block.p)
	all := h.h * h.d
	pixels, err := d.lane.Device(min(step, all) * line)
	if err != nil {
		return err
	}
	p.Pixels = pixels.Ptr
	for row := 0; row < all; row += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows := min(step, all-row)
		if err := d.expandRows(h, p, row, rows); err != nil {
			return err
		}
		part := m.Pix[row*line : (row+rows)*line]
		if err := d.staging.Download([]gpu.Part{{Bytes: part}}, pixels, len(part)); err != nil {
			return err
		}
	}
	return nil
}

// expandRows expands rows of the stack of all slices from the given row on.
func (d *deviceSteps) expandRows(h *header, p expandParams, row, rows int) error {
	size := []extent{{pixels: rows * h.w, words: int(p.N)}}
	if !h.colour() && h.block == (shape{4, 4}) && h.w%16 == 0 && h.h%4 == 0 {
		return launch(d, "vq_expand_grey", size, &expandGreyParams{
			Pixels: p.Pixels, Table: p.Luma + gpu.Ptr(2*(row/4)*(h.w/4)), Words: p.Words,
			Width: p.Width, Height: uint32(rows), N: p.N,
		})
	}
	p.First, p.Count = uint64(row)*uint64(h.w), uint64(rows)*uint64(h.w)
	return launch(d, "vq_expand", size, &p)
}
