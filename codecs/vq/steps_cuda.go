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
	band    int  // bytes of pixels to expand at a time
	asked   bool // for digests of what the files decode to
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

func (d *deviceSteps) analyse(ctx context.Context, images []*raster.Image, o *Options) ([]*analysis, error) {
	b := d.newBatch(images, o)
	for _, step := range []func(context.Context) error{b.makeBlocks, b.findBooks, b.assign, b.expandAll, b.code, b.endDigests} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return b.analyses(), nil
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
	p := h.expanding()
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
	return d.expandBands(ctx, h, p, m)
}

// expanding is what expands the tables of a file, but for where these and the codewords are.
func (h *header) expanding() deviceExpansion {
	p := deviceExpansion{
		Width: uint32(h.w), Height: uint32(h.h), Channels: uint32(h.channels()), P: uint32(h.block.p), Q: uint32(h.block.q),
	}
	if h.half() {
		p.Half = 1
	}
	return p
}

// expandBands expands and downloads some rows at a time.
func (d *deviceSteps) expandBands(ctx context.Context, h *header, p deviceExpansion, m *raster.Image) error {
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
		var band expansions
		band.add(h, p, row, rows)
		if err := d.launchExpand(&band); err != nil {
			return err
		}
		part := m.Pix[row*line : (row+rows)*line]
		if err := d.staging.Download([]gpu.Part{{Bytes: part}}, pixels, len(part)); err != nil {
			return err
		}
	}
	return nil
}

// expansions is what is expanded together: each kind in one launch, or one after the other where a kernel brings a codebook.
type expansions struct {
	list  []deviceExpansion
	sizes []extent

	grey      []expandGreyParams
	greySizes []extent
}

// add adds rows of the stack of all slices from the given row on.
func (x *expansions) add(h *header, p deviceExpansion, row, rows int) {
	size := extent{pixels: rows * h.w, words: int(p.N)}
	if !h.colour() && h.block == (shape{4, 4}) && h.w%16 == 0 && h.h%4 == 0 {
		x.grey, x.greySizes = append(x.grey, expandGreyParams{
			Pixels: p.Pixels, Table: p.Luma + gpu.Ptr(2*(row/4)*(h.w/4)), Words: p.Words,
			Width: p.Width, Height: uint32(rows), N: p.N,
		}), append(x.greySizes, size)
		return
	}
	p.First, p.Count = uint64(row)*uint64(h.w), uint64(rows)*uint64(h.w)
	x.list, x.sizes = append(x.list, p), append(x.sizes, size)
}

// launchExpand launches what expands all of x.
func (d *deviceSteps) launchExpand(x *expansions) error {
	for i := range x.grey {
		if err := launch(d, "vq_expand_grey", x.greySizes[i:i+1], &x.grey[i]); err != nil {
			return err
		}
	}
	if len(x.list) == 0 {
		return nil
	}
	list, err := put(d, x.list)
	if err != nil {
		return err
	}
	return launch(d, "vq_expand", x.sizes, &listParams{list.Ptr})
}
