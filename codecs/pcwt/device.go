package pcwt

import (
	"context"
	"hash/crc32"
	"sync"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/wavelettree"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// What a device does of a call: whole images and files, in batches. The rest is for the CPU.

// How images are divided into batches, by bytes of their samples: so small that a call makes several, of which one is copied
// while another is coded. Decoding takes larger ones, because a level takes as long as one of its tiles, however few they are.
var (
	encoding = gpu.Batching{Calls: 12, Least: 8 << 20, Most: 32 << 20, Items: 1024}
	decoding = gpu.Batching{Calls: 6, Least: 32 << 20, Most: 96 << 20, Items: 1024}
)

// weight is the size of an image for batching. A plane counts as some kilobytes at least: lists of a batch have all of them.
func weight(s raster.Shape) int { return s.Size() + 8192*s.Depth*s.Channels }

// mostPlanes is how many planes an image has at most that a device takes.
const mostPlanes = 4096

// slicePictures are the slices of images, as pictures for a device.
func slicePictures(images []*raster.Image, headers []*header) (pictures []picture, frames []frame) {
	for i, m := range images {
		h := headers[i]
		for z := range m.Depth {
			pictures = append(pictures, picture{
				pix: m.Slice(z).Pix, width: m.Width, height: m.Height, channels: m.Channels, bits: m.Bits, signed: m.Signed,
				colour: h.rct(), near: h.near,
			})
			frames = append(frames, frame{i, z})
		}
	}
	return pictures, frames
}

// deviceEncoder encodes the images of a call on a device, and leaves those to the CPU that it does not take.
type deviceEncoder struct {
	ctx     context.Context
	run     codec.Run
	cores   *pool.Pool
	images  []*raster.Image
	o       *Options
	out     []codec.Encoded
	headers []*header // of the images that the device takes
}

// encode encodes the images with the given numbers.
func (e *deviceEncoder) encode(numbers []int) {
	e.headers = make([]*header, len(e.images))
	var taken, left []int
	for _, i := range numbers {
		if h := e.plan(i); h != nil {
			e.headers[i] = h
			taken = append(taken, i)
		} else {
			left = append(left, i)
		}
	}
	var beside sync.WaitGroup
	beside.Go(func() { e.onCPU(left) })
	defer beside.Wait()
	size := func(i int) int { return weight(e.images[i].Shape) }
	e.run.Device.Run(e.ctx, encoding.Divide(taken, size), gpu.Work{
		Device: e.onDevice,
		Host:   func(items []int) { e.cores.Each(len(items), func(j int) { e.finish(items[j]) }) },
		CPU:    e.onCPU,
		Failed: func(items []int, err error) {
			for _, i := range items {
				e.out[i].Err = err
			}
		},
	})
}

// plan is how an image is coded where that needs no trial, or nil.
func (e *deviceEncoder) plan(i int) *header {
	c := &encoder{e.ctx, e.cores, e.images[i], e.o}
	if c.image.Depth*c.image.Channels > mostPlanes {
		return nil
	}
	if e.o.profile == 0 {
		return c.header()
	}
	if e.o.qmin > 0 || c.tries() {
		return nil
	}
	h := c.plain()
	if h.setTables() != nil {
		return nil
	}
	return h
}

// tries says whether the effort asks for trials of an image.
func (e *encoder) tries() bool {
	return e.o.effort > 1 || e.o.effort == 1 && (e.image.Bits > 8 || e.image.Depth > 1)
}

func (e *deviceEncoder) onCPU(items []int) {
	e.cores.Each(len(items), func(j int) {
		i := items[j]
		e.out[i].Data, e.out[i].Err = encode(e.ctx, e.cores, e.images[i], e.o)
	})
}

func (e *deviceEncoder) onDevice(l *gpu.Lane, items []int) error {
	images, headers := make([]*raster.Image, len(items)), make([]*header, len(items))
	for j, i := range items {
		images[j], headers[j] = e.images[i], e.headers[i]
	}
	// The cores compute checksums while the device is at work.
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.cores.Each(len(items), func(j int) { headers[j].checksum = checksum(e.cores, headers[j], images[j]) })
	}()
	defer func() { <-done }()
	d := newDeviceSteps(l, e.cores)
	pictures, frames := slicePictures(images, headers)
	if e.o.profile == 0 {
		return e.trees(d, items, pictures, frames, func() { <-done })
	}
	files, err := d.encodeTiles(e.ctx, pictures, headers, frames, func() { <-done })
	for j, file := range files {
		e.out[items[j]].Data = file
	}
	return err
}

