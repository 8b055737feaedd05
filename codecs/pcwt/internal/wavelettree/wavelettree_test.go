package wavelettree

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pool"
)

// TestWorkedExamples codes the elements of figures 3.13 and 3.14. The text of 3.4.2 has another last bit for the first
// one than its figure; the figure follows the rule for signs.
func TestWorkedExamples(t *testing.T) {
	for _, c := range []struct {
		parent, mqd int
		four        [4]int32
		want        []byte
		bits        uint32
	}{
		{8, 5, [4]int32{28, -7, 35, -23}, []byte{0x17, 0x23, 0xa3, 0xae}, 32},
		{5, 2, [4]int32{-5, -4, 0, 1}, []byte{0x1a, 0x80, 0x30}, 20},
	} {
		var w bitWriter
		w.reset()
		w.element(c.parent, c.mqd, &c.four, true)
		got := w.group()
		if !bytes.Equal(got[lengthBytes:], c.want) || uint32(got[0]) != c.bits {
			t.Errorf("%v: %x in %d bits, want %x in %d", c.four, got[lengthBytes:], got[0], c.want, c.bits)
		}
		r := bitReader{in: got[lengthBytes:]}
		if q := r.level(c.parent); q != c.mqd {
			t.Errorf("%v: the MQD is read as %d, want %d", c.four, q, c.mqd)
		}
		for _, want := range c.four {
			if v := r.coefficient(uint(c.mqd+1), true); v != want {
				t.Errorf("%v: a coefficient is read as %d", c.four, v)
			}
		}
		if r.taken != int(c.bits) {
			t.Errorf("%v: %d bits read, want %d", c.four, r.taken, c.bits)
		}
	}
}

// TestQuantisation is the example of figure 3.6.
func TestQuantisation(t *testing.T) {
	for _, c := range []struct {
		four     [4]int32
		children []int8
		want     int8
	}{
		{[4]int32{-5, -4, 0, 1}, nil, 2},
		{[4]int32{28, -7, 35, -23}, []int8{2, 4, 3, 3}, 5},
		{[4]int32{0, 0, 0, 0}, nil, -1},
		{[4]int32{0, 0, 1, 0}, []int8{-1, -1, -1, 7}, 7},
	} {
		l := NewLayout(8, 8, Params{Levels: 2, GroupRows: 1, GroupColumns: 1})
		tr := NewTree(l)
		b, child := &l.Bands[1], &l.Bands[4]
		copy(tr.Coefficients[b.At:], c.four[:])
		tr.quantiseRow(b, 0)
		if c.children != nil {
			copy(tr.levels(child), c.children)
			tr.includeChildren(b, child, 0)
		}
		if got := tr.levels(b)[0]; got != c.want {
			t.Errorf("%v over %v: MQD %d, want %d", c.four, c.children, got, c.want)
		}
	}
}

// TestLayoutOfThePaper is figure 3.2: 4104 rows, with the sizes of a row that its rules give.
func TestLayoutOfThePaper(t *testing.T) {
	l := NewLayout(8, 4104, Params{Levels: 5, GroupRows: 32, GroupColumns: 32})
	for level, want := range []int{2052, 1026, 514, 258, 130} {
		first, _ := l.LevelBands(level + 1)
		if b := l.Bands[first]; 2*b.Rows != want {
			t.Errorf("level %d: bands of %d rows, want %d", level+1, 2*b.Rows, want)
		}
	}
}

func randomPlanes(width, height, planes, bits int) []wavelet.Plane[int32] {
	random := rand.New(rand.NewPCG(uint64(width), uint64(height)))
	list := make([]wavelet.Plane[int32], planes)
	for i := range list {
		list[i] = wavelet.NewPlane[int32](width, height)
		for j := range list[i].Samples {
			if x, y := j%width, j/width; (x+y)%40 < 35 { // flat areas too
				list[i].Samples[j] = int32(random.IntN(1<<bits)) - 1<<bits/2
			}
		}
	}
	return list
}

func empty(width, height, planes int) []wavelet.Plane[int32] {
	list := make([]wavelet.Plane[int32], planes)
	for i := range list {
		list[i] = wavelet.NewPlane[int32](width, height)
	}
	return list
}

