//go:build cuda && cgo

package webp

import (
	"slices"

	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// devicePredictorSearch is a canvas on a card, of a batch. Its methods belong to the search of its
// image.
type devicePredictorSearch struct {
	batch *batch
	w, h  int
	exact bool
	err   error // the first

	frame   deviceSlot          // what lasts from step to step
	entropy format.EntropyImage // without the tiles
	mode    byte                // to fill modes with

	argb, residual, coloured   *gpu.Buffer
	modes, multipliers, groups *gpu.Buffer // by tile; nil: none
}

// deviceSteps is the device of one image of a batch.
type deviceSteps struct {
	batch   *batch
	image   *raster.Image
	options *Options
}

// PredictorSearch brings the image's samples to the card, which loads them itself, or p where
// that is another image.
func (e *deviceSteps) PredictorSearch(p format.Pixels) (search.PredictorSearch, error) {
	c := &devicePredictorSearch{batch: e.batch, w: p.W, h: p.H, exact: e.options.exact}
	c.frame = deviceSlot{Width: uint32(p.W), Height: uint32(p.H), Opaque: 1, N: 1, Symbols: uint32(c.Symbols())}
	source := asBytes(p.ARGB)
	if e.options.nearLossless == 100 && p.W == e.image.Width && p.H == e.image.Height {
		source, c.frame.Channels = e.image.Pix, uint32(e.image.Channels)
	}
	got := c.do(&request{
		step: stepLoad, parts: [][]byte{source}, want: 4,
		room: func() error { return c.take(4*c.w*c.h, &c.argb, &c.residual) },
		set:  func(f *deviceSlot, at []gpu.Ptr) { f.Source = at[0] },
	})
	if c.err == nil && got[0] != 0 {
		c.frame.Opaque = 0
	}
	return c, c.err
}

// take makes room for buffers of n bytes each and notes in the frame where they are.
func (c *devicePredictorSearch) take(n int, buffers ...**gpu.Buffer) error {
	for _, b := range buffers {
		if *b != nil && (*b).Size == n {
			continue
		}
		if *b != nil {
			(*b).Free()
		}
		var err error
		if *b, err = c.batch.lane.Device(n); err != nil {
			return err
		}
	}
	at := func(b *gpu.Buffer) gpu.Ptr {
		if b == nil {
			return 0
		}
		return b.Ptr
	}
	f := &c.frame
	f.Argb, f.Residual, f.Coded = at(c.argb), at(c.residual), at(c.coloured)
	f.Modes, f.Multipliers, f.Groups = at(c.modes), at(c.multipliers), at(c.groups)
	if c.coloured == nil {
		f.Coded = f.Residual
	}
	return nil
}

// do asks for a step and returns what comes back, zeros where the card failed.
func (c *devicePredictorSearch) do(a *request) []byte {
	a.canvas = c
	if c.err == nil {
		c.err = c.batch.wait(a)
	}
	if c.err != nil {
		return make([]byte, a.want)
	}
	return a.got
}

func (c *devicePredictorSearch) Size() (w, h int) { return c.w, c.h }
func (c *devicePredictorSearch) Symbols() int     { return new(format.Parse).Symbols() }
func (c *devicePredictorSearch) opaque() bool     { return c.frame.Opaque != 0 }
func (c *devicePredictorSearch) count(bits int) int {
	return format.Tiles(c.w, bits) * format.Tiles(c.h, bits)
}

func (c *devicePredictorSearch) SetModes(bits int, mode uint8) {
	c.mode, c.frame.ModeBits = mode, uint32(bits)
	c.do(&request{step: stepFill, room: func() error { return c.take(c.count(bits), &c.modes) }})
}

func (c *devicePredictorSearch) ChooseModes(bits, skip int, own *[transform.ModeCount]uint32, tables []uint16) (counts [transform.ModeCount]uint32) {
	c.frame.ModeBits = uint32(bits)
	got := c.do(&request{
		step: stepPredict, parts: [][]byte{asBytes(own[:]), asBytes(tables)}, want: 4 * transform.ModeCount,
		room: func() error { return c.take(c.count(bits), &c.modes) },
		set:  func(f *deviceSlot, at []gpu.Ptr) { f.ModePrices, f.Prices, f.Skip = at[0], at[1], uint32(skip) },
	})
	copy(counts[:], gpu.View[uint32](got))
	return counts
}

func (c *devicePredictorSearch) ChooseMultipliers(bits, skip int, steps []int, own *transform.MultiplierCosts, tables []uint16) (counts [3][256]uint32) {
	fresh := c.multipliers == nil || c.frame.ColourBits != uint32(bits)
	c.frame.ColourBits = uint32(bits)
	prices := slices.Concat(own[0][:], own[1][:], own[2][:])
	got := c.do(&request{
		step: stepRecolour, parts: [][]byte{asBytes(prices), asBytes(tables)}, want: 4 * 3 * 256,
		room: func() error {
			if err := c.take(4*c.w*c.h, &c.coloured); err != nil {
				return err
			}
			if err := c.take(4*c.count(bits), &c.multipliers); err != nil || !fresh {
				return err
			}
			return c.batch.stream.Fill(c.multipliers, 0, c.multipliers.Size, 0)
		},
		set: func(f *deviceSlot, at []gpu.Ptr) {
			f.MultiplierPrices, f.Prices, f.Skip = at[0], at[1], uint32(skip)
			f.Count = uint32(len(steps))
			for i, v := range steps {
				f.Steps[i] = uint32(v)
			}
		},
	})
	list := gpu.View[uint32](got)
	for i := range counts {
		copy(counts[i][:], list[256*i:])
	}
	return counts
}

func (c *devicePredictorSearch) TileCosts(bits int, table []uint16) []uint32 {
	return gpu.View[uint32](c.do(&request{
		step: stepTilePrices, parts: [][]byte{asBytes(table)}, want: 4 * c.count(bits),
		set: func(f *deviceSlot, at []gpu.Ptr) { f.Prices, f.GroupBits = at[0], uint32(bits) },
	}))
}

func (c *devicePredictorSearch) SetEntropyImage(g format.EntropyImage) {
	c.entropy = format.EntropyImage{Bits: g.Bits, Groups: g.Groups}
	c.frame.GroupBits, c.frame.N = uint32(g.Bits), uint32(max(1, g.Groups))
	if g.Bits == 0 {
		c.groups, c.frame.Groups = nil, 0 // the memory goes back with the batch
		return
	}
	c.do(&request{
		step: stepSetGroups, parts: [][]byte{asBytes(g.Group)}, keep: []**gpu.Buffer{&c.groups},
		room: func() error { return c.take(2*len(g.Group), &c.groups) },
	})
}

func (c *devicePredictorSearch) AssignGroups(own []uint32, near int, tables []uint16) (counts []uint32, regrets []uint64) {
	n := len(own)
	even := (n + 1) / 2 * 2 // words before those of 64 bits
	got := c.do(&request{
		step: stepAssign, parts: [][]byte{asBytes(own), asBytes(tables)}, want: 4*even + 8*n, work: 4 * c.Symbols() * rowWords(n),
		set: func(f *deviceSlot, at []gpu.Ptr) { f.GroupPrices, f.Prices, f.Near = at[0], at[1], uint32(near) },
	})
	return gpu.View[uint32](got[:4*n]), gpu.View[uint64](got[4*even:])
}

func (c *devicePredictorSearch) Histograms() []uint32 {
	return gpu.View[uint32](c.do(&request{step: stepHistograms, want: 4 * int(c.frame.N*c.frame.Symbols)}))
}

// fetch returns what buffers hold; nil for those that are nil.
func (c *devicePredictorSearch) fetch(buffers ...*gpu.Buffer) [][]byte {
	a := &request{step: stepFetch}
	for _, b := range buffers {
		if b != nil {
			a.fetch = append(a.fetch, b)
			a.want += roundUp(b.Size)
		}
	}
	got := c.do(a)
	list := make([][]byte, len(buffers))
	for i, b := range buffers {
		if b != nil {
			list[i] = got[:b.Size]
			got = got[roundUp(b.Size):]
		}
	}
	return list
}

// roundUp lets what follows n bytes begin where words do.
func roundUp(n int) int { return (n + 15) &^ 15 }

func (c *devicePredictorSearch) Result() (*search.Choices, error) {
	out := &search.Choices{ModeBits: int(c.frame.ModeBits), Entropy: c.entropy, Pixels: format.Pixels{W: c.w, H: c.h}, Packer: c}
	got := c.fetch(c.modes, c.multipliers, c.groups)
	if c.err != nil {
		return nil, c.err
	}
	out.Modes = got[0]
	if c.multipliers != nil {
		bits := int(c.frame.ColourBits)
		out.Multipliers = &transform.Multipliers{Bits: bits, Columns: format.Tiles(c.w, bits), Element: gpu.View[uint32](got[1])}
		for i := range out.Multipliers.Element {
			out.Multipliers.Element[i] |= transform.NoMultipliers
		}
	}
	if c.entropy.Bits > 0 {
		out.Entropy.Group = gpu.View[uint16](got[2])
	}
	return out, nil
}

// Counts is the histograms with alpha, of a packer.
func (c *devicePredictorSearch) Counts() [][]uint32 {
	n := c.Symbols()
	var out [][]uint32
	for list := c.Histograms(); len(list) > 0; list = list[n:] {
		h := list[:n:n]
		if c.opaque() {
			for _, v := range h[format.RedAt:format.BlueAt] {
				h[format.AlphaAt] += v // the residuals of alpha are 0
			}
		}
		out = append(out, h)
	}
	return out
}

func (c *devicePredictorSearch) Pack(codes [][]bitstream.Code, first, size int) []byte {
	words := (first + size + 31) / 32
	blocks := (c.w*c.h + packPixels*cardThreads - 1) / (packPixels * cardThreads)
	all := make([]uint32, 0, len(codes)*c.Symbols())
	for _, list := range codes {
		for _, v := range list {
			all = append(all, uint32(v))
		}
	}
	return c.do(&request{
		step: stepPack, parts: [][]byte{asBytes(all)}, want: 4 * max(1, words), work: 8 * (1 + blocks),
		set: func(f *deviceSlot, at []gpu.Ptr) {
			f.Codes, f.First, f.Words = at[0], uint64(first), uint64(words)
		},
	})
}

func (c *devicePredictorSearch) Failed() error { return c.err }

// Release gives back what the canvas has on the card. It is not used any more.
func (c *devicePredictorSearch) Release() {
	c.batch.discard(c.argb, c.residual, c.coloured, c.modes, c.multipliers, c.groups)
}

func (c *devicePredictorSearch) Transformed() format.Pixels {
	from := c.coloured
	if from == nil {
		from = c.residual
	}
	return format.Pixels{W: c.w, H: c.h, ARGB: gpu.View[uint32](c.fetch(from)[0])}
}
