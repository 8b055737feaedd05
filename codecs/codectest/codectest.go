// Package codectest is the conformance suite that all codecs pass. A codec's test
// calls [Run] once:
//
//	func TestConformance(t *testing.T) {
//		codectest.Run(t, webp.Codec{}, &codectest.Options{
//			Sets: [][]string{{"method=0"}, {"method=9"}},
//		})
//	}
//
// It checks what package codec promises for every codec: that each item of a batch
// has its own answer, that the same image gives the same bytes for any batch and
// any number of goroutines, that images come back whole (or, from lossy codecs,
// near enough), that unsupported images and damaged files end in the right error
// and never in a panic, that views are parts of the whole, and that options have one canonical form. What is special to
// a codec stays in the codec's own tests.
package codectest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// Options say what the suite cannot know. A nil pointer means the defaults.
type Options struct {
	// Sets are further options, as key=value pairs, that the suite runs with beside
	// the codec's defaults.
	Sets [][]string

	// Shared are options that need an asset trained on a sample, for a codec that is
	// a [codec.Trainer]. Nil skips that part.
	Shared []string

	// MinPSNR is the floor in decibels for smooth images from a lossy codec. 0 asks
	// for 20.
	MinPSNR float64

	// Checksummed says that every flipped bit and every cut of a file is an error.
	// Otherwise a damaged file may also decode to some image.
	Checksummed bool

	// Device runs the suite on a card too; its bytes must be those of the CPU.
	Device *gpu.Device
}

// Run runs the suite as subtests of t.
func Run(t *testing.T, c codec.Codec, opts *Options) {
	if opts == nil {
		opts = &Options{}
	}
	s := &suite{codec: c, info: c.Info(), opts: *opts}
	if s.opts.MinPSNR == 0 {
		s.opts.MinPSNR = 20
	}
	s.sets = [][]string{nil}
	s.sets = append(s.sets, s.opts.Sets...)
	t.Run("Info", s.testInfo)
	t.Run("Options", s.testOptions)
	t.Run("RoundTrip", s.testRoundTrip)
	t.Run("Metadata", s.testMetadata)
	t.Run("Views", s.testViews)
	t.Run("Batch", s.testBatch)
	t.Run("SameBytes", s.testSameBytes)
	t.Run("Alloc", s.testAlloc)
	t.Run("Concurrent", s.testConcurrent)
	t.Run("Unsupported", s.testUnsupported)
	t.Run("Cancelled", s.testCancelled)
	t.Run("Damaged", s.testDamaged)
	t.Run("Memory", s.testMemory)
	if s.opts.Shared != nil {
		t.Run("Shared", s.testShared)
	}
}

type suite struct {
	codec codec.Codec
	info  codec.Info
	opts  Options
	sets  [][]string
}

func (s *suite) options(t *testing.T, pairs []string) codec.Options {
	t.Helper()
	o, err := s.codec.Options(pairs)
	if err != nil {
		t.Fatalf("Options(%q): %v", pairs, err)
	}
	return o
}

// encode encodes one image, on the card too where there is one.
func (s *suite) encode(t *testing.T, m *raster.Image, o codec.Options) []byte {
	t.Helper()
	e := s.codec.Encode(context.Background(), codec.Run{}, codec.Items(m), o)
	if len(e) != 1 || e[0].Err != nil {
		t.Fatalf("encode %s with %q: %v", m.Shape, o, answerErr(e))
	}
	if s.opts.Device != nil {
		d := s.codec.Encode(context.Background(), codec.Run{Device: s.opts.Device}, codec.Items(m), o)
		if len(d) != 1 || d[0].Err != nil || !bytes.Equal(d[0].Data, e[0].Data) {
			t.Fatalf("encode %s with %q: %s gives other bytes than the CPU (%v)", m.Shape, o, s.opts.Device.Name(), answerErr(d))
		}
		if !reflect.DeepEqual(d[0].Expect, e[0].Expect) {
			t.Fatalf("encode %s with %q: %s expects something else of the file than the CPU", m.Shape, o, s.opts.Device.Name())
		}
	}
	return e[0].Data
}

func answerErr(e []codec.Encoded) error {
	if len(e) != 1 {
		return fmt.Errorf("%d answers for one picture", len(e))
	}
	return e[0].Err
}

func (s *suite) decode(file []byte, assets codec.Assets) (*raster.Image, error) {
	d := s.codec.Decode(context.Background(), codec.Run{}, [][]byte{file}, assets)
	if len(d) != 1 {
		return nil, fmt.Errorf("%d answers for one file", len(d))
	}
	return d[0].Image, d[0].Err
}

