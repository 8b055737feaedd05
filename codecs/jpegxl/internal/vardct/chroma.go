package vardct

import (
	"math"
	"math/bits"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/jpegdata"
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

// of returns the factor of a block of plane c: 0 where there are none.
func (f *chromaFactors) of(c, x, y int) int32 {
	if f == nil || c == 1 {
		return 0
	}
	return int32(f.factors[index(c)][y/tileBlocks*f.wide+x/tileBlocks])
}

// prediction is what a coefficient of luma predicts.
func prediction(luma int16, factor, scale int32) int32 {
	ratio := factor * 2048 / chromaUnit
	s := (ratio*scale + 1024) >> 11
	return (int32(luma)*s + 1024) >> 11
}

// dense is the AC coefficients of a block by their places in zigzag order. Those that the
// mask does not name are zero, whatever stands there.
type dense struct {
	mask   uint64
	values [64]int16
}

// load takes the coefficients of a block over.
func (d *dense) load(b *jpegdata.Block, values []int16) {
	d.mask = b.Mask
	for m, i := b.Mask, 0; m != 0; m, i = m&(m-1), i+1 {
		d.values[bits.TrailingZeros64(m)] = values[i]
	}
}

// addLuma adds what a block of luma predicts times sign, 1 or -1.
func (d *dense) addLuma(luma *jpegdata.Block, values []int16, factor int32, scale *[64]int32, sign int16) {
	for m, i := luma.Mask, 0; m != 0; m, i = m&(m-1), i+1 {
		k := bits.TrailingZeros64(m)
		v := sign * int16(prediction(values[i], factor, scale[k]))
		if d.mask>>k&1 != 0 {
			v += d.values[k]
		}
		d.values[k] = v
		if d.mask |= 1 << k; v == 0 {
			d.mask &^= 1 << k
		}
	}
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
			a, b := &luma.Blocks[y*luma.Wide+x], &chroma.Blocks[y*chroma.Wide+x]
			if a.Mask == 0 {
				continue
			}
			av, bv := m.values(a), m.values(b)
			for left, i := a.Mask, 0; left != 0; left, i = left&(left-1), i+1 {
				k := bits.TrailingZeros64(left)
				p := pair{luma: av[i], scale: scale[k]}
				if b.Mask>>k&1 != 0 {
					p.chroma = bv[bits.OnesCount64(b.Mask&(1<<k-1))]
				}
				pairs = append(pairs, p)
				v := int64(p.luma) * int64(p.scale)
				xy += v * int64(p.chroma) >> 11
				xx += v >> 6 * (v >> 6) >> 10
			}
		}
	}
	if xx < 16 {
		return 0
	}
	const least = 48 // that a factor must save, in half bits
	best, lowest := int64(0), pairsCost(pairs, 0, math.MaxInt)-least
	guess := max(-126, min(chromaUnit*xy/xx, 126))
	if guess == 0 {
		return 0
	}
	for _, v := range [4]int64{guess, guess - 1, guess + 1, guess / 2} {
		if cost := pairsCost(pairs, int32(v), lowest); v != 0 && cost < lowest {
			best, lowest = v, cost
		}
	}
	return int8(best)
}

// pairsCost is about what the coefficients of chroma cost with a factor, in half bits, or
// something not below enough where it is not. A coefficient that gets too large makes the
// factor useless.
func pairsCost(pairs []pair, factor int32, enough int) int {
	cost := 0
	for i := range pairs {
		if cost >= enough {
			return cost
		}
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
