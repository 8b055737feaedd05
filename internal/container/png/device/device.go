// Package device decodes the samples of PNG files on a device, many files at once.
//
//	s, ok := file.Stream()                        // of a file that a device may take; or file.IndexStream()
//	done, err := device.Decode(ctx, run, streams) // fills those that are sound
//
// The device inflates and unfilters, and holds the stream to every rule; headers, checksums of chunks and all metadata are read by
// package png, with the code that is used always. Whatever is damaged or unusual is left to the caller, who reads it as without a
// device: so the device changes neither which files are read nor what is said about others, and the samples are the same.
//
// Nothing that comes from a device is believed: a result is compared with the samples that were read, so if these were wrong nobody
// would notice. Rows are filtered again from the samples, and must have the checksum that the file has; and the samples that
// arrive must have the checksum that was made of them with it. The host compares both.
//
// Packages png and imageio know no device, because whoever reads a single file has none.
package device

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/internal/container/png/inflate"
)

const (
	// mostStream and mostRaw bound a file, in bytes: positions of bits have 31 bits, and a file is inflated by one block, which
	// does some 100 MB/s, so that a larger one would keep a lane that others wait for.
	mostStream = 1 << 25
	mostRaw    = 1 << 26

	// batchBytes of samples bound a batch, which takes about three times as much of a device's memory.
	batchBytes = 256 << 20
)

// Stream is what a device decodes.
type Stream = png.Stream

// Takes reports whether a device takes a stream.
func Takes(s *png.Stream) bool {
	n := 0
	for _, p := range s.Pieces {
		n += len(p)
	}
	return n <= mostStream && s.Size()+s.Height <= mostRaw
}

// Decode fills the streams that are sound, in memory of run.Alloc or new memory, and reports which they are. Others, and those
// for which the device lacks memory, are left to the caller. The error is one of the device.
func Decode(ctx context.Context, run codec.Run, streams []*png.Stream) (done []bool, err error) {
	done = make([]bool, len(streams))
	var items []int
	for i, s := range streams {
		if s != nil && Takes(s) {
			items = append(items, i)
		}
	}
	if len(items) == 0 || run.Device == nil {
		return done, nil
	}
	batches := gpu.Batching{Most: batchBytes}.Divide(items, func(i int) int { return streams[i].Size() })
	failures := make(chan error, len(batches))
	sums := make([]imageSums, len(streams))
	run.Device.Run(ctx, batches, gpu.Work{
		Light: true, // a warp inflates a stream
		Device: func(l *gpu.Lane, items []int) error {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			b := &batch{lane: l, run: run, staging: gpu.Staging{Lane: l, Spans: run.Cores().Spans}}
			for _, i := range items {
				b.streams = append(b.streams, streams[i])
			}
			sound, found, err := b.decode()
			if err != nil {
				return err
			}
			for j, i := range items {
				done[i], sums[i] = sound[j], found[j]
			}
			return nil
		},
		Host: func(items []int) {
			run.Cores().Each(len(items), func(j int) {
				i := items[j]
				done[i] = done[i] && proved(streams[i], sums[i])
			})
		},
		CPU:    func([]int) {}, // the caller reads these
		Failed: func(_ []int, err error) { failures <- err },
	})
	select {
	case err = <-failures:
	default:
	}
	return done, err
}

const imageSumsBytes = 4 * 8

// imageSums are those of check.cuh: of the rows and of the samples, each once and often.
type imageSums [4]uint64

// adler is a checksum of n bytes from their sums (RFC 1950, 8.2).
func adler(once, often uint64, n int) uint32 {
	const modulus = 65521
	return uint32((often+uint64(n))%modulus)<<16 | uint32((once+1)%modulus)
}

// proved reports whether the samples of a stream are those that the file has.
func proved(s *png.Stream, sums imageSums) bool {
	n := s.Size()
	return adler(sums[0], sums[1], n+s.Height) == s.Checksum() && adler(sums[2], sums[3], n) == inflate.Adler(s.Samples())
}

// batch is streams that a lane decodes together.
type batch struct {
	lane    *gpu.Lane
	run     codec.Run
	staging gpu.Staging
	streams []*png.Stream
	entries []deviceImage

	up                    []gpu.Part
	upBytes, samplesBytes int
	data, raw, samples    *gpu.Buffer
	sums                  *gpu.Buffer

	timed func(kernel string, took time.Duration) // for benchmarks; nil: nobody asks
}

