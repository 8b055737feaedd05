// Package format has what RFC 9649 defines and every stage of the encoder speaks of: pixels,
// transforms, backward references, the colour cache, the symbols of a prefix code group and
// the entropy image that gives each tile its group. It decides nothing and writes nothing.
package format

// Pixels is an image before, between or after the transforms: W x H values 0xAARRGGBB in
// raster order.
type Pixels struct {
	W, H int
	ARGB []uint32
}

// Tiles returns how many tiles of 1<<bits lie along n pixels.
func Tiles(n, bits int) int { return (n + 1<<bits - 1) >> bits }

// OpaqueBlack is the prediction of the first pixel by every mode, and of all pixels by
// mode 0 (RFC 9649, 3.5.1).
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

// smallImage is the size in pixels up to which backward references are always tried,
// because a parse of them takes little time. The history has no measurement for it; it is
// more than the tiles of 8 x 8 pixels of a photograph of 768 x 512, 6,144.
const smallImage = 1 << 13

// Repeats reports whether backward references are worth trying in an image that describes
// another one: where it is small, or where more than one pixel in eight ends a run of four
// that equal their left or their upper neighbours.
func (p Pixels) Repeats() bool {
	if len(p.ARGB) <= smallImage {
		return len(p.ARGB) > 1
	}
	// The low bits of left and up say of the last pixels whether they equal that neighbour. It cannot be foreseen, so there is no
	// branch.
	const four = 1<<4 - 1
	n, left, up, before := uint32(0), uint32(0), uint32(0), ^p.ARGB[0]
	for _, v := range p.ARGB[:p.W] {
		left, before = left<<1|same(v, before), v
		n += (left&four + 1) >> 4
	}
	for i, v := range p.ARGB[p.W:] {
		left, before = left<<1|same(v, before), v
		up = up<<1 | same(v, p.ARGB[i])
		n += ((left&four + 1) | (up&four + 1)) >> 4
	}
	return 8*int(n) > len(p.ARGB)
}

// same is 1 where a and b are equal, and else 0.
func same(a, b uint32) uint32 { return uint32((uint64(a^b) - 1) >> 63) }
