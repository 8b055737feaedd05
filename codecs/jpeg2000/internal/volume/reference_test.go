package volume

// referenceForward is the transform of the package comment, line by line of samples: level
// by level along x, y and z, low-pass samples to the front.
func referenceForward(v []int32, whole size, c *Coding) {
	at := func(x, y, z int) *int32 { return &v[(z*whole[axisY]+y)*whole[axisX]+x] }
	for level := 1; level <= c.Levels[axisX]; level++ {
		s := c.reduced(whole, level-1)
		for z := range s[axisZ] {
			for y := range s[axisY] {
				referenceLine(s[axisX], func(i int) *int32 { return at(i, y, z) })
			}
			for x := range s[axisX] {
				referenceLine(s[axisY], func(i int) *int32 { return at(x, i, z) })
			}
		}
		if level > c.Levels[axisZ] {
			continue
		}
		for y := range s[axisY] {
			for x := range s[axisX] {
				referenceLine(s[axisZ], func(i int) *int32 { return at(x, y, i) })
			}
		}
	}
}

// referenceLine is equation F-9 of Part 1, and its deinterleaving.
func referenceLine(n int, at func(i int) *int32) {
	if n == 1 {
		return
	}
	line := make([]int, n)
	for i := range line {
		line[i] = int(*at(i))
	}
	extended := func(i int) int {
		if i < 0 {
			i = -i
		}
		if i >= n {
			i = 2*(n-1) - i
		}
		return line[i]
	}
	for i := 1; i < n; i += 2 {
		line[i] -= (extended(i-1) + extended(i+1)) >> 1
	}
	for i := 0; i < n; i += 2 {
		line[i] += (extended(i-1) + extended(i+1) + 2) >> 2
	}
	for i, v := range line {
		to := i / 2
		if i%2 == 1 {
			to += (n + 1) / 2
		}
		*at(to) = int32(v)
	}
}
