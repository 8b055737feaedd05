//go:build cuda && cgo

package vq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// codedFiles are files of images of all kinds with all blocks, plain tables and shared codebooks among them, the Kodak images, and of
// each some with a flipped bit; and what the encoder expects of them. The asset is the shared codebook.
func codedFiles(t testing.TB) (files [][]byte, expect []any, asset []byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(8, 9))
	options := func(pairs ...string) codec.Options {
		o, err := Codec{}.Options(pairs)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	asset, err := Codec{}.Train(t.Context(), codec.Run{}, []*raster.Image{scene(300, 200, 1, 3)}, options(sharedSet...))
	if err != nil {
		t.Fatal(err)
	}
	add := func(m *raster.Image, o codec.Options) {
		e := Codec{}.Encode(t.Context(), codec.Run{}, codec.Items(m), o)[0]
		if e.Err != nil {
			t.Fatalf("%s, %q: %v", m.Shape, o, e.Err)
		}
		files, expect = append(files, e.Data), append(expect, e.Expect)
	}
	for range codectest.Rounds(300) {
		m := randomImage(r, 1+2*r.IntN(2))
		pairs := []string{"block=" + []string{"2x2", "4x2", "4x4", "8x8"}[r.IntN(4)], fmt.Sprint("n=", 2+r.IntN(1+r.IntN(600))), "passes=2"}
		switch r.IntN(5) {
		case 0:
			pairs = append(pairs, "index=raw")
		case 1:
			pairs = append(pairs, "chroma=444")
		}
		add(m, options(pairs...))
	}
	shared, err := options(sharedSet...).(*Options).WithAsset(asset)
	if err != nil {
		t.Fatal(err)
	}
	add(scene(301, 199, 1, 3), shared)
	add(scene(64, 48, 1, 1), shared)
	add(scene(512, 512, 1, 1), options())
	add(scene(100, 1500, 2, 3), options("n=4096", "block=2x2", "passes=1"))
	for n := 1; n <= 24 && !testing.Short(); n++ {
		if m, ok := kodak(t, n); ok {
			add(m, options())
		}
	}
	for i, whole := range files {
		damaged := bytes.Clone(whole)
		damaged[r.IntN(len(damaged))] ^= 1 << r.IntN(8)
		files, expect = append(files, damaged), append(expect, expect[i])
		damaged = bytes.Clone(whole) // with the checksum that goes with it
		if h, err := parseHeader(damaged); err == nil && h.tableSize > 0 {
			index := damaged[len(damaged)-4-int(h.tableSize):][:h.tableSize]
			index[r.IntN(len(index))] ^= 1 << r.IntN(8)
			sum := checksum(index)
			copy(damaged[len(damaged)-4:], []byte{byte(sum), byte(sum >> 8), byte(sum >> 16), byte(sum >> 24)})
			files, expect = append(files, damaged), append(expect, expect[i])
		}
	}
	return files, expect, asset
}

func decodeOn(ctx context.Context, dev *gpu.Device, files [][]byte, expect []any, asset []byte, alloc func(int) []byte) []codec.Decoded {
	return decodeFor(ctx, codec.Run{Device: dev, Alloc: alloc, Expect: expect}, files, asset)
}

// decodeFor is decodeOn for a run.
func decodeFor(ctx context.Context, run codec.Run, files [][]byte, asset []byte) []codec.Decoded {
	d := &fileDecoder{
		ctx: ctx, run: run, cores: run.Cores(), out: make([]codec.Decoded, len(files)), opened: make([]*openedFile, len(files)), always: true,
		shared: &sharedBooks{assets: func(context.Context, string) ([]byte, error) { return asset, nil }, known: make(map[string]*bookPair)},
	}
	d.decode(files)
	return d.out
}

// A device decodes files of all kinds, and refuses damaged ones, as the CPU does: many at once and few, into memory of the caller's,
// and where its own memory is short.
func TestDeviceDecodes(t *testing.T) {
	dev := gputest.Device(t, nil)
	files, expect, asset := codedFiles(t)
	want := decodeOn(t.Context(), nil, files, nil, asset, nil)
	failed := 0
	for i := range want {
		if want[i].Err != nil {
			failed++
		}
	}
	if failed == 0 || failed == len(files) {
		t.Fatalf("%d of %d files are damaged for the CPU", failed, len(files))
	}
	codectest.SameDecoded(t, want, decodeOn(t.Context(), dev, files, nil, asset, nil))
	for _, n := range []int{1, 2, 7} {
		codectest.SameDecoded(t, want[:n], decodeOn(t.Context(), dev, files[:n], nil, asset, nil))
		codectest.SameDecoded(t, want[:n], decodeOn(t.Context(), dev, files[:n], expect, asset, nil))
	}
	// What is expected changes nothing, be it right, of another file, or of some only.
	changed := slices.Clone(expect)
	for i := range changed {
		if tables := changed[i].(expected); i%3 == 0 {
			table := slices.Clone(tables[0])
			table[i%len(table)] ^= 1
			changed[i] = append(expected{table}, tables[1:]...)
		}
	}
	for _, e := range [][]any{expect, append(slices.Clone(expect[1:]), expect[0]), expect[:len(expect)/2], changed} {
		codectest.SameDecoded(t, want, decodeOn(t.Context(), dev, files, e, asset, nil))
	}
	var hosts []*gpu.Host
	defer func() {
		for _, h := range hosts {
			h.Free()
		}
	}()
	lend := make(chan struct{}, 1)
	codectest.SameDecoded(t, want, decodeOn(t.Context(), dev, files, expect, asset, func(n int) []byte {
		lend <- struct{}{}
		defer func() { <-lend }()
		h, err := dev.Host(n)
		if err != nil {
			t.Error(err)
			return nil
		}
		hosts = append(hosts, h)
		return h.Bytes
	}))
	for memory := int64(20 << 10); memory < 64<<20; memory *= 5 {
		dev := gputest.Device(t, &gpu.Options{Lanes: 1, Memory: memory})
		codectest.SameDecoded(t, want, decodeOn(t.Context(), dev, files, nil, asset, nil))
		codectest.SameDecoded(t, want, decodeOn(t.Context(), dev, files, expect, asset, nil))
	}
}

