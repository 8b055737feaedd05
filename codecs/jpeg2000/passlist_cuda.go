package jpeg2000

import (
	"image"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/gpu"
)

// passList is code-blocks of Part 1, of a tile or of volumes, as a device gets them, but for where
// its memory is: each address counts from the beginning of what it points into. A tile's list is
// made while the device decodes others.
type passList struct {
	blocks     []devicePasses
	components []int    // the code-blocks up to the end of each component
	bytes      []uint32 // of each code-block
	segments   []uint32 // of the codeword segments the coding passes and the bytes

	file  []byte     // that most segments lie in, and is uploaded with all of it; may be nil
	parts []gpu.Part // the data, and where they go in memory of
	coded int        // bytes
	work  int        // bytes of bit-planes
	words int        // of a bit-plane of a code-block, the most
	empty bool       // not all code-blocks are in the list
}

// newPassList is a list of code-blocks most of whose segments lie in a file, or in none, nil.
func newPassList(file []byte) *passList {
	l := &passList{file: file, coded: len(file)}
	if len(file) > 0 {
		l.parts = append(l.parts, gpu.Part{Bytes: file})
	}
	return l
}

// add adds a code-block whose segments are s.
func (l *passList) add(coefficients gpu.Ptr, stride uint32, width, height, depth int, s *deviceSegment) *devicePasses {
	d := devicePasses{
		Coefficients: coefficients, Stride: stride, Width: uint32(width), Height: uint32(height), Depth: uint32(depth),
		Planes: uint32(s.planes), Orientation: uint32(s.orientation), Style: uint32(s.style), Step: s.step,
		Segments: gpu.Ptr(4 * len(l.segments)),
	}
	n := 0
	for _, segment := range s.list {
		d.Passes += uint32(segment.Passes)
		n += len(segment.Data)
		l.segments = append(l.segments, uint32(segment.Passes), uint32(len(segment.Data)))
	}
	if at, ok := l.together(s.list); ok {
		d.Data = gpu.Ptr(at)
	} else {
		d.Data = gpu.Ptr(l.coded)
		for _, segment := range s.list {
			if len(segment.Data) > 0 {
				l.parts = append(l.parts, gpu.Part{At: l.coded, Bytes: segment.Data})
				l.coded += len(segment.Data)
			}
		}
	}
	d.Bits = gpu.Ptr(l.work)
	l.work += (4*d.words()*(s.planes+2) + 255) &^ 255
	l.words = max(l.words, d.words())
	l.bytes = append(l.bytes, uint32(n))
	l.blocks = append(l.blocks, d)
	return &l.blocks[len(l.blocks)-1]
}

// together says where segments begin in the file, if they lie there one after the other.
func (l *passList) together(segments []codestream.Segment) (at int, ok bool) {
	next := 0
	for _, s := range segments {
		if len(s.Data) == 0 {
			continue
		}
		place, in := offsetIn(l.file, s.Data)
		if !in || ok && place != next {
			return 0, false
		}
		if !ok {
			at, ok = place, true
		}
		next = place + len(s.Data)
	}
	return at, ok
}

// listPasses lists the code-blocks of Part 1 of the tile that have passes.
func (t *deviceTile) listPasses() *passList {
	used, count := 0, 0
	for i := range t.segments {
		for _, s := range t.segments[i].list {
			used += len(s.Data)
			count++
		}
	}
	var file []byte
	if used > len(t.file)/2 {
		file = t.file
	}
	l := newPassList(file)
	l.blocks, l.bytes, l.segments = make([]devicePasses, 0, len(t.segments)), make([]uint32, 0, len(t.segments)), make([]uint32, 0, 2*count)
	segments := t.segments
	for c := range t.tile.Components {
		component := &t.tile.Components[c]
		p := &devicePlane{Stride: uint32(component.Bounds.Dx())}
		eachBlock(component, func(band *codestream.Subband, area image.Rectangle) {
			s := &segments[0]
			segments = segments[1:]
			if component.Coding.Style&codestream.HT != 0 {
				return
			}
			if len(s.list) == 0 {
				l.empty = true
				return
			}
			l.add(p.coefficient(component, band, area.Min), p.Stride, area.Dx(), area.Dy(), 1, s)
		})
		l.components = append(l.components, len(l.blocks))
	}
	return l
}

// hasPasses says whether the tile has code-blocks of Part 1.
func (t *deviceTile) hasPasses() bool {
	return slices.ContainsFunc(t.tile.Components, func(c codestream.TileComponent) bool { return c.Coding.Style&codestream.HT == 0 })
}

// decodePart1 decodes the code-blocks of Part 1 of all tiles.
func (b *batch) decodePart1() error {
	var lists []*passList
	var first []int // planes of their tiles
	plane, empty := 0, false
	for _, t := range b.tiles {
		if t.hasPasses() {
			if t.passes == nil {
				t.passes = t.listPasses()
			}
			lists, first = append(lists, t.passes), append(first, plane)
			empty = empty || t.passes.empty
		}
		plane += len(t.tile.Components)
	}
	if empty {
		if err := b.stream.Fill(b.memory, 0, b.memory.Size, 0); err != nil {
			return err
		}
	}
	return b.decodePasses(lists, func(list, component int) gpu.Ptr { return b.planes[first[list]+component].Coefficients })
}

