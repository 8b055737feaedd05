package jpeg2000

import (
	"context"
	"errors"
	"image"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/packet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/slab"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/raster"
)

// A device does what goes over all samples: component transforms, wavelets and code-blocks.
// Headers and packets are the host's, and so is the division of passes among layers. What
// the device does not have, regions of interest and mixed code-blocks, is done on the CPU.

// batching divides a call into some batches, so that the packets of one are made while
// kernels of another run. Sizes are in pixels; a device does 20 of them in a nanosecond.
var batching = gpu.Batching{Calls: 16, Least: 4 << 20, Most: 32 << 20, Items: 512}

// passBatching is that for code-blocks of Part 1. Each is a thread's for some milliseconds,
// so that a batch takes no less time before its code-blocks, 700 in a megapixel of RGB, are
// as many as a device runs threads.
var passBatching = gpu.Batching{Calls: 4, Least: 16 << 20, Most: 64 << 20, Items: 4096}

// hasPart1 says whether files have code-blocks of Part 1, which the first one that can be
// read stands for.
func hasPart1(files [][]byte) bool {
	for _, file := range files {
		if p, err := open(file); err == nil {
			return p.stream.Params.Components[0].Style&codestream.HT == 0
		}
	}
	return false
}

// htFileBatching is that for files with High Throughput code-blocks: few images are twice as many batches
// as there are lanes, whose headers are read by and by, and large ones a batch each.
var htFileBatching = gpu.Batching{Calls: 16, Least: 3 << 20, Most: 32 << 20, Items: 512}

// passFileBatching is that for files with code-blocks of Part 1. Decoding one takes a thread some
// milliseconds, be they few or as many as there are in 64 megapixels, so that batches are as few as a card
// needs to begin with one while others are copied.
var passFileBatching = gpu.Batching{Calls: 6, Least: 16 << 20, Most: 96 << 20, Items: 4096}

// divideFiles divides files of a call, of which pixels says how large each is, into batches.
func divideFiles(files [][]byte, list, pixels []int) [][]int {
	if hasPart1(files) {
		return divideEvenly(passFileBatching, list, pixels)
	}
	return htFileBatching.Divide(list, func(i int) int { return pixels[i] })
}

// divideEvenly makes batches that are about as large as each other: the last of them ends the call.
func divideEvenly(b gpu.Batching, list, pixels []int) [][]int {
	all, largest := 0, 0
	for _, i := range list {
		all, largest = all+pixels[i], max(largest, pixels[i])
	}
	if most := min(max(all/b.Calls, b.Least), b.Most); all > most {
		n := (all + most - 1) / most
		even := min(all/n+largest, b.Most)
		b.Least, b.Most = even, even
	}
	return b.Divide(list, func(i int) int { return pixels[i] })
}

// besideEachOther is how many batches a device has at once, with lanes as they are by default.
const besideEachOther = 3

// searchBatching is that for searches for a step, which leave on the device the memory of all
// steps that they try until the end of the batch.
var searchBatching = gpu.Batching{Calls: 16, Least: 2 << 20, Most: 8 << 20, Items: 512}

// batching is the division of a call's images.
func (o *Options) batching() gpu.Batching {
	if o.ht() && o.goal() {
		return searchBatching
	}
	if o.ht() {
		return batching
	}
	return passBatching
}

// copyBytes are the bytes that a goroutine copies at a time.
const copyBytes = 1 << 20

// onDevice says whether files with these options are made on a device.
func (o *Options) onDevice() bool {
	return o.effort != effortBest || o.Lossy()
}

// sharedHost is pinned memory that several items use, until the last is done.
type sharedHost struct {
	host *gpu.Host
	left atomic.Int32 // items that use it
}

func (s *sharedHost) release() {
	if s != nil && s.left.Add(-1) == 0 {
		s.host.Free()
	}
}

