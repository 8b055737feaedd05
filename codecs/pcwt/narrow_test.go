package pcwt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// noisyImage is an image of smooth and of random parts, of which the extremes follow each other.
func noisyImage(r *rand.Rand, s raster.Shape) *raster.Image {
	m := raster.Make(s)
	for i := range m.Pix {
		switch {
		case i/512%3 == 0:
			m.Pix[i] = byte(i/5 + i*i>>12)
		case i/512%3 == 1:
			m.Pix[i] = byte(255 * r.IntN(2))
		default:
			m.Pix[i] = byte(r.Uint32())
		}
		if s.Bits < 8 {
			m.Pix[i] &= 1<<s.Bits - 1
		}
	}
	return m
}

// Images of up to 8 bits have the same sections with coefficients of 16 bits as with those of 32, and come back from them.
func TestNarrow(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	cores := pool.New()
	for round := range 24 {
		s := raster.Shape{Width: 1 + r.IntN(300), Height: 1 + r.IntN(200), Depth: 1, Channels: 1 + round%4, Bits: 8 - round%3, Signed: round%5 == 0}
		if s.Signed {
			s.Bits = 8
		}
		t.Run(fmt.Sprintf("%d, %s", round, s), func(t *testing.T) {
			m := noisyImage(r, s)
			o := defaults
			o.fast, o.near = round%2 == 0, max(0, round%7-4)
			e := &encoder{ctx: context.Background(), cores: cores, image: m, o: &o}
			h := e.plain()
			if err := h.setTables(); err != nil {
				t.Fatal(err)
			}
			if !h.narrow() {
				if h.levels > 0 {
					t.Fatal("an image of 8 bits is coded with coefficients of 32")
				}
				return
			}
			k := &coders{side: h.side()}
			want := e.slice(h, k, loadPlanes(cores, m, 0, h.near, h.rct()), 0)
			got := e.narrowSlice(h, k, 0)
			if !slices.EqualFunc(got, want, bytes.Equal) {
				t.Fatal("other sections")
			}
			h.checksum = checksum(cores, h, m)
			file := assemble(h, got)
			back, err := decode(e.ctx, cores, file)
			if err != nil || h.near == 0 && !bytes.Equal(back.Pix, m.Pix) {
				t.Fatalf("another image comes back (%v)", err)
			}
		})
	}
}

// Coefficients that no image of 8 bits has are refused as they are with 32 bits: the error says what is wrong with the samples.
func TestNarrowRefusesCoefficients(t *testing.T) {
	cores := pool.New()
	m := noisyImage(rand.New(rand.NewPCG(5, 6)), raster.Shape{Width: 200, Height: 100, Depth: 1, Channels: 1, Bits: 8})
	for _, change := range []int32{300, 40000, 1 << 16, 1<<16 + 5, -1 << 17} {
		e := &encoder{ctx: context.Background(), cores: cores, image: m, o: &defaults}
		h := e.plain()
		if err := h.setTables(); err != nil {
			t.Fatal(err)
		}
		planes := loadPlanes(cores, m, 0, 0, false)
		planes[0].Samples[4321] += change
		h.checksum = checksum(cores, h, m)
		file := assemble(h, e.slice(h, &coders{side: h.side()}, planes, 0))
		out := Codec{}.Decode(context.Background(), codec.Run{Pool: cores}, [][]byte{file}, nil)[0]
		var malformed *codec.FormatError
		if !errors.As(out.Err, &malformed) || !strings.Contains(malformed.Reason, "out of their range") {
			t.Errorf("a sample of %d more: error %v", change, out.Err)
		}
	}
}

// TestBytes compares the kernels of bytes with Go, also with sums that wrap around.
func TestBytes(t *testing.T) {
	if !hasVectors {
		t.Skip("NOT TESTED: no AVX2 here")
	}
	defer func() { hasVectors = true }()
	r := rand.New(rand.NewPCG(7, 8))
	for n := range 100 {
		pix := make([]byte, n)
		for i := range pix {
			pix[i] = byte(r.Uint32())
		}
		both := func(f func()) {
			for _, hasVectors = range []bool{false, true} {
				f()
			}
		}
		var loaded [][]int16
		both(func() {
			out := make([]int16, n)
			loadBytes(out, pix, 127)
			loaded = append(loaded, out)
		})
		if !slices.Equal(loaded[0], loaded[1]) {
			t.Fatalf("%d bytes are loaded otherwise", n)
		}
		for _, wrong := range []int16{0, 255, 128, -129, -32768, 32767} {
			in := wavelet.Plane[int16]{Samples: slices.Clone(loaded[0])}
			if n > 0 && wrong != 0 {
				in.Samples[r.IntN(n)] = wrong
			}
			var results []bool
			var stored [][]byte
			both(func() {
				out := make([]byte, n)
				results = append(results, storeBytes(out, 1, in.Samples, 127))
				stored = append(stored, out)
			})
			if results[0] != results[1] || results[0] && !bytes.Equal(stored[0], stored[1]) {
				t.Fatalf("%d samples, one of them %d: %v", n, wrong, results)
			}
			if wrong == 0 && !bytes.Equal(stored[1], pix) {
				t.Fatalf("%d bytes do not come back", n)
			}
		}
	}
}
