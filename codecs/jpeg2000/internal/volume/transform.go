package volume

import (
	"sync"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pool"
)

// transforms hold the working memory of goroutines for one plane each.
var transforms = sync.Pool{New: func() any {
	return &planeTransform{t: wavelet.New(wavelet.LeGall53(), wavelet.RowsFirst)}
}}

type planeTransform struct {
	t       *wavelet.Transform[int32]
	samples []int32
}

// plane is a plane of working memory.
func (p *planeTransform) plane(width, height int) wavelet.Plane[int32] {
	if n := width * height; cap(p.samples) < n {
		p.samples = make([]int32, n)
	}
	return wavelet.Plane[int32]{Samples: p.samples[:width*height], Width: width, Height: height, Stride: width}
}

// array is an array of coefficients, of the size of a volume.
type array struct {
	size
	samples []int32
}

func newArray(s size) array { return array{s, make([]int32, s.samples())} }

// at is the index of a sample.
func (a *array) at(p size) int {
	return (p[axisZ]*a.size[axisY]+p[axisY])*a.size[axisX] + p[axisX]
}

// slice is the part of slice z that has the first samples of its rows and columns.
func (a *array) slice(z, width, height int) wavelet.Plane[int32] {
	return wavelet.Plane[int32]{Samples: a.samples[a.at(size{0, 0, z}):], Width: width, Height: height, Stride: a.size[axisX]}
}

// row is the part of row y of all slices that has the first samples: a plane of x and z.
func (a *array) row(y, width, depth int) wavelet.Plane[int32] {
	return wavelet.Plane[int32]{Samples: a.samples[a.at(size{0, y, 0}):], Width: width, Height: depth, Stride: a.size[axisX] * a.size[axisY]}
}

// forward transforms a in place: of each level the slices, along x and then y, and then z.
func (a *array) forward(p *pool.Pool, c *Coding) {
	for level := 1; level <= c.Levels[axisX]; level++ {
		s := c.reduced(a.size, level-1)
		p.Each(s[axisZ], func(z int) {
			w := transforms.Get().(*planeTransform)
			defer transforms.Put(w)
			plane := a.slice(z, s[axisX], s[axisY])
			from := w.plane(plane.Width, plane.Height)
			copyRows(from, plane)
			w.t.ForwardLevel(wavelet.Quarter(plane, 0, 0), from, 0, 0)
		})
		if c.splits(level) {
			p.Each(s[axisY], func(y int) { a.alongZ(y, s, splitRows) })
		}
	}
}

// inverse is the inverse of forward.
func (a *array) inverse(p *pool.Pool, c *Coding) {
	for level := c.Levels[axisX]; level > 0; level-- {
		s := c.reduced(a.size, level-1)
		if c.splits(level) {
			p.Each(s[axisY], func(y int) { a.alongZ(y, s, joinRows) })
		}
		p.Each(s[axisZ], func(z int) {
			w := transforms.Get().(*planeTransform)
			defer transforms.Put(w)
			plane := a.slice(z, s[axisX], s[axisY])
			from := w.plane(plane.Width, plane.Height)
			copyRows(from, plane)
			w.t.InverseLevel(plane, wavelet.Quarter(from, 0, 0), 0, 0)
		})
	}
}

// alongZ does a level along z for row y of all slices. f gets a copy of the row, which it
// may change, and writes the row.
func (a *array) alongZ(y int, s size, f func(dst, src wavelet.Plane[int32])) {
	w := transforms.Get().(*planeTransform)
	defer transforms.Put(w)
	plane := a.row(y, s[axisX], s[axisZ])
	from := w.plane(plane.Width, plane.Height)
	copyRows(from, plane)
	f(plane, from)
}

func copyRows(dst, src wavelet.Plane[int32]) {
	for y := range src.Height {
		copy(dst.Row(y), src.Row(y))
	}
}

// splitRows is the reversible 5/3 transform (15444-1, F.4.8.1) down the columns of src:
// the low-pass rows come first in dst. src is overwritten.
func splitRows(dst, src wavelet.Plane[int32]) {
	n := src.Height
	for y := 1; y < n; y += 2 {
		predictRow(src.Row(y), src.Row(y-1), src.Row(mirror(y+1, n)), -1)
	}
	for y := 0; n > 1 && y < n; y += 2 {
		updateRow(src.Row(y), src.Row(mirror(y-1, n)), src.Row(mirror(y+1, n)), 1)
	}
	for y := range n {
		copy(dst.Row(place(y, n)), src.Row(y))
	}
}

// joinRows is its inverse (F.3.8.2.1).
func joinRows(dst, src wavelet.Plane[int32]) {
	n := src.Height
	for y := range n {
		copy(dst.Row(y), src.Row(place(y, n)))
	}
	for y := 0; n > 1 && y < n; y += 2 {
		updateRow(dst.Row(y), dst.Row(mirror(y-1, n)), dst.Row(mirror(y+1, n)), -1)
	}
	for y := 1; y < n; y += 2 {
		predictRow(dst.Row(y), dst.Row(y-1), dst.Row(mirror(y+1, n)), 1)
	}
}

// place is where sample y of n is after the transform.
func place(y, n int) int {
	if y&1 == 0 {
		return y / 2
	}
	return (n+1)/2 + y/2
}

// mirror extends n samples, at least two, symmetrically by one at either end.
func mirror(y, n int) int {
	if y < 0 {
		return -y
	}
	if y >= n {
		return 2*(n-1) - y
	}
	return y
}

// predictRow adds the prediction of an odd sample from its neighbours, times sign.
func predictRow(row, before, after []int32, sign int32) {
	before, after = before[:len(row)], after[:len(row)]
	for x := range row {
		row[x] += sign * ((before[x] + after[x]) >> 1)
	}
}

// updateRow adds the update of an even sample from its neighbours, times sign.
func updateRow(row, before, after []int32, sign int32) {
	before, after = before[:len(row)], after[:len(row)]
	for x := range row {
		row[x] += sign * ((before[x] + after[x] + 2) >> 2)
	}
}
