package jpeg2000

import (
	"image"
	"slices"
	"sync"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/ht"
	"github.com/pelmill/pelmill/gpu"
)

// codedBlocks is the High Throughput code-blocks of a tile as a device gets them, but for
// where its memory is: each address counts from the beginning of what it points into. A
// tile's list is made while the device decodes others.
type codedBlocks struct {
	list       []deviceCodedBlock
	components []int      // the code-blocks up to the end of each component
	parts      []gpu.Part // the data, and where they go in memory of
	coded      gpu.Layout // this size
	work       gpu.Layout // working memory
}

// blockSlots is the High Throughput code-blocks of a tile as a device encodes them, but for where its
// memory is, as in [codedBlocks].
type blockSlots struct {
	blocks     []deviceBlock
	components []int      // the code-blocks up to the end of each component
	layout     gpu.Layout // of the slots
}

// listSlots lists the code-blocks of the tile.
func (t *deviceTile) listSlots() *blockSlots {
	l := &blockSlots{blocks: make([]deviceBlock, 0, t.blockCount())}
	for c := range t.tile.Components {
		component := &t.tile.Components[c]
		p := &devicePlane{Stride: uint32(component.Bounds.Dx())}
		eachBlock(component, func(band *codestream.Subband, area image.Rectangle) {
			capacity := (ht.MaxSegment(area.Dx(), area.Dy(), band.Planes) + 3) &^ 3
			l.blocks = append(l.blocks, deviceBlock{
				Coefficients: p.coefficient(component, band, area.Min), Slot: gpu.Ptr(l.layout.Take(2 * capacity)),
				Stride: p.Stride, Width: uint32(area.Dx()), Height: uint32(area.Dy()), Capacity: uint32(capacity),
			})
		})
		l.components = append(l.components, len(l.blocks))
	}
	return l
}

// beforeSegments is how many bytes there are before the first segment: a reader of whole
// words may reach them.
const beforeSegments = 256

// codedLists are lists for other tiles.
var codedLists = sync.Pool{New: func() any { return new(codedBlocks) }}

// free lets another tile use the list.
func (l *codedBlocks) free() {
	clear(l.parts)
	codedLists.Put(l)
}

// listBlocks lists the High Throughput code-blocks of the tile. Segments that are most of the
// file are uploaded with all of it, and others one by one.
func (t *deviceTile) listBlocks() *codedBlocks {
	if !slices.ContainsFunc(t.tile.Components, func(c codestream.TileComponent) bool { return c.Coding.Style&codestream.HT != 0 }) {
		return &codedBlocks{components: make([]int, len(t.tile.Components))}
	}
	l := codedLists.Get().(*codedBlocks)
	*l = codedBlocks{list: slices.Grow(l.list[:0], len(t.segments)), components: l.components[:0], parts: l.parts[:0]}
	l.coded.Take(beforeSegments)
	used := 0
	for i := range t.segments {
		used += len(t.segments[i].data)
	}
	var file []byte
	start := 0 // of it
	if len(t.file) > 0 && used > len(t.file)/2 {
		file = t.file
		start = l.coded.Take(len(file))
		l.parts = append(l.parts, gpu.Part{At: start, Bytes: file})
	}
	segments := t.segments
	for c := range t.tile.Components {
		component := &t.tile.Components[c]
		p := &devicePlane{Stride: uint32(component.Bounds.Dx())}
		eachBlock(component, func(band *codestream.Subband, area image.Rectangle) {
			s := &segments[0]
			segments = segments[1:]
			if component.Coding.Style&codestream.HT == 0 {
				return
			}
			block := deviceCodedBlock{
				Coefficients: p.coefficient(component, band, area.Min), Stride: p.Stride, Width: uint32(area.Dx()), Height: uint32(area.Dy()),
				Length: uint32(len(s.data)), Words: uint32(len(s.data)/4 + 2),
			}
			if len(s.data) > 0 {
				plane := band.Planes - 1 - s.zeroPlanes
				block.Plane, block.Limit = uint32(plane), uint32(min(s.zeroPlanes+2, 31-plane))
				if at, ok := offsetIn(file, s.data); ok {
					block.Data = gpu.Ptr(start + at)
				} else {
					block.Data = gpu.Ptr(l.coded.Take(len(s.data)))
					l.parts = append(l.parts, gpu.Part{At: int(block.Data), Bytes: s.data})
				}
				block.Quads = gpu.Ptr(l.work.Take(4 * ((area.Dx() + 1) / 2) * ((area.Dy() + 1) / 2)))
				block.Magsgn = gpu.Ptr(l.work.Take(4 * int(block.Words)))
			}
			l.list = append(l.list, block)
		})
		l.components = append(l.components, len(l.list))
	}
	return l
}

// offsetIn is where part begins in whole, if it is a slice of it.
func offsetIn(whole, part []byte) (int, bool) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(whole)))
	return int(at), at < uintptr(len(whole)) && len(part) <= len(whole)-int(at)
}