// forEachCase calls f for odd sizes, depths and parameters.
func forEachCase(t *testing.T, f func(t *testing.T, planes []wavelet.Plane[int32], p Params)) {
	for _, size := range [][2]int{
		{1, 1}, {1, 7}, {7, 1}, {2, 3}, {13, 129}, {127, 65}, {128, 64}, {129, 63}, {255, 3}, {640, 1}, {33, 300},
	} {
		for i, p := range []Params{
			DefaultParams(size[0], size[1]),
			{Levels: 1, GroupRows: 32, GroupColumns: 32, ZeroSigns: true},
			{Levels: 6, GroupRows: 3, GroupColumns: 256},
			{Levels: MaxLevels, GroupRows: 64, GroupColumns: 1, ZeroSigns: true},
		} {
			for _, bits := range []int{1, 8, 17} {
				name := fmt.Sprintf("%dx%d/%d bits/%d", size[0], size[1], bits, i)
				t.Run(name, func(t *testing.T) { f(t, randomPlanes(size[0], size[1], 1+i%3, bits), p) })
			}
		}
	}
}

func TestAgainstTheReference(t *testing.T) {
	forEachCase(t, func(t *testing.T, planes []wavelet.Plane[int32], p Params) {
		if got := Encode(pool.New(), planes, p); !bytes.Equal(got, referenceEncode(planes, p)) {
			t.Error("the bytes differ from the reference's")
		}
	})
}

func TestRoundTrip(t *testing.T) {
	forEachCase(t, func(t *testing.T, planes []wavelet.Plane[int32], p Params) {
		width, height := planes[0].Width, planes[0].Height
		back := empty(width, height, len(planes))
		if err := Decode(pool.New(), Encode(pool.New(), planes, p), width, height, back, 0); err != nil {
			t.Fatal(err)
		}
		for i := range planes {
			if !slices.Equal(back[i].Samples, planes[i].Samples) {
				t.Fatalf("plane %d came back changed", i)
			}
		}
	})
}

// TestPrefix decodes reduced planes from no more bytes than they need.
func TestPrefix(t *testing.T) {
	planes := randomPlanes(101, 67, 2, 8)
	p := DefaultParams(101, 67)
	data := Encode(pool.New(), planes, p)
	l := NewLayout(101, 67, p)
	want := planes[0]
	for reduce := 1; reduce <= p.Levels; reduce++ {
		w, h := l.Size(reduce)
		even := padded(want.Width, want.Height)
		for y := range want.Height {
			copy(even.Row(y), want.Row(y))
		}
		pad(even)
		bands := wavelet.Quarter(wavelet.NewPlane[int32](even.Width, even.Height), 0, 0)
		wavelet.New(wavelet.LeGall53(), wavelet.RowsFirst).ForwardLevel(bands, even.Plane, 0, 0)
		want = wavelet.NewPlane[int32](w, h)
		for y := range h {
			copy(want.Row(y), bands.LL.Row(y))
		}
		got := empty(w, h, 2)
		need := prefix(t, data, l, 2, reduce)
		if err := Decode(pool.New(), data[:need], 101, 67, got, reduce); err != nil {
			t.Fatalf("after %d levels: %v", reduce, err)
		}
		if !slices.Equal(got[0].Samples, want.Samples) {
			t.Errorf("after %d levels: not the low-pass samples", reduce)
		}
		if reduce < p.Levels {
			if err := Decode(pool.New(), data[:need-1], 101, 67, got, reduce); err == nil {
				t.Errorf("after %d levels: decoded from too few bytes", reduce)
			}
		}
	}
}

// prefix is the number of bytes with the groups that samples after some levels need.
func prefix(t *testing.T, data []byte, l *Layout, planes, reduce int) int {
	info, err := Header(data, planes)
	if err != nil {
		t.Fatal(err)
	}
	_, n := l.Sections(planes, min(reduce+1, l.Levels))
	groups, err := info.Groups(data, n, false)
	if err != nil {
		t.Fatal(err)
	}
	last := groups[n-1]
	return last.At + (last.Bits+7)/8
}

