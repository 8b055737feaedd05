package jpeg2000

import (
	"cmp"
	"context"
	"errors"
	"image"
	"slices"
	"time"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// deviceTile is a tile of an image of a batch.
type deviceTile struct {
	image    *raster.Image
	origin   image.Point // of the image, in the samples that tiles count
	tile     *codestream.Tile
	coloured bool // RCT on the first three components

	// segments are those of the code-blocks, as an encoder makes them or a decoder gets them,
	// in the order of eachBlock.
	segments []deviceSegment

	// In the decoder the file that segments lie in, or none, and the lists of code-blocks, High
	// Throughput and of Part 1, once they are made.
	file   []byte
	listed *codedBlocks
	passes *passList

	// In the encoder the list of High Throughput code-blocks, if it was made ahead, and what makes
	// the segments of what the device gave; nil: they are there.
	slots  *blockSlots
	finish func(room *codingRoom)

	failed bool // a segment is malformed, or one did not fit
}

// deviceSegment is a code-block, encoded: the cleanup segment of one of Part 15, or the
// codeword segments of one of Part 1.
type deviceSegment struct {
	data       []byte
	planes     int                // bits of the greatest magnitude; in the decoder those of Part 1 that are coded
	zeroPlanes int                // of a cleanup segment, decoder
	refinement codestream.Segment // of one of Part 15, decoder; no passes: there is none

	// Of Part 1: what the encoder knows of the passes and the sum of squares, and what the
	// decoder reads.
	passes      []bitplane.Pass
	energy      float64
	list        []codestream.Segment
	orientation codestream.Orientation
	style       codestream.BlockStyle
	step        uint32
}

// eachBlock calls f for the code-blocks of a tile-component: by resolutions, precincts,
// subbands and rows. area is the block within its subband.
func eachBlock(t *codestream.TileComponent, f func(b *codestream.Subband, area image.Rectangle)) {
	for r := range t.Resolutions {
		res := &t.Resolutions[r]
		for p := range res.Precincts.X * res.Precincts.Y {
			for i := range res.Subbands {
				grid := res.Subbands[i].Precinct(p)
				for y := range grid.Blocks.Y {
					for x := range grid.Blocks.X {
						f(&res.Subbands[i], grid.Block(x, y))
					}
				}
			}
		}
	}
}

// batch is tiles that go through all steps together, whatever their sizes: every kernel is
// launched once for all of them.
type batch struct {
	lane    *gpu.Lane
	stream  *gpu.Stream
	pool    *pool.Pool
	staging gpu.Staging
	tiles   []*deviceTile

	images [2][]deviceImage // slices of tiles, of 5/3, and of 9/7
	planes []devicePlane    // of all tiles, component by component
	levels int              // of the component that has most

	memory   *gpu.Buffer // of the planes
	samples  *gpu.Buffer // of all images
	uploads  []gpu.Part  // where they lie in samples
	at       map[*raster.Image]int
	failures *gpu.Buffer // a word for each tile

	// result is what comes back: segments, or the samples of the images that are not in into. It is
	// pinned, so that the device writes there itself, and belongs to the caller of encode or decode.
	result *gpu.Host
	into   map[*raster.Image][]byte // pinned memory for the samples of images; may be nil
	device *gpu.Device

	beside int // batches of about this size that a device has at once, with this one; 0: not known

	// later says that segments are made when they are asked for, see deviceTile.finished: not while
	// the lane is taken.
	later bool

	timed func(what string, took time.Duration) // told how long each step took; nil: nobody
}

func newBatch(d *gpu.Device, l *gpu.Lane, c *pool.Pool, tiles []*deviceTile) *batch {
	return &batch{
		device: d, lane: l, stream: l.Stream(0), pool: c, tiles: tiles,
		staging: gpu.Staging{Lane: l, Spans: c.First().Spans},
		at:      map[*raster.Image]int{},
	}
}

// launch puts a kernel into the stream.
func launch[P any](b *batch, kernel string, extents []extent, params *P) error {
	run := func() error { return gpu.LaunchFor(&kernels, b.stream, kernel, extents, params) }
	if b.timed == nil {
		return run()
	}
	took, err := b.stream.Time(run)
	b.timed(kernel, took)
	return err
}

// errTooSmall says that a segment did not fit its slot: the magnitudes are larger than the
// subband's bit-planes.
var errTooSmall = errors.New("jpeg2000: a segment is larger than its slot")

// reserve takes memory for the samples and the planes of the tiles.
func (b *batch) reserve() error {
	var samples, planes gpu.Layout
	for _, t := range b.tiles {
		if _, ok := b.at[t.image]; !ok {
			b.at[t.image] = samples.Take(t.image.Size())
			b.uploads = append(b.uploads, gpu.Part{At: b.at[t.image], Bytes: t.image.Pix})
		}
	}
	var first, second, coefficients []int
	for _, t := range b.tiles {
		n := 4 * t.tile.Bounds.Dx() * t.tile.Bounds.Dy()
		at := planes.Take(n * len(t.tile.Components))
		for c := range t.tile.Components {
			first = append(first, at+c*n)
			second = append(second, planes.Take(n/4+4*(t.tile.Bounds.Dx()+t.tile.Bounds.Dy()+1)))
			coefficients = append(coefficients, planes.Take(n))
		}
	}
	var err error
	if b.samples, err = b.lane.Device(max(1, samples.Size)); err != nil {
		return err
	}
	if b.memory, err = b.lane.Device(max(1, planes.Size)); err != nil {
		return err
	}
	memory := b.memory
	i := 0
	for _, t := range b.tiles {
		list := &b.images[t.transform()]
		for z := range t.image.Depth {
			*list = append(*list, b.deviceImage(t, z, memory.Ptr+gpu.Ptr(first[i+z*t.image.Channels])))
		}
		for c := range t.tile.Components {
			component := &t.tile.Components[c]
			p := devicePlane{
				Coefficients: memory.Ptr + gpu.Ptr(coefficients[i]), First: memory.Ptr + gpu.Ptr(first[i]), Second: memory.Ptr + gpu.Ptr(second[i]),
				X0: uint32(component.Bounds.Min.X), Y0: uint32(component.Bounds.Min.Y), X1: uint32(component.Bounds.Max.X), Y1: uint32(component.Bounds.Max.Y),
				Stride: uint32(component.Bounds.Dx()),
			}
			if component.Coding.Levels == 0 {
				p.Coefficients = p.First
			}
			b.levels = max(b.levels, component.Coding.Levels)
			b.planes = append(b.planes, p)
			i++
		}
	}
	return nil
}

// deviceImage is the part of slice z in a tile, whose components begin at planes.
func (b *batch) deviceImage(t *deviceTile, z int, planes gpu.Ptr) deviceImage {
	m, bounds := t.image, t.tile.Bounds.Sub(t.origin)
	at := b.at[m] + ((z*m.Height+bounds.Min.Y)*m.Width+bounds.Min.X)*m.Channels*m.BytesPerSample()
	d := newDeviceImage(m.Shape, b.samples.Ptr+gpu.Ptr(at), planes, t.coloured)
	d.Width, d.Height = uint32(bounds.Dx()), uint32(bounds.Dy())
	return d
}

// newDeviceImage is an image of a shape whose samples and components lie at the addresses.
func newDeviceImage(s raster.Shape, samples, planes gpu.Ptr, coloured bool) deviceImage {
	d := deviceImage{
		Samples: samples, Planes: planes, Width: uint32(s.Width), Height: uint32(s.Height), Stride: uint32(s.Width),
		Channels: uint32(s.Channels), Bytes: uint32(s.BytesPerSample()), Shift: 1 << (s.Bits - 1), Most: 1<<s.Bits - 1,
	}
	if s.Signed {
		d.IsSigned, d.Shift, d.Least, d.Most = 1, 0, -(1 << (s.Bits - 1)), 1<<(s.Bits-1)-1
	}
	if coloured {
		d.Coloured = 1
	}
	return d
}

// perImage puts a kernel that takes pixels of slices of images into the stream, that for 5/3 and that
// for 9/7.
func (b *batch) perImage(kernel string) error {
	for i, images := range b.images {
		for some := range slices.Chunk(images, maxRows) {
			list, err := b.stream.Put(gpu.Bytes(some))
			if err != nil {
				return err
			}
			extents := make([]extent, len(some))
			for i := range some {
				extents[i].pixels = int(some[i].Width) * int(some[i].Height)
			}
			if err := launch(b, [2]string{kernel, kernel + "97"}[i], extents, &listParams{list.Ptr}); err != nil {
				return err
			}
		}
	}
	return nil
}

// transform is 0 for 5/3 and 1 for 9/7.
func (t *deviceTile) transform() int {
	if t.tile.Components[0].Coding.Transform == codestream.Irreversible97 {
		return 1
	}
	return 0
}

// perLevel puts a kernel that takes a level of the planes into the stream.
func (b *batch) perLevel(kernel string, list *gpu.Buffer, planes []devicePlane, level, levels int) error {
	e := extent{planes: len(planes)}
	for i := range planes {
		p := &planes[i]
		r := codestream.Reduce(image.Rect(int(p.X0), int(p.Y0), int(p.X1), int(p.Y1)), level-1)
		e.width, e.height = max(e.width, r.Dx()), max(e.height, r.Dy())
	}
	params := &levelParams{list.Ptr, uint32(level), uint32(levels)}
	return launch(b, kernel, []extent{e}, params)
}

// byLevels are the planes with their lists on the device, for each transform, of which
// kernels have the name behind theirs, and each number of levels.
func (b *batch) byLevels(f func(transform string, list *gpu.Buffer, planes []devicePlane, levels int) error) error {
	for k, transform := range []string{"53", "97"} {
		for levels := 1; levels <= b.levels; levels++ {
			planes := b.planesOf(k, levels)
			for len(planes) > 0 {
				n := min(len(planes), maxRows)
				list, err := b.stream.Put(gpu.Bytes(planes[:n]))
				if err != nil {
					return err
				}
				if err := f(transform, list, planes[:n], levels); err != nil {
					return err
				}
				planes = planes[n:]
			}
		}
	}
	return nil
}

func (b *batch) planesOf(transform, levels int) (planes []devicePlane) {
	i := 0
	for _, t := range b.tiles {
		for c := range t.tile.Components {
			if t.transform() == transform && t.tile.Components[c].Coding.Levels == levels {
				planes = append(planes, b.planes[i])
			}
			i++
		}
	}
	return planes
}

// maxRows is the most images or planes of a launch.
const maxRows = 1<<16 - 1

// encode makes the segments of all tiles, whose code-blocks have one style. Coefficients of
// 9/7 keep so many fractional bits, and measured asks for what passes of Part 1 take off
// the distortion.
func (b *batch) encode(ctx context.Context, fraction int, measured bool) error {
	if err := b.transformed(ctx); err != nil {
		return err
	}
	if style := b.tiles[0].tile.Components[0].Coding.Style; style&codestream.HT == 0 {
		return b.encodePasses(style, fraction, measured)
	}
	if b.tiles[0].lossyHT() {
		indices, err := b.lane.Device(b.memory.Size)
		if err != nil {
			return err
		}
		if err := b.quantize(indices); err != nil {
			return err
		}
	}
	return b.encodeBlocks()
}

// transformed makes the coefficients of all tiles.
func (b *batch) transformed(ctx context.Context) error {
	if err := b.reserve(); err != nil {
		return err
	}
	if err := b.staging.Upload(b.samples, b.samples.Size, b.uploads); err != nil {
		return err
	}
	if err := b.perImage("jpeg2000_load"); err != nil {
		return err
	}
	if err := b.forward(); err != nil {
		return err
	}
	return ctx.Err()
}

func (b *batch) forward() error {
	return b.byLevels(func(transform string, list *gpu.Buffer, planes []devicePlane, levels int) error {
		for level := 1; level <= levels; level++ {
			if err := b.perLevel("jpeg2000_forward"+transform, list, planes, level, levels); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *batch) inverse() error {
	return b.byLevels(func(transform string, list *gpu.Buffer, planes []devicePlane, levels int) error {
		for level := levels; level >= 1; level-- {
			if err := b.perLevel("jpeg2000_inverse"+transform, list, planes, level, levels); err != nil {
				return err
			}
		}
		return nil
	})
}

// coefficient is the address of the coefficient at p of a subband.
func (p *devicePlane) coefficient(t *codestream.TileComponent, b *codestream.Subband, at image.Point) gpu.Ptr {
	low := codestream.Reduce(t.Bounds, b.Level).Size()
	at = at.Sub(b.Bounds.Min).Add(image.Pt(low.X*int(b.Orientation&1), low.Y*int(b.Orientation>>1)))
	return p.Coefficients + gpu.Ptr(4*(at.Y*int(p.Stride)+at.X))
}

// download brings n bytes of a buffer to memory of the host that lasts.
func (b *batch) download(from *gpu.Buffer, n int) error {
	var err error
	if b.result, err = b.device.Host(n); err != nil {
		return err
	}
	if err = b.stream.DownloadParts([]gpu.Part{{Bytes: b.result.Bytes[:n]}}, from); err == nil {
		err = b.stream.Sync()
	}
	if err != nil {
		b.result.Free()
		b.result = nil
	}
	return err
}

// samplesOf are the decoded samples of an image.
func (b *batch) samplesOf(m *raster.Image) []byte {
	if to := b.into[m]; to != nil {
		return to
	}
	return b.result.Bytes[b.at[m]:][:m.Size()]
}

// downloadSamples brings the samples of all images to the host.
func (b *batch) downloadSamples() error {
	if len(b.into) < len(b.at) {
		b.into = nil
		return b.download(b.samples, b.samples.Size)
	}
	parts := make([]gpu.Part, 0, len(b.into))
	for m, to := range b.into {
		parts = append(parts, gpu.Part{At: b.at[m], Bytes: to})
	}
	slices.SortFunc(parts, func(p, q gpu.Part) int { return cmp.Compare(p.At, q.At) })
	if err := b.stream.DownloadParts(parts, b.samples); err != nil {
		return err
	}
	return b.stream.Sync()
}

// decode decodes the segments of all tiles to the samples of their images, of which only
// the shape counts; see samplesOf. Tiles with a malformed segment have failed set.
func (b *batch) decode(ctx context.Context) error {
	if err := b.reserve(); err != nil {
		return err
	}
	if err := b.decodeBlocks(); err != nil {
		return err
	}
	if err := b.refine(); err != nil {
		return err
	}
	if err := b.dequantize(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.inverse(); err != nil {
		return err
	}
	if err := b.perImage("jpeg2000_store"); err != nil {
		return err
	}
	host, err := b.lane.Host(b.failures.Size)
	if err != nil {
		return err
	}
	if err := b.stream.Download(host.Bytes, b.failures, 0); err != nil {
		return err
	}
	if err := b.downloadSamples(); err != nil {
		return err
	}
	for i, failed := range gpu.View[uint32](host.Bytes)[:len(b.tiles)] {
		b.tiles[i].failed = failed != 0
	}
	return nil
}
