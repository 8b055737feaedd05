package webp

import (
	"context"
	"sync"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/comparison"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/internal/container/webp/lossless"
	"github.com/pelmill/pelmill/raster"
)

// What a pixel takes to decode, in nanoseconds: on a core, and on a device, on which all images of a batch are decoded
// at the same time, each by one warp.
const (
	corePixel   = 16
	devicePixel = 150
)

// decoding is how files are divided into batches, by pixels: the memory of a lane holds up to twelve bytes for each.
var decoding = gpu.Batching{Calls: 2, Least: 32 << 20, Most: 64 << 20}

// deviceDecoder decodes the files of a call on a device. It leaves to the CPU what golang.org/x/image is to decode as
// well, what breaks a rule, so that the CPU says which, and all of it where the cores are sooner.
type deviceDecoder struct {
	ctx     context.Context
	run     codec.Run
	cores   *pool.Pool
	files   [][]byte
	out     []codec.Decoded
	opened  []*file            // of those that the device takes
	streams []*lossless.Stream // likewise
	entries [][]uint16         // likewise: their tables

	always bool // on the device also where the cores are sooner; for tests
}

func (d *deviceDecoder) decode() {
	d.opened, d.streams, d.entries = make([]*file, len(d.files)), make([]*lossless.Stream, len(d.files)), make([][]uint16, len(d.files))
	d.cores.Each(len(d.files), func(i int) {
		if f, err := open(d.files[i]); err == nil && !foreign(f.bitstream) {
			d.opened[i] = f
		}
	})
	all, largest := 0, 0
	for _, f := range d.opened {
		if f != nil {
			all, largest = all+f.width*f.height, max(largest, f.width*f.height)
		}
	}
	if d.always || d.sooner(all, largest) {
		d.cores.Each(len(d.files), d.prepare)
	}
	var taken, left []int
	for i, s := range d.streams {
		if s != nil {
			taken = append(taken, i)
		} else {
			left = append(left, i)
		}
	}
	var beside sync.WaitGroup
	beside.Go(func() { d.onCPU(left) })
	defer beside.Wait()
	batches := decoding.Divide(taken, func(i int) int { return d.streams[i].Width * d.streams[i].Height })
	d.run.Device.Run(d.ctx, batches, gpu.Work{
		Device: d.onDevice,
		CPU:    d.onCPU,
		Failed: func(items []int, err error) {
			for _, i := range items {
				d.out[i] = codec.Decoded{Err: err}
			}
		},
	})
}

// sooner says whether a device decodes so many pixels, of which one image has largest, in less time than the cores that have
// nothing else to do.
func (d *deviceDecoder) sooner(all, largest int) bool {
	busy, _ := d.cores.Load()
	return largest*devicePixel < all/max(1, d.cores.Size()-busy)*corePixel
}

// prepare reads a file up to its pixels, if the device is to take it.
func (d *deviceDecoder) prepare(i int) {
	if d.opened[i] == nil {
		return
	}
	s, ok := lossless.Open(d.opened[i].bitstream)
	if !ok {
		return
	}
	s.Describe()
	if d.entries[i], ok = codedEntries(s); ok {
		d.streams[i] = s
	}
}

func (d *deviceDecoder) onCPU(items []int) {
	d.cores.Each(len(items), func(j int) {
		i := items[j]
		d.streams[i] = nil
		d.out[i] = decode(d.ctx, d.files[i], codec.Uncleared)
	})
}

