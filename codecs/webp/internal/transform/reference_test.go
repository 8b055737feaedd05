package transform

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// The transforms as RFC 9649 defines them, a pixel and a channel at a time.

type argb [4]int // alpha, red, green, blue

func split(v uint32) argb {
	return argb{int(v >> 24), int(v >> 16 & 255), int(v >> 8 & 255), int(v & 255)}
}

func (c argb) join() uint32 {
	return uint32(c[0]&255)<<24 | uint32(c[1]&255)<<16 | uint32(c[2]&255)<<8 | uint32(c[3]&255)
}

func meanOf(a, b argb) (c argb) {
	for i := range c {
		c[i] = (a[i] + b[i]) / 2
	}
	return c
}

func clampOf(v int) int { return min(max(v, 0), 255) }

// predictionAt is the prediction of pixel (x, y) of an image by a mode (3.5.1).
func predictionAt(p *format.Pixels, x, y, mode int) uint32 {
	at := y*p.W + x
	switch {
	case x == 0 && y == 0:
		return 0xff000000
	case y == 0:
		return p.ARGB[at-1]
	case x == 0:
		return p.ARGB[at-p.W]
	}
	l, t, tr, tl := split(p.ARGB[at-1]), split(p.ARGB[at-p.W]), split(p.ARGB[at-p.W+1]), split(p.ARGB[at-p.W-1])
	var c argb
	switch mode {
	case 0:
		c = argb{255, 0, 0, 0}
	case 1:
		c = l
	case 2:
		c = t
	case 3:
		c = tr
	case 4:
		c = tl
	case 5:
		c = meanOf(meanOf(l, tr), t)
	case 6:
		c = meanOf(l, tl)
	case 7:
		c = meanOf(l, t)
	case 8:
		c = meanOf(tl, t)
	case 9:
		c = meanOf(t, tr)
	case 10:
		c = meanOf(meanOf(l, tl), meanOf(t, tr))
	case 11:
		toLeft, toTop := 0, 0
		for i := range c {
			p := l[i] + t[i] - tl[i]
			toLeft += max(p-l[i], l[i]-p)
			toTop += max(p-t[i], t[i]-p)
		}
		if toLeft < toTop {
			c = l
		} else {
			c = t
		}
	case 12:
		for i := range c {
			c[i] = clampOf(l[i] + t[i] - tl[i])
		}
	case 13:
		m := meanOf(l, t)
		for i := range c {
			c[i] = clampOf(m[i] + (m[i]-tl[i])/2)
		}
	}
	return c.join()
}

func residualAt(p *format.Pixels, x, y, mode int) uint32 {
	a, b := split(p.ARGB[y*p.W+x]), split(predictionAt(p, x, y, mode))
	for i := range a {
		a[i] -= b[i]
	}
	return a.join()
}

// signed is a byte as ColorTransformDelta takes it (3.5.2).
func signed(v int) int { return int(int8(v)) }

// colourInverse is the decoder's InverseTransform (3.5.2).
func colourInverse(v, m uint32) uint32 {
	c, e := split(v), split(m)
	toBlue, greenToBlue, greenToRed := e[1], e[2], e[3]
	c[1] = (c[1] + signed(greenToRed)*signed(c[2])>>5) & 255
	c[3] += signed(greenToBlue) * signed(c[2]) >> 5
	c[3] += signed(toBlue) * signed(c[1]) >> 5
	return c.join()
}

// eachWay runs a test with vector instructions, if there are any, and without.
func eachWay(t *testing.T, test func(t *testing.T)) {
	if hasVBMI {
		t.Run("vbmi", test)
		hasVBMI = false
		defer func() { hasVBMI = true }()
	}
	if hasAVX2 {
		t.Run("avx2", test)
		hasAVX2 = false
		defer func() { hasAVX2 = true }()
	}
	t.Run("go", test)
}
