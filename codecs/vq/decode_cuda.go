package vq

import (
	"cmp"
	"context"
	"slices"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/comparison"
	"github.com/pelmill/pelmill/raster"
)

// What a block of an index table takes to decode, in nanoseconds: on a core, and on a device, on which the segments of all files of a
// batch are decoded at the same time, with codebooks of the usual size; and where its index is expected.
const (
	coreBlock      = 240
	coreExpected   = 140
	deviceBlock    = 2000
	deviceExpected = 400
)

// decoding is how files are divided into batches, by samples.
var decoding = gpu.Batching{Most: 128 << 20}

// fileDecoder decodes the files of a call. With a device it leaves to the CPU what is damaged, so that the CPU says in which way, and all of
// it where the cores are sooner.
type fileDecoder struct {
	ctx    context.Context
	run    codec.Run
	cores  *pool.Pool
	shared *sharedBooks
	opened []*openedFile // nil where out has an error
	out    []codec.Decoded

	always bool // on the device also where the cores are sooner; for tests
}

func (d *fileDecoder) decode(files [][]byte) {
	if d.run.Device == nil {
		d.cores.Each(len(files), func(i int) {
			if d.open(i, files[i]) {
				d.onCPU([]int{i})
			}
		})
		return
	}
	d.cores.Each(len(files), func(i int) { d.open(i, files[i]) })
	onCores, onDevice := d.divide()
	defer pool.Beside(func() { d.onCPU(onCores) })()
	if len(onDevice) == 0 {
		return
	}
	batches := decoding.Divide(onDevice, func(i int) int { return d.opened[i].w * d.opened[i].h * d.opened[i].d * d.opened[i].channels() })
	d.run.Device.Run(d.ctx, batches, gpu.Work{
		Device: d.onDevice,
		CPU:    d.onCPU,
		Failed: func(items []int, err error) {
			for _, i := range items {
				d.out[i] = codec.Decoded{Err: err}
			}
		},
	})
}

// divide says which of the opened files are decoded on cores, and which at the same time on the device. Those of which the index table is
// expected and others take different times: among many of the former one of the latter would be what the device waits for.
func (d *fileDecoder) divide() (onCores, onDevice []int) {
	var expected, others []int
	for i, f := range d.opened {
		switch {
		case f == nil:
		case f.want != nil:
			expected = append(expected, i)
		default:
			others = append(others, i)
		}
	}
	for _, items := range [][]int{expected, others} {
		if d.always || d.sooner(items) {
			onDevice = append(onDevice, items...)
		} else {
			onCores = append(onCores, items...)
		}
	}
	return onCores, onDevice
}

// open opens a file, and reports whether that went well.
func (d *fileDecoder) open(i int, data []byte) bool {
	f, err := open(d.ctx, data, d.run.Expected(i), d.shared)
	if err != nil {
		d.out[i].Err = err
		return false
	}
	d.opened[i] = f
	return true
}

// sooner says whether a device decodes files in less time than the cores that have nothing else to do.
func (d *fileDecoder) sooner(items []int) bool {
	busy, _ := d.cores.Load()
	all, longest := 0, 0
	for _, i := range items {
		f := d.opened[i]
		core, device := coreBlock, deviceBlock
		if f.want != nil {
			core, device = coreExpected, deviceExpected
		}
		for k, s := range f.planeSizes() {
			g := f.block.grid(s[0], s[1])
			all += core * g.blocks() * f.d
			if !f.raw() && f.codewords(min(k, 1)) > 1 {
				longest = max(longest, device*min(g.rows, g.segmentRows())*g.cols)
			}
		}
	}
	return longest < all/max(1, d.cores.Size()-busy)
}

func (d *fileDecoder) onCPU(items []int) {
	d.cores.Each(len(items), func(j int) {
		i := items[j]
		d.out[i] = codec.Decoded{}
		d.out[i].Image, d.out[i].Err = d.opened[i].decode(d.ctx, d.cores, d.run.Bytes)
	})
}

