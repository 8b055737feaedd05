package pcwt_test

import "slices"

// grid is a band or a plane: rows of numbers.
type grid struct {
	w, h int
	v    []int
}

func newGrid(w, h int) *grid { return &grid{w, h, make([]int, w*h)} }

func (g *grid) at(x, y int) *int { return &g.v[y*g.w+x] }

// nearest is the number at the place of the grid that is nearest to (x, y).
func (g *grid) nearest(x, y int) int {
	if g == nil || g.w == 0 || g.h == 0 {
		return 0
	}
	return *g.at(min(max(x, 0), g.w-1), min(max(y, 0), g.h-1))
}

// mirror is the whole-sample symmetric extension of the places 0 to n-1.
func mirror(i, n int) int {
	if n == 1 {
		return 0
	}
	i = ((i % (2*n - 2)) + 2*n - 2) % (2*n - 2)
	return min(i, 2*n-2-i)
}

// unlift turns interleaved low and high samples, low ones at even places, into a signal.
func unlift(wavelet int, x []int) {
	if len(x) == 1 {
		return
	}
	at := func(i int) int { return x[mirror(i, len(x))] }
	// d[n] stands at place 2n+1 = i+1 for the low place i = 2n.
	for i := 0; i < len(x); i += 2 {
		switch wavelet {
		case 0:
			x[i] -= (at(i-1) + at(i+1) + 2) >> 2
		case 1:
			x[i] -= (9*(at(i-1)+at(i+1)) - at(i-3) - at(i+3) + 16) >> 5
		}
	}
	for i := 1; i < len(x); i += 2 {
		switch wavelet {
		case 0, 2:
			x[i] += (at(i-1) + at(i+1)) >> 1
		case 1:
			x[i] -= (at(i-3) + at(i+3) - 9*(at(i-1)+at(i+1)) + 8) >> 4
		}
	}
}

// planes decodes all planes, all slices of a plane one after the other.
func (h *refHeader) planes() [][]int {
	size := h.width * h.height
	planes := make([][]int, h.channels)
	for c := range planes {
		planes[c] = make([]int, size*h.slices)
	}
	class := h.sliceClasses()
	for z := range h.slices {
		for c, g := range h.slice(z, h.classes[class[z]]) {
			copy(planes[c][z*size:], g.v)
		}
	}
	for _, p := range planes {
		h.joinSlices(p, size)
	}
	if h.rct {
		for i := range planes[0] {
			y, u, v := planes[0][i], planes[1][i], planes[2][i]
			g := y - (u+v)>>2
			planes[0][i], planes[1][i], planes[2][i] = v+g, g, u+g
		}
	}
	return planes
}

// sliceClasses are the classes of the slices in their stored order.
func (h *refHeader) sliceClasses() []int {
	classes := make([]int, h.slices)
	n := h.slices
	for level := range h.zLevels {
		low := (n + 1) / 2
		for z := low; z < n; z++ {
			classes[z] = h.zLevels - level
		}
		n = low
	}
	return classes
}

// joinSlices undoes the transform along the slices of a plane.
func (h *refHeader) joinSlices(p []int, size int) {
	for level := h.zLevels; level > 0; level-- {
		n := h.slices
		for range level - 1 {
			n = (n + 1) / 2
		}
		for i := range size {
			x := make([]int, n)
			for z := range n {
				if z < (n+1)/2 {
					x[2*z] = p[z*size+i]
				} else {
					x[2*(z-(n+1)/2)+1] = p[z*size+i]
				}
			}
			unlift(0, x)
			for z := range n {
				p[z*size+i] = x[z]
			}
		}
	}
}

// slice decodes the planes of one stored slice.
func (h *refHeader) slice(z int, planes []coded) []*grid {
	// Sizes of the low band by level; the whole slice is level 0.
	sizes := [][2]int{{h.width, h.height}}
	for range h.levels {
		last := sizes[len(sizes)-1]
		sizes = append(sizes, [2]int{(last[0] + 1) / 2, (last[1] + 1) / 2})
	}
	top := sizes[h.levels]
	r := &reader{h.sections[z]}
	low := make([]*grid, len(planes))
	for c := range planes {
		low[c] = newGrid(top[0], top[1])
		n, least := r.u8(), int(int32(r.u32()))
		b := bitReader{data: r.bytes((n*top[0]*top[1] + 7) / 8)}
		for i := range low[c].v {
			low[c].v[i] = least + b.bits(n)
		}
	}
	if len(r.data) > 0 {
		panic("bytes after the low band")
	}
	parents := make([]*refLevel, len(planes))
	for level := h.levels; level > 0; level-- {
		section := &reader{h.sections[(1+h.levels-level)*h.slices+z]}
		lengths := make([][]int, len(planes))
		tiles := ((sizes[level][0] + h.tile - 1) / h.tile) * ((sizes[level][1] + h.tile - 1) / h.tile)
		for c := range planes {
			for range tiles {
				lengths[c] = append(lengths[c], section.leb128())
			}
		}
		var done []*refLevel
		for c := range planes {
			l := newRefLevel(h, &planes[c], level, low[c], sizes[level-1])
			l.parent = parents[c]
			for i := 1; i <= planes[c].earlier; i++ {
				l.earlier = append(l.earlier, done[c-i])
			}
			for t, n := range lengths[c] {
				across := (l.low.w + h.tile - 1) / h.tile
				l.tile(t%across*h.tile, t/across*h.tile, n&1 == 1, section.bytes(n>>1*2))
			}
			done = append(done, l)
		}
		if len(section.data) > 0 {
			panic("bytes after the last tile")
		}
		for c, l := range done {
			low[c] = l.join(planes[c].wavelet)
		}
		parents = done
	}
	return low
}

// join undoes the transform of a level: columns first, then rows.
func (l *refLevel) join(wavelet int) *grid {
	out := newGrid(l.w, l.h)
	for y := range l.h {
		for x := range l.w {
			from := l.low
			if b := x&1 + 2*(y&1); b > 0 {
				from = l.bands[b-1].c
			}
			*out.at(x, y) = *from.at(x/2, y/2)
		}
	}
	for x := range l.w {
		column := make([]int, l.h)
		for y := range column {
			column[y] = *out.at(x, y)
		}
		unlift(wavelet, column)
		for y := range column {
			*out.at(x, y) = column[y]
		}
	}
	for row := range slices.Chunk(out.v, max(1, l.w)) {
		unlift(wavelet, row)
	}
	return out
}