// words is how many words of eight columns of a stripe a code-block has.
func (p *devicePasses) words() int {
	return (int(p.Width) + 7) / 8 * ((int(p.Height) + 3) / 4) * int(p.Depth)
}

// passOrder is where the code-blocks of lists go, n in all, one list after the other: those of a warp
// are to have as many passes, which they begin together, and as many bytes, and those that take longest
// begin.
func passOrder(lists []*passList, n int) []int32 {
	const digit = 11 // bits, of a key two, so that a list is sorted by counting
	most := uint32(0)
	for _, l := range lists {
		for _, bytes := range l.bytes {
			most = max(most, bytes)
		}
	}
	shift := max(0, bits.Len32(most)-(2*digit-7)) // 7 bits are for the passes
	keys, order := make([]uint32, 0, n), make([]int32, n)
	for _, l := range lists {
		for i := range l.blocks {
			keys = append(keys, 1<<(2*digit)-1-(l.blocks[i].Passes<<(2*digit-7)|l.bytes[i]>>shift))
		}
	}
	for i := range order {
		order[i] = int32(i)
	}
	sorted := make([]int32, n)
	for _, low := range []int{0, digit} {
		var next [1 << digit]int32
		for _, k := range keys {
			next[k>>low%(1<<digit)]++
		}
		at := int32(0)
		for d, count := range next {
			next[d] = at
			at += count
		}
		for _, i := range order {
			d := &next[keys[i]>>low%(1<<digit)]
			sorted[*d] = i
			*d++
		}
		order, sorted = sorted, order
	}
	for at, i := range order {
		sorted[i] = int32(at)
	}
	return sorted
}

// passLanes is how many lanes of a warp have a code-block, of n: as few as let the multiprocessors,
// which hold passWarps warps each, begin with all code-blocks of the batches of a call at once. Fewer
// wait less for each other.
func (b *batch) passLanes(n int) int {
	card := b.lane.Card()
	warps := passWarps * max(1, card.Multiprocessors)
	return max(1, min((n*max(1, b.beside)+warps-1)/warps, warp))
}

// decodePasses decodes code-blocks of Part 1 into coefficients that are zeros. bases are where
// the components of each list are.
func (b *batch) decodePasses(lists []*passList, bases func(list, component int) gpu.Ptr) error {
	n, coded, work, segments, words := 0, gpu.Layout{}, 0, 0, 0
	type start struct{ coded, work, segments, block int }
	starts := make([]start, len(lists))
	var parts []gpu.Part
	for k, l := range lists {
		starts[k] = start{coded.Take(l.coded), work, segments, n}
		for _, p := range l.parts {
			parts = append(parts, gpu.Part{At: starts[k].coded + p.At, Bytes: p.Bytes})
		}
		n += len(l.blocks)
		work += l.work
		segments += len(l.segments)
		words = max(words, l.words)
	}
	if n == 0 {
		return nil
	}
	const behind = 32 // bytes that a reader of whole words may reach behind the last segment
	data, err := b.lane.Device(coded.Size + behind)
	if err != nil {
		return err
	}
	if err := b.staging.Upload(data, coded.Size, parts); err != nil {
		return err
	}
	const size = 16 // of what is known of the samples of a word
	lanes := b.passLanes(n)
	group := warp * size * words
	memory, err := b.stream.Zeros(work + (n+lanes-1)/lanes*group)
	if err != nil {
		return err
	}
	list, blocks, err := pinnedList[devicePasses](b, n)
	if err != nil {
		return err
	}
	index, passes, err := pinnedList[uint32](b, segments)
	if err != nil {
		return err
	}
	order := passOrder(lists, n)
	b.pool.First().Each(len(lists), func(k int) {
		l, s := lists[k], starts[k]
		copy(passes[s.segments:], l.segments)
		c := 0
		for i := range l.blocks {
			for i >= l.components[c] {
				c++
			}
			at := int(order[s.block+i])
			d := l.blocks[i]
			d.Data += data.Ptr + gpu.Ptr(s.coded)
			d.Segments += index.Ptr + gpu.Ptr(4*s.segments)
			d.Bits += memory.Ptr + gpu.Ptr(s.work)
			d.Memory = memory.Ptr + gpu.Ptr(work+at/lanes*group+at%lanes*size)
			d.Coefficients += bases(k, c)
			blocks[at] = d
		}
	})
	if err := b.stream.Upload(list, 0, gpu.Bytes(blocks)); err != nil {
		return err
	}
	if err := b.stream.Upload(index, 0, gpu.Bytes(passes)); err != nil {
		return err
	}
	tables, err := b.tables()
	if err != nil {
		return err
	}
	one := []extent{{blocks: n, lanes: lanes}}
	if err := launch(b, "jpeg2000_decode_passes", one, &passesParams{list.Ptr, tables, uint32(lanes), uint32(n)}); err != nil {
		return err
	}
	return launch(b, "jpeg2000_dequantize", one, &sampleParams{list.Ptr, uint32(n)})
}

// pinnedList is memory of the device for n elements, and as much pinned memory to upload them from.
func pinnedList[T any](b *batch, n int) (*gpu.Buffer, []T, error) {
	var t T
	bytes := max(1, n) * int(unsafe.Sizeof(t))
	buffer, err := b.lane.Device(bytes)
	if err != nil {
		return nil, nil, err
	}
	host, err := b.lane.Host(bytes)
	if err != nil {
		return nil, nil, err
	}
	return buffer, unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(host.Bytes))), n), nil
}
