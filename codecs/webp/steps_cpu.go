package webp

import "github.com/pelmill/pelmill/codecs/pool"

// host is the device whose canvases are in memory.
type host struct{ pool *pool.Pool }

func (d host) canvas(p pixels) (canvas, error) {
	return newCPUCanvas(d.pool, withoutGreen(d.pool, p), parse{}), nil
}

func (d host) copier(p pixels, _ canvas) (copier, error) { return &cpuCopier{pool: d.pool, p: p}, nil }

// cpuCanvas is a canvas in memory, whose steps run in Go.
type cpuCanvas struct {
	pool   *pool.Pool
	source pixels
	parse  parse
	opaque bool

	modeBits    int
	mode        []uint8
	multipliers *multipliers // nil: no colour transform
	groups      groups

	residual []uint32 // after the predictor
	left     pixels   // and after the colour transform; the same memory where there is none
}

// newCPUCanvas returns a canvas of p, of which the pixels whose length in parse is not
// 0 are coded as parse says, and no transform. It keeps p and does not change it.
func newCPUCanvas(c *pool.Pool, p pixels, parse parse) *cpuCanvas {
	v := &cpuCanvas{pool: c, source: p, parse: parse, opaque: true, left: p}
	for _, a := range p.argb {
		if a>>24 != 255 {
			v.opaque = false
			break
		}
	}
	return v
}

func (v *cpuCanvas) size() (w, h int) { return v.source.w, v.source.h }

func (v *cpuCanvas) symbols() int { return v.parse.symbols() }

func (v *cpuCanvas) pricing(tables []uint16) *pricing {
	return &pricing{
		groups:  v.groups,
		columns: tiles(v.source.w, v.groups.bits),
		symbols: v.parse.symbols(),
		tables:  tables,
		opaque:  v.opaque,
	}
}

func (v *cpuCanvas) fill(bits int, mode uint8) {
	v.setModeBits(bits)
	for i := range v.mode {
		v.mode[i] = mode
	}
	v.transform()
}

func (v *cpuCanvas) setModeBits(bits int) {
	if v.modeBits != bits {
		v.modeBits = bits
		v.mode = make([]uint8, tiles(v.source.w, bits)*tiles(v.source.h, bits))
	}
}

// transform brings residual and coded up to date.
func (v *cpuCanvas) transform() {
	if v.residual == nil {
		v.residual = make([]uint32, len(v.source.argb))
		v.left.argb = v.residual
	}
	residuals(v.pool, &v.source, v.modeBits, v.mode, v.residual)
	v.transformColours()
}

func (v *cpuCanvas) transformColours() {
	if v.multipliers != nil {
		transformColours(v.pool, v.source.w, v.residual, v.multipliers, v.left.argb)
	}
}

func (v *cpuCanvas) predict(bits, skip int, own *[predictors]uint32, tables []uint16) (counts [predictors]uint32) {
	v.setModeBits(bits)
	predict(v.pool, &v.source, bits, skip, own, v.multipliers, v.pricing(tables), v.parse.length, v.mode)
	for _, k := range v.mode {
		counts[k]++
	}
	v.transform()
	return counts
}

func (v *cpuCanvas) recolour(bits, skip int, steps []int, own *multiplierPrices, tables []uint16) (counts [3][256]uint32) {
	m := v.multipliers
	if m == nil || m.bits != bits {
		m = newMultipliers(v.source.w, v.source.h, bits)
	}
	if v.multipliers == nil {
		v.left.argb = make([]uint32, len(v.residual))
	}
	v.multipliers = m
	colours(v.pool, v.source.w, v.source.h, v.residual, skip, steps, own, v.pricing(tables), v.parse.length, m)
	for _, e := range m.of {
		counts[0][e>>16&255]++
		counts[1][e>>8&255]++
		counts[2][e&255]++
	}
	v.transformColours()
	return counts
}

func (v *cpuCanvas) tilePrices(bits int, table []uint16) []uint32 {
	return tilePrices(v.pool, &v.left, &v.parse, v.opaque, bits, table)
}

func (v *cpuCanvas) setGroups(g groups) { v.groups = g }

func (v *cpuCanvas) assign(own []uint32, near int, tables []uint16) (counts []uint32, regrets []uint64) {
	regrets = assign(v.pool, &v.left, &v.parse, v.pricing(tables), own, near)
	counts = make([]uint32, v.groups.n)
	for _, k := range v.groups.of {
		counts[k]++
	}
	return counts, regrets
}

func (v *cpuCanvas) histograms() []uint32 {
	return histograms(v.pool, &v.left, &v.parse, v.opaque, v.groups)
}

func (v *cpuCanvas) result() (*choices, error) {
	return &choices{modeBits: v.modeBits, modes: v.mode, multipliers: v.multipliers, groups: v.groups, pixels: v.left}, nil
}

func (v *cpuCanvas) coded() pixels { return v.left }