// decode fills the streams that keep the rules, and returns the sums by which they are proved.
func (b *batch) decode() (sound []bool, sums []imageSums, err error) {
	s := b.lane.Stream(0)
	if b.sums, err = s.Zeros(imageSumsBytes * len(b.streams)); err != nil {
		return nil, nil, err
	}
	if err := b.place(); err != nil {
		return nil, nil, err
	}
	list, err := s.Put(gpu.Bytes(b.entries))
	if err != nil {
		return nil, nil, err
	}
	states, err := s.Zeros(4 * len(b.streams))
	if err != nil {
		return nil, nil, err
	}
	// Words are read whole.
	if err := s.Fill(b.data, 0, b.data.Size, 0); err != nil {
		return nil, nil, err
	}
	if err := b.staging.Upload(b.data, b.upBytes, b.up); err != nil {
		return nil, nil, err
	}
	for _, kernel := range []string{"png_inflate", "png_unfilter", "png_check"} {
		launch := func() error {
			return gpu.LaunchFor(&kernels, s, kernel, b.entries, &listParams{list.Ptr, states.Ptr})
		}
		if b.timed != nil {
			took, err := s.Time(launch)
			if err != nil {
				return nil, nil, err
			}
			b.timed(kernel, took)
		} else if err := launch(); err != nil {
			return nil, nil, err
		}
	}
	return b.fetch(states)
}

// place takes memory and divides it.
func (b *batch) place() error {
	var data, raw, samples gpu.Layout
	b.entries = make([]deviceImage, len(b.streams))
	for i, z := range b.streams {
		n := 0
		for _, p := range z.Pieces {
			n += len(p)
		}
		at := data.Take(n)
		b.entries[i] = deviceImage{
			Data: gpu.Ptr(at), Raw: gpu.Ptr(raw.Take(z.Size() + z.Height)), Samples: gpu.Ptr(samples.Take(z.Size())),
			Sums: b.sums.Ptr + gpu.Ptr(imageSumsBytes*i), DataBytes: uint32(n), Height: uint32(z.Height), RowBytes: uint32(z.RowBytes), PixelBytes: uint32(z.PixelBytes),
		}
		for _, p := range z.Pieces {
			b.up = append(b.up, gpu.Part{At: at, Bytes: p})
			at += len(p)
		}
	}
	b.upBytes, b.samplesBytes = data.Size, samples.Size
	for _, r := range []struct {
		buffer **gpu.Buffer
		size   int
	}{{&b.data, data.Size}, {&b.raw, raw.Size}, {&b.samples, samples.Size}} {
		if err := b.lane.Room(r.buffer, r.size); err != nil {
			return err
		}
	}
	for i := range b.entries {
		e := &b.entries[i]
		e.Data, e.Raw, e.Samples = e.Data+b.data.Ptr, e.Raw+b.raw.Ptr, e.Samples+b.samples.Ptr
	}
	return nil
}

// fetch brings the samples of sound streams to the host.
func (b *batch) fetch(states *gpu.Buffer) ([]bool, []imageSums, error) {
	s := b.lane.Stream(0)
	words := make([]byte, 4*len(b.streams))
	if err := s.Download(words, states, 0); err != nil {
		return nil, nil, err
	}
	sums := make([]imageSums, len(b.streams))
	if err := s.Download(gpu.Bytes(sums), b.sums, 0); err != nil {
		return nil, nil, err
	}
	// While the device works, and on no core: who waits for memory to be pinned would keep it from others.
	memory := make([][]byte, len(b.streams))
	for i := range memory {
		memory[i] = b.run.Bytes(b.streams[i].Size())
	}
	if err := s.Sync(); err != nil {
		return nil, nil, err
	}
	sound := make([]bool, len(b.streams))
	var pinned, others []gpu.Part
	for i := range b.streams {
		if sound[i] = binary.NativeEndian.Uint32(words[4*i:]) == 1; !sound[i] {
			continue
		}
		part := gpu.Part{At: int(b.entries[i].Samples - b.samples.Ptr), Bytes: memory[i]}
		if b.lane.Pinned(memory[i]) {
			pinned = append(pinned, part)
		} else {
			others = append(others, part)
		}
	}
	if err := s.DownloadParts(pinned, b.samples); err != nil {
		return nil, nil, err
	}
	if len(others) > 0 {
		if err := b.staging.Download(others, b.samples, b.samplesBytes); err != nil {
			return nil, nil, err
		}
	}
	if err := s.Sync(); err != nil {
		return nil, nil, err
	}
	for i, z := range b.streams {
		if sound[i] {
			z.Fill(memory[i])
		}
	}
	return sound, sums, nil
}
