package wavelettree

import (
	"math/bits"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pool"
)

// Tree is a plane as coefficients and MQDs.
type Tree struct {
	Layout       *Layout
	Coefficients []int32
	MQD          []int8
	Qmax         int8
}

// NewTree makes room for a plane.
func NewTree(l *Layout) *Tree {
	return &Tree{Layout: l, Coefficients: make([]int32, l.Coefficients), MQD: make([]int8, l.Elements)}
}

// band is the coefficients of a band, without those that its elements add.
func (t *Tree) band(i int) wavelet.Plane[int32] {
	b := &t.Layout.Bands[i]
	all := t.Coefficients[b.At:][:4*b.Columns*b.Rows]
	return wavelet.Plane[int32]{Samples: all, Width: b.Width, Height: b.Height, Stride: 2 * b.Columns}
}

// levels of a band.
func (t *Tree) levels(b *Band) []int8 { return t.MQD[b.ElementsAt:][:b.Columns*b.Rows] }

// stripe is the number of rows that a goroutine transforms at a time.
const stripe = 128

// Transform splits a plane into bands.
func (t *Tree) Transform(c *pool.Pool, plane wavelet.Plane[int32]) {
	l := t.Layout
	even := padded(plane.Width, plane.Height)
	for y := range plane.Height {
		copy(even.Row(y), plane.Row(y))
	}
	for level := 1; level <= l.Levels; level++ {
		w, h := l.Size(level)
		pad(even)
		next := padded(w, h)
		bands := t.bandsOf(level)
		bands.LL = next.Crop(0, 0, w, h)
		if level == l.Levels {
			bands.LL = t.band(0)
		}
		each(c, even.Height, func(tr *wavelet.Transform[int32], first, last int) {
			tr.ForwardRows(bands, even.Plane, 0, 0, first, last)
		})
		even = next
	}
}

// inverse joins the bands of all levels above the given one to the samples after so many levels.
func (t *Tree) inverse(c *pool.Pool, plane wavelet.Plane[int32], levels int) {
	l := t.Layout
	low := t.band(0)
	for level := l.Levels; level > levels; level-- {
		bands := t.bandsOf(level)
		bands.LL = low
		even := padded(l.Size(level - 1))
		each(c, even.Height, func(tr *wavelet.Transform[int32], first, last int) {
			tr.InverseRows(even.Plane, bands, 0, 0, first, last)
		})
		low = even.Crop(0, 0, even.width, even.height)
	}
	for y := range plane.Height {
		copy(plane.Row(y), low.Row(y))
	}
}

func (t *Tree) bandsOf(level int) wavelet.Bands[int32] {
	_, last := t.Layout.LevelBands(level)
	return wavelet.Bands[int32]{HL: t.band(last - 3), LH: t.band(last - 2), HH: t.band(last - 1)}
}

// each calls f for stripes of rows, with a transform of its own each.
func each(c *pool.Pool, height int, f func(tr *wavelet.Transform[int32], first, last int)) {
	c.Spans(height, stripe, func(first, last int) {
		f(wavelet.New(wavelet.LeGall53(), wavelet.RowsFirst), first, last)
	})
}

// evenPlane is a plane whose width and height are rounded up to even numbers.
type evenPlane struct {
	wavelet.Plane[int32]
	width, height int // before that
}

func padded(width, height int) evenPlane {
	return evenPlane{wavelet.NewPlane[int32](2*half(width), 2*half(height)), width, height}
}

// pad repeats the last column and row where the width and height were odd.
func pad(p evenPlane) {
	if p.width < p.Width {
		for y := range p.height {
			row := p.Row(y)
			row[p.width] = row[p.width-1]
		}
	}
	if p.height < p.Height {
		copy(p.Row(p.height), p.Row(p.height-1))
	}
}

// Quantise finds the MQD of every element (3.2), from the finest level up.
func (t *Tree) Quantise(c *pool.Pool) {
	l := t.Layout
	for level := 1; level <= l.Levels; level++ {
		first, last := l.LevelBands(level)
		for i := first; i < last; i++ {
			b := &l.Bands[i]
			var child *Band
			if b.Child >= 0 {
				child = &l.Bands[b.Child]
			}
			c.Spans(b.Rows, stripe, func(y0, y1 int) {
				for y := y0; y < y1; y++ {
					t.quantiseRow(b, y)
					if child != nil {
						t.includeChildren(b, child, y)
					}
				}
			})
		}
	}
}

// quantiseRow sets a row of MQDs to the levels of the coefficients. The largest of four has the highest bit of their
// magnitudes joined.
func (t *Tree) quantiseRow(b *Band, y int) {
	stride := 2 * b.Columns
	upper := t.Coefficients[b.At+2*y*stride:][:stride]
	lower := t.Coefficients[b.At+(2*y+1)*stride:][:stride]
	mqd := t.levels(b)[y*b.Columns:][:b.Columns]
	for x := range mqd {
		all := magnitude(upper[2*x]) | magnitude(upper[2*x+1]) | magnitude(lower[2*x]) | magnitude(lower[2*x+1])
		mqd[x] = int8(bits.Len32(all)) - 1
	}
}

// includeChildren raises a row of MQDs to those of the children.
func (t *Tree) includeChildren(b, child *Band, y int) {
	mqd, below := t.levels(b)[y*b.Columns:][:b.Columns], t.levels(child)
	for v := 2 * y; v < min(child.Rows, 2*y+2); v++ {
		for u, q := range below[v*child.Columns:][:child.Columns] {
			mqd[u/2] = max(mqd[u/2], q)
		}
	}
}

// Search finds Qmax (3.3).
func (t *Tree) Search() {
	t.Qmax = -1
	first, last := t.Layout.LevelBands(t.Layout.Levels)
	for i := first; i < last; i++ {
		for _, q := range t.levels(&t.Layout.Bands[i]) {
			t.Qmax = max(t.Qmax, q)
		}
	}
}

func magnitude(c int32) uint32 {
	sign := c >> 31
	return uint32((c ^ sign) - sign)
}
