package webp

import (
	"slices"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
	"github.com/pelmill/pelmill/gpu"
)

// devicePredictorSearch is the search for modes and multipliers of an image of a batch,
// whose steps run on the device. Its methods belong to the goroutine of that search.
type devicePredictorSearch struct {
	batch *batch
	w, h  int
	err   error // the first

	slot    slot                // what lasts from step to step
	entropy format.EntropyImage // without the groups of the tiles, which are on the device

	argb, residual, coloured   *gpu.Buffer // 4 bytes a pixel
	modes, multipliers, groups *gpu.Buffer // by tile: 1, 4 and 2 bytes; nil: none
	order                      *gpu.Buffer // the tiles of groups, 4 bytes each

	counted []uint32  // the histograms as everything is now; nil: not counted yet
	memory  [2][]byte // of these and of those before, which a caller may still read
}

// newPredictorSearch brings p to the device. Where p is what was loaded from an image, its
// samples go there instead and are loaded once more: they are fewer bytes.
func (d *deviceSteps) newPredictorSearch(p format.Pixels) (*devicePredictorSearch, error) {
	c := &devicePredictorSearch{batch: d.batch, w: p.W, h: p.H}
	c.slot = slot{Width: uint32(p.W), Height: uint32(p.H), Exact: 1, Opaque: 1, GroupCount: 1, Symbols: uint32(c.Symbols())}
	source := gpu.Bytes(p.ARGB)
	if d.loadedFrom != nil && &p.ARGB[0] == &d.loaded.ARGB[0] && len(p.ARGB) == len(d.loaded.ARGB) {
		source, c.slot.Channels = d.loadedFrom.Pix, uint32(d.loadedFrom.Channels)
		if !d.exact {
			c.slot.Exact = 0
		}
	}
	got := c.do(&request{
		step: stepLoad, uploads: [][]byte{source}, result: 4,
		reserve: func() error { return c.take(4*c.w*c.h, &c.argb, &c.residual) },
		set:     func(s *slot, at []gpu.Ptr) { s.Source = at[0] },
	})
	if c.err == nil && got[0] != 0 {
		c.slot.Opaque = 0
	}
	return c, c.err
}

// take makes room for buffers of n bytes each and notes in the slot where they are.
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
	s := &c.slot
	s.Argb, s.Residual, s.Coded = at(c.argb), at(c.residual), at(c.coloured)
	s.Modes, s.Multipliers, s.Groups, s.Order = at(c.modes), at(c.multipliers), at(c.groups), at(c.order)
	if c.coloured == nil {
		s.Coded = s.Residual
	}
	return nil
}

// do has a step done and returns its result, zeros where the device failed.
func (c *devicePredictorSearch) do(r *request) []byte {
	r.slot, r.wait = &c.slot, predictorWait
	if c.err == nil {
		c.err = c.batch.send(r)
	}
	if c.err != nil {
		return make([]byte, r.result)
	}
	return r.got
}

// count asks for the histograms.
func (c *devicePredictorSearch) count() *request {
	n := 4 * int(c.slot.GroupCount*c.slot.Symbols)
	c.memory[0], c.memory[1] = c.memory[1], c.memory[0]
	if cap(c.memory[0]) < n {
		c.memory[0] = codec.Uncleared(n)
	}
	return &request{step: stepHistograms, slot: &c.slot, result: n, into: c.memory[0][:n]}
}

// change has a step done that changes residuals or groups, and counts what it leads to in the same go: nothing else is ever
// asked for before that.
func (c *devicePredictorSearch) change(r *request) []byte {
	r.then = c.count()
	got := c.do(r)
	if c.counted = nil; c.err == nil {
		c.counted = gpu.View[uint32](r.then.got)
	}
	return got
}

func (c *devicePredictorSearch) Size() (w, h int) { return c.w, c.h }
func (c *devicePredictorSearch) Symbols() int     { return new(format.Parse).Symbols() }
func (c *devicePredictorSearch) opaque() bool     { return c.slot.Opaque != 0 }
func (c *devicePredictorSearch) tiles(bits int) int {
	return format.Tiles(c.w, bits) * format.Tiles(c.h, bits)
}

func (c *devicePredictorSearch) SetModes(bits int, mode uint8) {
	c.slot.ModeBits = uint32(bits)
	c.change(&request{step: stepTransform, reserve: func() error {
		if err := c.take(c.tiles(bits), &c.modes); err != nil {
			return err
		}
		return c.batch.stream.Fill(c.modes, 0, c.modes.Size, mode)
	}})
}

func (c *devicePredictorSearch) ChooseModes(bits, skip int, own *[transform.ModeCount]uint32, tables []uint16) (counts [transform.ModeCount]uint32) {
	c.slot.ModeBits = uint32(bits)
	got := c.change(&request{
		step: stepChooseModes, uploads: [][]byte{gpu.Bytes(own[:]), gpu.Bytes(tables)}, result: 4 * transform.ModeCount,
		reserve: func() error { return c.take(c.tiles(bits), &c.modes) },
		set:     func(s *slot, at []gpu.Ptr) { s.ModeCosts, s.Costs, s.Skip = at[0], at[1], uint32(skip) },
	})
	copy(counts[:], gpu.View[uint32](got))
	return counts
}

