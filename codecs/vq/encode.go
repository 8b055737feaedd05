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
	if taken == nil {
		return out
	}
	workers := run.Cores()
	known := make([]*analysis, len(batch))
	onCPU := func(items []int) {
		workers.Each(len(items), func(j int) {
			i := items[j]
			list, err := cpuSteps{workers}.analyse(ctx, batch[i:i+1], o)
			if err != nil {
				out[i].Err = err
				return
			}
			out[i] = finish(ctx, workers, list[0])
		})
	}
	share, end := run.Share(batching(o))
	defer end()
	batches := share.Divide(taken, func(i int) int { return batch[i].Size() })
	run.Device.Run(ctx, batches, gpu.Work{
		Device: func(l *gpu.Lane, items []int) error {
			images := make([]*raster.Image, len(items))
			for j, i := range items {
				images[j] = batch[i]
			}
			steps := newDeviceSteps(l, workers)
			steps.asked = run.Digests
			list, err := steps.analyse(ctx, images, o)
			for j, a := range list {
				known[items[j]] = a
			}
			return err
		},
		Host: func(items []int) {
			workers.Each(len(items), func(j int) {
				i := items[j]
				out[i] = finish(ctx, workers, known[i])
				known[i] = nil
			})
		},
		CPU: onCPU,
		Failed: func(items []int, err error) {
			for _, i := range items {
				out[i].Err = err
			}
		},
	})
	return out
}

// batching is how images are divided into batches, by bytes of their samples. Those that
// train codebooks of their own make some batches, so that the files of one are written
// and verified while the next ones train, but none so small that a device trains it in no less time
// than a larger one. For those that share a codebook a batch is large enough for copies
// at the full speed of the link, and small enough that a call makes several, of which
// one is copied while another is searched (benchmarks BenchmarkCardEncode and
// BenchmarkCardBatch on an H200).
func batching(o *Options) gpu.Batching {
	if o.books != nil {
		return gpu.Batching{Most: 32 << 20}
	}
	return gpu.Batching{Calls: 6, Least: 4 << 20, Most: 96 << 20}
}

// onOne runs f once: on a lane of dev, or on the CPU where dev is nil or has not the
// memory.
func onOne(ctx context.Context, dev *gpu.Device, c *pool.Pool, f func(s steps) error) (err error) {
	dev.Run(ctx, [][]int{{0}}, gpu.Work{
		Device: func(l *gpu.Lane, _ []int) error { return f(newDeviceSteps(l, c)) },
		CPU:    func([]int) { err = f(cpuSteps{c}) },
		Failed: func(_ []int, failed error) { err = failed },
	})
	return err
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
	table   [][]uint16 // of luma and chroma, all slices
	symbols [][]symbol // likewise, for the coded one
	coded   [][][]byte // or its streams, those of luma and of chroma by slice, plane and downwards
	decoded *codec.Digests
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
	for _, p := range h.places() {
		list = append(list, piece[T]{p.book, p.grid, table[p.book][p.at:][:p.grid.blocks()], p.segment})
	}
	return list
}

// place is where a segment is in the tables of a file.
type place struct {
	book int  // 0 luma, 1 chroma
	at   int  // entry with which the table of its plane begins
	grid grid // of the plane
	segment
}

// places are those of all segments, in their order in the file.
func (h *header) places() []place {
	var list []place
	var at [2]int
	sizes := h.planeSizes()
	for range h.d {
		for i, s := range sizes {
			book, g := min(i, 1), h.block.grid(s[0], s[1])
			for _, seg := range g.segments() {
				list = append(list, place{book, at[book], g, seg})
			}
			at[book] += g.blocks()
		}
	}
	return list
}

// finish is the answer for an image.
func finish(ctx context.Context, c *pool.Pool, a *analysis) codec.Encoded {
	data, err := assemble(ctx, c, a)
	if err != nil {
		return codec.Encoded{Err: err}
	}
	return codec.Encoded{Data: data, Expect: expected(a.table), Decoded: a.decoded}
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
	coded := streams(h, a.coded)
	if coded == nil {
		list := pieces(h, a.symbols)
		coded = make([][]byte, len(list))
		c.Each(len(list), func(i int) {
			if p := list[i]; ctx.Err() == nil {
				coded[i] = encodeSegment(p.table, p.grid.cols, p.segment, h.codewords(p.book))
			}
		})
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var out []byte
	for _, b := range coded {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(b)))
	}
	return append(out, bytes.Join(coded, nil)...), nil
}

// streams puts the streams of luma and of chroma into their order in the file, which is that of
// pieces.
func streams(h *header, coded [][][]byte) (list [][]byte) {
	if coded == nil {
		return nil
	}
	var next [2]int
	for range h.d {
		for i, s := range h.planeSizes() {
			book, n := min(i, 1), int(h.block.grid(s[0], s[1]).segmentCount())
			list = append(list, coded[book][next[book]:][:n]...)
			next[book] += n
		}
	}
	return list
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
		err := onOne(ctx, run.Device, workers, func(s steps) error {
			taken, err := s.sample(ctx, m, o)
			for i, t := range taken {
				samples[i] = append(samples[i], t...)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if samples[0] == nil {
		return nil, fmt.Errorf("vq: train: no picture to train on: %w", refused)
	}
	sets := samples[:1]
	if samples[1] != nil {
		sets = samples[:]
	}
	var list []*codebook
	err := onOne(ctx, run.Device, workers, func(s steps) (err error) {
		list, err = s.train(ctx, sets, o)
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
