package jpeg2000

import (
	"image"
	"math"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/gpu"
)

// High Throughput code-blocks of 9/7 on a device: see htloss.cuh.

// lossyHT says whether the tile has High Throughput code-blocks of 9/7.
func (t *deviceTile) lossyHT() bool {
	return t.transform() == 1 && t.tile.Components[0].Coding.Style&codestream.HT != 0
}

// lossyBlocks lists the code-blocks of such tiles. f sets what is a block's own, or leaves
// it out.
func (b *batch) lossyBlocks(f func(t *deviceTile, band *codestream.Subband, number int, s *deviceScan) bool) []deviceScan {
	var list []deviceScan
	i := 0
	for _, t := range b.tiles {
		number := 0
		for c := range t.tile.Components {
			component, p := &t.tile.Components[c], &b.planes[i]
			i++
			if !t.lossyHT() {
				continue
			}
			eachBlock(component, func(band *codestream.Subband, area image.Rectangle) {
				s := deviceScan{Coefficients: p.coefficient(component, band, area.Min), Stride: p.Stride, Width: uint32(area.Dx()), Height: uint32(area.Dy())}
				if f(t, band, number, &s) {
					list = append(list, s)
				}
				number++
			})
		}
	}
	return list
}

// quantize makes indices of the coefficients of 9/7 in another buffer, of the size of the planes,
// and lets the planes have their coefficients there.
func (b *batch) quantize(indices *gpu.Buffer) error {
	list := b.lossyBlocks(func(t *deviceTile, band *codestream.Subband, _ int, s *deviceScan) bool {
		s.Factor = math.Float32bits(float32(1 / quantum(band.Step, t.image.Bits+band.Orientation.Gain())))
		return true
	})
	if len(list) == 0 {
		return nil
	}
	buffer, err := upload(b, list)
	if err != nil {
		return err
	}
	defer buffer.Free()
	distance := uint64(indices.Ptr-b.memory.Ptr) / 4
	if err := launch(b, "jpeg2000_quantize", []extent{{blocks: len(list)}}, &quantizeParams{buffer.Ptr, distance, uint32(len(list))}); err != nil {
		return err
	}
	for i := range b.planes {
		b.planes[i].Coefficients += indices.Ptr - b.memory.Ptr
	}
	return nil
}

// rowErrors is what quantizing loses of each row of the subbands of all tiles, in the order
// of components, resolutions and subbands.
func (b *batch) rowErrors() ([]float64, error) {
	var bands []deviceScan
	var extents []extent
	rows, i := 0, 0
	for _, t := range b.tiles {
		for c := range t.tile.Components {
			component, p := &t.tile.Components[c], &b.planes[i]
			i++
			for r := range component.Resolutions {
				for k := range component.Resolutions[r].Subbands {
					band := &component.Resolutions[r].Subbands[k]
					bands = append(bands, deviceScan{
						Coefficients: p.coefficient(component, band, band.Bounds.Min), Stride: p.Stride, Slice: uint32(rows),
						Width: uint32(band.Bounds.Dx()), Height: uint32(band.Bounds.Dy()),
						Factor: math.Float32bits(float32(1 / quantum(band.Step, t.image.Bits+band.Orientation.Gain()))),
					})
					extents = append(extents, extent{pixels: band.Bounds.Dy()})
					rows += band.Bounds.Dy()
				}
			}
		}
	}
	list, err := upload(b, bands)
	if err != nil {
		return nil, err
	}
	defer list.Free()
	sums, err := b.lane.Device(max(1, 8*rows))
	if err != nil {
		return nil, err
	}
	defer sums.Free()
	size := len(gpu.Bytes(bands[:1]))
	for from := 0; from < len(bands); from += maxRows {
		some := extents[from:min(from+maxRows, len(extents))]
		if err := launch(b, "jpeg2000_row_errors", some, &rowErrorParams{list.Ptr + gpu.Ptr(size*from), sums.Ptr}); err != nil {
			return nil, err
		}
	}
	out := make([]float64, rows)
	return out, b.staging.Download([]gpu.Part{{Bytes: gpu.Bytes(out)}}, sums, 8*rows)
}

// dequantize makes coefficients of the indices that High Throughput code-blocks of 9/7 have
// been decoded to.
func (b *batch) dequantize() error {
	list := b.lossyBlocks(func(t *deviceTile, band *codestream.Subband, number int, s *deviceScan) bool {
		segment := &t.segments[number]
		s.Factor = math.Float32bits(stepSize(band, t.image.Bits))
		if band.Planes-1-segment.zeroPlanes == 0 {
			s.Depth = 1
		}
		return len(segment.data) > 0 && segment.refinement.Passes == 0
	})
	if len(list) == 0 {
		return nil
	}
	buffer, err := upload(b, list)
	if err != nil {
		return err
	}
	return launch(b, "jpeg2000_ht_dequantize", []extent{{blocks: len(list)}}, &sampleParams{buffer.Ptr, uint32(len(list))})
}
