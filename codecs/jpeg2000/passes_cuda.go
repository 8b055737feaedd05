package jpeg2000

import (
	"image"
	"math"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/mq"
	"github.com/pelmill/pelmill/gpu"
)

// The code-blocks of Part 1 on a device: see passsymbols.cuh, mqencode.cuh and
// passdecode.cuh.

// passTables are the tables of the block coder.
func passTables() deviceTables {
	var t deviceTables
	t.Zero, t.Sign = bitplane.DeviceContexts()
	t.Following, t.First = mq.DeviceStates()
	return t
}

// tables are they on the device.
func (b *batch) tables() (gpu.Ptr, error) {
	t := []deviceTables{passTables()}
	buffer, err := b.stream.Put(gpu.Bytes(t))
	if err != nil {
		return 0, err
	}
	return buffer.Ptr, nil
}

// upload puts a list into a buffer of its own.
func upload[T any](b *batch, list []T) (*gpu.Buffer, error) {
	bytes := gpu.Bytes(list)
	buffer, err := b.lane.Device(max(1, len(bytes)))
	if err != nil {
		return nil, err
	}
	return buffer, b.staging.Upload(buffer, len(bytes), []gpu.Part{{Bytes: bytes}})
}

// passCoder is what encoding code-blocks of Part 1 has on the device.
type passCoder struct {
	*batch
	style    codestream.BlockStyle
	fraction int
	measured bool

	n      int // code-blocks
	blocks *gpu.Buffer
	table  gpu.Ptr

	sizes    *gpu.Buffer // by code-block: bytes, bit-planes, words of slots
	starts   *gpu.Buffer // of the slots of each one's bit-planes
	energies *gpu.Buffer

	offsets   [3]*gpu.Buffer // running sums of sizes
	bitPlanes int
	words     int

	list, symbols, streams, lengths, sums *gpu.Buffer
}

// encodePasses encodes the code-blocks of all tiles, brings the streams to the host and
// gives the tiles their segments.
func (b *batch) encodePasses(style codestream.BlockStyle, fraction int, measured bool) error {
	p := &passCoder{batch: b, style: style, fraction: fraction, measured: measured}
	if err := p.scan(); err != nil || p.n == 0 {
		return err
	}
	if err := p.allocate(); err != nil {
		return err
	}
	if err := p.code(); err != nil {
		return err
	}
	coded, err := p.collect()
	if err == nil {
		p.share(coded)
	}
	return err
}

// size is the address of size i of the first code-block.
func (p *passCoder) size(i int) gpu.Ptr { return p.sizes.Ptr + gpu.Ptr(4*i*p.n) }

// scan uploads the list of code-blocks and finds out about their bit-planes.
func (p *passCoder) scan() error {
	type start struct{ block, plane int }
	var starts []start // of the tiles
	plane := 0
	for _, t := range p.tiles {
		starts = append(starts, start{p.n, plane})
		p.n += t.blockCount()
		plane += len(t.tile.Components)
	}
	if p.n == 0 {
		return nil
	}
	list, blocks, err := pinnedList[deviceScan](p.batch, p.n)
	if err != nil {
		return err
	}
	p.pool.First().Each(len(p.tiles), func(k int) {
		t, own := p.tiles[k], blocks[starts[k].block:]
		for c := range t.tile.Components {
			component, plane := &t.tile.Components[c], &p.planes[starts[k].plane+c]
			eachBlock(component, func(band *codestream.Subband, area image.Rectangle) {
				own[0] = deviceScan{
					Coefficients: plane.coefficient(component, band, area.Min), Stride: plane.Stride,
					Width: uint32(area.Dx()), Height: uint32(area.Dy()), Depth: 1, Orientation: uint32(band.Orientation),
					Factor: p.factor(t, band),
				}
				own = own[1:]
			})
		}
	})
	if err := p.stream.Upload(list, 0, gpu.Bytes(blocks)); err != nil {
		return err
	}
	return p.scanBlocks(list)
}

// factor is what coefficients of a subband are multiplied by to make indices, as the bits
// of a float32; 0 if they are indices.
func (p *passCoder) factor(t *deviceTile, band *codestream.Subband) uint32 {
	if t.transform() == 0 {
		return 0
	}
	step := quantum(band.Step, t.image.Bits+band.Orientation.Gain())
	return math.Float32bits(float32(float64(int(1)<<p.fraction) / step))
}

