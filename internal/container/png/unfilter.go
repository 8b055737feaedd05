package png

// Filters of a row (PNG specification, 9.2).
const (
	filterNone = iota
	filterSub
	filterUp
	filterAverage
	filterPaeth
)

// unfilter writes a row from its residuals. The row above is up; the byte to the left is back bytes before.
// It returns false for a filter that does not exist. All rows have the same length.
func unfilter(dst, src, up []byte, filter byte, back int) bool {
	switch filter {
	case filterNone:
		copy(dst, src)
	case filterSub:
		sub(dst, src, back)
	case filterUp:
		above(dst, src, up)
	case filterAverage:
		average(dst, src, up, back)
	case filterPaeth:
		paeth(dst, src, up, back)
	default:
		return false
	}
	return true
}

// bytesGo unfilters the bytes of a row from one place to another. Those before are done.
func bytesGo(dst, src, up []byte, filter byte, back, from, to int) {
	for i := from; i < to; i++ {
		var a, b, c int // left, above, above left
		if i >= back {
			a = int(dst[i-back])
		}
		if filter >= filterUp {
			b = int(up[i])
			if i >= back {
				c = int(up[i-back])
			}
		}
		switch filter {
		case filterNone:
			dst[i] = src[i]
		case filterSub:
			dst[i] = src[i] + byte(a)
		case filterUp:
			dst[i] = src[i] + byte(b)
		case filterAverage:
			dst[i] = src[i] + byte((a+b)/2)
		case filterPaeth:
			dst[i] = src[i] + nearest(a, b, c)
		}
	}
}

func subGo(dst, src []byte, back int) {
	n := min(back, len(src))
	copy(dst, src[:n])
	for i := n; i < len(src); i++ {
		dst[i] = src[i] + dst[i-back]
	}
}

func aboveGo(dst, src, up []byte) {
	dst, up = dst[:len(src)], up[:len(src)]
	for i, v := range src {
		dst[i] = v + up[i]
	}
}

func averageGo(dst, src, up []byte, back int) {
	dst, up = dst[:len(src)], up[:len(src)]
	n := min(back, len(src))
	for i := range n {
		dst[i] = src[i] + up[i]/2
	}
	for i := n; i < len(src); i++ {
		dst[i] = src[i] + byte((int(dst[i-back])+int(up[i]))/2)
	}
}

func paethGo(dst, src, up []byte, back int) {
	dst, up = dst[:len(src)], up[:len(src)]
	n := min(back, len(src))
	for i := range n {
		dst[i] = src[i] + up[i]
	}
	for i := n; i < len(src); i++ {
		dst[i] = src[i] + nearest(int(dst[i-back]), int(up[i]), int(up[i-back]))
	}
}

// nearest is the one of left, above and above left that is nearest to left + above - above left. Ties go to the
// first of them in this order.
func nearest(a, b, c int) byte {
	pa, pb := b-c, a-c
	pc := abs(pa + pb)
	pa, pb = abs(pa), abs(pb)
	switch {
	case pa <= pb && pa <= pc:
		return byte(a)
	case pb <= pc:
		return byte(b)
	}
	return byte(c)
}

func abs(v int) int { return max(v, -v) }