// onDevice decodes items on a lane, all together.
func (d *fileDecoder) onDevice(l *gpu.Lane, items []int) error {
	if d.ctx.Err() != nil {
		return context.Cause(d.ctx)
	}
	files := make([]*openedFile, len(items))
	for j, i := range items {
		files[j] = d.opened[i]
	}
	s := newDeviceSteps(l, d.cores)
	// The originals first: a copy behind kernels waits for them.
	originals, at := comparison.Originals(d.run, items, func(j int) raster.Shape {
		if files[j].size() > s.band {
			return raster.Shape{} // it is never whole on the device
		}
		return files[j].image(nil).Shape
	})
	comparing, err := comparison.Begin(l, s.staging, originals)
	if err != nil {
		return err
	}
	b, err := s.decodeTables(d.ctx, files)
	if err != nil {
		return err
	}
	var whole, damaged []int // of the batch, and of the call
	for j, i := range items {
		if b.damaged[j] != 0 {
			damaged = append(damaged, i)
			continue
		}
		whole = append(whole, j)
		d.out[i] = codec.Decoded{Image: files[j].image(nil)}
		if at[j] < 0 || d.run.Original(i).Fetch {
			d.out[i].Image.Pix = d.run.Bytes(files[j].size())
		}
	}
	decoded := make([]gpu.Ptr, len(originals))
	if err := b.expand(d.ctx, whole, func(j int) []byte { return d.out[items[j]].Image.Pix }, func(j int, pixels gpu.Ptr) {
		if at[j] >= 0 {
			decoded[at[j]] = pixels
		}
	}, func() error { return comparing.Start(decoded) }); err != nil {
		return err
	}
	compared, err := comparing.End()
	if err != nil {
		return err
	}
	for _, j := range whole {
		if at[j] >= 0 {
			d.out[items[j]].Compared = &compared[at[j]]
		}
	}
	d.onCPU(damaged)
	return nil
}

// tableBatch is index tables of files on a device.
type tableBatch struct {
	*deviceSteps
	files   []*openedFile
	words   map[*codebook]gpu.Ptr
	tables  [][]gpu.Ptr // of luma and of chroma of each file
	damaged []uint32    // of each file: not 0 where a segment is
}

// decodeTables decodes the index tables of files, those of a batch. Its errors are of the device, or the end of ctx.
func (d *deviceSteps) decodeTables(ctx context.Context, files []*openedFile) (*tableBatch, error) {
	b := &tableBatch{deviceSteps: d, files: files, tables: make([][]gpu.Ptr, len(files)), damaged: make([]uint32, len(files))}
	books, known, err := b.putBooks()
	if err != nil {
		return nil, err
	}
	var tables gpu.Layout
	for i, f := range files {
		for _, n := range f.tableSizes() {
			b.tables[i] = append(b.tables[i], gpu.Ptr(tables.Take(2*n)))
		}
	}
	all, err := d.lane.Device(max(1, tables.Size))
	if err != nil {
		return nil, err
	}
	for i := range b.tables {
		for k := range b.tables[i] {
			b.tables[i][k] += all.Ptr
		}
	}
	if err := b.putTables(ctx, all); err != nil {
		return nil, err
	}
	expected, others, err := b.putStreams(books)
	if err != nil || len(expected)+len(others) == 0 {
		return b, err
	}
	states, err := d.stream.Zeros(4 * len(files))
	if err != nil {
		return nil, err
	}
	for _, list := range [][]deviceStream{expected, others} {
		for i := range list {
			list[i].Damaged += states.Ptr
		}
		// The longest first, so that none begins when all others come to their ends.
		slices.SortStableFunc(list, func(a, b deviceStream) int { return cmp.Compare(b.Blocks, a.Blocks) })
	}
	if err := b.launchExpect(expected, known); err != nil {
		return nil, err
	}
	if err := b.launchDecode(others, known); err != nil {
		return nil, err
	}
	found, err := d.download(states, 4*len(files))
	if err != nil {
		return nil, err
	}
	for i, v := range gpu.View[uint32](found) {
		b.damaged[i] |= v
	}
	return b, nil
}

// bookSizes is the books of a batch, each once, and what the index decoder needs room for.
type bookSizes struct {
	extents     []extent
	most, words int  // codewords of a book at most, and estimates
	large       bool // one has blocks of more than four rows or columns
}

