// Package testimages makes images and parses for the tests of the packages beside it.
package testimages

import (
	"math/rand/v2"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// Drawn returns an image with repeats: runs, rows copied from above and from further
// up, a few colours and some noise.
func Drawn(r *rand.Rand, w, h, colours int) format.Pixels {
	p := format.Pixels{W: w, H: h, ARGB: make([]uint32, w*h)}
	palette := make([]uint32, colours)
	for i := range palette {
		palette[i] = r.Uint32()
		if r.IntN(2) == 0 {
			palette[i] |= format.OpaqueBlack
		}
	}
	for i := 0; i < len(p.ARGB); {
		n := min(len(p.ARGB)-i, 1+r.IntN(40))
		switch how := r.IntN(4); {
		case how == 0:
			v := palette[r.IntN(colours)]
			for k := range n {
				p.ARGB[i+k] = v
			}
		case how == 1 && i >= w:
			for k := range n {
				p.ARGB[i+k] = p.ARGB[i+k-w]
			}
		case how == 2 && i > 0:
			d := 1 + r.IntN(i)
			for k := range n {
				p.ARGB[i+k] = p.ARGB[i+k-d]
			}
		default:
			for k := range n {
				p.ARGB[i+k] = palette[r.IntN(colours)]
			}
		}
		i += n
	}
	return p
}

// Shapes are sides around the limits of tiles, bundles and short distance codes.
var Shapes = [][2]int{{1, 1}, {1, 2}, {2, 1}, {1, 300}, {300, 1}, {3, 7}, {8, 8}, {9, 31}, {16, 17}, {33, 65}, {257, 63}}

// Texture is an image of a kind that all modes and signs occur in: smooth, with edges
// and noise. Without alpha all of it is 255.
func Texture(r *rand.Rand, w, h int, alpha bool) format.Pixels {
	p := format.Pixels{W: w, H: h, ARGB: make([]uint32, w*h)}
	noise := 1 + r.IntN(60)
	for i := range p.ARGB {
		x, y := i%w, i/w
		c := [4]int{255, 3 * x, 2*y + x, 255 - 2*x}
		if (x/7+y/5)%3 == 0 {
			c = [4]int{255, 200, 40, 90 + y}
		}
		for k := range c {
			c[k] = min(max(c[k]+r.IntN(noise)-noise/2, 0), 255)
		}
		if !alpha {
			c[0] = 255
		}
		p.ARGB[i] = uint32(c[0])<<24 | uint32(c[1])<<16 | uint32(c[2])<<8 | uint32(c[3])
	}
	return p
}

var Sizes = [][2]int{{1, 1}, {2, 1}, {1, 2}, {1, 9}, {9, 1}, {3, 3}, {8, 8}, {15, 17}, {16, 16}, {17, 15}, {33, 31}, {127, 5}, {128, 4}, {129, 9}, {130, 3}, {300, 7}}

var Pools = []*pool.Pool{pool.Of(1), pool.Of(3)}

// SomeParse codes n pixels as literals, cached pixels and backward references from anywhere.
func SomeParse(r *rand.Rand, n int) format.Parse {
	p := format.Parse{CacheBits: 3, Length: make([]uint16, n), Value: make([]uint32, n)}
	for i := 0; i < n; i++ {
		switch r.IntN(3) {
		case 1:
			p.Length[i], p.Value[i] = format.Cached, uint32(r.IntN(8))
		case 2:
			l := 1 + r.IntN(min(n-i, 1+r.IntN(400)))
			p.SetReference(i, uint32(l), 1+r.Uint32N(1<<20))
			i += l - 1
		}
	}
	return p
}
