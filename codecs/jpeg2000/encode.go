package jpeg2000

import (
	"context"
	"fmt"
	"image"
	"sync"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/volume"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// Encode makes one file per image. See the package comment for what it takes and
// guarantees.
func (c Codec) Encode(ctx context.Context, run codec.Run, items []codec.Item, opts codec.Options) []codec.Encoded {
	out := make([]codec.Encoded, len(items))
	o, err := resolve(opts)
	workers, info := run.Cores(), c.Info().With(opts)
	var taken, refused []int
	for i := range items {
		if out[i].Err = err; err == nil {
			out[i].Err = info.Check(items[i].Image.Shape)
		}
		if out[i].Err == nil && o.boxed() {
			out[i].Err = checkProfile(items[i].Image.Meta.ICC)
		}
		switch {
		case out[i].Err != nil:
		case !o.part10() && items[i].Image.Channels*items[i].Image.Depth > maxComponents:
			refused = append(refused, i)
		default:
			taken = append(taken, i)
		}
	}
	onCPU := func(list []int) {
		workers.Each(len(list), func(j int) {
			i := list[j]
			out[i].Data, out[i].Err = encode(ctx, workers, items[i].Image, o)
		})
	}
	onCPU(refused)
	switch {
	case run.Device == nil || err != nil:
		onCPU(taken)
		return out
	case o.part10():
		d := &volumeEncoder{device: run.Device, ctx: ctx, workers: workers, effort: volumeEfforts[o.effort], items: items, searches: make([]*volume.Search, len(items))}
		d.run(taken, onCPU, out)
		return out
	case !o.onDevice():
		onCPU(taken)
		return out
	}
	d := newDeviceEncoder(ctx, run, workers, o, items)
	var preparing sync.WaitGroup
	preparing.Go(func() { d.prepareAll(taken) })
	defer preparing.Wait()
	run.Device.Run(ctx, o.batching().Divide(taken, func(i int) int { return items[i].Image.Pixels() }), gpu.Work{
		Device: d.encode,
		Host: func(list []int) {
			workers.Each(len(list), func(j int) {
				i := list[j]
				out[i].Data, out[i].Err = d.file(i)
			})
		},
		CPU: onCPU,
		Failed: func(list []int, err error) {
			for _, i := range list {
				out[i] = codec.Encoded{Err: err}
			}
		},
	})
	return out
}

func resolve(opts codec.Options) (*Options, error) {
	if opts == nil {
		return &defaults, nil
	}
	o, ok := opts.(*Options)
	if !ok {
		return nil, fmt.Errorf("jpeg2000: options of another codec: %T", opts)
	}
	return o, nil
}

// encode makes the file of an image.
func encode(ctx context.Context, workers *pool.Pool, m *raster.Image, o *Options) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.part10() {
		return encodeVolume(ctx, workers, m, o)
	}
	if n := m.Channels * m.Depth; n > maxComponents {
		return nil, codec.Unsupportedf("jpeg2000: %d slices of %d channels; a codestream has at most %d components", m.Depth, m.Channels, maxComponents)
	}
	e := &encoder{ctx: ctx, workers: workers, image: m, options: o}
	return e.choose()
}

// encoder encodes an image, several times where its options ask for trials.
type encoder struct {
	ctx     context.Context
	workers *pool.Pool
	image   *raster.Image
	options *Options
	cache   blockCache // nil without trials
	chunks  codedChunks
}

// choice is what an encoder may choose.
type choice struct {
	levels int
	block  image.Point
	style  codestream.BlockStyle
}

// codestream returns the codestream of the image with a choice.
func (e *encoder) codestream(c choice) ([]byte, error) {
	if e.options.ht() && e.options.goal() {
		return e.withStep(c)
	}
	main := e.main(c)
	tiles := make([]*codedTile, main.Size.Tiles().X*main.Size.Tiles().Y)
	for i := range tiles {
		var err error
		if tiles[i], err = e.tile(main, i); err != nil {
			return nil, err
		}
	}
	a := allocation{main, tiles, e.image.Shape}
	a.divide(e.options)
	return appendStream(nil, main, tiles), nil
}

