package pcwt

import (
	"cmp"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
)

// deviceSteps runs the steps on a lane.
type deviceSteps struct {
	device  *gpu.Device // whose pinned memory results come to; may be nil
	cores   *pool.Pool  // for work that the device waits for
	lane    *gpu.Lane
	stream  *gpu.Stream // the lane's first
	staging *gpu.Staging
	place   func(file, n int) []byte // memory for a file of n bytes, nil where there is none; may be nil
	beside  int                      // tiles that every launch counts as having beside its own, for tests of how they are divided
}

func newDeviceSteps(l *gpu.Lane, c *pool.Pool) *deviceSteps {
	first := c.First()
	return &deviceSteps{cores: first, lane: l, stream: l.Stream(0), staging: &gpu.Staging{Lane: l, Spans: first.Spans}}
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
	pix           []byte // pixel after pixel, samples of one or two bytes; decoding does without
	width, height int
	channels      int
	bits          int
	signed        bool
	colour        bool // the first three channels go through the colour transform
	near          int  // the bound of near-lossless coding
	limited       bool // decoding: samples out of their range are no error
}

func (p *picture) pixels() int { return p.width * p.height }

// size is the bytes of its samples.
func (p *picture) size() int { return p.pixels() * p.channels * (1 + (p.bits-1)/8) }

// deviceImages is the samples and the planes of the pictures of a batch.
type deviceImages struct {
	samples *gpu.Buffer
	planes  *gpu.Buffer
	errors  *gpu.Buffer // a uint32 for each picture
	parts   []gpu.Part  // of the samples
	lengths []int       // likewise, in bytes
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
		m.parts = append(m.parts, gpu.Part{At: samples.Take(p.size()), Bytes: p.pix})
		m.lengths = append(m.lengths, p.size())
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

// makeSamples makes the samples of the pictures from their planes and brings them to the host. Picture i has its samples at
// m.parts[i].At.
func (d *deviceSteps) makeSamples(m *deviceImages) (*result, error) {
	if err := d.launchSamples(m); err != nil {
		return nil, err
	}
	return d.fetch(m.samples, m.samples.Size)
}

func (d *deviceSteps) launchSamples(m *deviceImages) error {
	list, err := put(d, m.list)
	if err != nil {
		return err
	}
	return launch(d, "pcwt_samples", m.sizes, &listParams{list})
}

// result is what a batch brings to the host, where the items of the batch share it: in pinned memory, to which the device writes
// beside all else, as far as there is any.
type result struct {
	bytes []byte
	host  *gpu.Host    // nil: not pinned
	left  atomic.Int32 // items that use it
}

// release ends the use by an item.
func (r *result) release() {
	if r.left.Add(-1) == 0 && r.host != nil {
		r.host.Free()
	}
}

// send brings parts, which ascend and end within n bytes, to a buffer. Where they are not in pinned memory, all of them are copied
// there, as far as there is any, which takes a fraction of the time that the staging buffers take.
func (d *deviceSteps) send(to *gpu.Buffer, n int, parts []gpu.Part) error {
	const (
		piece = 16 << 20 // bytes that the device copies while the next are copied here
		span  = 256 << 10
	)
	if n == 0 {
		return nil
	}
	if !slices.ContainsFunc(parts, func(p gpu.Part) bool { return !d.lane.Pinned(p.Bytes) }) {
		return d.stream.UploadParts(to, parts)
	}
	h, err := d.lane.Host(n)
	if errors.Is(err, gpu.ErrOutOfMemory) {
		return d.staging.Upload(to, n, parts)
	}
	if err != nil {
		return err
	}
	for at := 0; at < n; at += piece {
		end := min(n, at+piece)
		d.cores.Spans(end-at, span, func(lo, hi int) {
			eachPart(parts, at+lo, at+hi, func(part []byte, from, to int) { copy(h.Bytes[from:to], part) })
		})
		if err := d.stream.Upload(to, at, h.Bytes[at:end]); err != nil {
			return err
		}
	}
	return nil
}

// eachPart calls f with what the parts, which ascend, have of bytes lo to hi-1 of a buffer, and with the place of that.
func eachPart(parts []gpu.Part, lo, hi int, f func(part []byte, from, to int)) {
	i, _ := slices.BinarySearchFunc(parts, lo, func(p gpu.Part, at int) int { return cmp.Compare(p.At+len(p.Bytes), at+1) })
	for ; i < len(parts) && parts[i].At < hi; i++ {
		p := parts[i]
		from, to := max(lo, p.At), min(hi, p.At+len(p.Bytes))
		f(p.Bytes[from-p.At:to-p.At], from, to)
	}
}

// fetch brings the first n bytes of a buffer to the host.
func (d *deviceSteps) fetch(from *gpu.Buffer, n int) (*result, error) {
	r := new(result)
	if n == 0 {
		return r, nil
	}
	if d.device != nil {
		h, err := d.device.Host(n)
		if err == nil {
			r.host, r.bytes = h, h.Bytes[:n]
			if err = d.stream.DownloadParts([]gpu.Part{{Bytes: r.bytes}}, from); err == nil {
				err = d.stream.Sync()
			}
			if err != nil {
				h.Free()
				return nil, err
			}
			return r, nil
		}
		if !errors.Is(err, gpu.ErrOutOfMemory) {
			return nil, err
		}
	}
	r.bytes = make([]byte, n)
	return r, d.staging.Download([]gpu.Part{{Bytes: r.bytes}}, from, n)
}

// decodedBatch is the samples of the pictures of a batch, which are copied when the lane is with other batches.
type decodedBatch struct {
	*result
	samples [][]byte // of each picture; nil: its file is damaged
}

// decoded brings to the host what was decoded: to where pictures have their samples, if that is pinned memory for all.
func (d *deviceSteps) decoded(m *deviceImages) (*decodedBatch, error) {
	b := &decodedBatch{samples: make([][]byte, len(m.parts))}
	own := !slices.ContainsFunc(m.parts, func(p gpu.Part) bool { return len(p.Bytes) == 0 || !d.lane.Pinned(p.Bytes) })
	var err error
	if own {
		b.result = new(result)
		if err = d.launchSamples(m); err == nil {
			err = d.stream.DownloadParts(m.parts, m.samples)
		}
	} else {
		b.result, err = d.makeSamples(m)
	}
	if err != nil {
		return nil, err
	}
	damage, err := download[uint32](d, m.errors, len(m.parts))
	if err != nil {
		b.left.Store(1)
		b.release()
		return nil, err
	}
	for i := range m.parts {
		if damage[i] == 0 && own {
			b.samples[i] = m.parts[i].Bytes
		} else if damage[i] == 0 {
			b.samples[i] = b.bytes[m.parts[i].At:][:m.lengths[i]]
		}
	}
	return b, nil
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
