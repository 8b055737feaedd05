package jpeg2000

import (
	"image"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/slab"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// analysisRows are the rows that one goroutine takes at a time.
const analysisRows = 64

// loadTile returns the components, those of all slices, of a part of an image with their level shifted (G.1)
// and, where rct says so, transformed (G.2).
func loadTile(workers *pool.Pool, m *raster.Image, area image.Rectangle, rct bool) []wavelet.Plane[int32] {
	planes := make([]wavelet.Plane[int32], m.Channels*m.Depth)
	for c := range planes {
		planes[c] = wavelet.NewPlane[int32](area.Dx(), area.Dy())
	}
	workers.Spans(area.Dy(), analysisRows, func(lo, hi int) {
		for y := lo; y < hi; y++ {
			if rct && m.Channels == 3 && m.Bits == 8 && !m.Signed {
				forwardRGB8(planes[0].Row(y), planes[1].Row(y), planes[2].Row(y), m.Pix[3*((area.Min.Y+y)*m.Width+area.Min.X):][:3*area.Dx()])
				continue
			}
			for z := range m.Depth {
				loadRow(planes[z*m.Channels:][:m.Channels], m, area.Min.X, z*m.Height+area.Min.Y+y, y)
			}
			if rct {
				forwardRCT(planes[0].Row(y), planes[1].Row(y), planes[2].Row(y))
			}
		}
	})
	return planes
}

// loadRow puts row y of an image, counted through all slices, from x on into row to of
// planes.
func loadRow(planes []wavelet.Plane[int32], m *raster.Image, x, y, to int) {
	for c := range planes {
		loadComponent(planes[c].Row(to), m, c, x, y)
	}
}

// loadComponent puts channel c of row y of an image, counted through all slices, from x on into row.
func loadComponent(row []int32, m *raster.Image, c, x, y int) {
	n, first := m.Channels, (y*m.Width+x)*m.Channels+c
	shift := int32(1) << (m.Bits - 1)
	if m.Signed {
		shift = 0
	}
	switch {
	case m.Bits > 8 && n == 1:
		loadWords(row, m.Uint16()[first:], m.Signed, shift)
	case m.Bits > 8 && m.Signed:
		samples := m.Uint16()[first:]
		for i := range row {
			row[i] = int32(int16(samples[i*n]))
		}
	case m.Bits > 8:
		loadSamples(row, m.Uint16()[first:], n, shift)
	case m.Signed:
		for i := range row {
			row[i] = int32(int8(m.Pix[first+i*n]))
		}
	default:
		loadSamples(row, m.Pix[first:], n, shift)
	}
}

// loadWordsGo takes samples that stand side by side.
func loadWordsGo(row []int32, samples []uint16, signed bool, shift int32) {
	samples = samples[:len(row)]
	if signed {
		for i, v := range samples {
			row[i] = int32(int16(v)) - shift
		}
		return
	}
	for i, v := range samples {
		row[i] = int32(v) - shift
	}
}

// loadSamples takes every nth sample.
func loadSamples[T byte | uint16](row []int32, samples []T, n int, shift int32) {
	samples = samples[:(len(row)-1)*n+1]
	for i, j := 0, 0; i < len(row) && j < len(samples); i, j = i+1, j+n {
		row[i] = int32(samples[j]) - shift
	}
}

// forwardRCT is equations G-1 to G-3: R, G, B become Y, Cb, Cr.
func forwardRCT(c0, c1, c2 []int32) {
	c1, c2 = c1[:len(c0)], c2[:len(c0)]
	for i, r := range c0 {
		g, b := c1[i], c2[i]
		c0[i], c1[i], c2[i] = (r+2*g+b)>>2, b-g, r-g
	}
}

// rowSource gives the rows of a plane. What it returns may be scratch, which has room for a row.
type rowSource[T wavelet.Sample] func(y int, scratch []T) []T

// rowsOf is the source of a plane in memory.
func rowsOf[T wavelet.Sample](p wavelet.Plane[T]) rowSource[T] {
	return func(y int, _ []T) []T { return p.Row(y) }
}

// imageRows is the source of component c of an image, all of whose slices are components, from at on, with the level
// shifted.
func imageRows(m *raster.Image, c int, at image.Point) rowSource[int32] {
	return func(y int, scratch []int32) []int32 {
		loadComponent(scratch, m, c%m.Channels, at.X, c/m.Channels*m.Height+at.Y+y)
		return scratch
	}
}

// bandSamples are the samples of all planes that analyse makes of a tile-component.
func bandSamples(t *codestream.TileComponent) int {
	n := pixels(t.Bounds)
	for r := range len(t.Resolutions) - 1 {
		n += pixels(t.Resolutions[r].Bounds)
	}
	return int(n)
}

// analyse splits a tile-component into the subbands of its resolutions (F.4): the
// planes of each resolution's subbands in the order of the geometry. They are in memory.
func analyse[T wavelet.Sample](workers *pool.Pool, t *codestream.TileComponent, src rowSource[T], filters *transforms[T], memory *slab.Slab[T]) [][]wavelet.Plane[T] {
	bands := make([][]wavelet.Plane[T], len(t.Resolutions))
	if len(bands) == 1 {
		p := newPlane(memory, t.Bounds)
		workers.Spans(p.Height, analysisRows, func(lo, hi int) {
			for y := lo; y < hi; y++ {
				copy(p.Row(y), src(y, p.Row(y)))
			}
		})
		bands[0] = []wavelet.Plane[T]{p}
		return bands
	}
	for r := len(bands) - 1; r > 0; r-- {
		res := &t.Resolutions[r]
		split := wavelet.Bands[T]{LL: newPlane(memory, t.Resolutions[r-1].Bounds)}
		for i, p := range []*wavelet.Plane[T]{&split.HL, &split.LH, &split.HH} {
			*p = newPlane(memory, res.Subbands[i].Bounds)
		}
		workers.Spans(res.Bounds.Dy(), analysisRows, func(lo, hi int) {
			w, scratch := filters.take(), filters.takeRow(res.Bounds.Dx())
			defer filters.pool.Put(w)
			defer filters.scratch.Put(scratch)
			row := func(y int) []T { return src(y, *scratch) }
			w.ForwardFrom(split, res.Bounds.Dx(), res.Bounds.Dy(), row, res.Bounds.Min.X&1, res.Bounds.Min.Y&1, lo, hi)
		})
		bands[r] = []wavelet.Plane[T]{split.HL, split.LH, split.HH}
		bands[r-1] = []wavelet.Plane[T]{split.LL}
		src = rowsOf(split.LL)
	}
	return bands
}
