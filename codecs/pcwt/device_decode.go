package pcwt

import (
	"context"
	"image"
	"sync"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

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
	regions []image.Rectangle // likewise, of the images that it decodes
	decoded []decodedFile     // likewise
	pix     [][]byte          // likewise memory of the caller's for the samples, nil where there is none
	ready   []chan struct{}   // likewise: closed when the tiles are found, or coded stays nil
}

// decodedFile is where the samples of a file are.
type decodedFile struct {
	batch  *decodedBatch // nil: the file is damaged
	slices [][]byte
}

// decode decodes all files.
func (d *deviceDecoder) decode() {
	d.headers, d.coded = make([]*header, len(d.files)), make([]*codedFile, len(d.files))
	d.regions, d.decoded = make([]image.Rectangle, len(d.files)), make([]decodedFile, len(d.files))
	d.pix, d.ready = make([][]byte, len(d.files)), make([]chan struct{}, len(d.files))
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
	for _, i := range taken {
		d.ready[i] = make(chan struct{})
	}
	var beside sync.WaitGroup
	beside.Go(func() { d.findTiles(taken) })
	defer beside.Wait()
	defer pool.Beside(func() { d.onCPU(left) })()
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

// findTiles finds the tiles of files, in their order, while lanes decode those that are ready. A file whose tiles are not to be found
// is left to the CPU, which knows what to say.
func (d *deviceDecoder) findTiles(items []int) {
	d.cores.Each(len(items), func(j int) {
		i := items[j]
		defer close(d.ready[i])
		defer func() { _ = recover() }() // lanes wait for the other files; the CPU, to which this one is left, panics in its caller
		if d.headers[i].profile == 1 {
			if c, err := readTiles(d.headers[i], d.files[i], d.view.Reduce); err == nil {
				d.coded[i] = c
			}
		}
	})
}

// read reads the header of a file, and says whether the device takes it.
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
	return true
}

func (d *deviceDecoder) onCPU(items []int) {
	d.cores.Each(len(items), func(j int) {
		i := items[j]
		d.out[i].Image, d.out[i].Err = decodeView(d.ctx, d.cores, d.files[i], d.view)
	})
}

func (d *deviceDecoder) onDevice(l *gpu.Lane, all []int) error {
	var byProfile [2][]int
	for _, i := range all {
		d.decoded[i] = decodedFile{}
		<-d.ready[i]
		if p := d.headers[i].profile; p == 0 || d.coded[i] != nil {
			byProfile[p] = append(byProfile[p], i)
		}
	}
	s := newDeviceSteps(l, d.cores)
	s.device = d.run.Device
	for profile, items := range byProfile {
		if len(items) == 0 {
			continue
		}
		images, headers := make([]*raster.Image, len(items)), make([]*header, len(items))
		for j, i := range items {
			headers[j], images[j] = d.headers[i], &raster.Image{Shape: d.shape(i), Pix: d.place(i)}
		}
		pictures, frames := slicePictures(images, headers)
		decode := d.tiles
		if profile == 0 {
			decode = d.trees
		}
		batch, err := decode(s, items, pictures, frames)
		if err != nil {
			d.release(all)
			return err
		}
		d.take(items, batch)
	}
	return nil
}

// leastPlaced is the size of a result in bytes from which on a device copies it to where it belongs: smaller ones come
// together, as each copy takes some microseconds.
const leastPlaced = 1 << 20

// place is memory of the caller's for the samples of file i, or nil where the device does not copy them there.
func (d *deviceDecoder) place(i int) []byte {
	if d.shape(i).Size() < leastPlaced {
		return nil
	}
	return d.memory(i)
}

// memory is that of the caller's for the samples of file i, if all of them are its result, or nil.
func (d *deviceDecoder) memory(i int) []byte {
	s := d.shape(i)
	if d.run.Alloc == nil || d.regions[i].Size() != image.Pt(s.Width, s.Height) {
		return nil
	}
	if d.pix[i] == nil {
		if b := d.run.Alloc(s.Size()); b != nil {
			d.pix[i] = b[:s.Size():s.Size()]
		}
	}
	return d.pix[i]
}

// take gives files the samples of their slices. Whatever is wrong with a slice leaves the file without.
func (d *deviceDecoder) take(items []int, batch *decodedBatch) {
	batch.left.Store(int32(len(items)) + 1)
	k := 0
	for _, i := range items {
		slices := batch.samples[k:][:d.headers[i].shape.Depth]
		k += len(slices)
		whole := true
		for _, s := range slices {
			whole = whole && s != nil
		}
		if whole {
			d.decoded[i] = decodedFile{batch, slices}
		} else {
			batch.release()
		}
	}
	batch.release()
}

// release gives back what files have that come again, in parts.
func (d *deviceDecoder) release(items []int) {
	for _, i := range items {
		if f := &d.decoded[i]; f.batch != nil {
			f.batch.release()
			f.batch = nil
		}
	}
}

// trees decodes files of profile 0.
func (d *deviceDecoder) trees(s *deviceSteps, items []int, pictures []picture, frames []frame) (*decodedBatch, error) {
	streams := make([][]byte, len(frames))
	for k, f := range frames {
		i := items[f.file]
		data, err := d.headers[i].sectionBytes(d.files[i], f.slice)
		if err == nil {
			data, err = treeStream(data)
		}
		if err == nil {
			streams[k] = data
		}
	}
	return s.decodeTrees(d.ctx, pictures, streams)
}

// tiles decodes files of profile 1.
func (d *deviceDecoder) tiles(s *deviceSteps, items []int, pictures []picture, frames []frame) (*decodedBatch, error) {
	headers, coded := make([]*header, len(items)), make([]*codedFile, len(items))
	for j, i := range items {
		headers[j], coded[j] = d.headers[i], d.coded[i]
	}
	return s.decodeTiles(d.ctx, pictures, headers, frames, coded, d.view.Reduce)
}

// copySpan is how many bytes a goroutine copies at a time. The memory of an image is new, and its first touch costs more than the
// copy itself.
const copySpan = 1 << 20

// image makes the image of file i of copies of its slices, or of the slices themselves where they lie in its memory.
func (d *deviceDecoder) image(i int, slices [][]byte) *raster.Image {
	m := &raster.Image{Shape: d.shape(i), Pix: d.memory(i)}
	if m.Pix == nil {
		m.Pix = codec.Uncleared(m.Size())
	}
	for z, s := range slices {
		pix := m.Slice(z).Pix
		if len(s) > 0 && &s[0] == &pix[0] {
			continue
		}
		d.cores.Spans(len(s), copySpan, func(lo, hi int) { copy(pix[lo:hi], s[lo:hi]) })
	}
	return m
}

// finish makes the image of a file, or of the region of a view, and checks its samples. A file that is damaged the CPU decodes
// once more, which knows what to say.
func (d *deviceDecoder) finish(i int) {
	f, h := d.decoded[i], d.headers[i]
	if f.batch == nil {
		d.onCPU([]int{i})
		return
	}
	m := d.image(i, f.slices)
	f.batch.release()
	d.decoded[i].batch = nil
	if d.view == (codec.View{}) && h.checksumOf(d.cores, m.Pix, d.files[i]) != h.checksum {
		d.out[i].Err = codec.Malformedf("pcwt: the checksum of the samples is wrong")
		return
	}
	if r := d.regions[i]; r.Size() != image.Pt(m.Width, m.Height) {
		m = raster.Crop(m, r)
	}
	m.Meta = h.meta
	d.out[i].Image = m
}
