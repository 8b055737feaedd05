package jpeg2000

import (
	"image"
	"math"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/gpu"
)

// refine decodes the refinement passes of High Throughput code-blocks, after their cleanup
// passes: see htrefine.cuh. Coefficients of 9/7 are dequantized, too.
func (b *batch) refine() error {
	var list []deviceRefined
	var coded, states gpu.Layout
	var parts []gpu.Part
	i := 0
	for _, t := range b.tiles {
		segments := t.segments
		if len(segments) == 0 {
			i += len(t.tile.Components) // nothing is refined, see keepSegments
			continue
		}
		for c := range t.tile.Components {
			component, p := &t.tile.Components[c], &b.planes[i]
			i++
			eachBlock(component, func(band *codestream.Subband, area image.Rectangle) {
				s := &segments[0]
				segments = segments[1:]
				if s.refinement.Passes == 0 {
					return
				}
				r := deviceRefined{
					Data: gpu.Ptr(coded.Take(len(s.refinement.Data))), Coefficients: p.coefficient(component, band, area.Min),
					States: gpu.Ptr(states.Take((area.Dx() + 2) * (area.Dy() + 2))), Length: uint32(len(s.refinement.Data)), Stride: p.Stride,
					Width: uint32(area.Dx()), Height: uint32(area.Dy()), Plane: uint32(band.Planes - 1 - s.zeroPlanes), Passes: uint32(s.refinement.Passes),
				}
				if s.style&codestream.Causal != 0 {
					r.Causal = 1
				}
				if t.transform() == 1 {
					r.Step = math.Float32bits(stepSize(band, t.image.Bits))
				}
				if r.Length > 0 {
					parts = append(parts, gpu.Part{At: int(r.Data), Bytes: s.refinement.Data})
				}
				list = append(list, r)
			})
		}
	}
	if len(list) == 0 {
		return nil
	}
	data, err := b.lane.Device(max(1, coded.Size))
	if err != nil {
		return err
	}
	if err := b.staging.Upload(data, coded.Size, parts); err != nil {
		return err
	}
	work, err := b.stream.Zeros(states.Size)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Data += data.Ptr
		list[i].States += work.Ptr
	}
	buffer, err := upload(b, list)
	if err != nil {
		return err
	}
	return launch(b, "jpeg2000_ht_refine", []extent{{blocks: len(list)}}, &sampleParams{buffer.Ptr, uint32(len(list))})
}
