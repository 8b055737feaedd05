// Package format has what RFC 9649 defines and every stage of the encoder speaks of: pixels,
// transforms, backward references, the colour cache, the symbols of a prefix code group and
// the entropy image that gives each tile its group. It decides nothing and writes nothing.
package format

// Pixels is an image between the transforms: w x h values 0xAARRGGBB in raster order.
type Pixels struct {
	W, H int
	ARGB []uint32
}

// Tiles returns how many tiles of 1<<bits lie along n pixels.
func Tiles(n, bits int) int { return (n + 1<<bits - 1) >> bits }

// OpaqueBlack is the prediction of the first pixel, and of all pixels by mode 0.
const OpaqueBlack = 0xff000000

// Grey reports whether red, green and blue are equal in every pixel.
func (p Pixels) Grey() bool {
	for _, v := range p.ARGB {
		if (v^v>>8)&0xffff != 0 {
			return false
		}
	}
	return true
}

// smallImage is the size, in pixels, up to which copies are always tried.
const smallImage = 1 << 13

// Repeats reports whether copies are worth trying: where it takes little time, and where
// one pixel in eight ends a row of four that equals the one above, or itself shifted by
// one.
func (p Pixels) Repeats() bool {
	if len(p.ARGB) <= smallImage {
		return len(p.ARGB) > 1
	}
	n, left, up := 0, 0, 0
	for i, v := range p.ARGB {
		if left++; i == 0 || v != p.ARGB[i-1] {
			left = 0
		}
		if up++; i < p.W || v != p.ARGB[i-p.W] {
			up = 0
		}
		if left >= 4 || up >= 4 {
			n++
		}
	}
	return 8*n > len(p.ARGB)
}