// putBooks brings the codebooks to the device, each once, and has the index decoder's tables of them made. It returns where they are
// on the device.
func (b *tableBatch) putBooks() (at map[*codebook]gpu.Ptr, sizes *bookSizes, err error) {
	sizes = new(bookSizes)
	var words, tables gpu.Layout
	var list []deviceBook
	var books []*codebook
	b.words, at = map[*codebook]gpu.Ptr{}, map[*codebook]gpu.Ptr{}
	for _, f := range b.files {
		for _, book := range f.books.list() {
			if _, ok := at[book]; ok {
				continue
			}
			n := book.n()
			e := deviceBook{
				Words: gpu.Ptr(words.Take(len(book.words))), Edges: gpu.Ptr(tables.Take(16 * n)), Neighbours: gpu.Ptr(tables.Take(16 * n)),
				N: uint32(n), P: uint32(book.p), Q: uint32(book.q),
			}
			if max(book.p, book.q) > 4 {
				sizes.large = true
				e.MoreEdges, e.MoreNeighbours = gpu.Ptr(tables.Take(8*n)), gpu.Ptr(tables.Take(8*n))
			}
			at[book] = gpu.Ptr(len(list)) * gpu.Ptr(unsafe.Sizeof(e))
			list, books = append(list, e), append(books, book)
			sizes.extents = append(sizes.extents, extent{words: n})
			sizes.most, sizes.words = max(sizes.most, n), max(sizes.words, decodeWords(n, book.shape))
		}
	}
	all := make([]byte, words.Size)
	for i, book := range books {
		copy(all[list[i].Words:], book.words)
	}
	put, err := b.stream.Put(all)
	if err != nil {
		return nil, nil, err
	}
	known, err := b.lane.Device(tables.Size)
	if err != nil {
		return nil, nil, err
	}
	for i := range list {
		e := &list[i]
		e.Words += put.Ptr
		b.words[books[i]] = e.Words
		e.Edges, e.Neighbours = e.Edges+known.Ptr, e.Neighbours+known.Ptr
		if max(e.P, e.Q) > 4 {
			e.MoreEdges, e.MoreNeighbours = e.MoreEdges+known.Ptr, e.MoreNeighbours+known.Ptr
		}
	}
	entries, err := b.stream.Put(gpu.Bytes(list))
	if err != nil {
		return nil, nil, err
	}
	for book := range at {
		at[book] += entries.Ptr
	}
	return at, sizes, launch(b.deviceSteps, "vq_edges", sizes.extents, &listParams{entries.Ptr})
}

// putTables brings the index tables that are plain in files, and those that are expected, to their places in all.
func (b *tableBatch) putTables(ctx context.Context, all *gpu.Buffer) error {
	var parts []gpu.Part
	for i, f := range b.files {
		table := [][]uint16(f.want)
		if f.raw() {
			var err error
			table, err = decodeTables(ctx, b.pool, f.header, f.books, f.index, nil)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				b.damaged[i] = 1
				continue
			}
		}
		for k, entries := range table {
			parts = append(parts, gpu.Part{At: int(b.tables[i][k] - all.Ptr), Bytes: gpu.Bytes(entries)})
		}
	}
	if len(parts) == 0 {
		return nil
	}
	last := parts[len(parts)-1]
	return b.staging.Upload(all, last.At+len(last.Bytes), parts)
}

// putStreams brings the streams of segments to the device, those of expected tables and others. Where they say that they are damaged is
// not on the device yet.
func (b *tableBatch) putStreams(books map[*codebook]gpu.Ptr) (expected, others []deviceStream, err error) {
	var parts []gpu.Part
	var data, rows gpu.Layout
	for i, f := range b.files {
		if f.raw() {
			continue
		}
		places := f.places()
		streams, err := segmentStreams(f.index, len(places))
		if err != nil {
			b.damaged[i] = 1
			continue
		}
		list := &others
		if f.want != nil {
			list = &expected
		}
		for k, p := range places {
			from, row := p.at+p.first*p.grid.cols, p.grid.cols
			if f.want != nil {
				row *= p.rows
			}
			*list = append(*list, deviceStream{
				In: gpu.Ptr(data.Size), Length: uint32(len(streams[k])), Row: gpu.Ptr(rows.Take(4 * row)),
				Table: b.tables[i][p.book] + gpu.Ptr(2*from), Book: books[f.books.list()[p.book]],
				Damaged: gpu.Ptr(4 * i), Blocks: uint32(p.rows * p.grid.cols), Cols: uint32(p.grid.cols),
			})
			parts = append(parts, gpu.Part{At: data.Take(len(streams[k])), Bytes: streams[k]})
		}
	}
	if len(parts) == 0 {
		return nil, nil, nil
	}
	in, err := b.lane.Device(data.Size)
	if err != nil {
		return nil, nil, err
	}
	row, err := b.lane.Device(rows.Size)
	if err != nil {
		return nil, nil, err
	}
	for _, list := range [][]deviceStream{expected, others} {
		for i := range list {
			list[i].In, list[i].Row = list[i].In+in.Ptr, list[i].Row+row.Ptr
		}
	}
	last := parts[len(parts)-1]
	return expected, others, b.staging.Upload(in, last.At+len(last.Bytes), parts)
}

