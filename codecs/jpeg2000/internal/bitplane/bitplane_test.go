package bitplane_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// coefficients are random ones of at most planes bit-planes, small ones more often.
func coefficients(r *rand.Rand, n, planes int) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(r.Uint32()) >> 1 >> (30 - r.IntN(planes+1))
		if r.IntN(3) == 0 {
			v[i] = 0
		}
	}
	return v
}

func ints(v []int32) []int {
	out := make([]int, len(v))
	for i, s := range v {
		out[i] = int(s)
	}
	return out
}

// segmentsOf cuts a coded block as a packet does, after passes passes.
func segmentsOf(c bitplane.Coded, passes int) (segments []codestream.Segment) {
	from, n := 0, 0
	for i, p := range c.Passes[:passes] {
		n++
		if p.Terminated || i == passes-1 {
			segments = append(segments, codestream.Segment{Data: bytes.Clone(c.Data[from:p.Length]), Passes: n})
			from, n = p.Length, 0
		}
	}
	return segments
}

func block(c bitplane.Coded, passes, w, h int, o codestream.Orientation, style codestream.BlockStyle) *codestream.Block {
	return &codestream.Block{Width: w, Height: h, Orientation: o, Style: style, Planes: c.Planes + 2, ZeroPlanes: 2, Segments: segmentsOf(c, passes)}
}

var sizes = [][2]int{{1, 1}, {1, 2}, {2, 1}, {3, 4}, {4, 3}, {4, 5}, {5, 4}, {7, 9}, {64, 64}, {63, 61}, {1, 64}, {64, 1}, {17, 33}, {1024, 4}, {1024, 1}, {4, 1024}, {1, 1024}}

// TestBlocks compares all block styles with the reference in both directions.
func TestBlocks(t *testing.T) {
	var e bitplane.Encoder
	for style := range codestream.BlockStyle(64) {
		for n := range 6 {
			r := rand.New(rand.NewPCG(uint64(style), uint64(n)))
			size := sizes[r.IntN(len(sizes))]
			if n < 3 {
				size = [2]int{1 + r.IntN(20), 1 + r.IntN(20)}
			} else if testing.Short() {
				continue
			}
			o := codestream.Orientation(r.IntN(4))
			checkBlock(t, &e, coefficients(r, size[0]*size[1], 1+r.IntN(16)), size[0], size[1], 1, o, style)
		}
	}
}

