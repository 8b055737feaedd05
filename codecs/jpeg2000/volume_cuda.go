package jpeg2000

import (
	"context"
	"slices"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/volume"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// deviceVolume is a volume of Part 10, or some of its slices, on a device.
type deviceVolume struct {
	shape    raster.Shape
	samples  int // where they begin in those of the batch
	coding   volume.Coding
	coloured bool // RCT on the first three components
	first    int  // of its arrays in the batch
}

// volumeBatch is volumes that go through all steps together. Its memory stays for the next
// volumes.
type volumeBatch struct {
	*batch
	volumes []deviceVolume
	arrays  []deviceArray
	levels  int           // of the array that has most
	list    gpu.Ptr       // the arrays on the device
	held    []*gpu.Buffer // of the code-blocks encoded last
}

func newVolumeBatch(d *gpu.Device, l *gpu.Lane, c *pool.Pool) *volumeBatch {
	return &volumeBatch{batch: newBatch(d, l, c, nil)}
}

// The axes as kernels number them.
const (
	axisX = iota
	axisY
	axisZ
	axisNone // a copy
)

// take takes other volumes and lays out their arrays.
func (b *volumeBatch) take(list []deviceVolume) error {
	b.volumes, b.arrays, b.levels = list, b.arrays[:0], 0
	var layout gpu.Layout
	for i := range list {
		v := &list[i]
		v.first = len(b.arrays)
		n := 4 * v.shape.Pixels()
		coefficients, work := layout.Take(n*v.shape.Channels), layout.Take(n*v.shape.Channels)
		b.levels = max(b.levels, v.coding.Levels[axisX])
		for c := range v.shape.Channels {
			b.arrays = append(b.arrays, deviceArray{
				Coefficients: gpu.Ptr(coefficients + c*n), Work: gpu.Ptr(work + c*n),
				Width: uint32(v.shape.Width), Height: uint32(v.shape.Height), Depth: uint32(v.shape.Depth),
				Levels: uint32(v.coding.Levels[axisX]), LevelsZ: uint32(v.coding.Levels[axisZ]),
			})
		}
	}
	if err := b.lane.Room(&b.memory, layout.Size); err != nil {
		return err
	}
	for i := range b.arrays {
		b.arrays[i].Coefficients += b.memory.Ptr
		b.arrays[i].Work += b.memory.Ptr
	}
	buffer, err := b.stream.Put(gpu.Bytes(b.arrays))
	if err != nil {
		return err
	}
	b.list = buffer.Ptr
	return nil
}

// convert puts the kernel that makes components of samples, or the other way round, into the
// stream.
func (b *volumeBatch) convert(kernel string) error {
	b.images = [2][]deviceImage{}
	for i := range b.volumes {
		v := &b.volumes[i]
		all := v.shape
		all.Height, all.Depth = all.Height*all.Depth, 1 // slices follow each other as rows do
		b.images[0] = append(b.images[0], newDeviceImage(all, b.samples.Ptr+gpu.Ptr(v.samples), b.arrays[v.first].Coefficients, v.coloured))
	}
	return b.perImage(kernel)
}

// forward transforms all arrays: of each level along x, y and z.
func (b *volumeBatch) forward() error {
	for level := 1; level <= b.levels; level++ {
		for i, axis := range []int{axisX, axisY, axisZ, axisNone} {
			if err := b.along("jpeg2000_volume_forward", level, axis, i%2); err != nil {
				return err
			}
		}
	}
	return nil
}

// inverse is its inverse.
func (b *volumeBatch) inverse() error {
	for level := b.levels; level > 0; level-- {
		for i, axis := range []int{axisZ, axisNone, axisY, axisX} {
			if err := b.along("jpeg2000_volume_inverse", level, axis, i%2); err != nil {
				return err
			}
		}
	}
	return nil
}

// along puts a step of a level along an axis into the stream, from the coefficients to the
// working memory or, with source 1, back.
func (b *volumeBatch) along(kernel string, level, axis, source int) error {
	pairs := 0
	for i := range b.arrays {
		a := &b.arrays[i]
		most := int(a.Levels)
		if axis >= axisZ {
			most = int(a.LevelsZ)
		}
		if level > most {
			continue
		}
		n := 1
		for k, side := range []uint32{a.Width, a.Height, a.Depth} {
			levels := a.Levels
			if k == axisZ {
				levels = a.LevelsZ
			}
			side = (side-1)>>min(level-1, int(levels)) + 1
			if k == axis {
				side = (side + 1) / 2
			}
			n *= int(side)
		}
		pairs = max(pairs, n)
	}
	if pairs == 0 {
		return nil
	}
	size := len(gpu.Bytes(b.arrays[:1]))
	for from := 0; from < len(b.arrays); from += maxRows {
		extents := make([]extent, min(maxRows, len(b.arrays)-from))
		for i := range extents {
			extents[i].pixels = pairs
		}
		params := &axisParams{b.list + gpu.Ptr(size*from), uint32(level), uint32(axis), uint32(source)}
		if err := launch(b.batch, kernel, extents, params); err != nil {
			return err
		}
	}
	return nil
}

// coefficient is the address of the first coefficient of a code-block.
func (b *volumeBatch) coefficient(v *deviceVolume, p *volume.Place) gpu.Ptr {
	at := (p.Origin[axisZ]*v.shape.Height+p.Origin[axisY])*v.shape.Width + p.Origin[axisX]
	return b.arrays[v.first+p.Component].Coefficients + gpu.Ptr(4*at)
}

// encode encodes the code-blocks of all volumes, whose samples are on the device. The
// blocks of each have their data in b.result, which is then the caller's.
func (b *volumeBatch) encode(ctx context.Context) ([][]volume.Block, error) {
	if err := b.convert("jpeg2000_load"); err != nil {
		return nil, err
	}
	if err := b.forward(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return b.encodeBlocks()
}

func (b *volumeBatch) encodeBlocks() ([][]volume.Block, error) {
	var blocks []deviceScan
	counts := make([]int, len(b.volumes))
	for i := range b.volumes {
		v := &b.volumes[i]
		for p := range v.coding.Places(v.shape) {
			blocks = append(blocks, deviceScan{
				Coefficients: b.coefficient(v, &p), Stride: uint32(v.shape.Width), Slice: uint32(v.shape.Width * v.shape.Height),
				Width: uint32(p.Extent[axisX]), Height: uint32(p.Extent[axisY]), Depth: uint32(p.Extent[axisZ]), Orientation: uint32(p.Orientation),
			})
			counts[i]++
		}
	}
	p := &passCoder{batch: b.batch, n: len(blocks)}
	defer p.free()
	list, err := upload(b.batch, blocks)
	if err != nil {
		return nil, err
	}
	if err := p.scanBlocks(list); err != nil {
		return nil, err
	}
	if err := p.allocate(); err != nil {
		return nil, err
	}
	if err := p.code(); err != nil {
		return nil, err
	}
	coded, err := p.collect()
	if err != nil {
		return nil, err
	}
	made := make([]volume.Block, len(blocks))
	for i := range made {
		n := int(coded.sizes[i])
		made[i] = volume.Block{Planes: int(coded.planes[i]), Passes: max(0, 3*int(coded.planes[i])-2), Data: coded.data[:n:n]}
		coded.data = coded.data[n:]
	}
	lists := make([][]volume.Block, len(counts))
	for i, n := range counts {
		lists[i], made = made[:n:n], made[n:]
	}
	return lists, nil
}

// free gives back the memory that takes most, for the next code-blocks.
func (p *passCoder) free() {
	for _, b := range []*gpu.Buffer{p.blocks, p.starts, p.list, p.symbols, p.streams, p.lengths} {
		if b != nil {
			b.Free()
		}
	}
}

// decodeBlocks decodes code-blocks, a list of each volume.
func (b *volumeBatch) decodeBlocks(lists []*passList) error {
	if err := b.stream.Fill(b.memory, 0, b.memory.Size, 0); err != nil {
		return err
	}
	return b.decodePasses(lists, func(int, int) gpu.Ptr { return 0 }) // they have the addresses of their coefficients
}

// passBlocks are the code-blocks of a volume's file. ok says whether all are well-formed.
func (b *volumeBatch) passBlocks(v *deviceVolume, packets *volume.Packets) (list *passList, ok bool) {
	list = newPassList(nil)
	err := packets.Blocks(func(at volume.Place, block *codestream.Block) error {
		if err := bitplane.CheckSlices(block, at.Extent[axisZ]); err != nil {
			return err
		}
		s := &deviceSegment{planes: block.Planes - block.ZeroPlanes, style: block.Style, orientation: at.Orientation, list: slices.Clone(block.Segments)}
		if s.planes == 0 || len(s.list) == 0 {
			return nil
		}
		p := list.add(b.coefficient(v, &at), uint32(v.shape.Width), block.Width, block.Height, at.Extent[axisZ], s)
		p.Slice = uint32(v.shape.Width * v.shape.Height)
		return nil
	})
	list.components = []int{len(list.blocks)}
	return list, err == nil
}

// decode makes samples of the code-blocks.
func (b *volumeBatch) decode(ctx context.Context, lists []*passList) error {
	if err := b.decodeBlocks(lists); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.inverse(); err != nil {
		return err
	}
	if err := b.convert("jpeg2000_store"); err != nil {
		return err
	}
	return b.download(b.samples, b.samples.Size)
}