// onDevice decodes items on a lane, all together.
func (d *deviceDecoder) onDevice(l *gpu.Lane, items []int) error {
	if d.ctx.Err() != nil {
		return context.Cause(d.ctx)
	}
	b := &codedBatch{lane: l, staging: gpu.Staging{Lane: l, Spans: d.cores.Spans}, images: make([]codedImage, len(items)), state: make([]imageState, len(items))}
	for j, i := range items {
		b.add(&b.images[j], d.streams[i], d.entries[i], d.opened[i].alpha)
		if d.opened[i].colour {
			b.state[j].Coloured = 1
		}
	}
	// The originals first: a copy behind kernels waits for them. Whether an image is grey the device finds out.
	originals, at := comparison.Originals(d.run, items, func(j int) raster.Shape {
		i := items[j]
		if exif.Orientation(d.opened[i].exif) > 1 {
			return raster.Shape{} // the image is turned on the host
		}
		return d.image(i, d.run.Original(i).Image.Channels >= 3).Shape
	})
	comparing, err := comparison.Begin(l, &b.staging, originals)
	if err != nil {
		return err
	}
	if err := b.decode(); err != nil {
		return err
	}
	decoded := make([]gpu.Ptr, len(originals))
	var parts []gpu.Part
	var broken []int
	for j, i := range items {
		if b.state[j].Broken != 0 {
			broken, at[j] = append(broken, i), -1
			continue
		}
		m := d.image(i, b.state[j].Coloured != 0)
		if at[j] >= 0 && !m.Same(d.run.Original(i).Image.Shape) {
			at[j] = -1
		}
		if at[j] >= 0 {
			decoded[at[j]] = b.images[j].Samples
		}
		if at[j] < 0 || d.run.Original(i).Fetch {
			m.Pix = d.run.Bytes(m.Samples())
			parts = append(parts, gpu.Part{At: int(b.images[j].Samples - b.samples.Ptr), Bytes: m.Pix})
		}
		d.out[i] = codec.Decoded{Image: m, Second: codec.SecondLeftOut}
	}
	if err := comparing.Start(decoded); err != nil {
		return err
	}
	if err := b.fetch(parts); err != nil {
		return err
	}
	compared, err := comparing.End()
	if err != nil {
		return err
	}
	for j, i := range items {
		if m, f := d.out[i].Image, d.opened[i]; m != nil {
			d.out[i].Image = f.attach(m)
		}
		if at[j] >= 0 {
			d.out[i].Compared = &compared[at[j]]
		}
	}
	d.onCPU(broken)
	return nil
}

// image is the image of a file, without samples.
func (d *deviceDecoder) image(i int, coloured bool) *raster.Image {
	f := d.opened[i]
	m := &raster.Image{Shape: raster.Shape{Width: f.width, Height: f.height, Depth: 1, Channels: 1, Bits: 8}}
	if coloured {
		m.Channels = 3
	}
	if f.alpha {
		m.Channels++
	}
	return m
}

// codedBatch is files that a lane decodes together.
type codedBatch struct {
	lane    *gpu.Lane
	staging gpu.Staging
	images  []codedImage
	state   []imageState // of each image

	data, pixels, samples *gpu.Buffer

	up                          []gpu.Part // of data
	dataAt, pixelsAt, samplesAt gpu.Layout
	inData, inPixels, inSamples []*gpu.Ptr // hold places until the buffers are there
}

// put notes bytes that go to the device, and that p is to point to them.
func (b *codedBatch) put(p *gpu.Ptr, bytes []byte) {
	at := b.dataAt.Take(len(bytes) + 3) // words are read whole
	if len(bytes) > 0 {
		b.up = append(b.up, gpu.Part{At: at, Bytes: bytes})
	}
	*p = gpu.Ptr(at)
	b.inData = append(b.inData, p)
}

// place notes that p is to point to n bytes.
func place(p *gpu.Ptr, at *gpu.Layout, list *[]*gpu.Ptr, n int) {
	*p = gpu.Ptr(at.Take(n))
	*list = append(*list, p)
}