// launchExpect launches what finds out whether the segments are those of their tables.
func (b *tableBatch) launchExpect(list []deviceStream, books *bookSizes) error {
	if len(list) == 0 {
		return nil
	}
	streams, err := put(b.deviceSteps, list)
	if err != nil {
		return err
	}
	blocks := make([]extent, len(list))
	for i := range list {
		blocks[i].blocks = int(list[i].Blocks)
	}
	if err := launch(b.deviceSteps, "vq_places", blocks, &listParams{streams.Ptr}); err != nil {
		return err
	}
	return b.launchDecoder("vq_expect", int(unsafe.Sizeof(deviceExpecting{})), streams, len(list), books)
}

// launchDecode launches the index decoder for the segments.
func (b *tableBatch) launchDecode(list []deviceStream, books *bookSizes) error {
	if len(list) == 0 {
		return nil
	}
	streams, err := put(b.deviceSteps, list)
	if err != nil {
		return err
	}
	kernel, shared := "vq_decode_256", int(unsafe.Sizeof(deviceTables{}))
	if books.most > 256 || books.large {
		kernel = "vq_decode"
		shared += 4 * books.most
	}
	return b.launchDecoder(kernel, shared, streams, len(list), books)
}

// launchDecoder launches a kernel for count streams, with shared bytes of shared memory. Their estimates are in device memory: few of
// them are in use at a time, so that they stay in the L1 cache, and shared memory would have room for those of one or two segments
// on a multiprocessor, which is otherwise idle while each takes step after step. Behind them each lane of vq_expect has a word.
func (b *tableBatch) launchDecoder(kernel string, shared int, streams *gpu.Buffer, count int, books *bookSizes) error {
	decoder := extent{coders: min(count, 4*b.lane.Card().Multiprocessors), shared: shared}
	estimates, err := b.lane.Device(4 * (books.words + warp) * decoder.coders)
	if err != nil {
		return err
	}
	tables, err := put(b.deviceSteps, []deviceTables{coderTables})
	if err != nil {
		return err
	}
	return launch(b.deviceSteps, kernel, []extent{decoder}, &decodeParams{
		Estimates: estimates.Ptr, List: streams.Ptr, Tables: tables.Ptr, Count: uint32(count), Words: uint32(books.words),
	})
}

// expand makes the images of files of the batch, and brings those to the host for which pix has memory. made is told where an image
// is on the device, unless it is so large that it is made in bands, and behind runs when the kernels that make all of these are in the
// stream.
func (b *tableBatch) expand(ctx context.Context, files []int, pix func(i int) []byte, made func(i int, pixels gpu.Ptr), behind func() error) error {
	var pixels gpu.Layout
	var small []int
	var parts []gpu.Part
	at := make([]int, len(b.files))
	for _, i := range files {
		f := b.files[i]
		if f.size() > b.band {
			if err := b.expandBands(ctx, f.header, b.expanding(i), f.image(pix(i))); err != nil {
				return err
			}
			continue
		}
		at[i], small = pixels.Take(f.size()), append(small, i)
		if p := pix(i); p != nil {
			parts = append(parts, gpu.Part{At: at[i], Bytes: p})
		}
	}
	if len(small) == 0 {
		return ctx.Err()
	}
	all, err := b.stream.Zeros(pixels.Size) // all bytes between two images may come to the host
	if err != nil {
		return err
	}
	var expanding expansions
	for _, i := range small {
		p := b.expanding(i)
		p.Pixels = all.Ptr + gpu.Ptr(at[i])
		expanding.add(b.files[i].header, p, 0, b.files[i].h*b.files[i].d)
		made(i, p.Pixels)
	}
	if err := b.launchExpand(&expanding); err != nil {
		return err
	}
	if err := behind(); err != nil {
		return err
	}
	if len(parts) == 0 {
		return nil
	}
	for _, p := range parts {
		if !b.lane.Pinned(p.Bytes) {
			last := parts[len(parts)-1]
			return b.staging.Download(parts, all, last.At+len(last.Bytes))
		}
	}
	if err := b.stream.DownloadParts(parts, all); err != nil {
		return err
	}
	return b.stream.Sync()
}

// expanding is what expands the tables of a file of the batch.
func (b *tableBatch) expanding(i int) deviceExpansion {
	f := b.files[i]
	p := f.expanding()
	p.Luma, p.Words, p.N = b.tables[i][0], b.words[f.books.luma], uint32(f.books.luma.n())
	if f.colour() {
		p.Chroma, p.ChromaWords, p.NChroma = b.tables[i][1], b.words[f.books.chroma], uint32(f.books.chroma.n())
	}
	return p
}
