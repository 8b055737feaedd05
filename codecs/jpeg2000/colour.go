package jpeg2000

import (
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// finishTransformed inverts the multiple component transform of a tile (Annex G) and finishes
// its first three components.
func (d *decoder) finishTransformed(p *codestream.Params, parts []part) {
	if parts[0].area.Empty() {
		return
	}
	reversible := p.Components[0].Transform == codestream.Reversible53
	d.pool.Spans(parts[0].area.Dy(), rowsAtOnce, func(lo, hi int) {
		row := newRow(parts[0].area.Dx())
		for y := lo; y < hi; y++ {
			if reversible && d.storeRCT != nil {
				area := parts[0].area
				d.storeRCT(area.Min.X, area.Min.Y+y, parts[0].ints.Row(y), parts[1].ints.Row(y), parts[2].ints.Row(y))
				continue
			}
			if reversible {
				inverseRCT(parts[0].ints.Row(y), parts[1].ints.Row(y), parts[2].ints.Row(y))
			} else {
				inverseICT(parts[0].floats.Row(y), parts[1].floats.Row(y), parts[2].floats.Row(y))
			}
			for c := range 3 {
				d.storeRow(c, y, &parts[c], row)
			}
		}
	})
}

// finish inverts the level shift of component c of a tile and stores its samples, but for those that are stored.
func (d *decoder) finish(c int, p part) {
	if p.floats.Samples == nil {
		return
	}
	d.pool.Spans(p.area.Dy(), rowsAtOnce, func(lo, hi int) {
		row := newRow(p.area.Dx())
		for y := lo; y < hi; y++ {
			d.storeRow(c, y, &p, row)
		}
	})
}

func newRow(width int) []int32 { return make([]int32, width) }

// storeRow shifts the level of row y of a part, clamps it to the range of the component and
// stores it.
func (d *decoder) storeRow(c, y int, p *part, row []int32) {
	if p.ints.Samples != nil {
		d.storeInts(c, p.area.Min.X, p.area.Min.Y+y, p.ints.Row(y))
		return
	}
	shift, lo, hi := d.level(c)
	clampFloats(row, p.floats.Row(y), shift, lo, hi)
	d.store(c, p.area.Min.X, p.area.Min.Y+y, row)
}

// storeInts is storeRow of a row that begins at (x, y), which it changes.
func (d *decoder) storeInts(c, x, y int, row []int32) {
	shift, lo, hi := d.level(c)
	clampInts(row, shift, lo, hi)
	d.store(c, x, y, row)
}

// level is the level shift of a component, and its least and greatest sample.
func (d *decoder) level(c int) (shift, lo, hi int32) {
	component := d.stream.Size.Components[c]
	half := int32(1) << (component.Bits - 1)
	if component.Signed {
		return 0, -half, half - 1
	}
	return half, 0, 2*half - 1
}

// inverseRCT is equations G-6 to G-8: Y, Cb, Cr become R, G, B.
func inverseRCT(c0, c1, c2 []int32) {
	c1, c2 = c1[:len(c0)], c2[:len(c0)]
	for i, y := range c0 {
		u, v := c1[i], c2[i]
		g := y - (u+v)>>2
		c0[i], c1[i], c2[i] = v+g, g, u+g
	}
}

// inverseICT is equations G-12 to G-14, each product and sum rounded to float32.
func inverseICT(c0, c1, c2 []float32) {
	c1, c2 = c1[:len(c0)], c2[:len(c0)]
	for i, y := range c0 {
		cb, cr := c1[i], c2[i]
		c0[i] = y + float32(cr*1.402)
		c1[i] = float32(y-float32(cb*0.344136)) - float32(cr*0.714136)
		c2[i] = y + float32(cb*1.772)
	}
}

// clampIntsGo adds shift and holds the sums between lo and hi.
func clampIntsGo(row []int32, shift, lo, hi int32) {
	for i, v := range row {
		row[i] = min(max(v+shift, lo), hi)
	}
}

// clampFloats rounds to the nearest integer, the higher of two.
func clampFloats(dst []int32, src []float32, shift, lo, hi int32) {
	dst = dst[:len(src)]
	low, high := float32(lo-shift), float32(hi-shift)
	const above = 1 << 16 // more than any clamped number is below 0, so that truncation rounds down
	for i, v := range src {
		n := int32(float64(min(max(v, low), high)) + (above + 0.5))
		dst[i] = min(max(n-above+shift, lo), hi)
	}
}