// add notes what the device needs of a file.
func (b *codedBatch) add(c *codedImage, s *lossless.Stream, entries []uint16, alpha bool) {
	data := s.Data[min(s.FirstBit/32*4, len(s.Data)):]
	b.put(&c.Words, data)
	c.WordCount, c.Bits, c.FirstBit = uint32((len(data)+3)/4), uint64(8*len(data)), uint32(s.FirstBit%32)
	c.Width, c.Height, c.CodedWidth = uint32(s.Width), uint32(s.Height), uint32(s.CodedWidth)
	b.put(&c.Tables, gpu.Bytes(entries))
	c.EntryCount = uint32(len(entries))
	groups := codedGroups(s, entries)
	b.put(&c.Groups, gpu.Bytes(groups))
	c.GroupCount, c.TileBits, c.CacheBits = uint32(len(groups)), uint32(s.TileBits), uint32(s.CacheBits)
	if s.Numbers != nil {
		b.put(&c.Numbers, s.Numbers)
	}
	near := make([]uint32, lossless.Near)
	for k := range near {
		near[k] = uint32(lossless.NearDistance(k+1, s.CodedWidth))
	}
	b.put(&c.NearDistances, gpu.Bytes(near))
	place(&c.Pixels, &b.pixelsAt, &b.inPixels, 4*s.CodedWidth*s.Height)
	transforms := make([]codedTransform, len(s.Transforms))
	for k, t := range s.Transforms {
		transforms[k] = codedTransform{Kind: uint32(t.Kind), Width: uint32(t.Width), Bits: uint32(t.Bits)}
		b.put(&transforms[k].Pix, t.Pix)
		if t.Kind == lossless.ColourIndexing && t.Bits > 0 {
			c.Widened = uint32(k + 1)
			place(&c.WidePixels, &b.pixelsAt, &b.inPixels, 4*s.Width*s.Height)
		}
	}
	c.TransformCount = uint32(len(transforms))
	b.put(&c.Transforms, gpu.Bytes(transforms)) // when the places in it have become pointers
	channels := 3
	if alpha {
		c.Alpha, channels = 1, 4
	}
	place(&c.Samples, &b.samplesAt, &b.inSamples, channels*storePixels*pieces(s.Width*s.Height, storePixels))
}

// upload takes memory, makes pointers of places, and brings what the batch needs to the device.
func (b *codedBatch) upload() error {
	for _, r := range []struct {
		buffer **gpu.Buffer
		size   int
		list   []*gpu.Ptr
	}{{&b.data, b.dataAt.Size, b.inData}, {&b.pixels, b.pixelsAt.Size, b.inPixels}, {&b.samples, b.samplesAt.Size, b.inSamples}} {
		if err := b.lane.Room(r.buffer, r.size); err != nil {
			return err
		}
		for _, p := range r.list {
			*p += (*r.buffer).Ptr
		}
	}
	// All bytes between the samples of two images come to the host.
	if err := b.lane.Stream(0).Fill(b.samples, 0, b.samples.Size, 0); err != nil {
		return err
	}
	return b.staging.Upload(b.data, b.dataAt.Size, b.up)
}

// decode runs the kernels, and fetches the state of each image.
func (b *codedBatch) decode() error {
	if err := b.upload(); err != nil {
		return err
	}
	s := b.lane.Stream(0)
	state, err := s.Put(gpu.Bytes(b.state))
	if err != nil {
		return err
	}
	rounds := 0
	for i := range b.images {
		c := &b.images[i]
		c.State = state.Ptr + gpu.Ptr(i)*gpu.Ptr(unsafe.Sizeof(imageState{}))
		rounds = max(rounds, int(c.TransformCount))
	}
	list, err := s.Put(gpu.Bytes(b.images))
	if err != nil {
		return err
	}
	launch := func(names ...string) error {
		for _, name := range names {
			if err := gpu.LaunchFor(&decoderKernels, s, name, b.images, &codedParams{list.Ptr}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := launch("webp_decode_symbols"); err != nil {
		return err
	}
	for round := range rounds {
		for _, name := range []string{"webp_undo_predictor", "webp_undo_others"} {
			if err := gpu.LaunchFor(&decoderKernels, s, name, b.images, &undoParams{list.Ptr, uint32(round)}); err != nil {
				return err
			}
		}
	}
	if err := launch("webp_find_colour", "webp_store"); err != nil {
		return err
	}
	bytes := gpu.Bytes(b.state)
	return b.staging.Download([]gpu.Part{{Bytes: bytes}}, state, len(bytes))
}

// fetch brings samples to the host: to pinned memory at once.
func (b *codedBatch) fetch(parts []gpu.Part) error {
	if len(parts) == 0 {
		return nil
	}
	for _, p := range parts {
		if !b.lane.Pinned(p.Bytes) {
			last := parts[len(parts)-1]
			return b.staging.Download(parts, b.samples, last.At+len(last.Bytes))
		}
	}
	s := b.lane.Stream(0)
	if err := s.DownloadParts(parts, b.samples); err != nil {
		return err
	}
	return s.Sync()
}