// main is the main header for a choice.
func (e *encoder) main(c choice) *codestream.Main { return e.mainWith(c, e.options.step(e.image.Bits)) }

// mainWith is the main header for a choice, and for 9/7 a quantization step before it is
// divided among subbands.
func (e *encoder) mainWith(c choice, step float64) *codestream.Main {
	m := e.image
	n := m.Channels * m.Depth
	main := &codestream.Main{
		TLM: e.options.tlm, PLT: e.options.plt,
		Size: codestream.Size{Image: image.Rect(0, 0, m.Width, m.Height), Tile: e.options.tile, Components: make([]codestream.Component, n)},
		Params: codestream.Params{Order: e.options.progression, Layers: e.options.layers, MCT: m.Channels >= 3 && m.Depth == 1 && !e.options.separate,
			Components: make([]codestream.Coding, n)},
	}
	if c.style&codestream.HT != 0 {
		main.Size.Capabilities = codestream.PartFifteen
	}
	if main.Size.Tile == (image.Point{}) {
		main.Size.Tile = main.Size.Image.Max
	}
	transform, quantization := codestream.Reversible53, reversible(m.Bits, c.levels)
	if e.options.irreversible() {
		transform, quantization = codestream.Irreversible97, irreversible(m.Bits, c.levels, step)
	}
	for i := range n {
		main.Size.Components[i] = codestream.Component{Bits: m.Bits, Signed: m.Signed, Step: image.Pt(1, 1)}
		main.Params.Components[i] = codestream.Coding{Levels: c.levels, BlockExp: c.block, Style: c.style, Transform: transform,
			Precincts: e.options.precinctsOf(c.levels), Quantization: quantization}
	}
	return main
}

// precinctsOf are the precincts by resolution.
func (o *Options) precinctsOf(levels int) []image.Point {
	if o.precincts == nil {
		return nil
	}
	list := make([]image.Point, levels+1)
	for r := range list {
		list[r] = o.precincts[min(levels-r, len(o.precincts)-1)]
	}
	return list
}

// reversible are the exponents of the subbands without quantization (equation E-5).
func reversible(bits, levels int) codestream.Quantization {
	q := codestream.Quantization{Style: codestream.NoQuantization, Guard: 2, Steps: []codestream.Step{{Exponent: bits}}}
	for range levels {
		for o := codestream.HL; o <= codestream.HH; o++ {
			q.Steps = append(q.Steps, codestream.Step{Exponent: bits + o.Gain()})
		}
	}
	return q
}

// tile encodes the code-blocks of a tile.
func (e *encoder) tile(main *codestream.Main, index int) (*codedTile, error) {
	tile := main.Size.NewTile(index, &main.Params)
	if e.options.irreversible() {
		return e.encodeBlocks(main, tile, e.quantized(tile, e.irreversibleBands(main, tile)))
	}
	// The image is level shifted as its rows are split, but for those of RCT, which are split one component after the other.
	var planes []wavelet.Plane[int32]
	if main.Params.MCT {
		planes = loadTile(e.workers, e.image, tile.Bounds, true)
	}
	samples := 0
	for c := range tile.Components {
		samples += bandSamples(&tile.Components[c])
	}
	memory := intTransforms.takePlanes(samples)
	defer intTransforms.givePlanes(memory)
	bands := make([][][]wavelet.Plane[int32], len(tile.Components))
	for c := range bands {
		src := imageRows(e.image, c, tile.Bounds.Min)
		if planes != nil {
			src = rowsOf(planes[c])
			planes[c] = wavelet.Plane[int32]{}
		}
		bands[c] = analyse(e.workers, &tile.Components[c], src, &intTransforms, memory)
	}
	return e.encodeBlocks(main, tile, bands)
}

// measured says whether distortions count.
func (e *encoder) measured() bool { return e.options.layers > 1 || e.options.Lossy() }

// fraction is the number of fractional bits of coefficients, which the one coding pass of
// an HT code-block has no use for.
func (e *encoder) fraction() int {
	if e.options.irreversible() && !e.options.ht() {
		return indexFraction
	}
	return 0
}
