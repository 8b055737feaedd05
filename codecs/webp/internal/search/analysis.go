package search

import (
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
)

// analysis is what an image looks like before anything is tried: sums over sampled rows,
// which do not depend on the order of pixels but for repeats.
type analysis struct {
	pixels  int
	equal   int // to the left or the upper neighbour
	repeats int // of the others: they and the next three were there before

	// Bits, times 65536, of the pixels that are not equal to a neighbour: as they are,
	// less their green, and less the neighbours' gradient and their green.
	direct, green, spatial uint64

	colours []uint32 // nil for more than maxColours
}

const (
	repeatBits     = 15      // of the table that finds repeats
	AnalysisPixels = 1 << 18 // that are looked at
)

// Analyse takes the census of p by about most pixels, or all where most is 0.
func Analyse(p format.Pixels, most int) analysis {
	c := analysis{colours: transform.PaletteOf(p.ARGB)}
	var h [3][4][256]uint32
	table := make([]uint32, 1<<repeatBits)
	step := 1
	if most > 0 {
		step = max(1, (p.W*p.H+most-1)/most)
	}
	for y := 0; y < p.H; y += step {
		row := p.ARGB[y*p.W:][:p.W]
		above := row
		if y > 0 {
			above = p.ARGB[(y-1)*p.W:][:p.W]
		}
		left := row[0]
		corner := above[0]
		for x, v := range row {
			c.pixels++
			l, t, k := left, above[x], corner
			left, corner = v, t
			if v == l && (x > 0 || y > 0) || v == t && y > 0 {
				c.equal++
				continue
			}
			if x+3 < len(row) {
				key := (v*0x9e3779b1 ^ row[x+1]*0x85ebca6b ^ row[x+2]*0xc2b2ae35 ^ row[x+3]*0x27d4eb2f)
				key = (key ^ key>>15) * 0x2c1b3c6d
				if table[key>>(32-repeatBits)] == key {
					c.repeats++
				}
				table[key>>(32-repeatBits)] = key
			}
			g := transform.SubtractGreenFrom(v)
			s := transform.Subtract(g, gradient(transform.SubtractGreenFrom(l), transform.SubtractGreenFrom(t), transform.SubtractGreenFrom(k)))
			for n, u := range [...]uint32{v, g, s} {
				h[n][0][u>>24]++
				h[n][1][u>>16&255]++
				h[n][2][u>>8&255]++
				h[n][3][u&255]++
			}
		}
	}
	for n, out := range []*uint64{&c.direct, &c.green, &c.spatial} {
		for k := range h[n] {
			*out += entropy.IdealBits(h[n][k][:])
		}
	}
	return c
}

// gradient is the average of left and upper neighbour by channel.
func gradient(l, t, _ uint32) uint32 { return (l^t)&0xfefefefe>>1 + l&t }