func (c *devicePredictorSearch) ChooseMultipliers(bits, skip int, steps []int, own *transform.MultiplierCosts, tables []uint16) (counts [3][256]uint32) {
	fresh := c.multipliers == nil || c.slot.ColourBits != uint32(bits)
	c.slot.ColourBits = uint32(bits)
	costs := slices.Concat(own[0][:], own[1][:], own[2][:])
	got := c.change(&request{
		step: stepChooseMultipliers, uploads: [][]byte{gpu.Bytes(costs), gpu.Bytes(tables)}, result: 4 * 3 * 256,
		reserve: func() error {
			if err := c.take(4*c.w*c.h, &c.coloured); err != nil {
				return err
			}
			if err := c.take(4*c.tiles(bits), &c.multipliers); err != nil || !fresh {
				return err
			}
			return c.batch.stream.Fill(c.multipliers, 0, c.multipliers.Size, 0)
		},
		set: func(s *slot, at []gpu.Ptr) {
			s.MultiplierCosts, s.Costs, s.Skip = at[0], at[1], uint32(skip)
			s.Count = uint32(len(steps))
			for i, v := range steps {
				s.Steps[i] = uint32(v)
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
		step: stepTileCosts, uploads: [][]byte{gpu.Bytes(table)}, result: 4 * c.tiles(bits),
		set: func(s *slot, at []gpu.Ptr) { s.Costs, s.GroupBits = at[0], uint32(bits) },
	}))
}

func (c *devicePredictorSearch) SetEntropyImage(g format.EntropyImage) {
	c.entropy, c.counted = format.EntropyImage{Bits: g.Bits, Groups: g.Groups}, nil
	c.slot.GroupBits, c.slot.GroupCount = uint32(g.Bits), uint32(max(1, g.Groups))
	if g.Bits == 0 {
		c.groups, c.order, c.slot.Groups, c.slot.Order = nil, nil, 0, 0 // the memory goes back with the batch
		return
	}
	c.do(&request{
		step: stepSetGroups, uploads: [][]byte{gpu.Bytes(g.Group)}, retain: []**gpu.Buffer{&c.groups}, scratch: 4 * int(c.slot.GroupCount),
		reserve: func() error {
			if err := c.take(2*len(g.Group), &c.groups); err != nil {
				return err
			}
			return c.take(4*len(g.Group), &c.order)
		},
		set: func(s *slot, _ []gpu.Ptr) { s.Counts = s.Scratch },
	})
}

func (c *devicePredictorSearch) AssignGroups(own []uint32, near int, tables []uint16) (counts []uint32, regrets []uint64) {
	n := len(own)
	even := (n + 1) / 2 * 2 // words before those of 64 bits
	costs := 4 * c.Symbols() * costWords(n)
	got := c.change(&request{
		step: stepAssignGroups, uploads: [][]byte{gpu.Bytes(own), gpu.Bytes(tables)}, result: 4*even + 8*n, scratch: costs + 4*n,
		set: func(s *slot, at []gpu.Ptr) {
			s.GroupCosts, s.Costs, s.Near = at[0], at[1], uint32(near)
			s.Counts = s.Scratch + gpu.Ptr(costs)
		},
	})
	return gpu.View[uint32](got[:4*n]), gpu.View[uint64](got[4*even:])
}

func (c *devicePredictorSearch) Histograms() []uint32 {
	if c.counted == nil {
		c.counted = gpu.View[uint32](c.do(c.count()))
	}
	return c.counted
}

// fetch returns what buffers hold; nil for those that are nil.
func (c *devicePredictorSearch) fetch(buffers ...*gpu.Buffer) [][]byte {
	r := &request{step: stepFetch}
	for _, b := range buffers {
		if b != nil {
			r.fetch = append(r.fetch, region{b, 0, b.Size})
			r.result += roundUp(b.Size)
		}
	}
	got := c.do(r)
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
	out := &search.Choices{ModeBits: int(c.slot.ModeBits), Entropy: c.entropy, Pixels: format.Pixels{W: c.w, H: c.h}, Packer: c}
	got := c.fetch(c.modes, c.multipliers, c.groups)
	if c.err != nil {
		return nil, c.err
	}
	out.Modes = got[0]
	if c.multipliers != nil {
		bits := int(c.slot.ColourBits)
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
	for list := slices.Clone(c.Histograms()); len(list) > 0; list = list[n:] {
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

func (c *devicePredictorSearch) Pack(out []byte, codes [][]bitstream.Code, first, size int) {
	words, blocks := pieces(first+size, 32), pieces(c.w*c.h, packPixels*gpu.BlockThreads)
	c.do(&request{
		step: stepPackLiterals, uploads: [][]byte{gpu.Bytes(slices.Concat(codes...))}, result: 4 * max(1, words), into: out, scratch: 8 * (1 + blocks),
		set: func(s *slot, at []gpu.Ptr) {
			s.Codes, s.First, s.Words = at[0], uint64(first), uint64(words)
		},
	})
}

func (c *devicePredictorSearch) Failed() error { return c.err }

// Release gives back what the search has on the device. It is not used any more.
func (c *devicePredictorSearch) Release() {
	c.batch.discard(c.argb, c.residual, c.coloured, c.modes, c.multipliers, c.groups, c.order)
}

func (c *devicePredictorSearch) Transformed() format.Pixels {
	from := c.coloured
	if from == nil {
		from = c.residual
	}
	return format.Pixels{W: c.w, H: c.h, ARGB: gpu.View[uint32](c.fetch(from)[0])}
}
