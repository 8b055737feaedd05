package webp

import (
	"sync/atomic"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/backref"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
	"github.com/pelmill/pelmill/raster"
)

// cpuSteps runs the steps in Go, on the goroutines of a pool.
type cpuSteps struct{ pool *pool.Pool }

func (cpuSteps) setLoaded(format.Pixels, *raster.Image) {}

func (d cpuSteps) PredictorSearch(p format.Pixels) (search.PredictorSearch, error) {
	return newMemoryPredictorSearch(d.pool, transform.WithoutGreen(d.pool, p), format.Parse{}), nil
}

func (d cpuSteps) ReferenceSearch(p format.Pixels, _ search.PredictorSearch) (backref.ReferenceSearch, error) {
	return &backref.MemoryReferenceSearch{Pool: d.pool, P: p}, nil
}

// memoryPredictorSearch is the search for modes and multipliers of an image in memory.
type memoryPredictorSearch struct {
	pool   *pool.Pool
	source format.Pixels
	parse  format.Parse
	opaque bool

	modeBits    int
	mode        []uint8
	multipliers *transform.Multipliers // nil: no colour transform
	entropy     format.EntropyImage

	// counts are the histograms of coded by the groups that are in countedBy; nil: coded has changed.
	counts    []uint32
	countedBy format.EntropyImage

	residual []uint32      // after the predictor
	coded    format.Pixels // and after the colour transform; the same memory where there is none
}

// newMemoryPredictorSearch begins with p, which it keeps and does not change, and no
// transform. Pixels whose length in parse is not 0 are coded as parse says.
func newMemoryPredictorSearch(c *pool.Pool, p format.Pixels, parse format.Parse) *memoryPredictorSearch {
	return &memoryPredictorSearch{pool: c, source: p, parse: parse, opaque: opaque(c, p), coded: p}
}

// opaque reports whether all pixels have alpha 255.
func opaque(c *pool.Pool, p format.Pixels) bool {
	var other atomic.Bool
	c.Spans(len(p.ARGB), loadPixels, func(from, to int) {
		all := ^uint32(0)
		for _, v := range p.ARGB[from:to] {
			all &= v
		}
		if all < format.OpaqueBlack {
			other.Store(true)
		}
	})
	return !other.Load()
}

func (v *memoryPredictorSearch) Size() (w, h int) { return v.source.W, v.source.H }

func (v *memoryPredictorSearch) Symbols() int { return v.parse.Symbols() }

func (v *memoryPredictorSearch) costTables(tables []uint16) *entropy.CostTables {
	return &entropy.CostTables{
		Entropy: v.entropy,
		Columns: format.Tiles(v.source.W, v.entropy.Bits),
		Symbols: v.parse.Symbols(),
		Costs:   tables,
		Opaque:  v.opaque,
	}
}

func (v *memoryPredictorSearch) SetModes(bits int, mode uint8) {
	v.setModeBits(bits)
	for i := range v.mode {
		v.mode[i] = mode
	}
	v.transform()
}

func (v *memoryPredictorSearch) setModeBits(bits int) {
	if v.modeBits != bits {
		v.modeBits = bits
		v.mode = make([]uint8, format.Tiles(v.source.W, bits)*format.Tiles(v.source.H, bits))
	}
}

// transform brings residual and coded up to date.
func (v *memoryPredictorSearch) transform() {
	if v.residual == nil {
		v.residual = make([]uint32, len(v.source.ARGB))
		v.coded.ARGB = v.residual
	}
	transform.Residuals(v.pool, &v.source, v.modeBits, v.mode, v.residual)
	v.transformColours()
}

func (v *memoryPredictorSearch) transformColours() {
	v.counts = nil
	if v.multipliers != nil {
		transform.ApplyMultipliers(v.pool, v.source.W, v.residual, v.multipliers, v.coded.ARGB)
	}
}

func (v *memoryPredictorSearch) ChooseModes(bits, skip int, own *[transform.ModeCount]uint32, tables []uint16) (counts [transform.ModeCount]uint32) {
	v.setModeBits(bits)
	transform.ChooseModes(v.pool, &v.source, bits, skip, own, v.multipliers, v.costTables(tables), v.parse.Length, v.mode)
	for _, k := range v.mode {
		counts[k]++
	}
	v.transform()
	return counts
}

func (v *memoryPredictorSearch) ChooseMultipliers(bits, skip int, steps []int, own *transform.MultiplierCosts, tables []uint16) (counts [3][256]uint32) {
	m := v.multipliers
	if m == nil || m.Bits != bits {
		m = transform.NewMultipliers(v.source.W, v.source.H, bits)
	}
	if v.multipliers == nil {
		v.coded.ARGB = make([]uint32, len(v.residual))
	}
	v.multipliers = m
	transform.ChooseMultipliers(v.pool, v.source.W, v.source.H, v.residual, skip, steps, own, v.costTables(tables), v.parse.Length, m)
	for _, e := range m.Element {
		counts[0][e>>16&255]++
		counts[1][e>>8&255]++
		counts[2][e&255]++
	}
	v.transformColours()
	return counts
}

func (v *memoryPredictorSearch) TileCosts(bits int, table []uint16) []uint32 {
	return entropy.TileCosts(v.pool, &v.coded, &v.parse, v.opaque, bits, table)
}

func (v *memoryPredictorSearch) SetEntropyImage(g format.EntropyImage) { v.entropy = g }

func (v *memoryPredictorSearch) AssignGroups(own []uint32, near int, tables []uint16) (counts []uint32, regrets []uint64) {
	regrets = entropy.AssignGroups(v.pool, &v.coded, &v.parse, v.costTables(tables), own, near)
	counts = make([]uint32, v.entropy.Groups)
	for _, k := range v.entropy.Group {
		counts[k]++
	}
	return counts, regrets
}

func (v *memoryPredictorSearch) Histograms() []uint32 {
	g, by := v.entropy, &v.countedBy
	moved := false
	if v.counts != nil && g.Bits > 0 && g.Bits == by.Bits && g.Groups == by.Groups {
		var counts []uint32
		if counts, moved = entropy.MovedHistograms(v.pool, &v.coded, &v.parse, v.opaque, g, by.Group, v.counts); moved {
			v.counts = counts
		}
	}
	if !moved {
		v.counts = entropy.Histograms(v.pool, &v.coded, &v.parse, v.opaque, g)
	}
	v.countedBy = format.EntropyImage{Bits: g.Bits, Groups: g.Groups, Group: append(by.Group[:0], g.Group...)}
	return v.counts
}

func (v *memoryPredictorSearch) Result() (*search.Choices, error) {
	return &search.Choices{ModeBits: v.modeBits, Modes: v.mode, Multipliers: v.multipliers, Entropy: v.entropy, Pixels: v.coded}, nil
}

func (v *memoryPredictorSearch) Transformed() format.Pixels { return v.coded }
