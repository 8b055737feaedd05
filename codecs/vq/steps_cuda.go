//go:build cuda && cgo

package vq

import (
	"context"
	"encoding/binary"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// onCard runs f for the items 0 to n-1 on dev, in parts where they do not fit, and
// returns those that do not even fit alone.
func onCard(ctx context.Context, dev *gpu.Device, c *pool.Pool, n int, f func(d device, from, to int) error) (left []int, err error) {
	return dev.Split(ctx, n, func(l *gpu.Lane, from, to int) error { return f(newCard(l, c), from, to) })
}

// card is the device that runs the steps on a lane.
type card struct {
	pool   *pool.Pool
	lane   *gpu.Lane
	stream *gpu.Stream
	module *gpu.Module
	band   int // bytes of pixels at a time
}

func newCard(l *gpu.Lane, c *pool.Pool) *card {
	// Pixels, blocks, the table and its symbols take up to four times the band.
	return &card{c, l, l.Stream(0), &cardModule, min(bandBytes, int(l.Budget()/8))}
}

// table16 is a table as bytes of the card, which is little-endian.
func table16(t []uint16) []byte {
	b := make([]byte, 0, 2*len(t))
	for _, x := range t {
		b = binary.LittleEndian.AppendUint16(b, x)
	}
	return b
}

func (d *card) cut(h *header, slices [][]byte) (luma, chroma blockSet, err error) {
	p := &cutting{card: d, header: h, slices: slices, bands: bands(h, len(slices), d.band), at: -1}
	size := h.planeSizes()
	luma = &cardBlocks{cutting: p, grid: h.block.grid(size[0][0], size[0][1]), planes: 1}
	if h.colour() {
		chroma = &cardBlocks{cutting: p, grid: h.block.grid(size[1][0], size[1][1]), planes: 2}
	}
	return luma, chroma, nil
}

func (d *card) load(k int, samples []byte) (source, error) {
	t, err := d.room(k, len(samples)/k)
	if err != nil {
		return nil, err
	}
	return t, d.stream.Upload(t.buffer, 0, samples)
}

// cutting is images of which one band at a time is on the card, in blocks.
type cutting struct {
	*card
	header *header
	slices [][]byte
	bands  []band

	at                   int // the present band, -1 for none
	pixels, luma, chroma *gpu.Buffer
}

// enter makes band i the present one.
func (p *cutting) enter(i int) error {
	if p.at == i {
		return nil
	}
	h, b := p.header, p.bands[i]
	line := h.w * h.channels()
	if p.pixels == nil {
		// The first band is the largest.
		k := h.block.k()
		part := *h
		part.h = b.rows
		size := part.planeSizes()
		var err error
		if p.pixels, err = p.lane.Device(b.slices * b.rows * line); err != nil {
			return err
		}
		if p.luma, err = p.lane.Device(b.slices * h.block.grid(size[0][0], size[0][1]).blocks() * k); err != nil {
			return err
		}
		if h.colour() {
			if p.chroma, err = p.lane.Device(2 * b.slices * h.block.grid(size[1][0], size[1][1]).blocks() * k); err != nil {
				return err
			}
		}
	}
	for z := 0; z < b.slices; {
		rows, first := p.slices[b.slice+z][b.row*line:(b.row+b.rows)*line], z
		for z++; z < b.slices; z++ {
			both, ok := joined(rows, p.slices[b.slice+z])
			if !ok {
				break
			}
			rows = both
		}
		if err := p.stream.Upload(p.pixels, first*b.rows*line, rows); err != nil {
			return err
		}
	}
	params := blocksParams{
		Luma: p.luma.Ptr, Pixels: p.pixels.Ptr,
		Width: uint32(h.w), Height: uint32(b.rows), Slices: uint32(b.slices),
		Channels: uint32(h.channels()), BlockP: uint32(h.block.p), BlockQ: uint32(h.block.q),
	}
	planes := 1
	if h.colour() {
		params.Chroma, planes = p.chroma.Ptr, 3
	}
	if h.half() {
		params.Half = 1
	}
	g := h.block.grid(h.w, b.rows)
	threads := b.slices * g.blocks() * h.block.p
	grid := gpu.Grid{Blocks: [3]int{(threads + cardThreads - 1) / cardThreads, planes}}
	if err := launchGrid(p.card, "vq_blocks", grid, &params); err != nil {
		return err
	}
	p.at = i
	return nil
}

// joined is a and b as one where b follows a in memory, as the slices of a volume do.
func joined(a, b []byte) ([]byte, bool) {
	n := len(a) + len(b)
	if cap(a) < n || &a[:n][len(a)] != &b[0] {
		return nil, false
	}
	return a[:n], true
}

// cardBlocks is the blocks of luma or of chroma of a cutting, and their index table.
type cardBlocks struct {
	*cutting
	grid    grid // of a plane
	planes  int  // of a slice: 1 luma, 2 chroma
	indices *gpu.Buffer
}

func (b *cardBlocks) m() int { return len(b.slices) * b.planes * b.grid.blocks() }
func (b *cardBlocks) k() int { return b.header.block.k() }

// each calls f for runs of blocks: count of them at ptr, of which the first has the
// number first in the whole.
func (b *cardBlocks) each(f func(buffer *gpu.Buffer, local, first, count int) error) error {
	for i, band := range b.bands {
		if err := b.enter(i); err != nil {
			return err
		}
		buffer, shrink := b.luma, 1
		if b.planes == 2 {
			buffer = b.chroma
			if b.header.half() {
				shrink = 2
			}
		}
		if band.rows == b.header.h {
			per := b.planes * b.grid.blocks()
			if err := f(buffer, 0, band.slice*per, band.slices*per); err != nil {
				return err
			}
			continue
		}
		part := b.header.block.grid(b.header.w, (band.rows+shrink-1)/shrink)
		above := band.row / shrink / b.header.block.p
		for plane := range b.planes {
			count := part.rows * b.grid.cols
			first := ((band.slice*b.planes+plane)*b.grid.rows + above) * b.grid.cols
			if err := f(buffer, plane*count, first, count); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *cardBlocks) read(lo, hi int) ([]byte, error) {
	k := b.k()
	out := make([]byte, (hi-lo)*k)
	err := b.each(func(buffer *gpu.Buffer, local, first, count int) error {
		from, to := max(lo, first), min(hi, first+count)
		if from >= to {
			return nil
		}
		return b.stream.Download(out[(from-lo)*k:(to-lo)*k], buffer, (local+from-first)*k)
	})
	return out, err
}

func (b *cardBlocks) sample(most int) (source, error) {
	t, err := b.room(b.k(), min(most, b.m()))
	if err != nil {
		return nil, err
	}
	return t, b.each(func(buffer *gpu.Buffer, local, first, count int) error {
		return b.takeSample(t, buffer.Ptr+gpu.Ptr(local*t.k), first, count, b.m())
	})
}

func (b *cardBlocks) assign(book *codebook) (err error) {
	if b.indices == nil {
		if b.indices, err = b.lane.Device(2 * b.m()); err != nil {
			return err
		}
	}
	words, err := b.upload(book.words)
	if err != nil {
		return err
	}
	defer words.Free()
	return b.each(func(buffer *gpu.Buffer, local, first, count int) error {
		return b.launchSearch(b.k(), &searchParams{
			Table: b.indices.Ptr + gpu.Ptr(2*first), Blocks: buffer.Ptr + gpu.Ptr(local*b.k()), Words: words.Ptr,
			M: uint64(count), N: uint32(book.n()),
		})
	})
}

func (b *cardBlocks) count(n int) ([]uint32, error) {
	counts, err := b.zeros(4 * n)
	if err != nil {
		return nil, err
	}
	defer counts.Free()
	blocks := min((b.m()+16*cardThreads-1)/(16*cardThreads), 4*b.lane.Card().Multiprocessors)
	err = launchGrid(b.card, "vq_count", gpu.Grid{Blocks: [3]int{blocks}},
		&countParams{Counts: counts.Ptr, Table: b.indices.Ptr, M: uint64(b.m()), N: uint32(n)})
	if err != nil {
		return nil, err
	}
	out, err := b.download(counts, 4*n)
	return gpu.View[uint32](out), err
}

// searchBlocks is how many blocks a block of threads takes in search.cuh: in the kernels
// for many, by K, and in those for few.
var searchBlocks = map[int]int{4: 1024, 8: 1024, 16: 1024, 64: 512}

const searchFew = 256

// many says whether m blocks are enough for the kernels for many.
func (d *card) many(k, m int) bool { return m >= 2*searchBlocks[k]*d.lane.Card().Multiprocessors }

func (d *card) launchSearch(k int, p *searchParams) error {
	name := map[int]string{4: "vq_search_4", 8: "vq_search_8", 16: "vq_search_16", 64: "vq_search_64"}[k]
	per := searchBlocks[k]
	if !d.many(k, int(p.M)) {
		name, per = name+"_few", searchFew
	}
	return launchGrid(d, name, gpu.Grid{Blocks: [3]int{(int(p.M) + per - 1) / per}}, p)
}

func (b *cardBlocks) renumber(to []uint16) error {
	list, err := b.upload(table16(to))
	if err != nil {
		return err
	}
	defer list.Free()
	return launch(b.card, "vq_renumber", b.m(),
		&renumberParams{Table: b.indices.Ptr, To: list.Ptr, M: uint64(b.m()), N: uint32(len(to))})
}

func (b *cardBlocks) table() ([]uint16, error) {
	out, err := b.download(b.indices, 2*b.m())
	return gpu.View[uint16](out), err
}

// symbolsAtOnce bounds the symbols that are on the card at a time.
const symbolsAtOnce = 1 << 24

func (b *cardBlocks) symbols(book *codebook, g grid) ([]symbol, error) {
	n, most := book.n(), min(b.m(), symbolsAtOnce)
	words, err := b.upload(book.words)
	if err != nil {
		return nil, err
	}
	sides, err := b.lane.Device(4 * (2*n*n + n))
	if err != nil {
		return nil, err
	}
	symbols, err := b.lane.Device(4 * most)
	if err != nil {
		return nil, err
	}
	side := sidesParams{
		Up: sides.Ptr, Left: sides.Ptr + gpu.Ptr(4*n*n), Spans: sides.Ptr + gpu.Ptr(8*n*n), Words: words.Ptr,
		N: uint32(n), BlockP: uint32(book.p), BlockQ: uint32(book.q),
	}
	if err := launch(b.card, "vq_sides", n*n, &side); err != nil {
		return nil, err
	}
	out := make([]byte, 4*b.m())
	for first := 0; first < b.m(); first += most {
		m := min(most, b.m()-first)
		err := launch(b.card, "vq_ranks", 32*m, &ranksParams{
			Symbols: symbols.Ptr, Table: b.indices.Ptr, Up: side.Up, Left: side.Left, Spans: side.Spans,
			First: uint64(first), M: uint64(m), N: uint32(n),
			Rows: uint32(g.rows), Cols: uint32(g.cols), Step: uint32(g.segments()[0].rows), Shift: uint32(bestShift(n)),
		})
		if err != nil {
			return nil, err
		}
		if err := b.fetch(out[4*first:4*(first+m)], symbols); err != nil {
			return nil, err
		}
	}
	words.Free()
	sides.Free()
	symbols.Free()
	return asSymbols(gpu.View[uint32](out)), nil
}

func (d *card) expand(ctx context.Context, h *header, books *bookPair, table [][]uint16, m *raster.Image) error {
	luma, err := d.upload(table16(table[0]))
	if err != nil {
		return err
	}
	words, err := d.upload(books.luma.words)
	if err != nil {
		return err
	}
	p := expandParams{
		Luma: luma.Ptr, Words: words.Ptr, N: uint32(books.luma.n()),
		Width: uint32(h.w), Height: uint32(h.h), Channels: uint32(h.channels()),
		BlockP: uint32(h.block.p), BlockQ: uint32(h.block.q),
	}
	if h.half() {
		p.Half = 1
	}
	if h.colour() {
		chroma, err := d.upload(table16(table[1]))
		if err != nil {
			return err
		}
		words, err := d.upload(books.chroma.words)
		if err != nil {
			return err
		}
		p.Chroma, p.ChromaWords, p.NChroma = chroma.Ptr, words.Ptr, uint32(books.chroma.n())
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
		if err := d.launchExpand(h, p, row, rows); err != nil {
			return err
		}
		if err := d.fetch(m.Pix[row*line:(row+rows)*line], pixels); err != nil {
			return err
		}
	}
	return nil
}

// launchExpand expands rows of the stack of all slices from the given row on.
func (d *card) launchExpand(h *header, p expandParams, row, rows int) error {
	if !h.colour() && h.block == (shape{4, 4}) && h.w%16 == 0 && h.h%4 == 0 {
		// Few large blocks of threads, because each brings the codebook: up to 64 KiB.
		threads := [3]int{1024}
		blocks := min((rows/4*(h.w/16)+threads[0]-1)/threads[0], 2*d.lane.Card().Multiprocessors)
		return launchGrid(d, "vq_expand_grey", gpu.Grid{Blocks: [3]int{blocks}, Threads: threads, Shared: 16 * int(p.N)}, &expandGreyParams{
			Pixels: p.Pixels, Table: p.Luma + gpu.Ptr(2*(row/4)*(h.w/4)), Words: p.Words,
			Width: p.Width, Height: uint32(rows), N: p.N,
		})
	}
	p.First, p.Count = uint64(row)*uint64(h.w), uint64(rows)*uint64(h.w)
	return launch(d, "vq_expand", int(p.Count), &p)
}

// squaredError is the sum of the squared differences of two buffers of n samples.
func (d *card) squaredError(a, b *gpu.Buffer, n int) (uint64, error) {
	sum, err := d.zeros(8)
	if err != nil {
		return 0, err
	}
	defer sum.Free()
	blocks := min((n+16*cardThreads-1)/(16*cardThreads), 8*d.lane.Card().Multiprocessors)
	err = launchGrid(d, "vq_error", gpu.Grid{Blocks: [3]int{blocks}}, &errorParams{Sum: sum.Ptr, A: a.Ptr, B: b.Ptr, N: uint64(n)})
	if err != nil {
		return 0, err
	}
	out, err := d.download(sum, 8)
	return binary.LittleEndian.Uint64(out), err
}

// asSymbols is the card's words as symbols.
func asSymbols(w []uint32) []symbol {
	out := make([]symbol, len(w))
	for i, v := range w {
		out[i] = symbol(v)
	}
	return out
}
