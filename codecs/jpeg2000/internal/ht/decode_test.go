package ht

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// decodeBoth decodes b with the decoder and the reference and compares.
func decodeBoth(t *testing.T, b *codestream.Block) []int32 {
	t.Helper()
	const guard = -77 // stands where nothing may be written
	stride := b.Width + 3
	dst := slices.Repeat([]int32{guard}, stride*b.Height)
	err := Decode(dst, stride, b)
	want, refErr := refDecode(b)
	if (err != nil) != (refErr != nil) {
		t.Fatalf("error %v, of the reference %v", err, refErr)
	}
	if err != nil {
		return nil
	}
	halves := make([]int32, stride*b.Height)
	if err := DecodeIndices(halves, stride, b); err != nil {
		t.Fatal(err)
	}
	got := make([]int32, 0, len(want))
	for y := range b.Height {
		row := dst[y*stride:][:stride]
		got = append(got, row[:b.Width]...)
		if !slices.Equal(row[b.Width:], []int32{guard, guard, guard}) {
			t.Fatalf("row %d: written behind its end", y)
		}
	}
	for i := range want {
		// The one magnitude that is just above the bit-planes may come out as anything.
		if want[i] != int64(int32(want[i])) {
			continue
		}
		if half := halves[i/b.Width*stride+i%b.Width]; int64(half) != want[i]/2 {
			t.Fatalf("%d x %d: index %d, %d is %d, want %d", b.Width, b.Height, i%b.Width, i/b.Width, half, want[i]/2)
		}
		if int64(got[i]) != want[i] {
			t.Fatalf("%d x %d: sample %d, %d is %d, want %d", b.Width, b.Height, i%b.Width, i/b.Width, got[i], want[i])
		}
	}
	return got
}

// Any bytes decode like the reference does.
func TestRandomSegmentsDecodeLikeTheReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		w, h := 1+rng.IntN(70), 1+rng.IntN(12)
		decodeBoth(t, randomBlock(rng, w, h, i))
	}
}

// randomBlock is a block of random bytes, many of them of ones, with a valid Scup.
func randomBlock(rng *rand.Rand, w, h, kind int) *codestream.Block {
	bytes := func(n int) []byte {
		out := make([]byte, n)
		for i := range out {
			switch rng.IntN(8) {
			case 0:
				out[i] = 0xff
			case 1:
				out[i] = 0x7f
			default:
				out[i] = byte(rng.Uint32())
			}
		}
		return out
	}
	segment := bytes(2 + rng.IntN(400))
	suffix := 2 + rng.IntN(min(len(segment)-1, 256))
	segment[len(segment)-1] = byte(suffix >> 4)
	segment[len(segment)-2] = segment[len(segment)-2]&0xf0 | byte(suffix&15)
	zero := rng.IntN(30)
	b := &codestream.Block{
		Width: w, Height: h, Style: codestream.HT, ZeroPlanes: zero, Planes: zero + 1 + rng.IntN(31-zero),
		Segments: []codestream.Segment{{Data: segment, Passes: 1}},
	}
	if kind%2 == 1 && b.Planes > zero+1 {
		b.Segments = append(b.Segments, codestream.Segment{Data: bytes(rng.IntN(200)), Passes: 1 + rng.IntN(2)})
	}
	if kind%4 == 1 {
		b.Style |= codestream.Causal
	}
	return b
}

func FuzzDecode(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 20 {
		b := randomBlock(rng, 1+rng.IntN(20), 1+rng.IntN(20), i)
		f.Add(b.Segments[0].Data, []byte{1, 2, 3}, b.Width, b.Height, b.Planes, b.ZeroPlanes, 2, i%4 == 1)
	}
	f.Fuzz(func(t *testing.T, cleanup, refine []byte, w, h, planes, zero, passes int, causal bool) {
		b := &codestream.Block{
			Width: 1 + w&63, Height: 1 + h&63, Style: codestream.HT, Planes: 1 + planes&31, ZeroPlanes: zero & 31,
			Segments: []codestream.Segment{{Data: cleanup, Passes: 1}},
		}
		if check(b) != nil {
			return
		}
		if b.Planes > b.ZeroPlanes+1 && passes > 0 {
			b.Segments = append(b.Segments, codestream.Segment{Data: refine, Passes: 1 + passes&1})
		}
		if causal {
			b.Style |= codestream.Causal
		}
		decodeBoth(t, b)
	})
}

func TestBlocksWithoutSegmentsAreZero(t *testing.T) {
	if got := decodeBoth(t, &codestream.Block{Width: 5, Height: 3, Planes: 8, ZeroPlanes: 8}); slices.ContainsFunc(got, func(v int32) bool { return v != 0 }) {
		t.Error(got)
	}
}

func TestBrokenBlocksAreErrors(t *testing.T) {
	segment := func(data ...byte) []codestream.Segment { return []codestream.Segment{{Data: data, Passes: 1}} }
	two := func(first, second int) []codestream.Segment {
		return []codestream.Segment{{Data: []byte{0, 2, 0}, Passes: first}, {Data: []byte{0}, Passes: second}}
	}
	for name, b := range map[string]*codestream.Block{
		"no bytes":            {Width: 4, Height: 4, Planes: 8, ZeroPlanes: 7, Segments: segment()},
		"one byte":            {Width: 4, Height: 4, Planes: 8, ZeroPlanes: 7, Segments: segment(1)},
		"suffix too short":    {Width: 4, Height: 4, Planes: 8, ZeroPlanes: 7, Segments: segment(9, 1, 0)},
		"suffix too long":     {Width: 4, Height: 4, Planes: 8, ZeroPlanes: 7, Segments: segment(9, 4, 0)},
		"no planes":           {Width: 4, Height: 4, Planes: 8, ZeroPlanes: 8, Segments: segment(9, 2, 0)},
		"no samples":          {Width: 0, Height: 4, Planes: 8, ZeroPlanes: 7, Segments: segment(9, 2, 0)},
		"too many samples":    {Width: 1024, Height: 8, Planes: 8, ZeroPlanes: 7, Segments: segment(9, 2, 0)},
		"too wide":            {Width: 1025, Height: 1, Planes: 8, ZeroPlanes: 7, Segments: segment(9, 2, 0)},
		"refinement below 0":  {Width: 4, Height: 4, Planes: 8, ZeroPlanes: 7, Segments: two(1, 1)},
		"two cleanup passes":  {Width: 4, Height: 4, Planes: 8, ZeroPlanes: 6, Segments: two(2, 1)},
		"three refinements":   {Width: 4, Height: 4, Planes: 8, ZeroPlanes: 6, Segments: two(1, 3)},
		"too many bit-planes": {Width: 4, Height: 4, Planes: 38, ZeroPlanes: 0, Segments: segment(9, 2, 0)},
	} {
		var malformed *codec.FormatError
		var unsupported *codec.UnsupportedError
		if err := Decode(make([]int32, 8192), 1024, b); !errors.As(err, &malformed) && !errors.As(err, &unsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
