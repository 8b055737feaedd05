package decode

// chooseConversion guesses the colour space as libjpeg's jdapimin.c does: JFIF
// means YCbCr, else Adobe's segment tells it, else the ids of components.
func (d *decoder) chooseConversion() func([]byte, *[4][]byte) {
	ids := func(a, b, c byte) bool {
		return d.components[0].id == a && d.components[1].id == b && d.components[2].id == c
	}
	switch len(d.components) {
	case 1:
		return grey
	case 3:
		if !d.jfif && (d.adobe && d.adobeTransform == 0 || !d.adobe && ids('R', 'G', 'B')) {
			return rgb
		}
		return yCbCr
	}
	if d.adobe && d.adobeTransform != 0 {
		return ycck
	}
	return cmyk
}

func grey(to []byte, lines *[4][]byte) { copy(to, lines[0]) }

func rgb(to []byte, lines *[4][]byte) {
	n := len(to) / 3
	r, g, b := lines[0][:n], lines[1][:n], lines[2][:n]
	for i := range n {
		d := to[3*i : 3*i+3 : 3*i+3]
		d[0], d[1], d[2] = r[i], g[i], b[i]
	}
}

// yCbCrGo converts by the equations of JFIF (T.871, 7), Q16.
func yCbCrGo(to []byte, lines *[4][]byte) {
	n := len(to) / 3
	ys, cbs, crs := lines[0][:n], lines[1][:n], lines[2][:n]
	for i, v := range ys {
		y := int32(v)<<16 + 1<<15
		cb, cr := int32(cbs[i])-128, int32(crs[i])-128
		d := to[3*i : 3*i+3 : 3*i+3]
		d[0] = clamp16(y + 91881*cr)
		d[1] = clamp16(y - 22554*cb - 46802*cr)
		d[2] = clamp16(y + 116130*cb)
	}
}

// clamp16 is the whole part of a number of Q16, held to 0..255.
func clamp16(v int32) byte {
	if uint32(v)&0xff000000 == 0 {
		return byte(v >> 16)
	}
	return byte(^(v >> 31))
}

// ycck converts to CMY as YCbCr to RGB and turned over, and goes on as cmyk.
func ycck(to []byte, lines *[4][]byte) {
	yCbCr(to, lines)
	for i, k := range lines[3][:len(to)/3] {
		d := to[3*i : 3*i+3 : 3*i+3]
		for c := range d {
			d[c] = ink(255-d[c], k)
		}
	}
}

// cmyk takes 255 for no ink, as Adobe's files have it.
func cmyk(to []byte, lines *[4][]byte) {
	for i, k := range lines[3][:len(to)/3] {
		for c := range 3 {
			to[3*i+c] = ink(lines[c][i], k)
		}
	}
}

// ink is the light that an ink and black leave.
func ink(v, k byte) byte { return byte((uint32(v)*uint32(k) + 127) / 255) }