func (s *suite) testInfo(t *testing.T) {
	i := s.info
	if !regexp.MustCompile(`^[a-z][a-z0-9]*$`).MatchString(i.Name) {
		t.Errorf("name %q: want lower-case letters and digits", i.Name)
	}
	if !strings.HasPrefix(i.Extension, ".") || i.Extension != strings.ToLower(i.Extension) {
		t.Errorf("extension %q: want a dot and lower case", i.Extension)
	}
	if i.Title == "" || i.MediaType == "" || i.Version < 1 {
		t.Errorf("title %q, media type %q, version %d: want all three", i.Title, i.MediaType, i.Version)
	}
	a := i.Accepts
	if len(a.Channels) == 0 || a.MinBits < 1 || a.MaxBits > 16 || a.MinBits > a.MaxBits {
		t.Errorf("accepts %+v", a)
	}
	for _, o := range i.Options {
		if o.Key == "" || o.Default == "" || o.Values == "" || o.Help == "" {
			t.Errorf("option %+v: want all fields", o)
		}
	}
}

func (s *suite) testOptions(t *testing.T) {
	for _, pairs := range s.sets {
		o := s.options(t, pairs)
		text := o.String()
		again := s.options(t, strings.Fields(text))
		if again.String() != text {
			t.Errorf("options %q parsed again are %q", text, again)
		}
		var keys []string
		for _, f := range strings.Fields(text) {
			key, _, ok := strings.Cut(f, "=")
			if !ok {
				t.Errorf("options %q: field %q is no key=value", text, f)
			}
			keys = append(keys, key)
		}
		if !slices.IsSorted(keys) {
			t.Errorf("options %q: keys are not sorted", text)
		}
	}
	for _, bad := range []string{"nosuchkey=1", "nopair", "=", ""} {
		if _, err := s.codec.Options([]string{bad}); err == nil {
			t.Errorf("option %q is taken", bad)
		}
	}
}

// check compares a decoded image with its source.
func (s *suite) check(m, got *raster.Image, lossless, smooth bool) error {
	switch {
	case got == nil:
		return errors.New("no picture and no error")
	case !got.Same(m.Shape):
		return fmt.Errorf("comes back as %s", got.Shape)
	case len(got.Pix) != len(m.Pix):
		return fmt.Errorf("comes back with %d bytes of samples, want %d", len(got.Pix), len(m.Pix))
	}
	if lossless && got.Hash() != m.Hash() {
		return errors.New("comes back with other samples")
	}
	if !lossless && smooth {
		if p, err := raster.PSNR(m, got); err != nil || p < s.opts.MinPSNR {
			return fmt.Errorf("comes back at %.1f dB, want %.1f (%v)", p, s.opts.MinPSNR, err)
		}
	}
	return nil
}

func (s *suite) testRoundTrip(t *testing.T) {
	for _, pairs := range s.sets {
		o := s.options(t, pairs)
		t.Run(o.String(), func(t *testing.T) {
			for _, p := range images(s.info.With(o)) {
				before := bytes.Clone(p.Pix)
				file := s.encode(t, p.Image, o)
				if !bytes.Equal(before, p.Pix) {
					t.Fatalf("%s: encode changed the picture", p)
				}
				kept := bytes.Clone(file)
				got, err := s.decode(file, nil)
				if err != nil {
					t.Fatalf("%s: decode: %v", p, err)
				}
				if !bytes.Equal(kept, file) {
					t.Fatalf("%s: decode changed the file", p)
				}
				if err := s.check(p.Image, got, s.info.KeepsImages(o), p.smooth); err != nil {
					t.Errorf("%s: %v", p, err)
				}
				if err := s.header(p.Image, file); err != nil {
					t.Errorf("%s: header: %v", p, err)
				}
			}
		})
	}
}

// header compares what a file says of itself with the image that it was made from. A
// header may promise more channels than there are.
func (s *suite) header(m *raster.Image, file []byte) error {
	h, err := s.codec.Header(file)
	if err != nil {
		return err
	}
	want := m.Shape
	if want.Channels < h.Channels {
		want.Channels = h.Channels
	}
	switch {
	case h.Shape != want:
		return fmt.Errorf("it says %s of %s", h.Shape, m.Shape)
	case h.Resolutions < 1 || h.Tile[0] < 0 || h.Tile[1] < 0 || h.Memory < int64(m.Size()):
		return fmt.Errorf("%d resolutions, tiles of %v, %d bytes of memory", h.Resolutions, h.Tile, h.Memory)
	case len(h.Fields) == 0:
		return errors.New("it has no fields")
	}
	for _, f := range h.Fields {
		if f.Name == "" || f.Value == "" {
			return fmt.Errorf("field %+v: want both", f)
		}
	}
	return nil
}

