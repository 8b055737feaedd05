package vq

import "github.com/pelmill/pelmill/raster"

// rowsAtOnce is how many rows of a plane or of blocks a goroutine takes at a
// time: enough that handing them out costs nothing.
const rowsAtOnce = 16

// planes splits slice m (8-bit grey or RGB) into its planes: the samples
// themselves, or Y, Co, Cg of the YCoCg-R transform (Malvar and Sullivan, JVT-I014,
// 2003):
//
//	Co = R - B    t = B + (Co >> 1)    Cg = G - t    Y = t + (Cg >> 1)
//
// The transform is exact on integers, but Co and Cg have 9 bits; they are kept as
// (C + 256) >> 1, so that 128 is no colour. With half, both are averaged over
// 2 x 2 samples, rounded, where the last column and row count for what lies
// beyond them.
func planes(c *crew, m *raster.Image, half bool) []plane {
	w, h := m.Width, m.Height
	if m.Channels == 1 {
		return []plane{{w, h, m.Pix}}
	}
	y, co, cg := newPlane(w, h), newPlane(w, h), newPlane(w, h)
	c.spans(h, rowsAtOnce, func(lo, hi int) {
		lumaChroma(m.Pix[3*lo*w:3*hi*w], y.pix[lo*w:hi*w], co.pix[lo*w:hi*w], cg.pix[lo*w:hi*w])
	})
	if half {
		co, cg = halve(c, co), halve(c, cg)
	}
	return []plane{y, co, cg}
}

func newPlane(w, h int) plane { return plane{w, h, make([]byte, w*h)} }

func lumaChroma(rgb, y, co, cg []byte) {
	co, cg = co[:len(y)], cg[:len(y)]
	for i := range y {
		s := rgb[3*i : 3*i+3 : 3*i+3]
		r, g, b := int(s[0]), int(s[1]), int(s[2])
		o := r - b
		t := b + o>>1
		e := g - t
		y[i] = byte(t + e>>1)
		co[i] = byte((o + 256) >> 1)
		cg[i] = byte((e + 256) >> 1)
	}
}

func halve(c *crew, a plane) plane {
	b := newPlane((a.w+1)/2, (a.h+1)/2)
	c.spans(b.h, rowsAtOnce, func(lo, hi int) {
		for y := lo; y < hi; y++ {
			r0 := a.pix[2*y*a.w:][:a.w]
			r1 := a.pix[min(2*y+1, a.h-1)*a.w:][:a.w]
			out := b.pix[y*b.w:][:b.w]
			for x := range out {
				u, v := 2*x, min(2*x+1, a.w-1)
				out[x] = byte((int(r0[u]) + int(r0[v]) + int(r1[u]) + int(r1[v]) + 2) >> 2)
			}
		}
	})
	return b
}

// picture is the inverse of planes, into slice m. Chroma of half size is
// repeated. Sums that leave 0 to 255 are clipped.
func picture(c *crew, m *raster.Image, ps []plane, half bool) {
	w, h := m.Width, m.Height
	if m.Channels == 1 {
		copy(m.Pix, ps[0].pix)
		return
	}
	shift := 0
	if half {
		shift = 1
	}
	c.spans(h, rowsAtOnce, func(lo, hi int) {
		for y := lo; y < hi; y++ {
			luma := ps[0].pix[y*w:][:w]
			co := ps[1].pix[(y>>shift)*ps[1].w:][:ps[1].w]
			cg := ps[2].pix[(y>>shift)*ps[2].w:][:ps[2].w]
			out := m.Pix[3*y*w:][:3*w]
			for x, l := range luma {
				o, e := 2*int(co[x>>shift])-256, 2*int(cg[x>>shift])-256
				t := int(l) - e>>1
				b := t - o>>1
				s := out[3*x : 3*x+3 : 3*x+3]
				s[0], s[1], s[2] = clip(b+o), clip(e+t), clip(b)
			}
		}
	})
}

func clip(v int) byte { return byte(min(max(v, 0), 255)) }

// blocks cuts a plane into M x K samples at out, which has that length. The last
// column and row of the plane are repeated where a block reaches beyond them.
func blocks(c *crew, a plane, s shape, out []byte) {
	g := s.grid(a.w, a.h)
	k := s.k()
	c.spans(g.rows, rowsAtOnce, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			for i := range s.p {
				row := a.pix[min(r*s.p+i, a.h-1)*a.w:][:a.w]
				to := out[r*g.cols*k+i*s.q:]
				whole := a.w / s.q
				for b := range whole {
					copy(to[b*k:b*k+s.q], row[b*s.q:])
				}
				for b := whole; b < g.cols; b++ {
					for j := range s.q {
						to[b*k+j] = row[min(b*s.q+j, a.w-1)]
					}
				}
			}
		}
	})
}

// expand writes the codewords of an index table to plane a (Algorithm 2). Blocks
// that reach beyond the plane are cut.
func expand(c *crew, table []uint16, book *codebook, a plane) {
	s, k := book.shape, book.k()
	g := s.grid(a.w, a.h)
	c.spans(g.rows, rowsAtOnce, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			line := table[r*g.cols:][:g.cols]
			for i := 0; i < s.p && r*s.p+i < a.h; i++ {
				row := a.pix[(r*s.p+i)*a.w:][:a.w]
				for b, x := range line {
					from := int(x)*k + i*s.q
					copy(row[b*s.q:], book.words[from:from+s.q])
				}
			}
		}
	})
}

// search finds the nearest codeword of every block, exactly: the least key of
// (distance, index) over the codebook.
func search(c *crew, b vectors, book *codebook, keys []key) {
	f := newFinder(book, bestKernel)
	c.spans(len(keys), blocksAtOnce, func(lo, hi int) {
		f.find(b.part(lo, hi), keys[lo:hi])
	})
}

// blocksAtOnce is how many blocks a goroutine takes at a time.
const blocksAtOnce = 1024

// cells is what a pass over the blocks learns about the cells of the codebook.
type cells struct {
	count    []uint32
	distance []uint64 // sum of the squared distances to the codeword
	sum      []uint64 // N x K, sums of the samples
}

func newCells(n, k int) *cells {
	return &cells{make([]uint32, n), make([]uint64, n), make([]uint64, n*k)}
}

// gather adds up the blocks of each cell. All sums are of integers, so that it
// does not matter who adds what.
func gather(c *crew, b vectors, keys []key, n int) *cells {
	k := b.k
	parts := make([]*cells, min(cap(c.idle), (len(keys)+blocksAtOnce-1)/blocksAtOnce))
	size := (len(keys) + len(parts) - 1) / len(parts)
	c.each(len(parts), func(p int) {
		t := newCells(n, k)
		for i := p * size; i < min(len(keys), (p+1)*size); i++ {
			x := keys[i].index()
			t.count[x]++
			t.distance[x] += uint64(keys[i].distance())
			sum := t.sum[x*k:][:k]
			for j, v := range b.at(i) {
				sum[j] += uint64(v)
			}
		}
		parts[p] = t
	})
	t := parts[0]
	for _, o := range parts[1:] {
		for i := range t.count {
			t.count[i] += o.count[i]
			t.distance[i] += o.distance[i]
		}
		for i := range t.sum {
			t.sum[i] += o.sum[i]
		}
	}
	return t
}
