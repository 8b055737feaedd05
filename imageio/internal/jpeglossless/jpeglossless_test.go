package jpeglossless

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// test is one file that encode wrote, with the samples that it must give.
type test struct {
	name string
	file []byte
	h    Header
	pix  []byte
}

// texture is smooth with noise, and now and then jumps over the whole range.
func texture(h *Header, seed uint64) func(x, y, c int) int {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]int, h.Width*h.Height*h.Components)
	for i := range v {
		x, y := i/h.Components%h.Width, i/h.Components/h.Width
		v[i] = (x*5 + y*3 + r.IntN(4)*i%7) << max(0, h.Bits-8) & (1<<h.Bits - 1)
		if r.IntN(16) == 0 {
			v[i] = r.IntN(2) * (1<<h.Bits - 1)
		}
	}
	return func(x, y, c int) int { return v[(y*h.Width+x)*h.Components+c] }
}

func make1(h Header, s settings) test {
	h.Predictor, h.PointTransform = s.predictor, s.shift
	sample := texture(&h, uint64(h.Width*h.Height))
	t := test{h: h, file: encode(&h, sample, s)}
	t.name = fmt.Sprintf("%dx%dx%d of %d bits %+v", h.Width, h.Height, h.Components, h.Bits, s)
	for y := range h.Height {
		for x := range h.Width {
			for c := range h.Components {
				v := sample(x, y, c) >> s.shift << s.shift
				t.pix = append(t.pix, byte(v))
				if h.Bits > 8 {
					t.pix = append(t.pix, byte(v>>8))
				}
			}
		}
	}
	return t
}

// tests are files of all kinds that are read.
func tests() (all []test) {
	for predictor := 1; predictor <= 7; predictor++ {
		for _, bits := range []int{2, 7, 8, 9, 12, 15, 16} {
			all = append(all, make1(Header{Width: 33, Height: 9, Components: 1, Bits: bits}, settings{predictor: predictor}))
			all = append(all, make1(Header{Width: 17, Height: 6, Components: 3, Bits: bits}, settings{predictor: predictor, longCodes: true}))
		}
		all = append(all, make1(Header{Width: 13, Height: 21, Components: 3, Bits: 8}, settings{predictor: predictor, restartRows: 2}))
		all = append(all, make1(Header{Width: 13, Height: 7, Components: 3, Bits: 12}, settings{predictor: predictor, planes: true, restartRows: 1}))
		all = append(all, make1(Header{Width: 14, Height: 7, Components: 1, Bits: 12}, settings{predictor: predictor, shift: 3}))
	}
	for _, side := range [][2]int{{1, 1}, {1, 19}, {19, 1}, {2, 2}, {3, 3}, {257, 3}, {64, 65}} {
		for _, components := range []int{1, 2, 3, 4} {
			h := Header{Width: side[0], Height: side[1], Components: components, Bits: 8 + 8*(components&1)}
			all = append(all, make1(h, settings{predictor: 1 + side[0]%7}), make1(h, settings{predictor: 6, planes: true, shift: 1}))
		}
	}
	return all
}

func decodeAll(file []byte) (*Header, []byte, error) {
	h, err := ReadHeader(file)
	if err != nil {
		return nil, nil, err
	}
	if h.Size() > 1<<20 {
		return nil, nil, errors.New("too large for this test")
	}
	pix := make([]byte, h.Size())
	return h, pix, Decode(file, h, pix)
}

func TestDecode(t *testing.T) {
	for _, c := range tests() {
		h, pix, err := decodeAll(c.file)
		switch {
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case *h != c.h:
			t.Errorf("%s: header %+v, want %+v", c.name, *h, c.h)
		case !bytes.Equal(pix, c.pix):
			t.Errorf("%s: other samples", c.name)
		}
	}
}

// TestHabitsOfWriters reads files that break the standard where there is but one
// meaning.
func TestHabitsOfWriters(t *testing.T) {
	c := make1(Header{Width: 9, Height: 5, Components: 3, Bits: 8}, settings{predictor: 4, planes: true})
	p := make1(Header{Width: 9, Height: 5, Components: 3, Bits: 8}, settings{predictor: 4})
	sof := bytes.Index(c.file, []byte{0xff, 0xc3})
	factors := bytes.Clone(c.file)
	for i := range 3 {
		factors[sof+10+1+3*i] = 0x22
	}
	adobe := "\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x01"
	for name, file := range map[string][]byte{
		"no EOI":                      c.file[:len(c.file)-2],
		"bytes behind EOI":            append(bytes.Clone(c.file), 0, 0xff, 0xc0),
		"equal sampling factors":      factors,
		"bytes between segments":      bytes.Replace(c.file, []byte{0xff, 0xc4}, []byte{0, 0, 0xff, 0xff, 0xff, 0xc4}, 1),
		"a table for AC coefficients": bytes.Replace(c.file, []byte{0xff, 0xc4}, append([]byte{0xff, 0xc4, 0, 20, 0x10, 1}, append(make([]byte, 15), 0xf0, 0xff, 0xc4)...), 1),
		"a segment of Adobe":          bytes.Replace(p.file, []byte{0xff, 0xc3}, []byte(adobe+"\xff\xc3"), 1),
	} {
		if _, pix, err := decodeAll(file); err != nil || !bytes.Equal(pix, c.pix) {
			t.Errorf("%s: %v, or other samples", name, err)
		}
	}
}

