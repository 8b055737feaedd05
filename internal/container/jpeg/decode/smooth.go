package decode

// smoothing reports whether blocks are smoothed: in progressive files that leave
// bits of the first nine AC coefficients open. They are then estimated from the
// DC coefficients of 5 x 5 blocks (after T.81, K.8).
func (d *decoder) smoothing() bool {
	if !d.progressive {
		return false
	}
	open := false
	for i := range d.components {
		c := &d.components[i]
		if c.quant == nil || c.lowestBit[0] < 0 {
			return false
		}
		for k := range 10 {
			if c.quant.zigzag[k] == 0 {
				return false
			}
			open = open || k > 0 && c.lowestBit[k] != 0
		}
	}
	return open
}

// kernel holds the weights of the 25 DC coefficients, row by row, for the
// estimate of a coefficient, Q8.
type kernel [25]int32

// estimates are for coefficients 1 to 5 where some AC coefficients are known.
var estimates = [10]kernel{
	1: {10: -7, 11: 50, 13: -50, 14: 7},
	2: {2: -7, 7: 50, 17: -50, 22: 7},
	3: {2: -1, 7: 13, 12: -24, 17: 13, 22: -1},
	4: {1: -1, 3: 1, 5: -1, 6: 10, 8: -10, 9: 1, 15: 1, 16: -10, 18: 10, 19: -1, 21: 1, 23: -1},
	5: {10: -1, 11: 13, 12: -24, 13: 13, 14: -1},
}

// dcEstimates are for coefficients 0 to 9 where only DC coefficients are known.
var dcEstimates = [10]kernel{
	0: {-2, -6, -8, -6, -2, -6, 6, 42, 6, -6, -8, 42, 152, 42, -8, -6, 6, 42, 6, -6, -2, -6, -8, -6, -2},
	1: {-1, -1, 0, 1, 1, -3, 13, 0, -13, 3, -3, 38, 0, -38, 3, -3, 13, 0, -13, 3, -1, -1, 0, 1, 1},
	2: {-1, -3, -3, -3, -1, -1, 13, 38, 13, -1, 0, 0, 0, 0, 0, 1, -13, -38, -13, 1, 1, 3, 3, 3, 1},
	3: {2: 1, 6: 2, 7: 7, 8: 2, 11: -5, 12: -14, 13: -5, 16: 2, 17: 7, 18: 2, 22: 1},
	4: {0: -1, 4: 1, 6: 9, 8: -9, 16: -9, 18: 9, 20: 1, 24: -1},
	5: {6: 2, 7: -5, 8: 2, 10: 1, 11: 7, 12: -14, 13: 7, 14: 1, 16: 2, 17: -5, 18: 2},
	6: {6: 1, 8: -1, 11: 2, 13: -2, 16: 1, 18: -1},
	7: {6: 1, 7: -3, 8: 1, 16: -1, 17: 3, 18: -1},
	8: {6: 1, 8: -1, 11: -3, 13: 3, 16: 1, 18: -1},
	9: {6: 1, 7: 2, 8: 1, 16: -1, 17: -2, 18: -1},
}

// smoothRow transforms one row of MCUs of a component with estimates.
func (d *decoder) smoothRow(c *component, row int) {
	kernels, dcOnly := &estimates, true
	for _, lowestBit := range c.lowestBit[1:10] {
		dcOnly = dcOnly && lowestBit < 0
	}
	if dcOnly {
		kernels = &dcEstimates
	}
	var dc [25]int32
	for y := row * c.v; y < min((row+1)*c.v, c.blocksHigh); y++ {
		rows := d.window(c, row, y)
		for x := range c.blocksWide {
			for i, at := range rows {
				for j := range 5 {
					dc[5*i+j] = int32(c.coefficient(c.inside(x+j-2), at)[0])
				}
			}
			to := &d.s.unquantized
			*to = *c.coefficient(x, y)
			for k := range 10 {
				lowestBit := c.lowestBit[k]
				if k > 0 && (lowestBit == 0 || to[zigzag[k]] != 0) || k > 5 && !dcOnly || k == 0 && !dcOnly {
					continue
				}
				if k == 0 {
					lowestBit = -1
				}
				to[zigzag[k]] = kernels[k].estimate(&dc, int64(c.quant.zigzag[0]), int64(c.quant.zigzag[k]), lowestBit)
			}
			c.inverse(to, x, y)
		}
	}
}

// inside returns the column of blocks that stands for column x: outside, the
// first or the last one, but of two libjpeg repeats the first on both sides.
func (c *component) inside(x int) int {
	if x >= c.blocksWide && c.blocksWide == 2 {
		return 0
	}
	return min(max(x, 0), c.blocksWide-1)
}

// window returns the five rows of blocks around row y, which is in row of MCUs
// row. At the edges libjpeg repeats by rows of MCUs: the second row above or
// below is missing too where it is in the first or last of them but one.
func (d *decoder) window(c *component, row, y int) [5]int {
	w := [5]int{y, y, y, y, y}
	in := y - row*c.v // row of blocks in the row of MCUs
	last := d.mcuRows - 1
	high := min(c.v, c.blocksHigh-row*c.v)
	if in > 0 || row > 0 {
		w[1] = y - 1
	}
	w[0] = w[1]
	if in > 1 || row > 1 {
		w[0] = y - 2
	}
	if in < high-1 || row < last {
		w[3] = y + 1
	}
	w[4] = w[3]
	if in < high-2 || row+1 < last {
		w[4] = y + 2
	}
	return w
}

// estimate rounds to whole steps of q. Where bits down to lowestBit are there, the
// estimate is less than one of them.
func (e *kernel) estimate(dc *[25]int32, q0, q int64, lowestBit int8) int16 {
	var sum int32
	for i, v := range dc {
		sum += e[i] * v
	}
	n := q0 * int64(sum)
	negative := n < 0
	if negative {
		n = -n
	}
	v := int32((q<<7 + n) / (q << 8))
	if lowestBit > 0 {
		v = min(v, 1<<lowestBit-1)
	}
	if negative {
		v = -v
	}
	return int16(v)
}