// deviceEncoder encodes the images of a call.
type deviceEncoder struct {
	device  *gpu.Device
	ctx     context.Context
	run     codec.Run
	workers *pool.Pool
	options *Options
	items   []codec.Item
	ready   []chan struct{} // by item: closed when it is laid out
	coded   []*deviceCoded  // by item
	slots   sync.Map        // by slotsKey functions that give *blockSlots
}

// slotsKey is what the list of a tile's code-blocks depends on in a call.
type slotsKey struct {
	shape  raster.Shape
	choice choice
	tile   int
}

func newDeviceEncoder(ctx context.Context, run codec.Run, workers *pool.Pool, o *Options, items []codec.Item) *deviceEncoder {
	d := &deviceEncoder{device: run.Device, ctx: ctx, run: run, workers: workers, options: o, items: items,
		ready: make([]chan struct{}, len(items)), coded: make([]*deviceCoded, len(items))}
	for i := range d.ready {
		d.ready[i] = make(chan struct{})
	}
	return d
}

// prepareAll lays out the tiles of items, in their order, while lanes encode those that are ready.
func (d *deviceEncoder) prepareAll(list []int) {
	d.workers.Each(len(list), func(j int) {
		i := list[j]
		defer close(d.ready[i])
		d.coded[i] = d.prepare(d.items[i].Image)
	})
}

// deviceCoded is an image whose code-blocks are encoded; tiles is nil where they have to be
// encoded on the CPU.
type deviceCoded struct {
	encoder *encoder
	main    *codestream.Main
	tiles   []*deviceTile
	stream  []byte      // the whole codestream, where a search for a step made it
	memory  *sharedHost // of the segments; may be nil
	err     error
}

// encode encodes the code-blocks of items.
func (d *deviceEncoder) encode(l *gpu.Lane, list []int) error {
	var tiles []*deviceTile
	for _, i := range list {
		<-d.ready[i]
		tiles = append(tiles, d.coded[i].tiles...)
	}
	if len(tiles) == 0 {
		return nil
	}
	b := newBatch(d.device, l, d.workers, tiles)
	b.later = true
	e := &encoder{options: d.options}
	var err error
	if d.options.ht() && d.options.goal() {
		err = d.withSteps(b, list)
	} else {
		err = b.encode(d.ctx, e.fraction(), e.measured())
	}
	if errors.Is(err, errTooSmall) {
		for _, i := range list {
			d.coded[i].tiles = nil
		}
		return nil
	}
	if err == nil && b.result != nil {
		memory := &sharedHost{host: b.result}
		memory.left.Store(int32(len(list)))
		for _, i := range list {
			d.coded[i].memory = memory
		}
	}
	return err
}

// prepare lays out the tiles of an image.
func (d *deviceEncoder) prepare(m *raster.Image) *deviceCoded {
	c := &deviceCoded{encoder: &encoder{ctx: d.ctx, workers: d.workers, image: m, options: d.options}}
	choice, err := c.encoder.single()
	if c.err = err; err != nil {
		return c
	}
	c.main = c.encoder.main(choice)
	for i := range c.main.Size.Tiles().X * c.main.Size.Tiles().Y {
		t := &deviceTile{image: m, tile: c.main.Size.NewTile(i, &c.main.Params), coloured: c.main.Params.MCT}
		if d.options.ht() && !d.options.goal() {
			list, _ := d.slots.LoadOrStore(slotsKey{m.Shape, choice, i}, sync.OnceValue(t.listSlots))
			t.slots = list.(func() *blockSlots)()
		}
		c.tiles = append(c.tiles, t)
	}
	return c
}