func TestRefused(t *testing.T) {
	c := make1(Header{Width: 9, Height: 8, Components: 3, Bits: 8}, settings{predictor: 4, restartRows: 2})
	sof := bytes.Index(c.file, []byte{0xff, 0xc3})
	sos := bytes.Index(c.file, []byte{0xff, 0xda})
	dht := bytes.Index(c.file, []byte{0xff, 0xc4})
	dri := bytes.Index(c.file, []byte{0xff, 0xdd})
	with := func(at int, v ...byte) []byte {
		f := bytes.Clone(c.file)
		copy(f[at:], v)
		return f
	}
	var u UnsupportedError
	var f FormatError
	for _, x := range []struct {
		name string
		file []byte
		as   any
		says string
	}{
		{"nothing", nil, &f, "SOI"},
		{"a baseline frame", with(sof+1, 0xc0), &u, "marker c0"},
		{"an arithmetic frame", with(sof+1, 0xcb), &u, "marker cb"},
		{"a JPEG-LS frame", with(sof+1, 0xf7), &u, "marker f7"},
		{"a precision of 17 bits", with(sof+4, 17), &f, "17 bits"},
		{"no height", with(sof+5, 0, 0), &u, "height"},
		{"no width", with(sof+7, 0, 0), &f, "no width"},
		{"a smaller component", with(sof+11, 0x21), &u, "different sizes"},
		{"equal components", with(sof+13, 1), &f, "two components"},
		{"a component twice in a scan", with(sos+7, 1), &f, "two scans hold component 1"},
		{"an unknown component", with(sos+7, 9), &f, "does not have"},
		{"predictor 0", with(sos+11, 0), &f, "predictor 0"},
		{"a point transform of 8 bits", with(sos+13, 8), &f, "point transform"},
		{"a difference of 17 bits", with(dht+4+17, 17), &f, "17 bits"},
		{"too many codes", with(dht+4+1, 9), &f, "malformed"},
		{"a table that is not there", with(sos+6, 0x30), &f, "does not have"},
		{"an interval within a row", with(dri+5, 10), &u, "middle of a row"},
		{"another interval", with(dri+5, 9), &f, ""},
		{"a frame without a scan", c.file[:sos], &f, "no scan"},
		{"no frame", append([]byte{0xff, 0xd8}, c.file[sos:]...), &f, "precedes"},
	} {
		_, _, err := decodeAll(x.file)
		if err == nil || !errors.As(err, x.as) || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v", x.name, err)
		}
	}
	h := c.h
	h.Width--
	if err := Decode(c.file, &h, make([]byte, h.Size())); err == nil {
		t.Error("a header of another file was taken")
	}
	if err := Decode(c.file, &c.h, nil); err == nil {
		t.Error("an empty buffer was taken")
	}
}

// TestTruncation cuts files at every byte: nothing is ever invented.
func TestTruncation(t *testing.T) {
	for _, s := range []settings{{predictor: 1}, {predictor: 7, planes: true}, {predictor: 4, restartRows: 1}} {
		c := make1(Header{Width: 7, Height: 5, Components: 3, Bits: 12}, s)
		for n := range len(c.file) - 2 {
			if _, _, err := decodeAll(c.file[:n]); err == nil {
				t.Errorf("%+v: %d of %d bytes were taken", s, n, len(c.file))
			}
		}
	}
}

// TestSampleOverPrecision changes a difference so that a sum leaves the precision.
func TestSampleOverPrecision(t *testing.T) {
	h := Header{Width: 4, Height: 1, Components: 1, Bits: 12, Predictor: 1}
	file := encode(&h, func(x, _, _ int) int { return x * 2000 }, settings{predictor: 1})
	if _, _, err := decodeAll(file); err == nil || !strings.Contains(err.Error(), "does not fit 12 bits") {
		t.Errorf("%v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for i, c := range tests() {
		if i%9 == 0 {
			f.Add(c.file)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		h, pix, err := decodeAll(file)
		if err != nil {
			return
		}
		// What was taken is told again by the reference encoder.
		w := h.BytesPerSample()
		sample := func(x, y, c int) int {
			at := ((y*h.Width+x)*h.Components + c) * w
			v := int(pix[at])
			if w == 2 {
				v |= int(pix[at+1]) << 8
			}
			return v
		}
		_, again, err := decodeAll(encode(h, sample, settings{predictor: h.Predictor}))
		if err != nil || !bytes.Equal(again, pix) {
			t.Fatalf("%+v: %v", h, err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, h := range []Header{{Width: 512, Height: 512, Components: 1, Bits: 12}, {Width: 512, Height: 512, Components: 3, Bits: 8}} {
		c := make1(h, settings{predictor: 1})
		b.Run(fmt.Sprintf("%dx%d", h.Components, h.Bits), func(b *testing.B) {
			b.SetBytes(int64(len(c.pix)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Decode(c.file, &c.h, c.pix); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
