package worker

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// fake is a lossless codec whose files are the hash of an image that it
// remembers: small, and as fast as a map. encode and decode, where set, may do
// something else for an image: ok says that they did.
type fake struct {
	lossy  bool
	encode func(ctx context.Context, dev *gpu.Device, m *raster.Image) (file []byte, err error, ok bool)
	decode func(m *raster.Image) (*raster.Image, error, bool)

	digests func(m *raster.Image) *codec.Digests // that a device makes of what m decodes to, where set

	compare func(o codec.Original, d *codec.Decoded) // of what a device has decoded, with its original, where set

	keeps    []string                                                 // attributes
	encoding func(run codec.Run)                                      // called by Encode first, where set
	decoding func(ctx context.Context, run codec.Run, files [][]byte) // called by Decode first, where set
	memory   int64                                                    // that Header says decoding takes; 0: the image

	images       sync.Map // hash to image
	active, most atomic.Int64
	encoded      atomic.Int64
	batches      sync.Map // size of a batch on a device to true
}

type fakeOptions string

func (o fakeOptions) String() string { return string(o) }

// Lossy makes the codec lossy with one of its options.
func (o fakeOptions) Lossy() bool { return o == "level=0" }

// Files makes files of another kind with another of its options.
func (o fakeOptions) Files(info codec.Info) codec.Info {
	if o == "level=3" {
		info.Extension, info.MediaType, info.Accepts.Frames = ".false", "image/x-false", true
	}
	return info
}

func (f *fake) Info() codec.Info {
	return codec.Info{Name: "fake", Extension: ".fake", MediaType: "image/x-fake", Version: 3, Lossless: !f.lossy, Keeps: f.keeps, Compares: f.compare != nil,
		Accepts: codec.Accepts{Channels: []int{1, 3}, MinBits: 8, MaxBits: 8, MaxSide: 1000}}
}

func (f *fake) Options(pairs []string) (codec.Options, error) {
	o := fakeOptions("level=1")
	for _, p := range pairs {
		if p != "level=0" && p != "level=1" && p != "level=3" {
			return nil, errors.New("fake: option " + p + ": want level=0, level=1 or level=3")
		}
		o = fakeOptions(p)
	}
	return o, nil
}

func (f *fake) Encode(ctx context.Context, run codec.Run, items []codec.Item, opts codec.Options) []codec.Encoded {
	batch := codec.Images(items)
	if f.encoding != nil {
		f.encoding(run)
	}
	n := f.active.Add(int64(len(batch)))
	defer f.active.Add(-int64(len(batch)))
	for most := f.most.Load(); n > most && !f.most.CompareAndSwap(most, n); most = f.most.Load() {
	}
	if run.Device != nil {
		f.batches.Store(len(batch), true)
	}
	out := make([]codec.Encoded, len(batch))
	for i, m := range batch {
		f.encoded.Add(1)
		if f.encode != nil {
			if data, err, ok := f.encode(ctx, run.Device, m); ok {
				out[i] = codec.Encoded{Data: data, Err: err}
				continue
			}
		}
		if err := f.Info().With(opts).Check(m.Shape); err != nil {
			out[i].Err = err
			continue
		}
		hash := m.Hash()
		f.images.Store(hash, m)
		out[i].Data = []byte("fake " + hash)
		out[i].Facts = []codec.Field{{Name: "hash", Value: hash}}
		out[i].Expect = "expected of " + string(out[i].Data)
		if run.Digests && f.digests != nil {
			out[i].Decoded = f.digests(m)
		}
	}
	return out
}

func (f *fake) Decode(ctx context.Context, run codec.Run, batch [][]byte, _ codec.Assets) []codec.Decoded {
	if f.decoding != nil {
		f.decoding(ctx, run, batch)
	}
	out := make([]codec.Decoded, len(batch))
	for i, file := range batch {
		if out[i].Err = ctx.Err(); out[i].Err != nil {
			continue
		}
		hash, ok := strings.CutPrefix(string(file), "fake ")
		m, found := f.images.Load(hash)
		if !ok || !found {
			out[i].Err = codec.Malformedf("fake: %.20q is no file of it", file)
			continue
		}
		out[i].Image = m.(*raster.Image)
		if f.decode != nil {
			if m, err, ok := f.decode(out[i].Image); ok {
				out[i] = codec.Decoded{Image: m, Err: err}
			}
		}
		if f.compare != nil && run.Device != nil {
			f.compare(run.Original(i), &out[i])
		}
	}
	return out
}

func (f *fake) Header(file []byte) (codec.Header, error) {
	hash, _ := strings.CutPrefix(string(file), "fake ")
	found, ok := f.images.Load(hash)
	if !ok {
		return codec.Header{}, codec.Malformedf("fake: no file of it")
	}
	m := found.(*raster.Image)
	return codec.Header{Shape: m.Shape, Memory: max(f.memory, int64(m.Size())), Resolutions: 1, Fields: []codec.Field{{Name: "codec", Value: "fake"}}}, nil
}

// Memory is three images for encoding.
func (f *fake) Memory(s raster.Shape, _ *raster.Image, _ codec.Options) codec.Memory {
	n := int64(s.Samples())
	return codec.Memory{Encode: 3 * n, Decode: n, File: 100}
}