// TestSlices does so for blocks with slices.
func TestSlices(t *testing.T) {
	var e bitplane.Encoder
	for style := range codestream.BlockStyle(64) {
		r := rand.New(rand.NewPCG(uint64(style), 9))
		w, h, d := 1+r.IntN(20), 1+r.IntN(20), 2+r.IntN(7)
		checkBlock(t, &e, coefficients(r, w*h*d, 1+r.IntN(16)), w, h, d, codestream.Orientation(r.IntN(4)), style)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for _, s := range [][3]int{{64, 64, 8}, {4, 4, 1024}, {1, 1, 300}, {1024, 4, 3}} {
		checkBlock(t, &e, coefficients(r, s[0]*s[1]*s[2], 3), s[0], s[1], s[2], codestream.HL, 0)
	}
}

// A block of one slice is a block of Part 1.
func TestOneSlice(t *testing.T) {
	var e bitplane.Encoder
	v := coefficients(rand.New(rand.NewPCG(3, 4)), 64*61, 9)
	want := bytes.Clone(e.Encode(v, 64, 64, 61, codestream.HH, 0).Data)
	if got := e.EncodeSlices(v, 64, 64*61, 64, 61, 1, codestream.HH, 0); !bytes.Equal(got.Data, want) {
		t.Error("other bytes")
	}
}

func checkBlock(t *testing.T, e *bitplane.Encoder, v []int32, w, h, d int, o codestream.Orientation, style codestream.BlockStyle) {
	t.Helper()
	name := fmt.Sprintf("%dx%dx%d %v style %#x", w, h, d, o, style)
	c := e.EncodeSlices(v, w, w*h, w, h, d, o, style)
	planes, segments := referenceEncode(ints(v), w, h, d, o, style)
	if c.Planes != planes || !slices.EqualFunc(segmentsOf(c, len(c.Passes)), segments, func(a, b codestream.Segment) bool {
		return a.Passes == b.Passes && bytes.Equal(a.Data, b.Data)
	}) {
		t.Fatalf("%s: not encoded as the reference does", name)
	}
	got := make([]int32, w*h*d)
	for _, passes := range []int{len(c.Passes), len(c.Passes) / 2, 1, 0} {
		if passes > len(c.Passes) {
			continue
		}
		b := block(c, passes, w, h, o, style)
		if err := bitplane.DecodeSlices(got, w, w*h, d, b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := referenceDecode(b, d); !slices.Equal(got, want) {
			t.Fatalf("%s: %d of %d passes are not decoded as the reference does", name, passes, len(c.Passes))
		}
		if whole := referencePasses(v, w, h, d, o, style, c.Planes, passes); !slices.Equal(got, whole) {
			t.Fatalf("%s: %d of %d passes come back changed", name, passes, len(c.Passes))
		}
	}
}

// referencePasses is what the first passes tell of v: what a decoder makes of all the
// bytes of the block.
func referencePasses(v []int32, w, h, d int, o codestream.Orientation, style codestream.BlockStyle, planes, passes int) []int32 {
	r := newReference(w, h, d, o, style)
	r.code = func(_, bit int) int { return bit }
	for i := range passes {
		r.raw = isRaw(i, style)
		r.pass((i+2)%3, planes-1-(i+2)/3, ints(v))
	}
	out := make([]int32, w*h*d)
	for i, s := range r.sign {
		if s != 0 {
			out[i] = int32(s * (2*r.coded[i] + 1<<r.planes[i]))
		}
	}
	return out
}

// TestDeepBlocks goes to the last of the bit-planes that are decoded.
func TestDeepBlocks(t *testing.T) {
	var e bitplane.Encoder
	for _, v := range [][]int32{{1<<30 - 1, -1 << 29, 5, 0}, {-(1<<30 - 1), 1, 1 << 29, -3}} {
		checkBlock(t, &e, v, 2, 2, 1, codestream.HH, 0)
		checkBlock(t, &e, v, 4, 1, 1, codestream.HL, codestream.Bypass)
	}
}

func TestDecodeRefuses(t *testing.T) {
	one := []codestream.Segment{{Data: []byte{1}, Passes: 2}}
	for _, n := range []int{0, 1<<18/16 + 1} {
		if err := bitplane.DecodeSlices(make([]int32, 1<<20), 4, 16, n, &codestream.Block{Width: 4, Height: 4, Planes: 2, Segments: one}); err == nil {
			t.Errorf("%d slices: no error", n)
		}
	}
	for name, b := range map[string]*codestream.Block{
		"more zero bit-planes than bit-planes": {Width: 4, Height: 4, Planes: 3, ZeroPlanes: 4},
		"too many bit-planes":                  {Width: 4, Height: 4, Planes: 31, Segments: one},
		"more passes than the bit-planes have": {Width: 4, Height: 4, Planes: 1, Segments: one},
		"passes without a bit-plane":           {Width: 4, Height: 4, Segments: one},
		"no samples":                           {Width: 0, Height: 4, Planes: 2, Segments: one},
		"too many samples":                     {Width: 1024, Height: 8, Planes: 2, Segments: one},
		"raw bits and arithmetic coding": {Width: 4, Height: 4, Planes: 8, Style: codestream.Bypass,
			Segments: []codestream.Segment{{Data: []byte{1}, Passes: 11}}},
	} {
		if err := bitplane.Decode(make([]int32, 1<<14), 1024, b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzDecode feeds streams that no encoder makes: the decoder agrees with the reference.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{0x12, 0x34, 0xFF, 0x01, 0x99}, byte(5), byte(9), byte(0), byte(7), byte(9))
	f.Add([]byte{}, byte(64), byte(64), byte(0x3F), byte(30), byte(60))
	f.Fuzz(func(t *testing.T, data []byte, w, h, style, planes, passes byte) {
		b := &codestream.Block{Width: 1 + int(w)%64, Height: 1 + int(h)%64, Style: codestream.BlockStyle(style & 63),
			Orientation: codestream.Orientation(style >> 6), Planes: int(planes % 31)}
		left := min(int(passes), max(0, 3*b.Planes-2))
		for i := 0; i < left; {
			n := 1
			for b.Style&codestream.Terminate == 0 && i+n < left && isRaw(i+n, b.Style) == isRaw(i, b.Style) {
				n++
			}
			cut := min(len(data), 3*n)
			b.Segments = append(b.Segments, codestream.Segment{Data: data[:cut:cut], Passes: n})
			data, i = data[cut:], i+n
		}
		got := make([]int32, b.Width*b.Height)
		if err := bitplane.Decode(got, b.Width, b); err != nil {
			t.Fatal(err)
		}
		if want := referenceDecode(b, 1); !slices.Equal(got, want) {
			t.Fatal("not decoded as the reference does")
		}
	})
}

// FuzzEncode codes any block, as the reference does, and back.
func FuzzEncode(f *testing.F) {
	f.Add([]byte{1, 2, 3, 0, 0, 0, 255, 128}, byte(3), byte(0), byte(4))
	// A stream whose bytes behind a place, 0xFF 0x80, come to more than the ones that a decoder makes up.
	f.Add([]byte("\x01\x0e\x03\b7?\xec3/\x84 \x80\x00W/\x84\xc2 \x80\x00\x16"), byte(1), byte(0x12), byte(4))
	f.Fuzz(func(t *testing.T, data []byte, w, style, shift byte) {
		width := 1 + int(w)%64
		h := min(64, len(data)/width)
		if h == 0 {
			return
		}
		v := make([]int32, width*h)
		for i := range v {
			v[i] = int32(int8(data[i])) << (shift % 22) >> (data[i] & 3)
		}
		checkBlock(t, new(bitplane.Encoder), v, width, h, 1, codestream.Orientation(style>>6), codestream.BlockStyle(style&63))
	})
}

// TestDecodeIndices compares the indices with the coefficients, in rows that are wider than the block.
func TestDecodeIndices(t *testing.T) {
	var e bitplane.Encoder
	r := rand.New(rand.NewPCG(53, 0))
	for _, size := range sizes {
		w, h := size[0], size[1]
		if w*((h+3)&^3) > 4096 {
			continue
		}
		c := e.Encode(coefficients(r, w*h, 9), w, w, h, 0, 0)
		stride := w + 3
		for _, passes := range []int{len(c.Passes), len(c.Passes) / 2, 0} {
			b := block(c, passes, w, h, 0, 0)
			whole, indices := make([]int32, stride*h-3), make([]int32, stride*h-3)
			if err := bitplane.Decode(whole, stride, b); err != nil {
				t.Fatal(err)
			}
			if err := bitplane.DecodeIndices(indices, stride, b); err != nil {
				t.Fatal(err)
			}
			for i, v := range whole {
				if indices[i] != v/2 {
					t.Fatalf("%dx%d, %d passes: index %d is %d, the coefficient %d", w, h, passes, i, indices[i], v)
				}
			}
		}
	}
}