// scanBlocks finds out about the bit-planes of code-blocks.
func (p *passCoder) scanBlocks(list *gpu.Buffer) error {
	var err error
	p.blocks = list
	if p.table, err = p.tables(); err != nil {
		return err
	}
	for _, room := range []struct {
		buffer **gpu.Buffer
		bytes  int
	}{{&p.sizes, 12}, {&p.starts, 4 * 32}, {&p.energies, 8}} {
		if *room.buffer, err = p.lane.Device(room.bytes * p.n); err != nil {
			return err
		}
	}
	params := &planesParams{p.blocks.Ptr, p.size(1), p.size(2), p.starts.Ptr, p.energies.Ptr, uint32(p.fraction), uint32(p.n)}
	return launch(p.batch, "jpeg2000_planes", []extent{{blocks: p.n}}, params)
}

// add computes the running sums of size i.
func (p *passCoder) add(i int) error {
	var err error
	if p.offsets[i], err = p.lane.Device(8 * (p.n + 1)); err != nil {
		return err
	}
	state, err := p.stream.Zeros(8 * (1 + (p.n+gpu.BlockThreads-1)/gpu.BlockThreads))
	if err != nil {
		return err
	}
	return launch(p.batch, "jpeg2000_offsets", []extent{{blocks: p.n}}, &offsetParams{p.size(i), p.offsets[i].Ptr, state.Ptr, uint32(p.n)})
}

// allocate takes the memory that all bit-planes need.
func (p *passCoder) allocate() error {
	totals, err := p.lane.Host(16)
	if err != nil {
		return err
	}
	for i, at := range []int{1, 2} {
		if err := p.add(at); err != nil {
			return err
		}
		if err := p.stream.Download(totals.Bytes[8*i:8*i+8], p.offsets[at], 8*p.n); err != nil {
			return err
		}
	}
	if err := p.stream.Sync(); err != nil {
		return err
	}
	sums := gpu.View[uint64](totals.Bytes)
	p.bitPlanes, p.words = int(sums[0]), int(sums[1])
	for _, room := range []struct {
		buffer **gpu.Buffer
		bytes  int
	}{{&p.list, 32 * p.bitPlanes}, {&p.symbols, 16 * p.words}, {&p.streams, 4 * p.words}, {&p.lengths, 12 * p.bitPlanes}} {
		if *room.buffer, err = p.lane.Device(max(1, room.bytes)); err != nil {
			return err
		}
	}
	if p.measured {
		p.sums, err = p.lane.Device(max(1, 24*p.bitPlanes))
	}
	return err
}

// code makes the streams.
func (p *passCoder) code() error {
	blocks, bitPlanes := []extent{{blocks: p.n}}, []extent{{bitPlanes: p.bitPlanes}}
	err := launch(p.batch, "jpeg2000_list_planes", blocks, &listPlanesParams{p.offsets[1].Ptr, p.offsets[2].Ptr, p.starts.Ptr, p.list.Ptr, uint32(p.n)})
	if err != nil {
		return err
	}
	symbols := &symbolParams{p.blocks.Ptr, p.size(1), p.table, p.list.Ptr, p.symbols.Ptr, 0, uint32(p.style), uint32(p.fraction), uint32(p.bitPlanes)}
	params := &mqEncodeParams{p.list.Ptr, p.offsets[1].Ptr, p.offsets[2].Ptr, p.symbols.Ptr, p.table, p.streams.Ptr, p.size(0), p.lengths.Ptr, 0,
		uint32(p.style), uint32(p.n)}
	if p.measured {
		symbols.Sums = p.sums.Ptr
		marks, err := p.lane.Device(max(1, 48*p.bitPlanes))
		if err != nil {
			return err
		}
		params.Marks = marks.Ptr
	}
	if err := launch(p.batch, "jpeg2000_symbols", bitPlanes, symbols); err != nil {
		return err
	}
	return launch(p.batch, "jpeg2000_mq_encode", blocks, params)
}

