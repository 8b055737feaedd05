package jpeg2000

import (
	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// indexFraction is the number of bits below quantizer indices that distortions are
// reckoned with.
const indexFraction = 5

// quantizedBands are the subbands of a tile after ICT (G.3), 9/7 and quantization
// (E.1), as quantizer indices with indexFraction bits more. All is done in float32, one
// operation after the other, so that it is the same on every machine.
func (e *encoder) quantizedBands(main *codestream.Main, tile *codestream.Tile, planes []wavelet.Plane[int32]) [][][]wavelet.Plane[int32] {
	floats := make([]wavelet.Plane[float32], len(planes))
	for c := range planes {
		floats[c] = wavelet.NewPlane[float32](planes[c].Width, planes[c].Height)
	}
	e.workers.Spans(tile.Bounds.Dy(), analysisRows, func(lo, hi int) {
		for y := lo; y < hi; y++ {
			for c := range planes {
				row := floats[c].Row(y)
				for i, v := range planes[c].Row(y) {
					row[i] = float32(v)
				}
			}
			if main.Params.MCT {
				forwardICT(floats[0].Row(y), floats[1].Row(y), floats[2].Row(y))
			}
		}
	})
	out := make([][][]wavelet.Plane[int32], len(planes))
	for c := range planes {
		t := &tile.Components[c]
		bands := analyse(e.workers, t, floats[c], wavelet.Daubechies97)
		out[c] = make([][]wavelet.Plane[int32], len(bands))
		for r := range bands {
			out[c][r] = make([]wavelet.Plane[int32], len(bands[r]))
			for i, p := range bands[r] {
				band := &t.Resolutions[r].Subbands[i]
				out[c][r][i] = e.quantize(p, quantum(band.Step, e.image.Bits+band.Orientation.Gain()))
			}
		}
	}
	return out
}

// quantize divides coefficients by a step, towards zero.
func (e *encoder) quantize(p wavelet.Plane[float32], step float64) wavelet.Plane[int32] {
	out := wavelet.NewPlane[int32](p.Width, p.Height)
	factor := float32((1 << indexFraction) / step)
	e.workers.Spans(p.Height, analysisRows, func(lo, hi int) {
		for y := lo; y < hi; y++ {
			row := out.Row(y)
			for i, v := range p.Row(y) {
				row[i] = int32(float32(v * factor))
			}
		}
	})
	return out
}

// forwardICT is equations G-9 to G-11, each product and sum rounded to float32.
func forwardICT(c0, c1, c2 []float32) {
	c1, c2 = c1[:len(c0)], c2[:len(c0)]
	for i, r := range c0 {
		g, b := c1[i], c2[i]
		c0[i] = float32(float32(r*0.299)+float32(g*0.587)) + float32(b*0.114)
		c1[i] = float32(float32(b*0.5)-float32(r*0.16875)) - float32(g*0.33126)
		c2[i] = float32(float32(r*0.5)-float32(g*0.41869)) - float32(b*0.08131)
	}
}
