package webp

import (
	"context"

	"github.com/pelmill/pelmill/codecs/pool"
)

// photo returns the stream of an image without copies and colour cache: subtract
// green, predictor, colour transform and groups, as the plan of the effort says.
func photo(ctx context.Context, c *pool.Pool, d steps, p pixels, effort int) (*stream, error) {
	v, err := d.predictorSearch(p)
	if err != nil {
		return nil, err
	}
	s := newPasses(c, v, predictorPlans[effort])
	if err := s.transforms(ctx); err != nil {
		return nil, err
	}
	if err := s.grouping(ctx); err != nil {
		return nil, err
	}
	found, err := v.result()
	if err != nil {
		return nil, err
	}
	if n := v.symbols(); found.entropy.groups > 1 {
		keepIfSmaller(c, &found.entropy, v.histograms(), n)
		if found.packer != nil {
			v.setEntropyImage(found.entropy)
		}
	}
	return &stream{
		width: p.w, height: p.h,
		small:      smallBy(effort),
		transforms: append([]transform{{kind: subtractGreen}}, found.transforms(p.w, p.h)...),
		pixels:     found.pixels,
		entropy:    found.entropy,
		packer:     found.packer,
	}, nil
}

// keepIfSmaller leaves g, of the given histograms of n symbols each, renumbered, or one
// group where that takes fewer bits in all.
func keepIfSmaller(c *pool.Pool, g *entropyImage, hist []uint32, n int) {
	all := make([]uint32, n)
	for i, v := range hist {
		all[i%n] += v
	}
	one := prefixGroupBits(all)
	g.renumber()
	bits := make([]int, len(hist)/n)
	c.Spans(len(hist), n, func(lo, hi int) { bits[lo/n] = prefixGroupBits(hist[lo:hi]) })
	ids := pixels{len(g.group), 1, make([]uint32, len(g.group))}
	for i, k := range g.group {
		ids.argb[i] = opaqueBlack | uint32(k)<<8
	}
	// Backward references would hardly change the answer.
	many := literalImageBits(c, ids) + 3
	for _, b := range bits {
		many += b
	}
	if g.groups < 2 || many >= one {
		*g = entropyImage{}
	}
}

// prefixGroupBits is what a group's codes and symbols take, 0 if it has none.
func prefixGroupBits(hist []uint32) (n int) {
	for _, p := range writtenAlphabets(len(hist)) {
		counts := hist[p[0]:p[1]]
		used := 0
		for _, v := range counts {
			if v > 0 {
				used++
			}
		}
		lengths, d := bestCode(counts)
		n += d.bits
		if used > 1 {
			n += codedBits(lengths, counts)
		}
	}
	return n
}

// transforms returns the predictor and the colour transform.
func (c *choices) transforms(w, h int) []transform {
	modes := pixels{tiles(w, c.modeBits), tiles(h, c.modeBits), make([]uint32, len(c.modes))}
	for i, k := range c.modes {
		modes.argb[i] = opaqueBlack | uint32(k)<<8
	}
	list := []transform{{predictorTransform, c.modeBits, modes}}
	if m := c.multipliers; m != nil {
		list = append(list, transform{colourTransform, m.bits, pixels{m.columns, len(m.element) / m.columns, m.element}})
	}
	return list
}