// file makes the file of item i.
func (d *deviceEncoder) file(i int) ([]byte, error) {
	c := d.coded[i]
	d.coded[i] = nil
	defer c.memory.release()
	if c.err != nil {
		return nil, c.err
	}
	if c.stream != nil {
		return d.options.wrap(c.encoder.image, c.stream, nil), nil
	}
	if c.tiles == nil {
		return encode(d.ctx, d.workers, d.items[i].Image, d.options)
	}
	room := codingRooms.Get().(*codingRoom)
	defer room.free()
	tiles := make([]*codedTile, len(c.tiles))
	for k, t := range c.tiles {
		tiles[k] = t.codedTile(c.encoder, c.main, room)
	}
	a := allocation{c.main, tiles, c.encoder.image.Shape}
	a.divide(d.options)
	n := streamBytes(tiles)
	if d.options.boxed() {
		return d.options.wrap(c.encoder.image, appendStream(codec.Uncleared(n)[:0], c.main, tiles), nil), nil
	}
	return appendStream(d.run.Bytes(n)[:0], c.main, tiles), nil
}

// codingRoom is what making a file of segments takes.
type codingRoom struct {
	segments slab.Slab[deviceSegment]
	blocks   slab.Slab[codedBlock]
	pointers slab.Slab[*codedBlock]
	passes   slab.Slab[bitplane.Pass]
}

var codingRooms = sync.Pool{New: func() any { return new(codingRoom) }}

// free lets another file use the room.
func (r *codingRoom) free() {
	r.segments.Reset()
	r.blocks.Reset()
	r.pointers.Reset()
	r.passes.Reset()
	codingRooms.Put(r)
}

// codedTile is the tile with its segments as code-blocks, which lie in the room.
func (t *deviceTile) codedTile(e *encoder, main *codestream.Main, room *codingRoom) *codedTile {
	coded := &codedTile{tile: t.tile, blocks: make([][][]codedPrecinct, len(t.tile.Components))}
	segments := t.finished(room)
	all, pointers := room.blocks.Take(len(segments)), room.pointers.Take(len(segments))
	var passes []bitplane.Pass
	if e.options.ht() {
		passes = room.passes.Take(len(segments))
	}
	for c := range t.tile.Components {
		component := &t.tile.Components[c]
		resolutions := component.Resolutions
		coded.blocks[c] = make([][]codedPrecinct, len(resolutions))
		for r := range resolutions {
			res := &resolutions[r]
			precincts := make([]codedPrecinct, res.Precincts.X*res.Precincts.Y)
			for p := range precincts {
				precincts[p] = make(codedPrecinct, len(res.Subbands))
				for i := range res.Subbands {
					grid := res.Subbands[i].Precinct(p)
					blocks := pointers[:grid.Blocks.X*grid.Blocks.Y]
					for k := range blocks {
						blocks[k] = &all[k]
						if component.Coding.Style&codestream.HT != 0 {
							all[k].setHT(segments[k].data, segments[k].planes, passes[k:k+1:k+1])
							continue
						}
						all[k].setPasses(&segments[k])
						if e.measured() {
							all[k].weigh(segments[k].energy, unitOf(&main.Params, component, &res.Subbands[i], t.image.Bits, e.fraction()))
						}
					}
					segments, all, pointers = segments[len(blocks):], all[len(blocks):], pointers[len(blocks):]
					passes = passes[min(len(blocks), len(passes)):]
					precincts[p][i] = blocks
				}
			}
			coded.blocks[c][r] = precincts
		}
	}
	return coded
}

// setPasses sets the block to coding passes of Part 1.
func (b *codedBlock) setPasses(s *deviceSegment) {
	b.planes, b.coded, b.data, b.passes = s.planes, s.planes, s.data, s.passes
}

// weigh sets what layers are chosen by.
func (b *codedBlock) weigh(energy, weight float64) {
	b.energy, b.weight = energy, weight
	b.cuts = hull(b.passes, weight)
}

// deviceDecoder decodes the files of a call.
type deviceDecoder struct {
	device  *gpu.Device
	ctx     context.Context
	run     codec.Run
	workers *pool.Pool
	files   [][]byte
	view    codec.View
	beside  int              // batches that lanes have at once
	begun   []atomic.Bool    // by file: somebody reads its headers and packets
	ready   []chan struct{}  // by file: closed when they are read
	decoded []*deviceDecoded // by file: nil if a device does not decode it
}

