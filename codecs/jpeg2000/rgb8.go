package jpeg2000

// The samples of images that are most frequent, RGB of 8 bits, go to the components and
// back in one step.

// rgb8 says whether the image is RGB of 8 bits whose channels are the components.
func (o *output) rgb8() bool {
	if o.bytes == nil || o.shape.Channels != 3 || o.shape.Bits != 8 || o.shape.Signed || len(o.place) < 3 {
		return false
	}
	return o.place[0] == 0 && o.place[1] == 1 && o.place[2] == 2
}

// storeRGB8 is [decoder].storeRCT.
func (o *output) storeRGB8(x, y int, c0, c1, c2 []int32) {
	at := ((y-o.area.Min.Y)*o.shape.Width + x - o.area.Min.X) * 3
	inverseRGB8(o.bytes[at:][:3*len(c0)], c0, c1, c2)
}

// inverseRGB8Go makes samples of Y, Cb and Cr (equations G-6 to G-8, G.1.2).
func inverseRGB8Go(dst []byte, c0, c1, c2 []int32) {
	c1, c2, dst = c1[:len(c0)], c2[:len(c0)], dst[:3*len(c0)]
	for i, v := range c0 {
		cb, cr := c1[i], c2[i]
		g := v - (cb+cr)>>2 + 128
		dst[3*i], dst[3*i+1], dst[3*i+2] = clampByte(cr+g), clampByte(g), clampByte(cb+g)
	}
}

func clampByte(v int32) byte { return byte(min(max(v, 0), 255)) }

// forwardRGB8Go makes Y, Cb and Cr of samples (G.1.1, equations G-3 to G-5).
func forwardRGB8Go(c0, c1, c2 []int32, src []byte) {
	c1, c2, src = c1[:len(c0)], c2[:len(c0)], src[:3*len(c0)]
	for i := range c0 {
		r, g, b := int32(src[3*i])-128, int32(src[3*i+1])-128, int32(src[3*i+2])-128
		c0[i], c1[i], c2[i] = (r+2*g+b)>>2, b-g, r-g
	}
}
