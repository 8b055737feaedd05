package webp

import (
	"context"

	"github.com/pelmill/pelmill/codecs/pool"
)

// photo returns the stream of an image without copies and colour cache: subtract
// green, predictor, colour transform and groups, as the plan says.
func photo(ctx context.Context, c *pool.Pool, d device, p pixels, plan plan) (*stream, error) {
	v, err := d.canvas(p)
	if err != nil {
		return nil, err
	}
	s := newChooser(c, v, plan)
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
	if n := v.symbols(); found.groups.n > 1 {
		found.groups.keepIfSmaller(c, v.histograms(), n)
		if found.packer != nil {
			v.setGroups(found.groups)
		}
	}
	return &stream{
		width: p.w, height: p.h,
		transforms: append([]transform{{kind: subtractGreen}}, found.transforms(p.w, p.h)...),
		pixels:     found.pixels,
		groups:     found.groups,
		packer:     found.packer,
	}, nil
}

// keepIfSmaller leaves g, of the given histograms of n symbols each, renumbered, or one
// group where that takes fewer bits in all.
func (g *groups) keepIfSmaller(c *pool.Pool, hist []uint32, n int) {
	all := make([]uint32, n)
	for i, v := range hist {
		all[i%n] += v
	}
	one := groupBits(all)
	g.renumber()
	bits := make([]int, len(hist)/n)
	c.Spans(len(hist), n, func(lo, hi int) { bits[lo/n] = groupBits(hist[lo:hi]) })
	ids := pixels{len(g.of), 1, make([]uint32, len(g.of))}
	for i, k := range g.of {
		ids.argb[i] = opaqueBlack | uint32(k)<<8
	}
	w := &bitWriter{}
	(&stream{pixels: ids}).writeImage(c, w, false) // copies would hardly change the answer
	many := w.len() + 3
	for _, b := range bits {
		many += b
	}
	if g.n < 2 || many >= one {
		*g = groups{}
	}
}

// groupBits is what a group's codes and symbols take, 0 if it has none.
func groupBits(hist []uint32) (n int) {
	for _, p := range alphabets(len(hist)) {
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
			n += sizeOf(lengths, counts)
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
		list = append(list, transform{colourTransform, m.bits, pixels{m.columns, len(m.of) / m.columns, m.of}})
	}
	return list
}
