package webp

import "github.com/pelmill/pelmill/codecs/pool"

// cpuSteps is the device whose canvases are in memory.
type cpuSteps struct{ pool *pool.Pool }

func (d cpuSteps) predictorSearch(p pixels) (predictorSearch, error) {
	return newMemoryPredictorSearch(d.pool, withoutGreen(d.pool, p), parse{}), nil
}

func (d cpuSteps) referenceSearch(p pixels, _ predictorSearch) (referenceSearch, error) {
	return &memoryReferenceSearch{pool: d.pool, p: p}, nil
}

// memoryPredictorSearch is a canvas in memory, whose steps run in Go.
type memoryPredictorSearch struct {
	pool   *pool.Pool
	source pixels
	parse  parse
	opaque bool

	modeBits    int
	mode        []uint8
	multipliers *multipliers // nil: no colour transform
	entropy     entropyImage

	residual []uint32 // after the predictor
	coded    pixels   // and after the colour transform; the same memory where there is none
}

// newMemoryPredictorSearch returns a canvas of p, of which the pixels whose length in parse is not
// 0 are coded as parse says, and no transform. It keeps p and does not change it.
func newMemoryPredictorSearch(c *pool.Pool, p pixels, parse parse) *memoryPredictorSearch {
	v := &memoryPredictorSearch{pool: c, source: p, parse: parse, opaque: true, coded: p}
	for _, a := range p.argb {
		if a>>24 != 255 {
			v.opaque = false
			break
		}
	}
	return v
}

func (v *memoryPredictorSearch) size() (w, h int) { return v.source.w, v.source.h }

func (v *memoryPredictorSearch) symbols() int { return v.parse.symbols() }

func (v *memoryPredictorSearch) costTables(tables []uint16) *costTables {
	return &costTables{
		entropy: v.entropy,
		columns: tiles(v.source.w, v.entropy.bits),
		symbols: v.parse.symbols(),
		costs:   tables,
		opaque:  v.opaque,
	}
}

func (v *memoryPredictorSearch) setModes(bits int, mode uint8) {
	v.setModeBits(bits)
	for i := range v.mode {
		v.mode[i] = mode
	}
	v.transform()
}

func (v *memoryPredictorSearch) setModeBits(bits int) {
	if v.modeBits != bits {
		v.modeBits = bits
		v.mode = make([]uint8, tiles(v.source.w, bits)*tiles(v.source.h, bits))
	}
}

// transform brings residual and coded up to date.
func (v *memoryPredictorSearch) transform() {
	if v.residual == nil {
		v.residual = make([]uint32, len(v.source.argb))
		v.coded.argb = v.residual
	}
	residuals(v.pool, &v.source, v.modeBits, v.mode, v.residual)
	v.transformColours()
}

func (v *memoryPredictorSearch) transformColours() {
	if v.multipliers != nil {
		applyMultipliers(v.pool, v.source.w, v.residual, v.multipliers, v.coded.argb)
	}
}

func (v *memoryPredictorSearch) chooseModes(bits, skip int, own *[modeCount]uint32, tables []uint16) (counts [modeCount]uint32) {
	v.setModeBits(bits)
	chooseModes(v.pool, &v.source, bits, skip, own, v.multipliers, v.costTables(tables), v.parse.length, v.mode)
	for _, k := range v.mode {
		counts[k]++
	}
	v.transform()
	return counts
}

func (v *memoryPredictorSearch) chooseMultipliers(bits, skip int, steps []int, own *multiplierCosts, tables []uint16) (counts [3][256]uint32) {
	m := v.multipliers
	if m == nil || m.bits != bits {
		m = newMultipliers(v.source.w, v.source.h, bits)
	}
	if v.multipliers == nil {
		v.coded.argb = make([]uint32, len(v.residual))
	}
	v.multipliers = m
	chooseMultipliers(v.pool, v.source.w, v.source.h, v.residual, skip, steps, own, v.costTables(tables), v.parse.length, m)
	for _, e := range m.element {
		counts[0][e>>16&255]++
		counts[1][e>>8&255]++
		counts[2][e&255]++
	}
	v.transformColours()
	return counts
}

func (v *memoryPredictorSearch) tileCosts(bits int, table []uint16) []uint32 {
	return tileCosts(v.pool, &v.coded, &v.parse, v.opaque, bits, table)
}

func (v *memoryPredictorSearch) setEntropyImage(g entropyImage) { v.entropy = g }

func (v *memoryPredictorSearch) assignGroups(own []uint32, near int, tables []uint16) (counts []uint32, regrets []uint64) {
	regrets = assignGroups(v.pool, &v.coded, &v.parse, v.costTables(tables), own, near)
	counts = make([]uint32, v.entropy.groups)
	for _, k := range v.entropy.group {
		counts[k]++
	}
	return counts, regrets
}

func (v *memoryPredictorSearch) histograms() []uint32 {
	return histograms(v.pool, &v.coded, &v.parse, v.opaque, v.entropy)
}

func (v *memoryPredictorSearch) result() (*choices, error) {
	return &choices{modeBits: v.modeBits, modes: v.mode, multipliers: v.multipliers, entropy: v.entropy, pixels: v.coded}, nil
}

func (v *memoryPredictorSearch) transformed() pixels { return v.coded }
