package comparison

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// pair is an image and what an encoder has made of it.
type pair struct{ original, decoded *raster.Image }

// pairs are images with sides of a window, of one less and more than a stride from there, and larger ones, of all kinds that a device
// takes: equal, different in one sample, a little everywhere, or altogether. Some have alpha that hides what differs.
func pairs() (list []pair) {
	r := rand.New(rand.NewPCG(1, 2))
	sides := []int{8, 9, 11, 12, 13, 31, 32, 33, 70}
	for i := range 60 {
		s := raster.Shape{Width: sides[r.IntN(len(sides))], Height: sides[r.IntN(len(sides))], Depth: 1 + i%7/5*2, Channels: 1 + i%4, Bits: 8, Frames: i%7 >= 5}
		a := raster.Make(s)
		for k := range a.Pix {
			a.Pix[k] = byte(r.IntN(256))
		}
		b := raster.Make(s)
		copy(b.Pix, a.Pix)
		switch i / 4 % 5 {
		case 1:
			b.Pix[r.IntN(len(b.Pix))] ^= 1 << r.IntN(8)
		case 2:
			for k, v := range b.Pix {
				b.Pix[k] = byte(min(255, max(0, int(v)+r.IntN(9)-4)))
			}
		case 3:
			for k := range b.Pix {
				b.Pix[k] = byte(r.IntN(256))
			}
		case 4:
			if !s.Alpha() {
				clear(a.Pix) // of one colour, against another
				break
			}
			for k := s.Channels - 1; k < len(b.Pix); k += s.Channels {
				a.Pix[k], b.Pix[k] = 0, 0
				b.Pix[k-1]++
			}
		}
		list = append(list, pair{a, b})
	}
	return list
}

// want is what the host finds.
func want(t *testing.T, p pair) (c codec.Comparison) {
	t.Helper()
	if c.Identical = bytes.Equal(p.original.Pix, p.decoded.Pix); c.Identical {
		c.PSNR, c.SSIM = raster.Identical, 1
		return c
	}
	var err error
	if c.PSNR, c.SSIM, err = raster.Quality(p.original, p.decoded); err != nil {
		t.Fatal(err)
	}
	return c
}

// The kernels, compiled for this machine, find what the host does, bit by bit, inside their memory.
func TestKernelsOnCPU(t *testing.T) {
	program := gputest.CPUProgram(t, "../..", "testdata/cpu.cc", "internal/comparison/kernels.cu", "internal/comparison/shared.cuh",
		"gpu/include/base.cuh", "gpu/include/warp.cuh", "gpu/include/atomic.cuh")
	list := pairs()
	var in bytes.Buffer
	put := func(v any) { binary.Write(&in, binary.LittleEndian, v) }
	slices := 0
	for _, p := range list {
		slices += p.original.Depth
	}
	put(uint32(slices))
	for _, p := range list {
		if !Takes(p.original.Shape) {
			t.Fatalf("%s is not taken", p.original.Shape)
		}
		across, windows := windowsOf(p.original.Shape)
		for z := range p.original.Depth {
			put([]uint32{uint32(p.original.Width), uint32(p.original.Height), uint32(p.original.Channels), uint32(across), uint32(windows)})
			put(p.original.Slice(z).Pix)
			put(p.decoded.Slice(z).Pix)
		}
	}
	out := bytes.NewReader(gputest.RunCPU(t, program, in.Bytes()))
	for i, p := range list {
		found := make([]deviceFound, p.original.Depth)
		if err := binary.Read(out, binary.LittleEndian, found); err != nil {
			t.Fatal(err)
		}
		if got, want := comparisonOf(p.original.Shape, found), want(t, p); got != want {
			t.Errorf("pair %d, %s: %+v, want %+v", i, p.original.Shape, got, want)
		}
	}
}

// Images of other kinds are compared on the host.
func TestTakes(t *testing.T) {
	for _, c := range []struct {
		s    raster.Shape
		want bool
	}{
		{raster.Shape{Width: 8, Height: 8, Depth: 1, Channels: 4, Bits: 8}, true},
		{raster.Shape{Width: 7, Height: 800, Depth: 1, Channels: 3, Bits: 8}, false},
		{raster.Shape{Width: 800, Height: 7, Depth: 1, Channels: 3, Bits: 8}, false},
		{raster.Shape{Width: 80, Height: 80, Depth: 1, Channels: 1, Bits: 7}, false},
		{raster.Shape{Width: 80, Height: 80, Depth: 1, Channels: 1, Bits: 16}, false},
		{raster.Shape{Width: 80, Height: 80, Depth: 1, Channels: 1, Bits: 8, Signed: true}, false},
		{raster.Shape{Width: 80, Height: 80, Depth: 9, Channels: 1, Bits: 8}, true},
	} {
		t.Run(fmt.Sprint(c.s), func(t *testing.T) {
			if got := Takes(c.s); got != c.want {
				t.Errorf("taken: %v", got)
			}
		})
	}
}

// A device compares what there is, of the right shape, and no more slices than a launch has rows.
func TestOriginals(t *testing.T) {
	deep := func(depth int) *raster.Image { return raster.New(8, 8, depth, 1, 8) }
	images := []*raster.Image{deep(1), nil, deep(2), deep(60_000), raster.New(7, 8, 1, 1, 8), deep(10_000), deep(5532), deep(1)}
	run := codec.Run{}
	for _, m := range images {
		run.Originals = append(run.Originals, codec.Original{Image: m})
	}
	items := []int{0, 1, 2, 3, 4, 5, 6, 7, 8} // one more than there are originals
	list, at := Originals(run, items, func(j int) raster.Shape {
		if j == 0 {
			return deep(3).Shape
		}
		return images[j].Shape
	})
	if want := []int{-1, -1, 0, 1, -1, -1, 2, 3, -1}; !slices.Equal(at, want) || len(list) != 4 {
		t.Errorf("%v, %d originals; want %v", at, len(list), want)
	}
}