func TestDamage(t *testing.T) {
	planes := randomPlanes(70, 50, 1, 8)
	good := Encode(pool.New(), planes, DefaultParams(70, 50))
	for name, change := range map[string]func(b []byte) []byte{
		"empty":             func(b []byte) []byte { return nil },
		"header only":       func(b []byte) []byte { return b[:5] },
		"one byte less":     func(b []byte) []byte { return b[:len(b)-1] },
		"one byte more":     func(b []byte) []byte { return append(b, 0) },
		"unknown flag":      func(b []byte) []byte { b[0] |= 2; return b },
		"no levels":         func(b []byte) []byte { b[1] = 0; return b },
		"too many levels":   func(b []byte) []byte { b[1] = MaxLevels + 1; return b },
		"Qmax too large":    func(b []byte) []byte { b[4] = MaxQmax + 1; return b },
		"Qmax below -1":     func(b []byte) []byte { b[4] = 0x80; return b },
		"other Qmax":        func(b []byte) []byte { b[4]++; return b },
		"length too large":  func(b []byte) []byte { b[8] = 0xff; return b },
		"length one more":   func(b []byte) []byte { b[5]++; return b },
		"other group sizes": func(b []byte) []byte { b[2] = 3; return b },
	} {
		if err := Decode(pool.New(), change(bytes.Clone(good)), 70, 50, empty(70, 50, 1), 0); err == nil {
			t.Errorf("%s: decoded without an error", name)
		}
	}
}

// TestMemoryIsBounded gives sizes that promise far more than the bytes hold: it must fail before it takes memory for
// 2^40 coefficients.
func TestMemoryIsBounded(t *testing.T) {
	data := Encode(pool.New(), randomPlanes(8, 8, 1, 8), DefaultParams(8, 8))
	if Decode(pool.New(), data, 1<<20, 1<<20, make([]wavelet.Plane[int32], 1), 0) == nil {
		t.Error("decoded 2^40 samples from a few bytes")
	}
}

func FuzzDecode(f *testing.F) {
	for _, p := range []Params{DefaultParams(40, 30), {Levels: 2, GroupRows: 4, GroupColumns: 7, ZeroSigns: true}} {
		f.Add(Encode(pool.New(), randomPlanes(40, 30, 1, 8), p), uint8(40), uint8(30), uint8(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, width, height, reduce uint8) {
		if width == 0 || height == 0 {
			return
		}
		info, err := Header(data, 1)
		if err != nil || int(reduce) > info.Levels {
			return
		}
		l := NewLayout(int(width), int(height), info.Params)
		w, h := l.Size(int(reduce))
		planes := empty(w, h, 1)
		if Decode(pool.New(), data, int(width), int(height), planes, int(reduce)) != nil || reduce > 0 {
			return
		}
		for _, v := range planes[0].Samples {
			if magnitude(v) >= 1<<17 {
				return
			}
		}
		again := empty(w, h, 1)
		if err := Decode(pool.New(), Encode(pool.New(), planes, info.Params), w, h, again, 0); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(again[0].Samples, planes[0].Samples) {
			t.Error("the samples of a file that decodes do not come back from their own coding")
		}
	})
}

func FuzzEncode(f *testing.F) {
	f.Add([]byte("some samples"), uint8(9), uint8(5), true)
	f.Fuzz(func(t *testing.T, samples []byte, width, kind uint8, zeroSigns bool) {
		if width == 0 || len(samples) < int(width) {
			return
		}
		plane := wavelet.NewPlane[int32](int(width), min(64, len(samples)/int(width)))
		for i := range plane.Samples {
			plane.Samples[i] = int32(int8(samples[i])) << (kind % 10)
		}
		p := Params{Levels: 1 + int(kind>>4), GroupRows: 1 + int(kind%9), GroupColumns: 1 + int(width%40), ZeroSigns: zeroSigns}
		data := Encode(pool.New(), []wavelet.Plane[int32]{plane}, p)
		if !bytes.Equal(data, referenceEncode([]wavelet.Plane[int32]{plane}, p)) {
			t.Fatal("the bytes differ from the reference's")
		}
		back := empty(plane.Width, plane.Height, 1)
		if err := Decode(pool.New(), data, plane.Width, plane.Height, back, 0); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(back[0].Samples, plane.Samples) {
			t.Error("the samples come back changed")
		}
	})
}