// trees encodes with profile 0.
func (e *deviceEncoder) trees(d *deviceSteps, items []int, pictures []picture, frames []frame, checksums func()) error {
	const sum = 4 // bytes of the checksum behind a slice
	var sections [][]byte
	err := d.encodeTrees(e.ctx, pictures, treeParams(e.o, pictures), func(sizes []int) [][]byte {
		checksums()
		sections = make([][]byte, len(sizes))
		for k, f := range frames {
			h := e.headers[items[f.file]]
			if f.slice == 0 {
				h.sections = make([]int, h.shape.Depth)
			}
			h.sections[f.slice] = sizes[k] + sum
		}
		e.cores.Each(len(items), func(j int) {
			h := e.headers[items[j]]
			head := h.append()
			file := make([]byte, h.size)
			copy(file, head)
			e.out[items[j]].Data = file
		})
		at := 0 // in a file
		for k, f := range frames {
			i := items[f.file]
			if f.slice == 0 {
				at = e.headers[i].start
			}
			sections[k] = e.out[i].Data[at:][:sizes[k]+sum]
			at += sizes[k] + sum
		}
		return sections
	})
	if err != nil {
		return err
	}
	e.cores.Each(len(sections), func(k int) {
		data := sections[k][:len(sections[k])-sum]
		little.PutUint32(sections[k][len(data):], crc32.Checksum(data, castagnoli))
	})
	return nil
}

// treeParams are those of profile 0.
func treeParams(o *Options, pictures []picture) []wavelettree.Params {
	params := make([]wavelettree.Params, len(pictures))
	for i, p := range pictures {
		params[i] = wavelettree.DefaultParams(p.width, p.height)
		params[i].ZeroSigns = o.zeroSigns
	}
	return params
}

// finish stores an image as it is where that takes less.
func (e *deviceEncoder) finish(i int) {
	c := &encoder{e.ctx, e.cores, e.images[i], e.o}
	e.out[i].Data = c.smaller(e.out[i].Data)
}

// deviceDecoder decodes the files of a call on a device, and leaves those to the CPU that it does not take.
type deviceDecoder struct {
	ctx     context.Context
	run     codec.Run
	cores   *pool.Pool
	files   [][]byte
	out     []codec.Decoded
	headers []*header // of the files that the device takes
	coded   []*codedFile
	images  []func() *raster.Image // likewise, made once
}

// decode decodes all files.
func (d *deviceDecoder) decode() {
	d.headers, d.coded = make([]*header, len(d.files)), make([]*codedFile, len(d.files))
	d.images = make([]func() *raster.Image, len(d.files))
	var taken, left []int
	read := make([]bool, len(d.files))
	d.cores.Each(len(d.files), func(i int) { read[i] = d.read(i) })
	for i := range d.files {
		switch {
		case d.out[i].Err != nil:
		case read[i]:
			taken = append(taken, i)
		default:
			left = append(left, i)
		}
	}
	var beside sync.WaitGroup
	beside.Go(func() { d.onCPU(left) })
	// Taking memory for images takes as long as decoding them.
	beside.Go(func() { d.cores.Each(len(taken), func(j int) { d.images[taken[j]]() }) })
	defer beside.Wait()
	size := func(i int) int { return weight(d.headers[i].shape) }
	d.run.Device.Run(d.ctx, decoding.Divide(taken, size), gpu.Work{
		Device: d.onDevice,
		Host:   func(items []int) { d.cores.Each(len(items), func(j int) { d.finish(items[j]) }) },
		CPU:    d.onCPU,
		Failed: func(items []int, err error) {
			for _, i := range items {
				d.out[i] = codec.Decoded{Err: err}
			}
		},
	})
}

