package ht

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// roundTrip encodes the samples, checks the segment and decodes it with both decoders.
func roundTrip(t *testing.T, src []int32, w, h int) {
	t.Helper()
	segment, planes := Encode([]byte("kept"), src, w, w, h)
	segment = segment[len("kept"):]
	if want := greatestBits(src); planes != want {
		t.Fatalf("%d x %d: %d bit-planes, want %d", w, h, planes, want)
	}
	zero := !slices.ContainsFunc(src, func(v int32) bool { return v != 0 })
	if zero != (len(segment) == 0) {
		t.Fatalf("%d x %d: %d bytes, all zero: %v", w, h, len(segment), zero)
	}
	if zero {
		return
	}
	checkBytes(t, segment)
	b := &codestream.Block{Width: w, Height: h, Style: codestream.HT, Planes: 30, ZeroPlanes: 29, Segments: []codestream.Segment{{Data: segment, Passes: 1}}}
	got := decodeBoth(t, b)
	for i, v := range src {
		// A coefficient is twice the middle of the interval of its index.
		want := 2 * v
		if v > 0 {
			want++
		} else if v < 0 {
			want--
		}
		if got[i] != want {
			t.Fatalf("%d x %d: sample %d, %d is %d, want %d", w, h, i%w, i/w, got[i], want)
		}
	}
}

// greatestBits is the number of bits of the greatest magnitude.
func greatestBits(src []int32) (n int) {
	for _, v := range src {
		n = max(n, bits.Len32(uint32(max(v, -v))))
	}
	return n
}

// checkBytes checks what a segment promises of its bytes (T.814, 7.1.1): nothing in it
// looks like a marker.
func checkBytes(t *testing.T, s []byte) {
	t.Helper()
	suffix := int(s[len(s)-1])<<4 | int(s[len(s)-2]&15)
	if suffix < 2 || suffix > min(len(s), 4079) {
		t.Fatalf("%d bytes, suffix %d", len(s), suffix)
	}
	if p := len(s) - suffix; p > 0 && s[p-1] == 0xff || s[len(s)-1] == 0xff {
		t.Fatal("a stream ends with ff")
	}
	for i := range s[1:] {
		if s[i] == 0xff && s[i+1] > 0x8f {
			t.Fatalf("bytes ff %x at %d of %d", s[i+1], i, len(s))
		}
	}
}

// A source of samples: how many are not 0, in 1/256, and how many bits they have at most.
type source struct{ density, bits int }

func (s source) samples(rng *rand.Rand, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		if rng.IntN(256) >= s.density {
			continue
		}
		v := int32(rng.Uint32() >> (32 - 1 - rng.IntN(s.bits)))
		if rng.IntN(2) == 0 {
			v = -v
		}
		out[i] = v
	}
	return out
}

func TestRoundTripsOfAllSizes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for w := 1; w <= 20; w++ {
		for h := 1; h <= 20; h++ {
			s := source{1 + rng.IntN(256), 1 + rng.IntN(29)}
			roundTrip(t, s.samples(rng, w*h), w, h)
		}
	}
}

func TestRoundTrips(t *testing.T) {
	sizes := [][2]int{{64, 64}, {63, 64}, {64, 63}, {61, 61}, {1024, 4}, {1023, 3}, {4, 1024}, {3, 1023}, {128, 32}, {32, 128}, {1, 1024}, {1024, 1}, {32, 32}}
	sources := []source{{0, 1}, {1, 1}, {8, 3}, {64, 8}, {128, 1}, {200, 5}, {256, 2}, {256, 8}, {256, 16}, {256, 24}, {256, 25}, {256, 26}, {20, 29}, {256, 29}}
	if testing.Short() {
		sizes = sizes[:4]
	}
	rng := rand.New(rand.NewPCG(7, 8))
	for _, size := range sizes {
		for _, s := range sources {
			roundTrip(t, s.samples(rng, size[0]*size[1]), size[0], size[1])
		}
	}
}

// One value everywhere gives the longest runs of ones and of zeros.
func TestRoundTripsOfOneValue(t *testing.T) {
	for _, v := range []int32{1, -1, 2, 3, -4, 127, -128, 1 << 28, -(1 << 29) + 1, 1<<29 - 1} {
		t.Run(fmt.Sprint(v), func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 7, 16, 33, 64} {
				roundTrip(t, slices.Repeat([]int32{v}, n*n), n, n)
			}
		})
	}
}

// The greatest magnitude has 31 bits, more than the decoder's coefficients hold with their
// fraction.
func TestTheGreatestMagnitudes(t *testing.T) {
	const most = 1<<31 - 1
	src := []int32{most, -most, 0, 1, -most, most, 5, most, most, most, most, -most}
	segment, _ := Encode(nil, src, 4, 4, 3)
	checkBytes(t, segment)
	b, err := refCleanup(segment, 4, 3, 32)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range src {
		at := [2]int{i % 4, i / 4}
		if got := int64(b.m[at]); b.minus[at] && -got != int64(v) || !b.minus[at] && got != int64(v) {
			t.Errorf("sample %d: %d, want %d", i, got, v)
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte{1, 2, 3}, 3, 3, 1)
	f.Add([]byte{255, 0, 127, 128, 9}, 64, 7, 20)
	f.Fuzz(func(t *testing.T, data []byte, w, h, shift int) {
		w, h, shift = 1+w&63, 1+h&63, shift&15
		src := make([]int32, w*h)
		for i := range src {
			if len(data) > 0 {
				src[i] = int32(int8(data[i%len(data)])) << shift
			}
		}
		roundTrip(t, src, w, h)
	})
}