func newDeviceDecoder(ctx context.Context, run codec.Run, workers *pool.Pool, files [][]byte) *deviceDecoder {
	d := &deviceDecoder{device: run.Device, ctx: ctx, run: run, workers: workers, files: files,
		begun: make([]atomic.Bool, len(files)), ready: make([]chan struct{}, len(files)), decoded: make([]*deviceDecoded, len(files))}
	for i := range d.ready {
		d.ready[i] = make(chan struct{})
	}
	return d
}

// readAll reads the headers and packets of all files, in their order, while lanes decode those
// that are read.
func (d *deviceDecoder) readAll() {
	d.workers.Each(len(d.files), func(i int) {
		runtime.Gosched() // a lane that comes back from the driver needs one of the cores, all of which read
		d.read(i)
	})
}

// read reads the headers and packets of file i, unless somebody has begun with it.
func (d *deviceDecoder) read(i int) {
	if !d.begun[i].CompareAndSwap(false, true) {
		return
	}
	defer close(d.ready[i])
	if d.ctx.Err() == nil {
		d.decoded[i] = prepareDecoding(d.files[i], d.view)
	}
}

// deviceDecoded is a file that is decoded on a device.
type deviceDecoded struct {
	picture *picture
	image   *raster.Image   // of whole tiles, without samples
	area    image.Rectangle // of the view in it
	tiles   []*deviceTile

	pix     []byte // memory of the caller's for the samples; nil: none
	samples []byte
	memory  *sharedHost // of the samples; nil: they are in pix
}

// decode decodes files, those that a device can.
func (d *deviceDecoder) decode(l *gpu.Lane, list []int) error {
	var tiles []*deviceTile
	into := make(map[*raster.Image][]byte)
	memory := new(sharedHost)
	for _, i := range slices.Backward(list) {
		d.read(i) // rather than wait: cores take a while to wake up
	}
	for _, i := range list {
		<-d.ready[i]
		if f := d.decoded[i]; f != nil {
			tiles = append(tiles, f.tiles...)
			memory.left.Add(1)
			if f.pix == nil && d.run.Alloc != nil && f.whole() {
				f.pix = d.run.Alloc(f.image.Size())
			}
			if f.pix != nil && l.Pinned(f.pix) {
				into[f.image] = f.pix[:f.image.Size():f.image.Size()]
			}
		}
	}
	if len(tiles) == 0 {
		return nil
	}
	b := newBatch(d.device, l, d.workers, tiles)
	b.into, b.beside = into, d.beside
	if err := b.decode(d.ctx); err != nil {
		return err // the list may come again, in parts
	}
	if b.result == nil {
		memory = nil
	} else {
		memory.host = b.result
	}
	for _, i := range list {
		if f := d.decoded[i]; f != nil {
			f.samples, f.memory = b.samplesOf(f.image), memory
		}
	}
	return nil
}

// whole says whether the view is all of the image.
func (f *deviceDecoded) whole() bool {
	return f.area == image.Rect(0, 0, f.image.Width, f.image.Height)
}