// A device finds by itself that streams are those of expected tables, and leaves to the CPU those that are not: decoding alone would not
// show whether it leaves all of them.
func TestDeviceFindsExpectedTables(t *testing.T) {
	dev := gputest.Device(t, nil)
	for _, text := range [][]string{nil, {"n=2"}, {"n=600", "block=2x2"}, {"block=8x8", "chroma=444"}} {
		o, err := Codec{}.Options(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, changed := range []bool{false, true} {
			var files []*openedFile
			for _, e := range (Codec{}).Encode(t.Context(), codec.Run{}, codec.Items(scene(301, 199, 1, 3), scene(64, 48, 1, 1), scene(9, 200, 1, 3)), o) {
				if e.Err != nil {
					t.Fatal(e.Err)
				}
				f, err := open(t.Context(), e.Data, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				f.want = e.Expect.(expected) // also of the share of which nothing is expected
				if table := f.want[len(f.want)-1]; changed {
					table[len(table)/2] ^= 1
				}
				files = append(files, f)
			}
			if err := dev.Do(t.Context(), func(l *gpu.Lane) error {
				b, err := newDeviceSteps(l, pool.New()).decodeTables(t.Context(), files)
				if err != nil {
					return err
				}
				for i, damaged := range b.damaged {
					if (damaged != 0) != changed {
						t.Errorf("%q, file %d, with a changed index: %v, is left to the CPU: %v", text, i, changed, damaged != 0)
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A device compares the images of files with others, also where its memory is short and where it makes large ones in bands.
func TestDeviceCompares(t *testing.T) {
	files, expect, asset := codedFiles(t)
	want := decodeOn(t.Context(), nil, files, nil, asset, nil)
	for name, o := range map[string]*gpu.Options{"all": nil, "little memory": {Lanes: 1, Memory: 8 << 20}} {
		t.Run(name, func(t *testing.T) {
			dev := gputest.Device(t, o)
			compared, taken := codectest.Compared(t, want, func(originals []codec.Original) []codec.Decoded {
				return decodeFor(t.Context(), codec.Run{Device: dev, Expect: expect, Originals: originals}, files, asset)
			})
			// Where the index is whole and not the one that is expected, the CPU decodes a file.
			if compared > taken || compared < taken*3/4 && o == nil || taken < 10 {
				t.Errorf("%d of %d files were compared, the device takes %d", compared, len(files), taken)
			}
		})
	}
}

// A context that has ended is the error of every file.
func TestDeviceDecodingEndsWithItsContext(t *testing.T) {
	dev := gputest.Device(t, nil)
	files, expect, asset := codedFiles(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i, d := range decodeOn(ctx, dev, files[:20], expect, asset, nil) {
		if !errors.Is(d.Err, context.Canceled) {
			t.Errorf("file %d: %v", i, d.Err)
		}
	}
}

// BenchmarkCardDecodeFiles decodes the Kodak images in batches on a device, and on all cores; as they are, and where their index tables
// are expected.
func BenchmarkCardDecodeFiles(b *testing.B) {
	dev := gputest.Device(b, nil)
	var kodaks []codec.Encoded
	o, err := Codec{}.Options(nil)
	if err != nil {
		b.Fatal(err)
	}
	for n := 1; n <= 24; n++ {
		if m, ok := kodak(b, n); ok {
			kodaks = append(kodaks, Codec{}.Encode(b.Context(), codec.Run{}, codec.Items(m), o)[0])
		}
	}
	if len(kodaks) == 0 {
		b.Skip("NOT MEASURED without Kodak images")
	}
	for _, n := range []int{1, 16, 64, 256} {
		files, expect := make([][]byte, n), make([]any, n)
		pixels := 0
		for i := range files {
			files[i], expect[i] = kodaks[i%len(kodaks)].Data, kodaks[i%len(kodaks)].Expect
		}
		for _, d := range (Codec{}).Decode(b.Context(), codec.Run{}, files, nil) {
			pixels += d.Image.Pixels()
		}
		for _, at := range []struct {
			name string
			run  func()
		}{
			{"device", func() { decodeOn(b.Context(), dev, files, nil, nil, nil) }},
			{"cores", func() { Codec{}.Decode(b.Context(), codec.Run{}, files, nil) }},
			{"device-expected", func() { decodeOn(b.Context(), dev, files, expect, nil, nil) }},
			{"cores-expected", func() { Codec{}.Decode(b.Context(), codec.Run{Expect: expect}, files, nil) }},
		} {
			b.Run(fmt.Sprintf("%s/files=%d", at.name, n), func(b *testing.B) {
				for b.Loop() {
					at.run()
				}
				s := b.Elapsed().Seconds() / float64(b.N)
				b.ReportMetric(float64(pixels)/s/1e6, "Mpx/s")
				b.ReportMetric(s*1e9/float64(pixels/n), "ns/px-of-one")
			})
		}
	}
}