// testBatch puts images that the codec does not take, and broken files, between
// good ones.
func (s *suite) testBatch(t *testing.T) {
	o := s.options(t, nil)
	if got := s.codec.Encode(context.Background(), codec.Run{}, nil, o); len(got) != 0 {
		t.Errorf("empty batch: %d answers", len(got))
	}
	var batch []*raster.Image
	var want [][]byte
	for i, p := range images(s.info) {
		batch, want = append(batch, p.Image), append(want, s.encode(t, p.Image, o))
		if bad := refused(s.info); i < len(bad) {
			batch, want = append(batch, bad[i]), append(want, nil)
		}
	}
	files := make([][]byte, len(batch))
	for i, e := range s.codec.Encode(context.Background(), codec.Run{}, codec.Items(batch...), o) {
		switch {
		case want[i] == nil && e.Err == nil:
			t.Errorf("item %d: %s was taken", i, batch[i].Shape)
		case want[i] != nil && !bytes.Equal(e.Data, want[i]):
			t.Errorf("item %d: %s: other bytes in a batch than alone (%v)", i, batch[i].Shape, e.Err)
		}
		files[i] = want[i]
		if files[i] == nil {
			files[i] = []byte("broken")
		}
	}
	for i, d := range s.codec.Decode(context.Background(), codec.Run{}, files, nil) {
		if want[i] == nil {
			if d.Err == nil {
				t.Errorf("item %d: a broken file was decoded", i)
			}
			continue
		}
		if d.Err != nil {
			t.Errorf("item %d: %v", i, d.Err)
		} else if err := s.check(batch[i], d.Image, s.info.KeepsImages(o), false); err != nil {
			t.Errorf("item %d: %v", i, err)
		}
	}
}

// testSameBytes encodes and decodes with 1, 2 and 8 goroutines, forwards and
// backwards, twice; under -short with 1 and 8 goroutines. Every second time the decoder is given what the encoder expects.
func (s *suite) testSameBytes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	goroutines := []int{1, 2, 8, 2}
	if testing.Short() {
		goroutines = []int{1, 8}
	}
	for _, pairs := range s.sets {
		o := s.options(t, pairs)
		var batch []*raster.Image
		for _, p := range images(s.info.With(o)) {
			batch = append(batch, p.Image)
		}
		var want [][]byte
		var hashes []string
		for round, procs := range goroutines {
			runtime.GOMAXPROCS(procs)
			files, expect := make([][]byte, len(batch)), make([]any, len(batch))
			for i, e := range s.codec.Encode(context.Background(), codec.Run{}, codec.Items(batch...), o) {
				if e.Err != nil {
					t.Fatalf("%q: item %d: %v", o, i, e.Err)
				}
				files[i], expect[i] = e.Data, e.Expect
			}
			if round%2 == 0 {
				expect = nil
			}
			var got []string
			for i, d := range s.codec.Decode(context.Background(), codec.Run{Expect: expect}, files, nil) {
				if d.Err != nil {
					t.Fatalf("%q: item %d: %v", o, i, d.Err)
				}
				got = append(got, d.Image.Hash())
			}
			if want == nil {
				want, hashes = files, got
			}
			for i := range files {
				if !bytes.Equal(files[i], want[i]) {
					t.Errorf("%q: item %d (%s): other bytes with %d goroutines", o, i, batch[i].Shape, procs)
				}
				if got[i] != hashes[i] {
					t.Errorf("%q: item %d (%s): other samples with %d goroutines", o, i, batch[i].Shape, procs)
				}
			}
			slices.Reverse(batch)
			slices.Reverse(want)
			slices.Reverse(hashes)
		}
	}
}

func (s *suite) testConcurrent(t *testing.T) {
	o := s.options(t, nil)
	list := images(s.info)
	list = list[max(0, len(list)-4):]
	want := make([][]byte, len(list))
	for i, p := range list {
		want[i] = s.encode(t, p.Image, o)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, p := range list {
				e := s.codec.Encode(context.Background(), codec.Run{}, codec.Items(p.Image), o)
				if e[0].Err != nil || !bytes.Equal(e[0].Data, want[i]) {
					t.Errorf("%s: other bytes beside other calls (%v)", p, e[0].Err)
				}
			}
		})
	}
	wg.Wait()
}

func (s *suite) testUnsupported(t *testing.T) {
	for _, pairs := range s.sets {
		o := s.options(t, pairs)
		info := s.info.With(o)
		for _, m := range refused(info) {
			if info.Check(m.Shape) == nil {
				t.Errorf("%q: %s: Info.Check takes it", o, m.Shape)
			}
			e := s.codec.Encode(context.Background(), codec.Run{}, codec.Items(m), o)
			var u *codec.UnsupportedError
			if len(e) != 1 || !errors.As(e[0].Err, &u) {
				t.Errorf("%q: %s: want an UnsupportedError, got %v", o, m.Shape, answerErr(e))
			}
		}
	}
}

func (s *suite) testCancelled(t *testing.T) {
	o := s.options(t, nil)
	p := images(s.info)[0]
	file := s.encode(t, p.Image, o)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for i, e := range s.codec.Encode(ctx, codec.Run{}, codec.Items(p.Image, p.Image), o) {
		if !errors.Is(e.Err, context.Canceled) {
			t.Errorf("encode: item %d: want the context's error, got %v", i, e.Err)
		}
	}
	for i, d := range s.codec.Decode(ctx, codec.Run{}, [][]byte{file, file}, nil) {
		if !errors.Is(d.Err, context.Canceled) {
			t.Errorf("decode: item %d: want the context's error, got %v", i, d.Err)
		}
	}
}
