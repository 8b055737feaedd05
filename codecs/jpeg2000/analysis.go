package jpeg2000

import (
	"image"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
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
	n, first := len(planes), (y*m.Width+x)*len(planes)
	shift := int32(1) << (m.Bits - 1)
	if m.Signed {
		shift = 0
	}
	for c := range planes {
		row := planes[c].Row(to)
		switch {
		case m.Bits > 8 && m.Signed:
			samples := m.Uint16()[first+c:]
			for i := range row {
				row[i] = int32(int16(samples[i*n]))
			}
		case m.Bits > 8:
			loadSamples(row, m.Uint16()[first+c:], n, shift)
		case m.Signed:
			for i := range row {
				row[i] = int32(int8(m.Pix[first+c+i*n]))
			}
		default:
			loadSamples(row, m.Pix[first+c:], n, shift)
		}
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

// analyse splits a tile-component into the subbands of its resolutions (F.4): the
// planes of each resolution's subbands in the order of the geometry.
func analyse[T wavelet.Sample](workers *pool.Pool, t *codestream.TileComponent, plane wavelet.Plane[T], filter func() *wavelet.Filter[T]) [][]wavelet.Plane[T] {
	bands := make([][]wavelet.Plane[T], len(t.Resolutions))
	for r := len(bands) - 1; r > 0; r-- {
		res := &t.Resolutions[r]
		low := t.Resolutions[r-1].Bounds
		split := wavelet.Bands[T]{LL: wavelet.NewPlane[T](low.Dx(), low.Dy())}
		for i, p := range []*wavelet.Plane[T]{&split.HL, &split.LH, &split.HH} {
			b := res.Subbands[i].Bounds
			*p = wavelet.NewPlane[T](b.Dx(), b.Dy())
		}
		workers.Spans(plane.Height, analysisRows, func(lo, hi int) {
			w := wavelet.New(filter(), wavelet.ColumnsFirst)
			w.ForwardRows(split, plane, res.Bounds.Min.X&1, res.Bounds.Min.Y&1, lo, hi)
		})
		bands[r] = []wavelet.Plane[T]{split.HL, split.LH, split.HH}
		plane = split.LL
	}
	bands[0] = []wavelet.Plane[T]{plane}
	return bands
}
