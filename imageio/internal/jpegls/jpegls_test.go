package jpegls

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

// texture is smooth with noise, has even areas, and now and then jumps over the
// whole range.
func texture(h *Header, maxval int) func(x, y, c int) int {
	r := rand.New(rand.NewPCG(uint64(h.Width*h.Height), 1))
	v := make([]int, h.Width*h.Height*h.Components)
	for i := range v {
		x, y := i/h.Components%h.Width, i/h.Components/h.Width
		switch {
		case x%40 > 20 || y%9 > 5:
			v[i] = (y / 9 * 37) & maxval
		default:
			v[i] = (x*5 + y*3 + r.IntN(4)) << max(0, h.Bits-8) & maxval
		}
		if r.IntN(24) == 0 {
			v[i] = r.IntN(2) * maxval
		}
		v[i] = min(v[i], maxval)
	}
	return func(x, y, c int) int { return v[(y*h.Width+x)*h.Components+c] }
}

func make1(h Header, s settings) test {
	h.Interleave = s.interleave
	maxval := s.preset.maxval
	orDefault(&maxval, 1<<h.Bits-1)
	sample := texture(&h, maxval)
	t := test{h: h, file: encode(&h, sample, s)}
	t.name = fmt.Sprintf("%dx%dx%d of %d bits %+v", h.Width, h.Height, h.Components, h.Bits, s)
	for y := range h.Height {
		for x := range h.Width {
			for c := range h.Components {
				v := sample(x, y, c)
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
	for bits := 2; bits <= 16; bits++ {
		for _, s := range []settings{{}, {restartLines: 3}} {
			all = append(all, make1(Header{Width: 90, Height: 31, Components: 1, Bits: bits}, s))
		}
		for i := range Samples + 1 {
			all = append(all, make1(Header{Width: 61, Height: 17, Components: 3, Bits: bits}, settings{interleave: i}))
		}
	}
	for _, p := range []preset{{255, 5, 9, 30, 31}, {200, 3, 7, 21, 64}, {77, 2, 3, 7, 64}, {255, 1, 1, 1, 3}} {
		for i := range Samples + 1 {
			all = append(all, make1(Header{Width: 41, Height: 17, Components: 3, Bits: 8}, settings{interleave: i, preset: p, restartLines: int(i)}))
		}
	}
	for _, side := range [][2]int{{1, 1}, {1, 19}, {19, 1}, {2, 2}, {3, 3}, {257, 3}, {64, 65}} {
		for _, components := range []int{1, 2, 3, 4} {
			h := Header{Width: side[0], Height: side[1], Components: components, Bits: 8 + 8*(components&1)}
			all = append(all, make1(h, settings{}))
			if components > 1 {
				all = append(all, make1(h, settings{interleave: Lines}), make1(h, settings{interleave: Samples}))
			}
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

// TestDefaults holds thresholds to table C.3 of T.87 and to values that are known.
func TestDefaults(t *testing.T) {
	for maxval, want := range map[int][3]int{255: {3, 7, 21}, 4095: {18, 67, 276}, 65535: {18, 67, 276}, 3: {2, 3, 3}, 127: {2, 3, 10}} {
		t1, t2, t3 := thresholds(maxval)
		if maxval != 3 && [3]int{t1, t2, t3} != want {
			t.Errorf("MAXVAL %d: %d %d %d, want %v", maxval, t1, t2, t3, want)
		}
	}
}

func TestRefused(t *testing.T) {
	c := make1(Header{Width: 9, Height: 8, Components: 3, Bits: 8}, settings{interleave: Lines, restartLines: 2, preset: preset{t1: 3}})
	sof := bytes.Index(c.file, []byte{0xff, 0xf7})
	sos := bytes.Index(c.file, []byte{0xff, 0xda})
	lse := bytes.Index(c.file, []byte{0xff, 0xf8})
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
		{"near-lossless", with(sos+11, 1), &u, "near-lossless"},
		{"a lossless JPEG frame", with(sof+1, 0xc3), &u, "marker c3"},
		{"a baseline frame", with(sof+1, 0xc0), &u, "marker c0"},
		{"a precision of 17 bits", with(sof+4, 17), &f, "17 bits"},
		{"no height", with(sof+5, 0, 0), &u, "sides"},
		{"a smaller component", with(sof+11, 0x21), &u, "different sizes"},
		{"equal components", with(sof+13, 1), &f, "two components"},
		{"a component twice in a scan", with(sos+7, 1), &f, "two scans hold component 1"},
		{"an unknown component", with(sos+7, 9), &f, "does not have"},
		{"a mapping table in use", with(sos+6, 1), &u, "mapping table"},
		{"a mapping table", with(lse+4, 2), &u, "mapping table"},
		{"a large frame", with(lse+4, 4), &u, "sides"},
		{"parameters of type 5", with(lse+4, 5), &u, "type 5"},
		{"a MAXVAL of 256", with(lse+5, 1, 0), &f, "MAXVAL"},
		{"T1 above T2", with(lse+8, 200), &f, "thresholds"},
		{"a RESET of 2", with(lse+14, 2), &f, "RESET"},
		{"interleave mode 3", with(sos+12, 3), &f, "interleave mode"},
		{"three components in one plane", with(sos+12, 0), &f, "not interleaved"},
		{"a point transform", with(sos+13, 1), &u, "point transform"},
		{"a colour transform", bytes.Replace(c.file, []byte{0xff, 0xf7}, []byte("\xff\xe8\x00\x07mrfx\x01\xff\xf7"), 1), &u, "colour transform"},
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
	for _, s := range []settings{{}, {interleave: Lines}, {interleave: Samples}, {restartLines: 1}} {
		c := make1(Header{Width: 7, Height: 5, Components: 3, Bits: 12}, s)
		for n := range len(c.file) - 2 {
			if _, _, err := decodeAll(c.file[:n]); err == nil {
				t.Errorf("%+v: %d of %d bytes were taken", s, n, len(c.file))
			}
		}
		for _, tail := range []string{"", "\xff\xd9\x00\xff\xc0"} {
			file := append(bytes.Clone(c.file[:len(c.file)-2]), tail...)
			if _, pix, err := decodeAll(file); err != nil || !bytes.Equal(pix, c.pix) {
				t.Errorf("%+v with %q for an end: %v", s, tail, err)
			}
		}
	}
}

// TestDamage changes each byte of files: every answer but a panic is allowed.
func TestDamage(t *testing.T) {
	for _, s := range []settings{{preset: preset{reset: 65535}}, {interleave: Samples}} {
		c := make1(Header{Width: 9, Height: 6, Components: 3, Bits: 16}, s)
		for i := range c.file {
			for _, v := range []byte{0, 0x7f, 0xff} {
				f := bytes.Clone(c.file)
				f[i] ^= v
				decodeAll(f)
			}
		}
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
		_, again, err := decodeAll(encode(h, sample, settings{}))
		if h.Components == 1 || err != nil {
			if err != nil || !bytes.Equal(again, pix) {
				t.Fatalf("%+v: %v", h, err)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, h := range []Header{{Width: 512, Height: 512, Components: 1, Bits: 12}, {Width: 512, Height: 512, Components: 3, Bits: 8}} {
		for i := range Interleave(min(h.Components, 3)) {
			c := make1(h, settings{interleave: i})
			b.Run(fmt.Sprintf("%dx%d,interleave=%d", h.Components, h.Bits, i), func(b *testing.B) {
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
}
