package webp

// pixels is an image between the transforms: w x h values 0xAARRGGBB in raster order.
type pixels struct {
	w, h int
	argb []uint32
}

// tiles returns how many tiles of 1<<bits lie along n pixels.
func tiles(n, bits int) int { return (n + 1<<bits - 1) >> bits }

// opaqueBlack is the prediction of the first pixel, and of all pixels by mode 0.
const opaqueBlack = 0xff000000

// grey reports whether red, green and blue are equal in every pixel.
func (p pixels) grey() bool {
	for _, v := range p.argb {
		if (v^v>>8)&0xffff != 0 {
			return false
		}
	}
	return true
}

// smallImage is the size, in pixels, up to which copies are always tried.
const smallImage = 1 << 13

// repeats reports whether copies are worth trying: where it takes little time, and where
// one pixel in eight ends a row of four that equals the one above, or itself shifted by
// one.
func (p pixels) repeats() bool {
	if len(p.argb) <= smallImage {
		return len(p.argb) > 1
	}
	n, left, up := 0, 0, 0
	for i, v := range p.argb {
		if left++; i == 0 || v != p.argb[i-1] {
			left = 0
		}
		if up++; i < p.w || v != p.argb[i-p.w] {
			up = 0
		}
		if left >= 4 || up >= 4 {
			n++
		}
	}
	return 8*n > len(p.argb)
}
