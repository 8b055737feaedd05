package pcwt

import (
	"image"
	"math/bits"
	"sync"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/model"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/tile"
	"github.com/pelmill/pelmill/codecs/pool"
)

// The steps of profile 1, in the order of the encoder. The control flow is in slice.go.
//
//	step       input                              output                            in Go                unit of parallel work
//	load       samples                            planes of int32                   planes.go            pixel
//	lift       planes of all slices               the same along z                  planes.go            pixel
//	transform  plane, wavelet                     bands and LL of every level       steps.go             row, column
//	quantise   bands, qmin                        indices; LL as the decoder has it steps.go             coefficient, level after level
//	tiles      indices, LL, levels that are read  residuals, bodies and lengths     internal/tile        tile of a level, coarse levels first
//
// Prediction and context are inside of the step of tiles, in package internal/model: they depend on coefficients,
// LL and residuals only, so that a device computes them for all coefficients at once where these are known.
// The decoder takes the steps backwards; its step of tiles needs the level's LL, thus the inverse transform of the level above.

// wavelets by their id.
var wavelets = [...]func() *wavelet.Filter[int32]{wavelet.LeGall53, wavelet.Wavelet137T, wavelet.TwoTap}

const (
	wavelet53 = iota
	wavelet137T
	wavelet2Tap
)

// pyramid is a plane of a slice in its levels, the finest first.
type pyramid struct {
	levels []*model.Level
	bands  []tile.Bands // coefficients or, for the encoder, indices
	last   wavelet.Plane[int32]
	at     image.Rectangle // the part of the plane that last is, for the decoder
}

// newPyramid makes the levels of a plane, without coefficients.
func newPyramid(w, h, levels int) *pyramid {
	p := &pyramid{levels: make([]*model.Level, levels), bands: make([]tile.Bands, levels)}
	for i := range levels {
		p.levels[i] = model.NewLevel(w, h)
		w, h = (w+1)/2, (h+1)/2
	}
	return p
}

// neighbours are those of level i of a plane that looks at others, the nearest first.
func neighbours(p *pyramid, earlier []*pyramid, i int) *model.Neighbours {
	n := &model.Neighbours{Own: p.levels[i]}
	if i+1 < len(p.levels) {
		n.Parent = p.levels[i+1]
	}
	if len(earlier) > 0 {
		n.Before = earlier[0].levels[i]
	}
	if len(earlier) > 1 {
		n.Second = earlier[1].levels[i]
	}
	return n
}

// transform is the step of that name, and quantise.
func transform(c *pool.Pool, plane wavelet.Plane[int32], id, levels int, qmin uint) *pyramid {
	p := newPyramid(plane.Width, plane.Height, levels)
	low := make([]wavelet.Plane[int32], levels+1)
	low[0] = plane
	for i := range levels {
		src := low[i]
		b := wavelet.Quarter(wavelet.NewPlane[int32](src.Width, src.Height), 0, 0)
		eachRows(c, src.Height, func(first, last int) {
			wavelet.New(wavelets[id](), wavelet.RowsFirst).ForwardRows(b, src, 0, 0, first, last)
		})
		p.bands[i] = tile.Bands{b.HL, b.LH, b.HH}
		low[i+1] = b.LL
	}
	p.last = low[levels]
	for i := levels - 1; i >= 0; i-- {
		l := p.levels[i]
		if qmin > 0 && i < levels-1 {
			low[i+1] = inverse(c, &p.bands[i+1], low[i+2], low[i+1].Width, low[i+1].Height, id)
			quantizeAll(c, &p.bands[i+1], qmin)
		}
		if qmin > 0 {
			eachBandRow(c, &p.bands[i], func(_, _ int, row []int32) {
				for x, v := range row {
					row[x] = tile.Dequantize(tile.Quantize(v, qmin), qmin)
				}
			})
		}
		saturate(c, l.LL, low[i+1])
		for b, q := range p.bands[i] {
			saturate(c, l.Bands[b].C, q)
		}
	}
	if qmin > 0 && levels > 0 {
		quantizeAll(c, &p.bands[0], qmin)
	}
	return p
}

func quantizeAll(c *pool.Pool, bands *tile.Bands, qmin uint) {
	eachBandRow(c, bands, func(_, _ int, row []int32) {
		for x, v := range row {
			row[x] = tile.Quantize(v, qmin)
		}
	})
}

func eachBandRow(c *pool.Pool, bands *tile.Bands, f func(band, y int, row []int32)) {
	c.Each(len(bands), func(b int) {
		for y := range bands[b].Height {
			f(b, y, bands[b].Row(y))
		}
	})
}

// inverse joins the bands of a level and its LL to a plane of w x h.
func inverse(c *pool.Pool, bands *tile.Bands, low wavelet.Plane[int32], w, h, id int) wavelet.Plane[int32] {
	out := wavelet.NewPlane[int32](w, h)
	b := wavelet.Bands[int32]{LL: low, HL: bands[constants.HL], LH: bands[constants.LH], HH: bands[constants.HH]}
	eachRows(c, h, func(first, last int) {
		wavelet.New(wavelets[id](), wavelet.RowsFirst).InverseRows(out, b, 0, 0, first, last)
	})
	return out
}

// eachRows divides rows between goroutines, in parts that are worth one.
func eachRows(c *pool.Pool, rows int, f func(first, last int)) {
	c.Spans(rows, 256, f)
}

// saturate stores a plane in 16 bits.
func saturate(c *pool.Pool, out []int16, p wavelet.Plane[int32]) {
	c.Spans(p.Height, 256, func(first, last int) {
		for y := first; y < last; y++ {
			model.SaturateRow(out[y*p.Width:][:p.Width], p.Row(y))
		}
	})
}

// coders are those of tiles of one side. They are kept for other calls, because making one takes longer than
// decoding a small image.
type coders struct{ side int }

// freeCoders are coders that nobody uses, by log2 of the side of tiles from 6 on.
var freeCoders [3]sync.Pool

func (k *coders) pool() *sync.Pool { return &freeCoders[bits.Len(uint(k.side))-7] }

func (k *coders) take() *tile.Coder {
	if c, ok := k.pool().Get().(*tile.Coder); ok {
		return c
	}
	return tile.NewCoder(k.side)
}

func (k *coders) give(c *tile.Coder) {
	c.Release()
	k.pool().Put(c)
}
