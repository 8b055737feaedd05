package jpeg2000

import (
	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/slab"
)

// indexFraction is the number of bits below quantizer indices that distortions of passes
// are reckoned with.
const indexFraction = 5

// irreversibleBands are the subbands of a tile after ICT (G.3) and 9/7, by component,
// resolution and subband. All is done in float32, one operation after the other, so that it
// is the same on every machine.
func (e *encoder) irreversibleBands(main *codestream.Main, tile *codestream.Tile) [][][]wavelet.Plane[float32] {
	planes := loadTile(e.workers, e.image, tile.Bounds, false)
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
	out := make([][][]wavelet.Plane[float32], len(planes))
	for c := range planes {
		planes[c] = wavelet.Plane[int32]{}
		t := &tile.Components[c]
		memory := new(slab.Slab[float32])
		memory.Reserve(bandSamples(t))
		out[c] = analyse(e.workers, t, rowsOf(floats[c]), &floatTransforms, memory)
		floats[c] = wavelet.Plane[float32]{}
	}
	return out
}

// quantized are the quantizer indices (E.1) of a tile's subbands.
func (e *encoder) quantized(tile *codestream.Tile, bands [][][]wavelet.Plane[float32]) [][][]wavelet.Plane[int32] {
	out := make([][][]wavelet.Plane[int32], len(bands))
	for c := range bands {
		out[c] = make([][]wavelet.Plane[int32], len(bands[c]))
		for r := range bands[c] {
			out[c][r] = make([]wavelet.Plane[int32], len(bands[c][r]))
			for i, p := range bands[c][r] {
				out[c][r][i] = e.quantize(p, e.quantum(&tile.Components[c].Resolutions[r].Subbands[i]))
			}
		}
	}
	return out
}

// quantum is the quantization step of a subband.
func (e *encoder) quantum(band *codestream.Subband) float64 {
	return quantum(band.Step, e.image.Bits+band.Orientation.Gain())
}

// quantize divides coefficients by a step, towards zero, but for the encoder's fraction.
func (e *encoder) quantize(p wavelet.Plane[float32], step float64) wavelet.Plane[int32] {
	out := wavelet.NewPlane[int32](p.Width, p.Height)
	factor := float32(float64(int(1)<<e.fraction()) / step)
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
