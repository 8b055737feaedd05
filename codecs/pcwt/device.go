package pcwt

import (
	"context"
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
// while another is coded. Decoding takes larger ones, because a level takes as long as one of its tiles, however few they are; the first
// of these are smaller, as nothing hides what the host does before the first kernel.
var (
	encoding = gpu.Batching{Calls: 12, Least: 8 << 20, Most: 32 << 20, Items: 1024}
	decoding = gpu.Batching{Calls: 12, Least: 16 << 20, Most: 96 << 20, Items: 1024, First: 16 << 20}
)

// weight is the size of an image for batching. A plane counts as some kilobytes at least: lists of a batch have all of them.
func weight(s raster.Shape) int { return s.Size() + 8192*s.Depth*s.Channels }

// mostPlanes is how many planes an image has at most that a device takes.
const mostPlanes = 4096

// slicePictures are the slices of images, as pictures for a device. Images may be smaller than their headers say, and without
// samples.
func slicePictures(images []*raster.Image, headers []*header) (pictures []picture, frames []frame) {
	for i, m := range images {
		h := headers[i]
		first := len(pictures)
		order := make([]int, m.Depth)
		for z := range m.Depth {
			order[z] = z
			pictures = append(pictures, picture{
				width: m.Width, height: m.Height, channels: m.Channels, bits: m.Bits, signed: m.Signed,
				colour: h.rct(), near: h.near, limited: h.qmin > 0 || !m.Same(h.shape),
			})
			if m.Pix != nil {
				pictures[len(pictures)-1].pix = m.Slice(z).Pix
			}
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
	coded  *codedBatch // whose file number it is; nil once there is data
	number int
	memory []byte // of the caller's for the file; nil: none
	data   []byte
	err    error
}

// memory is that of the caller's for n bytes of file k, or nil.
func (e *deviceEncoder) memory(k, n int) []byte {
	f := e.files[k]
	if e.run.Alloc == nil || !f.alone {
		return nil
	}
	if len(f.memory) != n {
		if f.memory = e.run.Alloc(n); f.memory != nil {
			f.memory = f.memory[:n:n]
		}
	}
	return f.memory
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
	defer pool.Beside(func() {
		e.cores.Each(len(left), func(j int) {
			i := left[j]
			e.out[i].Data, e.out[i].Err = encode(e.ctx, e.cores, e.images[i], e.o)
		})
	})()
	size := func(k int) int { return weight(e.images[e.files[k].image].Shape) }
	e.run.Device.Run(e.ctx, encoding.Divide(taken, size), gpu.Work{
		Device: e.onDevice,
		Host: func(items []int) {
			e.cores.Each(len(items), func(j int) {
				f := e.files[items[j]]
				if f.coded != nil {
					f.data, f.coded = f.coded.file(e.cores, f.number, func(n int) []byte { return e.memory(items[j], n) }), nil
				}
				if f.alone {
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
	d.device = e.run.Device
	pictures, frames := slicePictures(images, headers)
	if e.o.profile == 0 {
		return e.trees(d, items, pictures, frames, func() { <-done })
	}
	d.place = func(file, n int) []byte {
		<-done // a header has the checksum
		if n < leastPlaced {
			return nil
		}
		return e.memory(items[file], n)
	}
	coded, err := d.encodeTiles(e.ctx, pictures, headers, frames)
	if err != nil {
		return err
	}
	for j, k := range items {
		e.files[k].coded, e.files[k].number = coded, j
	}
	return nil
}

// trees encodes with profile 0.
func (e *deviceEncoder) trees(d *deviceSteps, items []int, pictures []picture, frames []frame, checksums func()) error {
	const sum = 4 // bytes of the checksum behind a slice
	var sections [][]byte
	sums, err := d.encodeTrees(e.ctx, pictures, treeParams(e.o, pictures), func(sizes []int) [][]byte {
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
			f.data = codec.Uncleared(f.header.size)
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
	for k, v := range sums {
		little.PutUint32(sections[k][len(sections[k])-sum:], v)
	}
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
