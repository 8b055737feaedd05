package pcwt

import (
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
)

// deviceSteps runs the steps on a lane.
type deviceSteps struct {
	cores   *pool.Pool
	lane    *gpu.Lane
	stream  *gpu.Stream // the lane's first
	staging *gpu.Staging
}

func newDeviceSteps(l *gpu.Lane, c *pool.Pool) *deviceSteps {
	return &deviceSteps{cores: c, lane: l, stream: l.Stream(0), staging: &gpu.Staging{Lane: l, Spans: c.Spans}}
}

// launch puts a launch of a kernel for the items into the stream, if there are any.
func launch[P any](d *deviceSteps, kernel string, items []extent, params *P) error {
	if len(items) == 0 {
		return nil
	}
	return gpu.LaunchFor(&kernels, d.stream, kernel, items, params)
}

// put brings a list to the device.
func put[T any](d *deviceSteps, list []T) (gpu.Ptr, error) {
	b, err := d.stream.Put(gpu.Bytes(list))
	if err != nil {
		return 0, err
	}
	return b.Ptr, nil
}

// picture is the samples of one image, in memory, and what the steps need to know of it.
type picture struct {
	pix           []byte // pixel after pixel, samples of one or two bytes
	width, height int
	channels      int
	bits          int
	signed        bool
	colour        bool // the first three channels go through the colour transform
	near          int  // the bound of near-lossless coding
	limited       bool // decoding: samples out of their range are no error
}

func (p *picture) pixels() int { return p.width * p.height }

// deviceImages is the samples and the planes of the pictures of a batch.
type deviceImages struct {
	samples *gpu.Buffer
	planes  *gpu.Buffer
	errors  *gpu.Buffer // a uint32 for each picture
	parts   []gpu.Part  // of the samples
	list    []devicePicture
	sizes   []extent
}

// images makes room for the samples and planes of pictures.
func (d *deviceSteps) images(pictures []picture) (*deviceImages, error) {
	var samples, planes gpu.Layout
	m := &deviceImages{}
	at := make([]int, len(pictures))
	for i := range pictures {
		p := &pictures[i]
		m.parts = append(m.parts, gpu.Part{At: samples.Take(len(p.pix)), Bytes: p.pix})
		at[i] = planes.Take(4 * p.pixels() * p.channels)
		m.sizes = append(m.sizes, extent{pixels: p.pixels()})
	}
	var err error
	if m.samples, err = d.lane.Device(samples.Size); err != nil {
		return nil, err
	}
	if m.planes, err = d.lane.Device(planes.Size); err != nil {
		return nil, err
	}
	if m.errors, err = d.stream.Zeros(4 * len(pictures)); err != nil {
		return nil, err
	}
	for i := range pictures {
		p := &pictures[i]
		report := m.errors.Ptr + gpu.Ptr(4*i)
		if p.limited {
			report = 0
		}
		m.list = append(m.list, devicePicture{
			Samples: m.samples.Ptr + gpu.Ptr(m.parts[i].At),
			Planes:  m.planes.Ptr + gpu.Ptr(at[i]),
			Width:   uint32(p.width), Height: uint32(p.height), Channels: uint32(p.channels), Bits: uint32(p.bits),
			IsSigned: flag(p.signed), Colour: flag(p.colour), Near: uint32(p.near), Middle: middle(0, 1<<p.bits-1, p.near), Error: report,
		})
	}
	return m, nil
}

// plane is where a plane of a picture begins.
func (m *deviceImages) plane(picture, channel int) gpu.Ptr {
	return m.list[picture].Planes + gpu.Ptr(4*channel*m.sizes[picture].pixels)
}

// makePlanes brings the samples to the device and makes planes of them.
func (d *deviceSteps) makePlanes(m *deviceImages) error {
	if err := d.staging.Upload(m.samples, m.samples.Size, m.parts); err != nil {
		return err
	}
	list, err := put(d, m.list)
	if err != nil {
		return err
	}
	return launch(d, "pcwt_planes", m.sizes, &listParams{list})
}

// makeSamples fills the samples of the pictures from their planes.
func (d *deviceSteps) makeSamples(m *deviceImages) error { return d.samplesTo(m, m.parts) }

// samplesTo brings the samples of the planes to parts of host memory, which lie on the device as those of the pictures.
func (d *deviceSteps) samplesTo(m *deviceImages, parts []gpu.Part) error {
	list, err := put(d, m.list)
	if err != nil {
		return err
	}
	if err := launch(d, "pcwt_samples", m.sizes, &listParams{list}); err != nil {
		return err
	}
	return d.staging.Download(parts, m.samples, m.samples.Size)
}

// download brings a buffer of numbers to the host and waits for it.
func download[T uint32 | uint64 | int32](d *deviceSteps, b *gpu.Buffer, n int) ([]T, error) {
	out := make([]T, n)
	if err := d.stream.Download(gpu.Bytes(out), b, 0); err != nil {
		return nil, err
	}
	return out, d.stream.Sync()
}

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
