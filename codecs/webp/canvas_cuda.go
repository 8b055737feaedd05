//go:build cuda && cgo

package webp

import (
	"slices"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// cardCanvas is a canvas on a card, of a batch. Its methods belong to the search of its
// image.
type cardCanvas struct {
	batch *batch
	w, h  int
	exact bool
	err   error // the first

	frame    cardFrame // what lasts from step to step
	groupsOf groups    // without the tiles
	mode     byte      // to fill modes with

	argb, residual, left       *gpu.Buffer
	modes, multipliers, groups *gpu.Buffer // by tile; nil: none
}

// easel is the device of one image of a batch.
type easel struct {
	batch   *batch
	image   *raster.Image
	options *Options
}

// canvas brings the image's samples to the card, which loads them itself, or p where
// that is another image.
func (e *easel) canvas(p pixels) (canvas, error) {
	c := &cardCanvas{batch: e.batch, w: p.w, h: p.h, exact: e.options.exact}
	c.frame = cardFrame{Width: uint32(p.w), Height: uint32(p.h), Opaque: 1, N: 1, Symbols: uint32(c.symbols())}
	source := asBytes(p.argb)
	if e.options.nearLossless == 100 && p.w == e.image.Width && p.h == e.image.Height {
		source, c.frame.Channels = e.image.Pix, uint32(e.image.Channels)
	}
	got := c.do(&ask{
		step: stepLoad, parts: [][]byte{source}, want: 4,
		room: func() error { return c.take(4*c.w*c.h, &c.argb, &c.residual) },
		set:  func(f *cardFrame, at []gpu.Ptr) { f.Source = at[0] },
	})
	if c.err == nil && got[0] != 0 {
		c.frame.Opaque = 0
	}
	return c, c.err
}

// take makes room for buffers of n bytes each and notes in the frame where they are.
func (c *cardCanvas) take(n int, buffers ...**gpu.Buffer) error {
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
	f.Argb, f.Residual, f.Coded = at(c.argb), at(c.residual), at(c.left)
	f.Modes, f.Multipliers, f.Groups = at(c.modes), at(c.multipliers), at(c.groups)
	if c.left == nil {
		f.Coded = f.Residual
	}
	return nil
}

// do asks for a step and returns what comes back, zeros where the card failed.
func (c *cardCanvas) do(a *ask) []byte {
	a.canvas = c
	if c.err == nil {
		c.err = c.batch.wait(a)
	}
	if c.err != nil {
		return make([]byte, a.want)
	}
	return a.got
}

func (c *cardCanvas) size() (w, h int) { return c.w, c.h }
func (c *cardCanvas) symbols() int     { return new(parse).symbols() }
func (c *cardCanvas) opaque() bool     { return c.frame.Opaque != 0 }
func (c *cardCanvas) count(bits int) int {
	return tiles(c.w, bits) * tiles(c.h, bits)
}

func (c *cardCanvas) fill(bits int, mode uint8) {
	c.mode, c.frame.ModeBits = mode, uint32(bits)
	c.do(&ask{step: stepFill, room: func() error { return c.take(c.count(bits), &c.modes) }})
}

func (c *cardCanvas) predict(bits, skip int, own *[predictors]uint32, tables []uint16) (counts [predictors]uint32) {
	c.frame.ModeBits = uint32(bits)
	got := c.do(&ask{
		step: stepPredict, parts: [][]byte{asBytes(own[:]), asBytes(tables)}, want: 4 * predictors,
		room: func() error { return c.take(c.count(bits), &c.modes) },
		set:  func(f *cardFrame, at []gpu.Ptr) { f.ModePrices, f.Prices, f.Skip = at[0], at[1], uint32(skip) },
	})
	copy(counts[:], gpu.View[uint32](got))
	return counts
}

func (c *cardCanvas) recolour(bits, skip int, steps []int, own *multiplierPrices, tables []uint16) (counts [3][256]uint32) {
	fresh := c.multipliers == nil || c.frame.ColourBits != uint32(bits)
	c.frame.ColourBits = uint32(bits)
	prices := slices.Concat(own[0][:], own[1][:], own[2][:])
	got := c.do(&ask{
		step: stepRecolour, parts: [][]byte{asBytes(prices), asBytes(tables)}, want: 4 * 3 * 256,
		room: func() error {
			if err := c.take(4*c.w*c.h, &c.left); err != nil {
				return err
			}
			if err := c.take(4*c.count(bits), &c.multipliers); err != nil || !fresh {
				return err
			}
			return c.batch.stream.Fill(c.multipliers, 0, c.multipliers.Size, 0)
		},
		set: func(f *cardFrame, at []gpu.Ptr) {
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

func (c *cardCanvas) tilePrices(bits int, table []uint16) []uint32 {
	return gpu.View[uint32](c.do(&ask{
		step: stepTilePrices, parts: [][]byte{asBytes(table)}, want: 4 * c.count(bits),
		set: func(f *cardFrame, at []gpu.Ptr) { f.Prices, f.GroupBits = at[0], uint32(bits) },
	}))
}

func (c *cardCanvas) setGroups(g groups) {
	c.groupsOf = groups{bits: g.bits, n: g.n}
	c.frame.GroupBits, c.frame.N = uint32(g.bits), uint32(max(1, g.n))
	if g.bits == 0 {
		c.groups, c.frame.Groups = nil, 0 // the memory goes back with the batch
		return
	}
	c.do(&ask{
		step: stepSetGroups, parts: [][]byte{asBytes(g.of)}, keep: []**gpu.Buffer{&c.groups},
		room: func() error { return c.take(2*len(g.of), &c.groups) },
	})
}

func (c *cardCanvas) assign(own []uint32, near int, tables []uint16) (counts []uint32, regrets []uint64) {
	n := len(own)
	even := (n + 1) / 2 * 2 // words before those of 64 bits
	got := c.do(&ask{
		step: stepAssign, parts: [][]byte{asBytes(own), asBytes(tables)}, want: 4*even + 8*n, work: 4 * c.symbols() * rowWords(n),
		set: func(f *cardFrame, at []gpu.Ptr) { f.GroupPrices, f.Prices, f.Near = at[0], at[1], uint32(near) },
	})
	return gpu.View[uint32](got[:4*n]), gpu.View[uint64](got[4*even:])
}

func (c *cardCanvas) histograms() []uint32 {
	return gpu.View[uint32](c.do(&ask{step: stepHistograms, want: 4 * int(c.frame.N*c.frame.Symbols)}))
}

// fetch returns what buffers hold; nil for those that are nil.
func (c *cardCanvas) fetch(buffers ...*gpu.Buffer) [][]byte {
	a := &ask{step: stepFetch}
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

func (c *cardCanvas) result() (*choices, error) {
	out := &choices{modeBits: int(c.frame.ModeBits), groups: c.groupsOf, pixels: pixels{w: c.w, h: c.h}, packer: c}
	got := c.fetch(c.modes, c.multipliers, c.groups)
	if c.err != nil {
		return nil, c.err
	}
	out.modes = got[0]
	if c.multipliers != nil {
		bits := int(c.frame.ColourBits)
		out.multipliers = &multipliers{bits: bits, columns: tiles(c.w, bits), of: gpu.View[uint32](got[1])}
		for i := range out.multipliers.of {
			out.multipliers.of[i] |= noMultipliers
		}
	}
	if c.groupsOf.bits > 0 {
		out.groups.of = gpu.View[uint16](got[2])
	}
	return out, nil
}

// counts is the histograms with alpha, of a packer.
func (c *cardCanvas) counts() [][]uint32 {
	n := c.symbols()
	var out [][]uint32
	for list := c.histograms(); len(list) > 0; list = list[n:] {
		h := list[:n:n]
		if c.opaque() {
			for _, v := range h[redAt:blueAt] {
				h[alphaAt] += v // the residuals of alpha are 0
			}
		}
		out = append(out, h)
	}
	return out
}

func (c *cardCanvas) pack(codes [][]code, first, size int) []byte {
	words := (first + size + 31) / 32
	blocks := (c.w*c.h + packPixels*cardThreads - 1) / (packPixels * cardThreads)
	all := make([]uint32, 0, len(codes)*c.symbols())
	for _, list := range codes {
		for _, v := range list {
			all = append(all, uint32(v))
		}
	}
	return c.do(&ask{
		step: stepPack, parts: [][]byte{asBytes(all)}, want: 4 * max(1, words), work: 8 * (1 + blocks),
		set: func(f *cardFrame, at []gpu.Ptr) {
			f.Codes, f.First, f.Words = at[0], uint64(first), uint64(words)
		},
	})
}

func (c *cardCanvas) failed() error { return c.err }

// release gives back what the canvas has on the card. It is not used any more.
func (c *cardCanvas) release() {
	c.batch.discard(c.argb, c.residual, c.left, c.modes, c.multipliers, c.groups)
}

func (c *cardCanvas) coded() pixels {
	from := c.left
	if from == nil {
		from = c.residual
	}
	return pixels{c.w, c.h, gpu.View[uint32](c.fetch(from)[0])}
}