// result is the image of file i. What the device did not do, or found malformed, is decoded
// on the CPU.
func (d *deviceDecoder) result(i int) (*raster.Image, error) {
	f := d.decoded[i]
	d.decoded[i] = nil
	failed := f == nil
	if f != nil {
		defer f.memory.release()
		for _, t := range f.tiles {
			t.listed.free()
			t.listed = nil
		}
	}
	for k := 0; !failed && k < len(f.tiles); k++ {
		failed = f.tiles[k].failed
	}
	if failed {
		return decode(d.ctx, codec.Run{Pool: d.workers}, d.files[i], d.view)
	}
	m := &raster.Image{Shape: f.image.Shape}
	m.Width, m.Height = f.area.Dx(), f.area.Dy()
	n := m.Size()
	if f.memory == nil {
		m.Pix = f.samples
		return exif.Attach(m, f.picture.meta()), nil
	}
	// Fresh memory costs more than the copy, and several cores share it.
	if f.pix != nil {
		m.Pix = f.pix[:n:n]
	} else {
		m.Pix = d.run.Bytes(n)
	}
	if f.whole() {
		d.workers.Spans(n, copyBytes, func(lo, hi int) { copy(m.Pix[lo:hi], f.samples[lo:hi]) })
	} else {
		rows := m.Height * m.Depth
		d.workers.Spans(rows, max(1, copyBytes*rows/n), func(lo, hi int) { copyPart(m.Pix, f.samples, f.image.Shape, f.area, lo, hi) })
	}
	return exif.Attach(m, f.picture.meta()), nil
}

// prepareDecoding reads the headers and packets of a view of a file. It returns nil where the file is
// not one that a device decodes; whatever is wrong with it, the CPU finds too.
func prepareDecoding(data []byte, view codec.View) *deviceDecoded {
	p, err := open(data)
	if err != nil || !p.plain() {
		return nil
	}
	m := segmentRooms.Get().(*segmentRoom)
	defer segmentRooms.Put(m)
	f := &deviceDecoded{picture: p}
	if f.area, err = view.In(p.shape, p.resolutions); err != nil {
		return nil
	}
	size := &p.stream.Size
	steps := make([]image.Point, len(size.Components))
	for c := range steps {
		steps[c] = size.Components[c].Step
	}
	for t := range size.Tiles().X * size.Tiles().Y {
		if !codestream.Reduce(size.TileBounds(t), view.Reduce).Overlaps(f.area) {
			continue
		}
		params, coded, err := p.stream.Tile(t)
		if err != nil {
			return nil
		}
		if params.MCT && (len(params.Components) < 3 || p.slices > 1) {
			return nil
		}
		for c := range params.Components {
			k := &params.Components[c]
			if k.Style&codestream.Mixed != 0 || k.Transform != params.Components[0].Transform || k.ROIShift != 0 ||
				(k.Style^params.Components[0].Style)&codestream.HT != 0 && k.Transform != codestream.Reversible53 {
				return nil
			}
		}
		tile := size.NewTile(t, params)
		if !sensibleBlocks(tile) {
			return nil
		}
		m.packets.Reset()
		precincts, err := packet.Read(tile, params, steps, packet.Input{Bodies: coded.Bodies, Packed: coded.Packed, Headers: coded.Headers, Memory: &m.packets}, func(c, r int) bool { return r <= tile.Components[c].Coding.Levels-view.Reduce })
		if err != nil {
			return nil
		}
		d := &deviceTile{image: &raster.Image{Shape: p.shape}, tile: reducedTile(tile, view.Reduce), coloured: params.MCT}
		if !d.takeSegments(precincts, m) {
			return nil
		}
		if size.Tiles() == image.Pt(1, 1) {
			d.file = data
		}
		d.listed = d.listBlocks()
		if d.hasPasses() {
			d.passes = d.listPasses()
		}
		d.keepSegments()
		f.tiles = append(f.tiles, d)
	}
	if !f.frame(p.shape) {
		return nil
	}
	return f
}

// sensibleBlocks says whether lists of all code-blocks take less memory than the samples:
// an empty file may promise many small ones.
func sensibleBlocks(t *codestream.Tile) bool {
	for c := range t.Components {
		for r := range t.Components[c].Resolutions {
			for _, b := range t.Components[c].Resolutions[r].Subbands {
				if b.BlockExp.X+b.BlockExp.Y < 8 && b.Bounds.Dx()*b.Bounds.Dy() > 1<<16 {
					return false
				}
			}
		}
	}
	return true
}

