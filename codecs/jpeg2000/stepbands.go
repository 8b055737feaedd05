package jpeg2000

import (
	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// stepBands is the [stepCoder] of subbands in memory.
type stepBands struct {
	*encoder
	choice choice
	tiles  [][][][]wavelet.Plane[float32] // subbands by tile, component, resolution and subband
}

// codestream returns the codestream with a step.
func (s *stepBands) codestream(step float64) ([]byte, error) {
	main := s.mainWith(s.choice, step)
	tiles := make([]*codedTile, len(s.tiles))
	for i, bands := range s.tiles {
		tile := main.Size.NewTile(i, &main.Params)
		var err error
		if tiles[i], err = s.encodeBlocks(main, tile, s.quantized(tile, bands)); err != nil {
			return nil, err
		}
	}
	a := allocation{main, tiles, s.image.Shape}
	a.whole()
	return appendStream(nil, main, tiles), nil
}

func (s *stepBands) distortion(step float64) (float64, error) {
	main := s.mainWith(s.choice, step)
	sum := 0.0
	for t, components := range s.tiles {
		tile := main.Size.NewTile(t, &main.Params)
		for c, resolutions := range components {
			for r, bands := range resolutions {
				for i, p := range bands {
					sum += s.bandDistortion(main, &tile.Components[c], &tile.Components[c].Resolutions[r].Subbands[i], p)
				}
			}
		}
	}
	return sum, s.ctx.Err()
}

func (s *stepBands) bandDistortion(main *codestream.Main, t *codestream.TileComponent, band *codestream.Subband, p wavelet.Plane[float32]) float64 {
	factor := float32(1 / s.quantum(band))
	rows := make([]float64, p.Height)
	s.workers.Spans(p.Height, analysisRows, func(lo, hi int) {
		for y := lo; y < hi; y++ {
			rows[y] = squaredErrors(p.Row(y), factor)
		}
	})
	return bandError(rows, unitOf(&main.Params, t, band, s.image.Bits, 0))
}

// bandError adds up what the rows of a subband lose and gives it in squared units of samples.
func bandError(rows []float64, unit float64) float64 {
	sum := 0.0
	for _, v := range rows {
		sum += v
	}
	return float64(sum * unit)
}

// squaredErrors is the sum of what quantizing coefficients loses, in squared steps.
func squaredErrors(row []float32, factor float32) float64 {
	sum := 0.0
	for _, v := range row {
		q := float32(v * factor)
		if q < 0 {
			q = -q
		}
		if n := float32(int32(q)); n > 0 {
			q -= n + 0.5
		}
		sum += float64(float32(q * q))
	}
	return sum
}
