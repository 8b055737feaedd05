package pcwt

import (
	"context"
	"errors"
	"hash/crc32"
	"image"
	"sync"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/wavelettree"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// What a device does of a call: whole images and files, in batches, and views but small regions. What the effort tries is
// found on the CPU, which fits weights in floating point, and each of the files that are tried is made on the device. Left
// to the CPU are samples that are stored as they are, images of more than mostPlanes planes, views of profile 0, and what
// does not fit into the device's memory.

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

// slicePictures are the slices of images, as pictures for a device. Images may be smaller than their headers say.
func slicePictures(images []*raster.Image, headers []*header) (pictures []picture, frames []frame) {
	for i, m := range images {
		h := headers[i]
		first := len(pictures)
		order := make([]int, m.Depth)
		for z := range m.Depth {
			order[z] = z
			pictures = append(pictures, picture{
				pix: m.Slice(z).Pix, width: m.Width, height: m.Height, channels: m.Channels, bits: m.Bits, signed: m.Signed,
				colour: h.rct(), near: h.near, limited: h.qmin > 0 || !m.Same(h.shape),
			})
		}
		for k, z := range storedOrder(order, h.zLevels) {
			frames = append(frames, frame{i, k, first + z})
		}
	}
	return pictures, frames
}

// deviceEncoder encodes the images of a call on a device, and leaves those to the CPU that it does not take.
type deviceEncoder struct {
	ctx    context.Context
	run    codec.Run
	cores  *pool.Pool
	images []*raster.Image
	o      *Options
	out    []codec.Encoded

	sums  []func() uint32 // checksum of the samples of an image, made once
	files []*deviceFile   // that are made, those of an image in the order of its ways
}

// deviceFile is a file that a device makes: the image's only one, or one of those of which the smallest is kept.
type deviceFile struct {
	image  int
	header *header
	alone  bool
	data   []byte
	err    error
}

// encode encodes the images with the given numbers.
func (e *deviceEncoder) encode(numbers []int) {
	ways := make([][]*header, len(e.images))
	e.sums = make([]func() uint32, len(e.images))
	e.cores.Each(len(numbers), func(j int) { ways[numbers[j]] = e.ways(numbers[j]) })
	var taken, left []int
	for _, i := range numbers {
		switch {
		case e.out[i].Err != nil:
		case ways[i] == nil:
			left = append(left, i)
		}
		for _, h := range ways[i] {
			e.sums[i] = sync.OnceValue(func() uint32 { return checksum(e.cores, h, e.images[i]) })
			taken = append(taken, len(e.files))
			e.files = append(e.files, &deviceFile{image: i, header: h, alone: len(ways[i]) == 1})
		}
	}
	var beside sync.WaitGroup
	beside.Go(func() {
		e.cores.Each(len(left), func(j int) {
			i := left[j]
			e.out[i].Data, e.out[i].Err = encode(e.ctx, e.cores, e.images[i], e.o)
		})
	})
	defer beside.Wait()
	size := func(k int) int { return weight(e.images[e.files[k].image].Shape) }
	e.run.Device.Run(e.ctx, encoding.Divide(taken, size), gpu.Work{
		Device: e.onDevice,
		Host: func(items []int) {
			e.cores.Each(len(items), func(j int) {
				if f := e.files[items[j]]; f.alone {
					e.finish([]*deviceFile{f})
				}
			})
		},
		CPU: e.onCPU,
		Failed: func(items []int, err error) {
			for _, k := range items {
				e.out[e.files[k].image].Err = err
			}
		},
	})
	e.choose()
}

// choose keeps the smallest file of each image that has several.
func (e *deviceEncoder) choose() {
	for from := 0; from < len(e.files); {
		to := from + 1
		for to < len(e.files) && e.files[to].image == e.files[from].image {
			to++
		}
		if !e.files[from].alone {
			e.finish(e.files[from:to])
		}
		from = to
	}
}

// ways are the headers with which an image is coded on a device, or nil: then it is left to the CPU, or has failed.
func (e *deviceEncoder) ways(i int) []*header {
	c := &encoder{e.ctx, e.cores, e.images[i], e.o}
	if c.image.Depth*c.image.Channels > mostPlanes {
		return nil
	}
	if e.o.profile == 0 {
		return []*header{c.header()}
	}
	list, err := c.ways()
	for _, h := range list {
		if err == nil {
			err = h.setTables()
		}
	}
	if err != nil {
		e.out[i].Err = err
		return nil
	}
	return list
}

// onCPU makes files for which no lane has the memory.
func (e *deviceEncoder) onCPU(items []int) {
	e.cores.Each(len(items), func(j int) {
		f := e.files[items[j]]
		c := &encoder{e.ctx, e.cores, e.images[f.image], e.o}
		if e.o.profile == 0 {
			f.data, f.err = c.trees()
		} else {
			f.data, f.err = c.file(f.header)
		}
		if f.alone {
			e.finish([]*deviceFile{f})
		}
	})
}

func (e *deviceEncoder) onDevice(l *gpu.Lane, items []int) error {
	images, headers := make([]*raster.Image, len(items)), make([]*header, len(items))
	for j, k := range items {
		f := e.files[k]
		images[j], headers[j] = e.images[f.image], f.header
	}
	// The cores compute checksums while the device is at work.
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.cores.Each(len(items), func(j int) { headers[j].checksum = e.sums[e.files[items[j]].image]() })
	}()
	defer func() { <-done }()
	d := newDeviceSteps(l, e.cores)
	pictures, frames := slicePictures(images, headers)
	if e.o.profile == 0 {
		return e.trees(d, items, pictures, frames, func() { <-done })
	}
	files, err := d.encodeTiles(e.ctx, pictures, headers, frames, func() { <-done })
	for j, file := range files {
		e.files[items[j]].data = file
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
			h := e.files[items[f.file]].header
			if f.slice == 0 {
				h.sections = make([]int, h.shape.Depth)
			}
			h.sections[f.slice] = sizes[k] + sum
		}
		e.cores.Each(len(items), func(j int) {
			f := e.files[items[j]]
			head := f.header.append()
			f.data = make([]byte, f.header.size)
			copy(f.data, head)
		})
		at := 0 // in a file
		for k, f := range frames {
			file := e.files[items[f.file]]
			if f.slice == 0 {
				at = file.header.start
			}
			sections[k] = file.data[at:][:sizes[k]+sum]
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

// finish keeps the smallest of an image's files, or stores the image as it is where that takes less.
func (e *deviceEncoder) finish(files []*deviceFile) {
	out := &e.out[files[0].image]
	best := files[0].data
	for _, f := range files {
		if out.Err == nil {
			out.Err = f.err
		}
		if len(f.data) < len(best) {
			best = f.data
		}
	}
	if out.Err != nil {
		return
	}
	c := &encoder{e.ctx, e.cores, e.images[files[0].image], e.o}
	out.Data = c.smaller(best)
}

// leastRegion is the part of an image, in 1/leastRegion, from which on a region is cut out of the whole image as a device decodes
// it: the CPU decodes only the tiles that a smaller one takes.
const leastRegion = 4

// deviceDecoder decodes a view of the files of a call on a device, and leaves those to the CPU that it does not take.
type deviceDecoder struct {
	ctx     context.Context
	run     codec.Run
	cores   *pool.Pool
	files   [][]byte
	view    codec.View
	out     []codec.Decoded
	headers []*header // of the files that the device takes
	coded   []*codedFile
	regions []image.Rectangle      // likewise, of the images that it decodes
	images  []func() *raster.Image // likewise, made once
}

// decode decodes all files.
func (d *deviceDecoder) decode() {
	d.headers, d.coded = make([]*header, len(d.files)), make([]*codedFile, len(d.files))
	d.images, d.regions = make([]func() *raster.Image, len(d.files)), make([]image.Rectangle, len(d.files))
	var taken, left []int
	read := make([]bool, len(d.files))
	d.cores.Each(len(d.files), func(i int) { read[i] = d.read(i) })
	for i := range d.files {
		if read[i] {
			taken = append(taken, i)
		} else {
			left = append(left, i)
		}
	}
	var beside sync.WaitGroup
	beside.Go(func() { d.onCPU(left) })
	// Taking memory for images takes as long as decoding them.
	beside.Go(func() { d.cores.Each(len(taken), func(j int) { d.images[taken[j]]() }) })
	defer beside.Wait()
	size := func(i int) int { return weight(d.shape(i)) }
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

// shape is that of the image that a device decodes: all of it at the view's resolution.
func (d *deviceDecoder) shape(i int) raster.Shape {
	s := d.headers[i].shape
	s.Width, s.Height = reduced(s.Width, d.view.Reduce), reduced(s.Height, d.view.Reduce)
	return s
}

// read reads the header of a file, and says whether the device takes it. A file whose groups or tiles are not to be found is
// left to the CPU, which knows what to say.
func (d *deviceDecoder) read(i int) bool {
	h, err := readHeader(d.files[i])
	if err != nil || h.stored() || h.shape.Depth*h.shape.Channels > mostPlanes {
		return false
	}
	d.headers[i] = h
	s := d.shape(i)
	if d.view == (codec.View{}) {
		if len(d.files[i]) != h.size {
			return false
		}
		d.regions[i] = image.Rect(0, 0, s.Width, s.Height)
	} else {
		if d.regions[i], err = d.view.In(h.shape, h.resolutions()); err != nil || h.profile == 0 {
			return false
		}
		if r := d.regions[i]; r.Dx()*r.Dy() < s.Width*s.Height/leastRegion {
			return false
		}
	}
	d.images[i] = sync.OnceValue(func() *raster.Image { return raster.Make(s) })
	if h.profile == 1 {
		d.coded[i], err = readTiles(h, d.files[i], d.view.Reduce)
	}
	return err == nil
}

func (d *deviceDecoder) onCPU(items []int) {
	d.cores.Each(len(items), func(j int) {
		i := items[j]
		d.out[i].Image, d.out[i].Err = decodeView(d.ctx, d.cores, d.files[i], d.view)
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
			p, f = append(p, pictures[i]), append(f, frame{k, frames[i].slice, frames[i].picture - i + len(p)})
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
			d.out[i].Err = errDamaged
		}
		streams[k] = data
	}
	damage, err := s.decodeTrees(d.ctx, pictures, streams)
	for k, e := range damage {
		if e != nil {
			d.out[items[numbers[frames[k].file]]].Err = errDamaged
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
	damage, err := s.decodeTiles(d.ctx, pictures, headers, frames, coded, d.view.Reduce)
	for k, e := range damage {
		if e != 0 {
			d.out[items[numbers[frames[k].file]]].Err = errDamaged
		}
	}
	return err
}

// errDamaged marks files that the CPU decodes once more, which knows what to say.
var errDamaged = errors.New("pcwt: damaged")

// finish checks the samples of a file, and cuts the region out.
func (d *deviceDecoder) finish(i int) {
	out, h := &d.out[i], d.headers[i]
	if out.Err != nil {
		d.onCPU([]int{i})
		return
	}
	if d.view == (codec.View{}) && h.checksumOf(out.Image.Pix, d.files[i]) != h.checksum {
		*out = codec.Decoded{Err: codec.Malformedf("pcwt: the checksum of the samples is wrong")}
		return
	}
	if r := d.regions[i]; r.Size() != image.Pt(out.Image.Width, out.Image.Height) {
		out.Image = raster.Crop(out.Image, r)
	}
	out.Image.Meta = h.meta
}