// collect brings what is known of the code-blocks to the host, and their streams.
func (p *passCoder) collect() (*codedPasses, error) {
	if err := p.add(0); err != nil {
		return nil, err
	}
	sizes := make([]uint32, 3*p.n)
	if err := p.staging.Download([]gpu.Part{{Bytes: gpu.Bytes(sizes)}}, p.sizes, p.sizes.Size); err != nil {
		return nil, err
	}
	total := 0
	for i, n := range sizes[:p.n] {
		if n > 4*sizes[2*p.n+i] {
			return nil, errTooSmall
		}
		total += int(n)
	}
	coded := &codedPasses{sizes: sizes[:p.n], planes: sizes[p.n : 2*p.n]}
	if p.measured || p.style&(codestream.Terminate|codestream.Bypass) != 0 {
		coded.lengths = make([]uint32, 3*p.bitPlanes)
		if err := p.staging.Download([]gpu.Part{{Bytes: gpu.Bytes(coded.lengths)}}, p.lengths, 12*p.bitPlanes); err != nil {
			return nil, err
		}
	}
	if p.measured {
		coded.sums, coded.energies = make([]int64, 3*p.bitPlanes), make([]uint64, p.n)
		if err := p.staging.Download([]gpu.Part{{Bytes: gpu.Bytes(coded.sums)}}, p.sums, 24*p.bitPlanes); err != nil {
			return nil, err
		}
		if err := p.staging.Download([]gpu.Part{{Bytes: gpu.Bytes(coded.energies)}}, p.energies, 8*p.n); err != nil {
			return nil, err
		}
		if !coded.exact() {
			return nil, errTooSmall
		}
	}
	if total > 0 {
		packed, err := p.lane.Device(total)
		if err != nil {
			return nil, err
		}
		params := &gatherStreamsParams{p.streams.Ptr, p.offsets[2].Ptr, p.offsets[0].Ptr, packed.Ptr, uint64(total), uint32(p.n)}
		if err := launch(p.batch, "jpeg2000_gather_streams", []extent{{blocks: p.n}}, params); err != nil {
			return nil, err
		}
		if err := p.download(packed, total); err != nil {
			return nil, err
		}
		coded.data = p.result.Bytes
	}
	return coded, nil
}

// codedPasses is what the device made of the code-blocks of a batch.
type codedPasses struct {
	data     []byte   // the streams one after the other
	sizes    []uint32 // bytes of each
	planes   []uint32 // bit-planes of each
	lengths  []uint32 // three for each bit-plane, see jpeg2000_mq_encode; nil: not asked for
	sums     []int64  // likewise of squared errors
	energies []uint64 // sums of squares by code-block
}

// exact says whether sums of squares are exact as floats, as those of the CPU then are,
// whatever the order.
func (c *codedPasses) exact() bool {
	for i, e := range c.energies {
		if e >= 1<<53 || c.planes[i] > 24 {
			return false
		}
	}
	return true
}

// share gives the tiles their segments, or what makes them.
func (p *passCoder) share(coded *codedPasses) {
	i, first, at := 0, 0, 0 // the code-block, the first of its bit-planes, and of its bytes
	for _, t := range p.tiles {
		n, bitPlanes, bytes := t.blockCount(), 0, 0
		for k := range n {
			bitPlanes += int(coded.planes[i+k])
			bytes += int(coded.sizes[i+k])
		}
		from, plane, data := i, first, coded.data[at:][:bytes]
		p.give(t, func(r *codingRoom) {
			room := r.passes.Take(3 * bitPlanes)
			t.segments = r.segments.Take(n)
			for k := range t.segments {
				size, planes := int(coded.sizes[from+k]), int(coded.planes[from+k])
				s := &t.segments[k]
				s.data, s.planes = data[:size:size], planes
				s.passes = p.passes(room[:3*planes], coded, plane, planes, size)
				if coded.energies != nil {
					s.energy = float64(coded.energies[from+k])
				}
				data, room = data[size:], room[3*planes:]
				plane += planes
			}
		})
		i, first, at = i+n, first+bitPlanes, at+bytes
	}
}

// blockCount is the number of code-blocks.
func (t *deviceTile) blockCount() (n int) {
	for c := range t.tile.Components {
		for _, r := range t.tile.Components[c].Resolutions {
			for p := range r.Precincts.X * r.Precincts.Y {
				for i := range r.Subbands {
					grid := r.Subbands[i].Precinct(p)
					n += grid.Blocks.X * grid.Blocks.Y
				}
			}
		}
	}
	return n
}

// passes are the coding passes of a code-block of n bytes, of whose bit-planes the first is
// number first of all. list has room for them.
func (p *passCoder) passes(list []bitplane.Pass, coded *codedPasses, first, planes, n int) []bitplane.Pass {
	if planes == 0 {
		return nil
	}
	list = list[: 3*planes-2 : 3*planes-2]
	last := len(list) - 1
	list[last] = bitplane.Pass{Length: n, Terminated: true}
	if coded.lengths == nil {
		return list
	}
	for i := range list {
		list[i].Length = int(coded.lengths[3*first+i+2])
		list[i].Terminated = i == last || p.style&codestream.Terminate != 0 || bitplane.Raw(i, p.style) != bitplane.Raw(i+1, p.style)
		if coded.sums != nil {
			list[i].Distortion = bitplane.DistortionOf(coded.sums[3*first+i+2], planes-1-(i+2)/3+p.fraction)
		}
	}
	return list
}
