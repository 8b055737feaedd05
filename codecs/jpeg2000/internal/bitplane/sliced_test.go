package bitplane

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// A sliced block has the decisions of column words, and the assembly, where there is some, does what the
// Go code of the same names does.
func FuzzSliced(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 0))
	for range 200 {
		f.Add(r.Uint64(), r.Uint64(), byte(r.Uint32()), byte(r.Uint32()))
	}
	for _, side := range []byte{0, 1, 2, 3, 4, 14, 15, 16, 17, 31, 32, 62, 63} {
		f.Add(r.Uint64(), r.Uint64(), side, byte(63))
		f.Add(r.Uint64(), r.Uint64(), byte(63), side)
	}
	defer func(sliced bool) { useSliced = sliced }(useSliced)
	f.Fuzz(func(t *testing.T, shape, seed uint64, width, height byte) {
		w, h := int(width&63)+1, int(height&63)+1
		r := rand.New(rand.NewPCG(seed, shape))
		stride := w + int(shape&3)
		src := make([]int32, stride*h)
		deep, spread := shape>>2&31, 1+shape>>7&7
		for i := range src {
			src[i] = int32(r.Uint64N(1<<deep)>>(r.Uint64N(spread)*(deep/4))) * int32(1-2*(i>>(shape>>10&3)&1))
			if shape>>12&3 == 0 && r.IntN(50) > 0 {
				src[i] = 0
			}
		}
		o := codestream.Orientation(shape >> 14 & 3)
		style := codestream.BlockStyle(0)
		for i, s := range []codestream.BlockStyle{codestream.Reset, codestream.Terminate, codestream.Predictable, codestream.SegmentMark} {
			if shape>>(16+i)&1 != 0 {
				style |= s
			}
		}
		var got, want Encoder
		useSliced = true
		g := got.Encode(src, stride, w, h, o, style)
		useSliced = false
		c := want.Encode(src, stride, w, h, o, style)
		if !got.isSliced || want.isSliced {
			t.Fatal("a block was not coded in the way that is tried")
		}
		if g.Planes != c.Planes || !bytes.Equal(g.Data, c.Data) || !slices.Equal(g.Passes, c.Passes) {
			t.Fatalf("%dx%d %v style %#x of %d bits: other bytes", w, h, o, style, deep)
		}

		var s sliced
		planes := s.start(src, stride, w, h, o)
		if n := planesOfGo(src, stride, w, h); n != planes {
			t.Fatalf("%d bit-planes, not %d", planes, n)
		}
		plane, sign := slices.Clone(s.bits), slices.Clone(s.sign)
		clear(s.sign)
		s.sliceGo(src, stride, w, h, planes)
		if !slices.Equal(plane, s.bits) || !slices.Equal(sign, s.sign) {
			t.Fatalf("%dx%d of %d bits: other words", w, h, deep)
		}
		for range 8 {
			s.groups = append(s.groups, group{First: r.Uint64(), Second: r.Uint64(), Run: r.Uint64() & row0 & (r.Uint64() & -(shape & 1)), High: r.Uint64(), Low: r.Uint64(),
				Number: [6]uint64{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()},
				Sign:   [4]uint64{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()}})
			last := &s.groups[len(s.groups)-1]
			last.High &= last.Run
			last.Low &= last.Run
			for i := range last.Number {
				last.Number[i] &= last.First
			}
			for i := range last.Sign {
				last.Sign[i] &= last.Second
			}
		}
		n := mostSymbols * len(s.groups)
		if !bytes.Equal(write(make([]byte, 0, n), s.groups), writeGo(make([]byte, 0, n), s.groups)) {
			t.Fatal("other decisions")
		}
	})
}
