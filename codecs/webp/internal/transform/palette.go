package transform

import (
	"cmp"
	"slices"

	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

const maxColours = 256 // of a palette (RFC 9649, 3.5.4)

// PaletteOf returns the colours of p by rising value, or nil where there are more than
// maxColours.
func PaletteOf(argb []uint32) []uint32 {
	const size = 1024
	var table [size]uint32
	var full [size]bool
	var out []uint32
	last, any := uint32(0), false
	for _, v := range argb {
		if any && v == last {
			continue
		}
		last, any = v, true
		k := v * 0x9e3779b1 >> 22
		for full[k] && table[k] != v {
			k = (k + 1) % size
		}
		if !full[k] {
			if len(out) == maxColours {
				return nil
			}
			full[k], table[k] = true, v
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// bundleBits is log2 of how many pixels share one (RFC 9649, 3.5.4).
func bundleBits(colours int) uint {
	switch {
	case colours <= 2:
		return 3
	case colours <= 4:
		return 2
	case colours <= 16:
		return 1
	}
	return 0
}

// IndexPixels replaces pixels by their places in the palette, in green, and bundles them.
func IndexPixels(p format.Pixels, palette []uint32) format.Pixels {
	const size = 1024
	var keys [size]uint32
	var values [size]int16
	for i := range values {
		values[i] = -1
	}
	for i, v := range palette {
		k := v * 0x9e3779b1 >> 22
		for values[k] >= 0 {
			k = (k + 1) % size
		}
		keys[k], values[k] = v, int16(i)
	}
	b := bundleBits(len(palette))
	per := 1 << b
	depth := uint(8 >> b)
	w := (p.W + per - 1) >> b
	out := format.Pixels{W: w, H: p.H, ARGB: make([]uint32, w*p.H)}
	last, at := palette[0], uint32(0)
	for y := range p.H {
		row := out.ARGB[y*w:][:w]
		for x, v := range p.ARGB[y*p.W:][:p.W] {
			if v != last {
				k := v * 0x9e3779b1 >> 22
				for keys[k] != v || values[k] < 0 {
					k = (k + 1) % size
				}
				last, at = v, uint32(values[k])
			}
			row[x>>b] |= at << (8 + uint(x)%uint(per)*depth)
		}
		for x := range row {
			row[x] |= format.OpaqueBlack
		}
	}
	return out
}

// Orders of a palette.
const (
	ByValue      = iota // as numbers
	ByNeed              // every colour follows the one nearest to it of those left
	ByNeighbours        // colours that meet often lie together (Zeng, Li, Lei 2000)
)

// OrderPalette returns the palette in one of the orders.
func OrderPalette(p format.Pixels, palette []uint32, how int) []uint32 {
	out := slices.Clone(palette)
	switch how {
	case ByNeed:
		for i := range out {
			last := uint32(0)
			if i > 0 {
				last = out[i-1]
			}
			best, at := ^uint32(0), i
			for j := i; j < len(out); j++ {
				if d := colourDistance(out[j], last); d < best {
					best, at = d, j
				}
			}
			out[i], out[at] = out[at], out[i]
		}
	case ByNeighbours:
		return zeng(p, out)
	}
	return out
}

// colourDistance weighs the differences that the coded palette has.
func colourDistance(a, b uint32) (d uint32) {
	for s := 0; s < 32; s += 8 {
		v := (a>>s - b>>s) & 255
		d += min(v, 256-v)
	}
	return d
}

// zeng orders the palette so that colours which are often neighbours get indices close
// to each other: starting from the pair that meets most, the colour that meets those
// placed most, those near an end weighing more for that end, goes to the end it meets
// more (Pinho and Neves 2004, section 2).
func zeng(p format.Pixels, palette []uint32) []uint32 {
	n := len(palette)
	if n < 3 {
		return palette
	}
	place := paletteIndices(p, palette)
	meets := make([]uint32, n*n)
	for y := range p.H {
		for x := range p.W {
			i := y*p.W + x
			a := int(place[i])
			if x > 0 {
				b := int(place[i-1])
				meets[a*n+b]++
				meets[b*n+a]++
			}
			if y > 0 {
				b := int(place[i-p.W])
				meets[a*n+b]++
				meets[b*n+a]++
			}
		}
	}
	for a := range n {
		meets[a*n+a] = 0
	}
	best, x, y := uint32(0), 0, 1
	for a := range n {
		for b := a + 1; b < n; b++ {
			if m := meets[a*n+b]; m > best {
				best, x, y = m, a, b
			}
		}
	}
	row := []int{x, y}
	placed := make([]bool, n)
	placed[x], placed[y] = true, true
	sum := make([]uint64, n)
	for c := range n {
		sum[c] = uint64(meets[c*n+x]) + uint64(meets[c*n+y])
	}
	for len(row) < n {
		at := -1
		for c := range n {
			if !placed[c] && (at < 0 || sum[c] > sum[at]) {
				at = c
			}
		}
		balance := int64(0)
		for j, c := range row {
			balance += int64(len(row)-1-2*j) * int64(meets[at*n+c])
		}
		if balance > 0 {
			row = slices.Insert(row, 0, at)
		} else {
			row = append(row, at)
		}
		placed[at] = true
		for c := range n {
			sum[c] += uint64(meets[c*n+at])
		}
	}
	out := make([]uint32, n)
	for i, c := range row {
		out[i] = palette[c]
	}
	return out
}

// paletteIndices returns the place of each pixel in the palette, which is sorted.
func paletteIndices(p format.Pixels, palette []uint32) []uint8 {
	out := make([]uint8, len(p.ARGB))
	last, at := palette[0], 0
	for i, v := range p.ARGB {
		if v != last {
			at, _ = slices.BinarySearchFunc(palette, v, cmp.Compare)
			last = v
		}
		out[i] = uint8(at)
	}
	return out
}