// read reads the header of a file, and says whether the device takes it. A file whose groups or tiles are not to be found is
// left to the CPU, which knows what to say.
func (d *deviceDecoder) read(i int) bool {
	h, err := readHeader(d.files[i])
	if err != nil || len(d.files[i]) != h.size || h.stored() || h.zLevels > 0 || h.shape.Depth*h.shape.Channels > mostPlanes {
		return false
	}
	d.headers[i] = h
	d.images[i] = sync.OnceValue(func() *raster.Image { return raster.Make(h.shape) })
	if h.profile == 1 {
		d.coded[i], err = readTiles(h, d.files[i])
	}
	return err == nil
}

func (d *deviceDecoder) onCPU(items []int) {
	d.cores.Each(len(items), func(j int) {
		i := items[j]
		d.out[i].Image, d.out[i].Err = decode(d.ctx, d.cores, d.files[i])
	})
}

func (d *deviceDecoder) onDevice(l *gpu.Lane, items []int) error {
	images, headers := make([]*raster.Image, len(items)), make([]*header, len(items))
	d.cores.Each(len(items), func(j int) {
		headers[j] = d.headers[items[j]]
		images[j] = d.images[items[j]]()
		d.out[items[j]] = codec.Decoded{Image: images[j]}
	})
	s := newDeviceSteps(l, d.cores)
	pictures, frames := slicePictures(images, headers)
	var trees, tiles []int // numbers of items, by profile
	for j, h := range headers {
		if h.profile == 0 {
			trees = append(trees, j)
		} else {
			tiles = append(tiles, j)
		}
	}
	if err := d.trees(s, items, trees, pictures, frames); err != nil {
		return err
	}
	return d.tiles(s, items, tiles, pictures, frames)
}

// part is the pictures and frames of some files, which are numbered anew.
func part(numbers []int, pictures []picture, frames []frame) (p []picture, f []frame) {
	at := make(map[int]int)
	for k, n := range numbers {
		at[n] = k
	}
	for i := range frames {
		if k, ok := at[frames[i].file]; ok {
			p, f = append(p, pictures[i]), append(f, frame{k, frames[i].slice})
		}
	}
	return p, f
}

// trees decodes files of profile 0.
func (d *deviceDecoder) trees(s *deviceSteps, items, numbers []int, pictures []picture, frames []frame) error {
	if len(numbers) == 0 {
		return nil
	}
	pictures, frames = part(numbers, pictures, frames)
	streams := make([][]byte, len(frames))
	for k, f := range frames {
		i := items[numbers[f.file]]
		data, err := d.headers[i].sectionBytes(d.files[i], f.slice)
		if err == nil {
			data, err = treeStream(data)
		}
		if err != nil {
			d.out[i].Err = err
		}
		streams[k] = data
	}
	damage, err := s.decodeTrees(d.ctx, pictures, streams)
	for k, e := range damage {
		if i := items[numbers[frames[k].file]]; e != nil && d.out[i].Err == nil {
			d.out[i].Err = codec.Malformedf("pcwt: %v", e)
		}
	}
	return err
}

// tiles decodes files of profile 1.
func (d *deviceDecoder) tiles(s *deviceSteps, items, numbers []int, pictures []picture, frames []frame) error {
	if len(numbers) == 0 {
		return nil
	}
	pictures, frames = part(numbers, pictures, frames)
	headers, coded := make([]*header, len(numbers)), make([]*codedFile, len(numbers))
	for k, j := range numbers {
		headers[k], coded[k] = d.headers[items[j]], d.coded[items[j]]
	}
	damage, err := s.decodeTiles(d.ctx, pictures, headers, frames, coded)
	for k, e := range damage {
		if i := items[numbers[frames[k].file]]; e != 0 && d.out[i].Err == nil {
			d.out[i].Err = codec.Malformedf("pcwt: a tile is damaged")
		}
	}
	return err
}

// finish checks the samples of a file.
func (d *deviceDecoder) finish(i int) {
	out, h := &d.out[i], d.headers[i]
	if out.Err == nil && h.checksumOf(out.Image.Pix, d.files[i]) != h.checksum {
		out.Err = codec.Malformedf("pcwt: the checksum of the samples is wrong")
	}
	if out.Err != nil {
		out.Image = nil
		return
	}
	out.Image.Meta = h.meta
}
