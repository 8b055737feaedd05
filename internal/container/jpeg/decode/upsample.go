package decode

// upsampling is how a component comes to the size of the frame.
type upsampling byte

const (
	fullSize upsampling = iota
	repeat              // every sample h x v times
	fancyH              // twice the width, by weights 3/4 and 1/4
	fancyV              // twice the height, by the same weights
	fancyHV             // both, by 9/16, 3/16, 3/16 and 1/16
)

// chooseUpsampling chooses as libjpeg-turbo's jdsample.c does: narrow components
// and other ratios are repeated.
func chooseUpsampling(h, v, width int) upsampling {
	switch {
	case h == 1 && v == 1:
		return fullSize
	case h == 2 && v == 1 && width > 2:
		return fancyH
	case h == 1 && v == 2:
		return fancyV
	case h == 2 && v == 2 && width > 2:
		return fancyHV
	}
	return repeat
}

// row returns row y of the component's samples. Rows above and below the
// image are its first and last row.
func (c *component) row(y int) []byte {
	y = min(max(y, 0), c.height-1) % c.ringRows
	return c.rows[y*c.stride:][:c.width]
}

// upsampled returns the samples for row y of the frame. They are valid until
// the next call.
func (c *component) upsampled(y int) []byte {
	at := y / c.vExpand
	near := c.row(at)
	// The next nearest row is above the upper half of a row and below the lower.
	far := at - 1 + y%2*2
	switch c.method {
	case fullSize:
		return near
	case fancyH:
		doubleWidth(c.line, near)
	case fancyV:
		doubleHeight(c.line, near, c.row(far), y%2)
	case fancyHV:
		doubleBoth(c.line, near, c.row(far))
	default:
		if c.hExpand == 1 {
			return near
		}
		i := 0
		for _, v := range near {
			for range c.hExpand {
				c.line[i] = v
				i++
			}
		}
	}
	return c.line
}

// doubleWidthGo rounds halves down for even places and up for odd ones.
func doubleWidthGo(to, from []byte) {
	n := len(from)
	to = to[:2*n]
	to[0] = from[0]
	to[1] = byte((3*int(from[0]) + int(from[1]) + 2) >> 2)
	last, this := int(from[0]), int(from[1])
	i := 2
	for _, v := range from[2:] {
		next := int(v)
		d := to[i : i+2 : i+2]
		d[0] = byte((3*this + last + 1) >> 2)
		d[1] = byte((3*this + next + 2) >> 2)
		last, this = this, next
		i += 2
	}
	to[2*n-2] = byte((3*this + last + 1) >> 2)
	to[2*n-1] = byte(this)
}

func doubleHeightGo(to, near, far []byte, lower int) {
	far = far[:len(near)]
	to = to[:len(near)]
	for i, v := range near {
		to[i] = byte((3*int(v) + int(far[i]) + 1 + lower) >> 2)
	}
}

// doubleBothGo weights columns first, Q2, then rows, Q4.
func doubleBothGo(to, near, far []byte) {
	n := len(near)
	far = far[:n]
	to = to[:2*n]
	last := 3*int(near[0]) + int(far[0])
	this := 3*int(near[1]) + int(far[1])
	to[0] = byte((4*last + 8) >> 4)
	to[1] = byte((3*last + this + 7) >> 4)
	for i := 2; i < n; i++ {
		next := 3*int(near[i]) + int(far[i])
		d := to[2*i-2 : 2*i : 2*i]
		d[0] = byte((3*this + last + 8) >> 4)
		d[1] = byte((3*this + next + 7) >> 4)
		last, this = this, next
	}
	to[2*n-2] = byte((3*this + last + 8) >> 4)
	to[2*n-1] = byte((4*this + 7) >> 4)
}
