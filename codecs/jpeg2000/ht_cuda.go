package jpeg2000

import (
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/ht"
	"github.com/pelmill/pelmill/gpu"
)

// The High Throughput code-blocks on a device: see htencode.cuh and htdecode.cuh.

// encodeBlocks encodes the code-blocks and brings the segments to the host.
func (b *batch) encodeBlocks() error {
	n, room := 0, 0
	type start struct{ block, slot, plane int }
	var starts []start // of the tiles
	plane := 0
	lists := make([]*blockSlots, len(b.tiles))
	for k, t := range b.tiles {
		if lists[k] = t.slots; t.slots == nil {
			lists[k] = t.listSlots()
		}
		starts = append(starts, start{n, room, plane})
		n += len(lists[k].blocks)
		room += lists[k].layout.Size
		plane += len(t.tile.Components)
	}
	if n == 0 {
		return nil
	}
	memory, err := b.lane.Device(room)
	if err != nil {
		return err
	}
	list, blocks, err := pinnedList[deviceBlock](b, n)
	if err != nil {
		return err
	}
	b.pool.First().Each(len(b.tiles), func(k int) {
		at := starts[k]
		own, plane, from := blocks[at.block:], at.plane, 0
		for _, to := range lists[k].components {
			for i, block := range lists[k].blocks[from:to] {
				block.Coefficients += b.planes[plane].Coefficients
				block.Slot += memory.Ptr + gpu.Ptr(at.slot)
				own[from+i] = block
			}
			from = to
			plane++
		}
	})
	if err := b.stream.Upload(list, 0, gpu.Bytes(blocks)); err != nil {
		return err
	}
	encode, _ := ht.DeviceCodes()
	codes, err := b.stream.Put(gpu.Bytes(encode))
	if err != nil {
		return err
	}
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
		b.share(lists, b.result.Bytes, sizes[:n], sizes[n:])
		return nil
	}
	b.share(lists, nil, sizes[:n], sizes[n:])
	return nil
}

// share gives the tiles their segments, or what makes them.
func (b *batch) share(lists []*blockSlots, data []byte, lengths, planes []uint32) {
	for k, t := range b.tiles {
		n, total := len(lists[k].blocks), 0
		for _, bytes := range lengths[:n] {
			total += int(bytes)
		}
		own, ownLengths, ownPlanes := data[:total], lengths[:n], planes[:n]
		b.give(t, func(room *codingRoom) {
			t.segments = room.segments.Take(n)
			for i, bytes := range ownLengths {
				t.segments[i] = deviceSegment{data: own[:bytes:bytes], planes: int(ownPlanes[i])}
				own = own[bytes:]
			}
		})
		data, lengths, planes = data[total:], lengths[n:], planes[n:]
	}
}

// give makes the segments of a tile, now or when the lane is with other batches.
func (b *batch) give(t *deviceTile, segments func(room *codingRoom)) {
	if b.later {
		t.finish = segments
		return
	}
	segments(new(codingRoom))
}

// finished makes the segments that the encoder has left for later, in the room.
func (t *deviceTile) finished(room *codingRoom) []deviceSegment {
	if t.finish != nil {
		t.finish(room)
		t.finish = nil
	}
	return t.segments
}

// decodeBlocks decodes the code-blocks of all tiles, those of Part 1 too.
func (b *batch) decodeBlocks() error {
	var err error
	if b.failures, err = b.stream.Zeros(4 * len(b.tiles)); err != nil {
		return err
	}
	if err := b.decodePart1(); err != nil {
		return err
	}
	var coded, work gpu.Layout
	var parts []gpu.Part
	type start struct{ coded, work, block, plane int }
	var starts []start // of the tiles
	n, plane := 0, 0
	for _, t := range b.tiles {
		if t.listed == nil {
			t.listed = t.listBlocks()
		}
		at := coded.Take(t.listed.coded.Size)
		starts = append(starts, start{at, work.Take(t.listed.work.Size), n, plane})
		n += len(t.listed.list)
		plane += len(t.tile.Components)
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
	list, blocks, err := pinnedList[deviceCodedBlock](b, n)
	if err != nil {
		return err
	}
	b.pool.First().Each(len(b.tiles), func(k int) {
		at := starts[k]
		own, plane, from := blocks[at.block:], at.plane, 0
		for _, to := range b.tiles[k].listed.components {
			for i, block := range b.tiles[k].listed.list[from:to] {
				block.Coefficients += b.planes[plane].Coefficients
				block.Data += data.Ptr + gpu.Ptr(at.coded)
				block.Quads += memory.Ptr + gpu.Ptr(at.work)
				block.Magsgn += memory.Ptr + gpu.Ptr(at.work)
				block.Failed = b.failures.Ptr + gpu.Ptr(4*k)
				own[from+i] = block
			}
			from = to
			plane++
		}
	})
	if err := b.stream.Upload(list, 0, gpu.Bytes(blocks)); err != nil {
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
