package vardct

import (
	"math"
	"math/bits"
)

// chromaFactors predict the AC coefficients of chroma from those of luma in tiles of
// 64 x 64 samples (I.2.3, L.4), in images without subsampling.
type chromaFactors struct {
	wide    int          // tiles
	factors [2][]int8    // of planes 0 and 2
	scale   [2][64]int32 // steps of luma in steps of chroma, in 1/2048, in zigzag order
}

const chromaUnit = 84 // a factor of 1

// index is the place of plane 0 or 2 in the lists.
func index(c int) int { return c / 2 }

func newChromaFactors(m *frame) *chromaFactors {
	f := &chromaFactors{wide: ceil(m.wide, tileBlocks)}
	n := f.wide * ceil(m.high, tileBlocks)
	for i := range f.factors {
		f.factors[i] = make([]int8, n)
	}
	return f
}

// setScale brings the scale up to date with the tables.
func (f *chromaFactors) setScale(m *frame) {
	for i, c := range [2]int{0, 2} {
		for k := range f.scale[i] {
			f.scale[i][k] = int32(2048 * int(m.planes[1].quant[k]) / int(m.planes[c].quant[k]))
		}
	}
}

// of returns the factor of a block.
func (f *chromaFactors) of(c, x, y int) int32 {
	return int32(f.factors[index(c)][y/tileBlocks*f.wide+x/tileBlocks])
}

// prediction is what a coefficient of luma predicts.
func prediction(luma int16, factor, scale int32) int32 {
	ratio := factor * 2048 / chromaUnit
	s := (ratio*scale + 1024) >> 11
	return (int32(luma)*s + 1024) >> 11
}

// residual makes out a block of chroma without its prediction and returns its end, see
// [jpegdata.Component].
func (f *chromaFactors) residual(m *frame, c, x, y int, b, out *[64]int16, end int) int {
	*out = *b
	factor := f.of(c, x, y)
	if factor == 0 {
		return end
	}
	p := &m.planes[1]
	at := y*p.Wide + x
	luma, lumaEnd := p.Blocks[at*64:][:64], int(p.Ends[at])
	for k := 1; k < lumaEnd; k++ {
		if luma[k] != 0 {
			out[k] -= int16(prediction(luma[k], factor, f.scale[index(c)][k]))
		}
	}
	return max(end, lumaEnd)
}

// maxScale bounds the steps of luma in steps of chroma, in 1/2048: decoders take no more.
const maxScale = 256 * 2048

// estimateChroma chooses the factors. It leaves them out where none pays.
func (e *encoder) estimateChroma() {
	if !e.whole() {
		return
	}
	f := newChromaFactors(e.frame)
	f.setScale(e.frame)
	for i := range f.scale {
		for _, s := range f.scale[i] {
			if s >= maxScale {
				return
			}
		}
	}
	rows := ceil(e.high, tileBlocks)
	used := make([]bool, rows)
	e.workers.Each(rows, func(y int) {
		for x := range f.wide {
			t := area{x * tileBlocks, y * tileBlocks, min((x+1)*tileBlocks, e.wide), min((y+1)*tileBlocks, e.high)}
			for _, c := range [2]int{0, 2} {
				v := f.estimate(e.frame, c, t)
				f.factors[index(c)][y*f.wide+x] = v
				used[y] = used[y] || v != 0
			}
		}
	})
	for _, u := range used {
		if u {
			e.chroma = f
		}
	}
}

// pair is a coefficient of luma, not zero, with that of chroma at the same place.
type pair struct {
	luma, chroma int16
	scale        int32
}

// estimate returns the factor of a tile that makes its coefficients cheapest: 0, or one
// near the least squares.
func (f *chromaFactors) estimate(m *frame, c int, t area) int8 {
	var buffer [4096]pair
	pairs := buffer[:0]
	luma, chroma := &m.planes[1], &m.planes[c]
	scale := &f.scale[index(c)]
	var xy, xx int64
	for y := t.y0; y < t.y1; y++ {
		for x := t.x0; x < t.x1; x++ {
			a := (*[64]int16)(luma.Blocks[(y*luma.Wide+x)*64:])
			b := (*[64]int16)(chroma.Blocks[(y*chroma.Wide+x)*64:])
			for k := range int(luma.Ends[y*luma.Wide+x]) {
				if a[k] == 0 || k == 0 {
					continue
				}
				pairs = append(pairs, pair{a[k], b[k], scale[k]})
				v := int64(a[k]) * int64(scale[k])
				xy += v * int64(b[k]) >> 11
				xx += v >> 6 * (v >> 6) >> 10
			}
		}
	}
	if xx < 16 {
		return 0
	}
	const least = 48 // that a factor must save, in half bits
	best, lowest := int64(0), pairsCost(pairs, 0)-least
	guess := max(-126, min(chromaUnit*xy/xx, 126))
	if guess == 0 {
		return 0
	}
	for _, v := range [4]int64{guess, guess - 1, guess + 1, guess / 2} {
		if cost := pairsCost(pairs, int32(v)); v != 0 && cost < lowest {
			best, lowest = v, cost
		}
	}
	return int8(best)
}

// pairsCost is about what the coefficients of chroma cost with a factor, in half bits. A
// coefficient that gets too large makes the factor useless.
func pairsCost(pairs []pair, factor int32) int {
	cost := 0
	for i := range pairs {
		p := &pairs[i]
		v := int32(p.chroma)
		if factor != 0 {
			v -= prediction(p.luma, factor, p.scale)
		}
		if v != 0 {
			if v < 0 {
				v = -v
			}
			if v > maxAC {
				return math.MaxInt
			}
			cost += 4 + 4*bits.Len32(uint32(v))
		}
	}
	return cost
}
