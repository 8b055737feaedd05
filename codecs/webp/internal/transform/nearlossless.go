package transform

import (
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// NearLossless rounds the colours of pixels that differ from a neighbour, so that their
// residuals are cheaper, after the idea of libwebp's pre-filter: level 80 to 99 to
// multiples of 2, every 20 levels below to twice as much. It goes over the image once
// for each bit, coarsest first, because rounding makes new neighbours. Alpha, the pixels
// on the border and those whose four neighbours are near stay as they are, and images
// that a palette can hold do too. Level 100 changes nothing.
func NearLossless(p format.Pixels, level int) {
	if level >= 100 || p.W < 3 || p.H < 3 || fewColours(p) {
		return
	}
	above, row := make([]uint32, p.W), make([]uint32, p.W)
	for bits := 5 - level/20; bits > 0; bits-- {
		copy(above, p.ARGB)
		for y := 1; y < p.H-1; y++ {
			out, below := p.ARGB[y*p.W:][:p.W], p.ARGB[(y+1)*p.W:][:p.W]
			copy(row, out)
			for x := 1; x < p.W-1; x++ {
				v := row[x]
				if !near(v, row[x-1], bits) || !near(v, row[x+1], bits) || !near(v, above[x], bits) || !near(v, below[x], bits) {
					out[x] = v&0xff000000 | rounded(v>>16&255, bits)<<16 | rounded(v>>8&255, bits)<<8 | rounded(v&255, bits)
				}
			}
			above, row = row, above
		}
	}
}

// near reports whether all channels differ by less than 2^bits.
func near(a, b uint32, bits int) bool {
	limit := int32(1) << bits
	for s := 0; s < 32; s += 8 {
		if d := int32(a>>s&255) - int32(b>>s&255); d >= limit || d <= -limit {
			return false
		}
	}
	return true
}

// rounded is the multiple of 2^bits nearest to v, of two the one with more zeros, or
// 255 where that is nearer.
func rounded(v uint32, bits int) uint32 {
	step := uint32(1) << bits
	r := (v + step/2 - 1 + v>>bits&1) &^ (step - 1)
	if r > 255 {
		return 255
	}
	return r
}

// fewColours reports whether p has at most 256 colours.
func fewColours(p format.Pixels) bool {
	seen := make(map[uint32]struct{}, 257)
	last := ^p.ARGB[0]
	for _, v := range p.ARGB {
		if v == last {
			continue
		}
		last = v
		seen[v] = struct{}{}
		if len(seen) > 256 {
			return false
		}
	}
	return true
}