// plain says whether the components are the channels, sample by sample, from the origin on.
func (p *picture) plain() bool {
	size := &p.stream.Size
	if size.Image.Min != (image.Point{}) || len(p.channels) != len(size.Components) || p.sycc {
		return false
	}
	for c, ch := range p.channels {
		if s := size.Components[c]; ch.component != c || ch.column >= 0 || s.Step != image.Pt(1, 1) || s.Bits != p.shape.Bits || s.Signed != p.shape.Signed {
			return false
		}
	}
	return true
}

// segmentRoom is what reading the segments of a tile takes.
type segmentRoom struct {
	packets  packet.Memory
	segments []deviceSegment
	list     []codestream.Segment
}

var segmentRooms = sync.Pool{New: func() any { return new(segmentRoom) }}

// keepSegments keeps the segments of a tile with refinement passes or loss, and lets the memory of others
// be used again: the lists of their code-blocks have all that decoding needs.
func (t *deviceTile) keepSegments() {
	if t.lossyHT() || slices.ContainsFunc(t.segments, func(s deviceSegment) bool { return s.refinement.Passes > 0 }) {
		t.segments = slices.Clone(t.segments)
	} else {
		t.segments = nil
	}
}

// take takes the segments of a code-block, to room. It says no where they are malformed.
func (s *deviceSegment) take(b *codestream.Block, t *deviceTile, c *codestream.TileComponent, band *codestream.Subband, size image.Point, room *[]codestream.Segment) bool {
	if b.Style&codestream.HT != 0 {
		if len(b.Segments) > 2 || len(b.Segments) == 0 || b.Segments[0].Passes != 1 || len(b.Segments[0].Data) == 0 {
			return false
		}
		s.data, s.zeroPlanes = b.Segments[0].Data, b.ZeroPlanes
		if len(b.Segments) == 2 {
			s.refinement, s.style = b.Segments[1], b.Style
			return s.refinement.Passes <= 2 && b.Planes-1-b.ZeroPlanes > 0
		}
		return true
	}
	b.Width, b.Height = size.X, size.Y
	if bitplane.Check(b) != nil {
		return false
	}
	s.planes, s.style, s.orientation = b.Planes-b.ZeroPlanes, b.Style, band.Orientation
	if c.Coding.Transform == codestream.Irreversible97 {
		s.step = math.Float32bits(stepSize(band, t.image.Bits))
	}
	n := len(*room)
	*room = append(*room, b.Segments...) // where that takes new memory, s.list of others keeps the old
	s.list = (*room)[n:len(*room):len(*room)]
	return true
}

// takeSegments lists the segments of the code-blocks in the order of eachBlock. It says no
// where a device cannot decode one.
func (t *deviceTile) takeSegments(precincts packet.Precincts, m *segmentRoom) bool {
	var block codestream.Block
	t.segments = m.segments[:0]
	m.list = m.list[:0]
	defer func() { m.segments = t.segments[:0] }()
	for c := range t.tile.Components {
		component := &t.tile.Components[c]
		for r := range component.Resolutions {
			res := &component.Resolutions[r]
			for p := range res.Precincts.X * res.Precincts.Y {
				for i := range res.Subbands {
					var band *packet.Band
					if list := precincts[c][r]; list != nil && list[p] != nil {
						band = &list[p].Bands[i]
					}
					grid := res.Subbands[i].Precinct(p)
					for k := range grid.Blocks.X * grid.Blocks.Y {
						t.segments = append(t.segments, deviceSegment{})
						if band != nil {
							s := &t.segments[len(t.segments)-1]
							coded, _, err := band.Coded(k, component.Coding.Style, res.Subbands[i].Planes, &block, nil)
							if err != nil || coded && !s.take(&block, t, component, &res.Subbands[i], grid.Block(k%grid.Blocks.X, k/grid.Blocks.X).Size(), &m.list) {
								return false
							}
						}
					}
				}
			}
		}
	}
	return true
}
