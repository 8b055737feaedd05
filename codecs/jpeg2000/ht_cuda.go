package jpeg2000

import (
	"image"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/ht"
	"github.com/pelmill/pelmill/gpu"
)

// The High Throughput code-blocks on a device: see htencode.cuh and htdecode.cuh.

// encodeBlocks encodes the code-blocks and brings the segments to the host.
func (b *batch) encodeBlocks() error {
	var blocks []deviceBlock
	var slots gpu.Layout
	i := 0
	for _, t := range b.tiles {
		for c := range t.tile.Components {
			component, p := &t.tile.Components[c], &b.planes[i]
			eachBlock(component, func(band *codestream.Subband, area image.Rectangle) {
				capacity := (ht.MaxSegment(area.Dx(), area.Dy(), band.Planes) + 3) &^ 3
				blocks = append(blocks, deviceBlock{
					Coefficients: p.coefficient(component, band, area.Min), Slot: gpu.Ptr(slots.Take(2 * capacity)),
					Stride: p.Stride, Width: uint32(area.Dx()), Height: uint32(area.Dy()), Capacity: uint32(capacity),
				})
			})
			i++
		}
	}
	if len(blocks) == 0 {
		return nil
	}
	memory, err := b.lane.Device(slots.Size)
	if err != nil {
		return err
	}
	for i := range blocks {
		blocks[i].Slot += memory.Ptr
	}
	list, err := b.lane.Device(len(gpu.Bytes(blocks)))
	if err != nil {
		return err
	}
	if err := b.staging.Upload(list, list.Size, []gpu.Part{{Bytes: gpu.Bytes(blocks)}}); err != nil {
		return err
	}
	encode, _ := ht.DeviceCodes()
	codes, err := b.stream.Put(gpu.Bytes(encode))
	if err != nil {
		return err
	}
	n := len(blocks)
	lengths, err := b.lane.Device(8 * n) // and bit-planes
	if err != nil {
		return err
	}
	one := []extent{{blocks: n}}
	err = launch(b, "jpeg2000_ht_encode", one, &encodeParams{list.Ptr, codes.Ptr, lengths.Ptr, lengths.Ptr + gpu.Ptr(4*n), uint32(n)})
	if err != nil {
		return err
	}
	offsets, err := b.lane.Device(8 * (n + 1))
	if err != nil {
		return err
	}
	state, err := b.stream.Zeros(8 * (1 + (n+gpu.BlockThreads-1)/gpu.BlockThreads))
	if err != nil {
		return err
	}
	if err := launch(b, "jpeg2000_offsets", one, &offsetParams{lengths.Ptr, offsets.Ptr, state.Ptr, uint32(n)}); err != nil {
		return err
	}
	sizes := make([]uint32, 2*n)
	if err := b.staging.Download([]gpu.Part{{Bytes: gpu.Bytes(sizes)}}, lengths, lengths.Size); err != nil {
		return err
	}
	total := 0
	for i := range blocks {
		if sizes[i] > blocks[i].Capacity {
			return errTooSmall
		}
		total += int(sizes[i])
	}
	if total > 0 {
		packed, err := b.lane.Device(total)
		if err != nil {
			return err
		}
		params := &gatherParams{list.Ptr, offsets.Ptr, packed.Ptr, uint64(total), uint32(n)}
		if err := launch(b, "jpeg2000_gather", one, params); err != nil {
			return err
		}
		if err := b.download(packed, total); err != nil {
			return err
		}
		b.share(b.result.Bytes, sizes[:n], sizes[n:])
		return nil
	}
	b.share(nil, sizes[:n], sizes[n:])
	return nil
}

// share gives the tiles their segments.
func (b *batch) share(data []byte, lengths, planes []uint32) {
	i := 0
	for _, t := range b.tiles {
		for c := range t.tile.Components {
			eachBlock(&t.tile.Components[c], func(*codestream.Subband, image.Rectangle) {
				n := int(lengths[i])
				t.segments = append(t.segments, deviceSegment{data: data[:n:n], planes: int(planes[i])})
				data = data[n:]
				i++
			})
		}
	}
}

// decodeBlocks decodes the code-blocks of all tiles, those of Part 1 too.
func (b *batch) decodeBlocks() error {
	var err error
	if b.failures, err = b.stream.Zeros(4 * len(b.tiles)); err != nil {
		return err
	}
	if b.hasPasses() {
		if err = b.stream.Fill(b.memory, 0, b.memory.Size, 0); err != nil {
			return err
		}
		if err := b.decodePasses(b.passBlocks()); err != nil {
			return err
		}
	}
	var coded, work gpu.Layout
	var parts []gpu.Part
	var starts [][2]int // of the tiles in both
	n := 0
	for _, t := range b.tiles {
		if t.listed == nil {
			t.listed = t.listBlocks()
		}
		n += len(t.listed.list)
		at := coded.Take(t.listed.coded.Size)
		starts = append(starts, [2]int{at, work.Take(t.listed.work.Size)})
		for _, p := range t.listed.parts {
			parts = append(parts, gpu.Part{At: at + p.At, Bytes: p.Bytes})
		}
	}
	if n == 0 {
		return nil
	}
	data, err := b.lane.Device(coded.Size)
	if err != nil {
		return err
	}
	memory, err := b.lane.Device(max(1, work.Size))
	if err != nil {
		return err
	}
	blocks := make([]deviceCodedBlock, 0, n)
	i := 0
	for k, t := range b.tiles {
		from := 0
		for _, to := range t.listed.components {
			for _, block := range t.listed.list[from:to] {
				block.Coefficients += b.planes[i].Coefficients
				block.Data += data.Ptr + gpu.Ptr(starts[k][0])
				block.Quads += memory.Ptr + gpu.Ptr(starts[k][1])
				block.Magsgn += memory.Ptr + gpu.Ptr(starts[k][1])
				block.Failed = b.failures.Ptr + gpu.Ptr(4*k)
				blocks = append(blocks, block)
			}
			from = to
			i++
		}
	}
	list, err := b.lane.Device(len(gpu.Bytes(blocks)))
	if err != nil {
		return err
	}
	if err := b.staging.Upload(list, list.Size, []gpu.Part{{Bytes: gpu.Bytes(blocks)}}); err != nil {
		return err
	}
	if err := b.staging.Upload(data, coded.Size, parts); err != nil {
		return err
	}
	_, decode := ht.DeviceCodes()
	codes, err := b.stream.Put(gpu.Bytes(decode))
	if err != nil {
		return err
	}
	one := []extent{{blocks: n}}
	if err := launch(b, "jpeg2000_ht_quads", one, &quadParams{list.Ptr, codes.Ptr, uint32(len(blocks))}); err != nil {
		return err
	}
	return launch(b, "jpeg2000_ht_samples", one, &sampleParams{list.Ptr, uint32(len(blocks))})
}

// passBlocks are the code-blocks of Part 1 of all tiles that have passes.
func (b *batch) passBlocks() (list []passBlock) {
	i := 0
	for _, t := range b.tiles {
		segments := t.segments
		for c := range t.tile.Components {
			component, p := &t.tile.Components[c], &b.planes[i]
			eachBlock(component, func(band *codestream.Subband, area image.Rectangle) {
				s := &segments[0]
				segments = segments[1:]
				if component.Coding.Style&codestream.HT == 0 && len(s.list) > 0 {
					list = append(list, newPassBlock(p.coefficient(component, band, area.Min), p.Stride, area.Dx(), area.Dy(), s))
				}
			})
			i++
		}
	}
	return list
}
