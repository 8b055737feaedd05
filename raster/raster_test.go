package raster

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"
)

// filled is an image whose samples use the whole range, from a fixed sequence.
func filled(w, h, d, channels, bits int, signed bool, seed uint32) *Image {
	m := New(w, h, d, channels, bits)
	m.Signed = signed
	for i := range m.Samples() {
		seed = seed*1664525 + 1013904223
		set(m, i, int(seed>>16)&(1<<bits-1))
	}
	return m
}

// set stores the low bits of v as sample i, sign-extended where m is signed.
func set(m *Image, i, v int) {
	if m.Signed && v >= 1<<(m.Bits-1) {
		v -= 1 << m.Bits
	}
	if m.BytesPerSample() == 1 {
		m.Pix[i] = byte(v)
	} else {
		binary.LittleEndian.PutUint16(m.Pix[2*i:], uint16(v))
	}
}

func TestShapeCheck(t *testing.T) {
	for _, c := range []struct {
		w, h, d, channels, bits int
		want                    string // part of the error, or empty
	}{
		{1, 1, 1, 1, 1, ""},
		{65535, 65535, 1, 4, 16, ""},
		{0, 1, 1, 1, 8, "empty side"},
		{1, -1, 1, 1, 8, "empty side"},
		{1, 1, 0, 1, 8, "empty side"},
		{1, 1, 1, 0, 8, "0 channels"},
		{1, 1, 1, 5, 8, "5 channels"},
		{1, 1, 1, 1, 0, "0 bits"},
		{1, 1, 1, 1, 17, "17 bits"},
		{1 << 20, 1 << 20, 2, 1, 8, "too large"},
		{math.MaxInt, math.MaxInt, math.MaxInt, 4, 16, "too large"},
	} {
		err := Shape{Width: c.w, Height: c.h, Depth: c.d, Channels: c.channels, Bits: c.bits}.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("Check of %d, %d, %d, %d, %d = %v, want %q", c.w, c.h, c.d, c.channels, c.bits, err, c.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("New takes an empty shape")
		}
	}()
	New(0, 1, 1, 1, 8)
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		m             *Image
		samples, size int
		shape         string
	}{
		{New(3, 2, 1, 1, 1), 6, 6, "3 x 2, 1 x 1 bit"},
		{New(3, 2, 1, 3, 8), 18, 18, "3 x 2, 3 x 8 bit"},
		{New(3, 2, 5, 4, 9), 120, 240, "3 x 2 x 5, 4 x 9 bit"},
		{filled(1, 1, 1, 1, 16, true, 0), 1, 2, "1 x 1, 1 x 16 bit signed"},
	} {
		if c.m.Samples() != c.samples || c.m.Size() != c.size || len(c.m.Pix) != c.size || c.m.Shape.String() != c.shape {
			t.Errorf("%s: %d samples, %d bytes, want %s, %d, %d", c.m.Shape, c.m.Samples(), len(c.m.Pix), c.shape, c.samples, c.size)
		}
	}
}

// The hash is the identity of every stored result: its values never change. They
// were computed outside of Go, from the definition.
func TestHashGolden(t *testing.T) {
	for _, c := range []struct {
		m    *Image
		want string
	}{
		{New(1, 1, 1, 1, 8), "06b6f303cbec27bf9307518c61f9ddbef8c28ab3233d7e8c16911d290c473495"},
		{filled(7, 5, 1, 3, 8, false, 1), "d4eaa071d96a819c64bfb46b00accfb12f5fd58d4da655ee65bc11ad3fdfe5d8"},
		{filled(7, 5, 3, 1, 12, true, 2), "3405d179f50b2aba6c2ad2c3fb26a0e7dd463895b840d68b7297b183290e170a"},
	} {
		if got := c.m.Hash(); got != c.want {
			t.Errorf("%s: hash %s, want %s", c.m.Shape, got, c.want)
		}
	}
}

func TestHashWith(t *testing.T) {
	for _, m := range []*Image{New(1, 1, 1, 1, 8), filled(7, 5, 3, 1, 12, true, 2), filled(170, 90, 1, 3, 8, false, 4)} {
		for _, n := range []int{0, 1, 4096, 10007, 100000} {
			data := bytes.Repeat([]byte("seven b"), n/7+1)[:n]
			if hash, sum := m.HashWith(data); hash != m.Hash() || sum != sha256.Sum256(data) {
				t.Errorf("%s with %d bytes: %s and %x", m.Shape, n, hash, sum)
			}
		}
	}
}

// Every field of the shape and every sample is part of the identity; Meta is not.
func TestHashCovers(t *testing.T) {
	base := filled(4, 4, 4, 1, 8, false, 3)
	seen := map[string]string{base.Hash(): "the base"}
	for name, change := range map[string]func(m *Image){
		"width":    func(m *Image) { m.Width, m.Height = 8, 2 },
		"depth":    func(m *Image) { m.Depth, m.Width = 2, 8 },
		"channels": func(m *Image) { m.Channels, m.Depth = 4, 1 },
		"bits":     func(m *Image) { m.Bits = 7 },
		"sign":     func(m *Image) { m.Signed = true },
		"sample":   func(m *Image) { m.Pix[63] ^= 1 },
	} {
		m := *base
		m.Pix = append([]byte(nil), base.Pix...)
		change(&m)
		if other, ok := seen[m.Hash()]; ok {
			t.Errorf("another %s has the hash of %s", name, other)
		}
		seen[m.Hash()] = name
	}
	m := *base
	m.Frames = true
	m.Meta = Meta{Spacing: [3]float64{1, 2, 3}, ICC: []byte("x"), Orientation: 6}
	if m.Hash() != base.Hash() {
		t.Error("Meta is part of the hash")
	}
}

func TestSlice(t *testing.T) {
	m := filled(3, 5, 4, 2, 16, false, 4)
	n := m.Samples() / m.Depth
	for z := range m.Depth {
		s := m.Slice(z)
		if s.Depth != 1 || len(s.Pix) != s.Size() || cap(s.Pix) != s.Size() {
			t.Fatalf("slice %d: %s with %d bytes, capacity %d", z, s.Shape, len(s.Pix), cap(s.Pix))
		}
		for i := range n {
			if s.Sample(i) != m.Sample(z*n+i) {
				t.Fatalf("slice %d differs at sample %d", z, i)
			}
		}
	}
	m.Slice(2).Pix[0] ^= 0xff
	if m.Slice(2).Pix[0] != m.Pix[2*n*2] {
		t.Error("a slice does not share its samples")
	}
}

func TestSample(t *testing.T) {
	for _, c := range []struct {
		bits   int
		signed bool
		stored []byte
		want   int
	}{
		{8, false, []byte{255}, 255},
		{8, true, []byte{255}, -1},
		{8, true, []byte{128}, -128},
		{12, false, []byte{0xff, 0x0f}, 4095},
		{12, true, []byte{0x00, 0xf8}, -2048},
		{16, false, []byte{0xff, 0xff}, 65535},
		{16, true, []byte{0x00, 0x80}, -32768},
	} {
		m := &Image{Shape: Shape{Width: 1, Height: 1, Depth: 1, Channels: 1, Bits: c.bits, Signed: c.signed}, Pix: c.stored}
		if got := m.Sample(0); got != c.want {
			t.Errorf("%d bits, signed %v, % x: %d, want %d", c.bits, c.signed, c.stored, got, c.want)
		}
	}
}

func TestDropOpaqueAlpha(t *testing.T) {
	for _, bits := range []int{1, 8, 10, 16} {
		for _, channels := range []int{1, 2, 3, 4} {
			m := filled(5, 3, 2, channels, bits, false, 5)
			if m.Alpha() != (channels%2 == 0) {
				t.Fatalf("Alpha() of %d channels is %v", channels, m.Alpha())
			}
			if !m.Alpha() {
				if DropOpaqueAlpha(m) != m {
					t.Errorf("%s is not returned as it is", m.Shape)
				}
				continue
			}
			for i := channels - 1; i < m.Samples(); i += channels {
				set(m, i, 1<<bits-1)
			}
			o := DropOpaqueAlpha(m)
			if o.Channels != channels-1 || len(o.Pix) != o.Size() {
				t.Fatalf("%s becomes %s", m.Shape, o.Shape)
			}
			for i := range o.Samples() {
				if o.Sample(i) != m.Sample(i/o.Channels*channels+i%o.Channels) {
					t.Fatalf("%s: sample %d differs", m.Shape, i)
				}
			}
			set(m, m.Samples()-1, 0)
			if DropOpaqueAlpha(m) != m {
				t.Errorf("%s loses an alpha that is not opaque", m.Shape)
			}
		}
	}
}

// The identity of 8-bit luma is that of image/color, and of all depths that of
// the equation within the rounding of its weights.
func TestLuma(t *testing.T) {
	for _, bits := range []int{8, 12, 16} {
		for channels := 1; channels <= 4; channels++ {
			m := filled(33, 9, 2, channels, bits, false, 6)
			g := Luma(m)
			if channels == 1 {
				if g != m {
					t.Errorf("%s is not returned as it is", m.Shape)
				}
				continue
			}
			if g.Channels != 1 || g.Samples()*channels != m.Samples() || g.Bits != bits {
				t.Fatalf("%s becomes %s", m.Shape, g.Shape)
			}
			for i := range g.Samples() {
				j := i * channels
				want := float64(m.Sample(j))
				if channels >= 3 {
					want = 0.299*want + 0.587*float64(m.Sample(j+1)) + 0.114*float64(m.Sample(j+2))
				}
				if math.Abs(float64(g.Sample(i))-want) > 0.5+float64(int(1)<<bits)/65536 {
					t.Fatalf("%s: sample %d is %d, want %.2f", m.Shape, i, g.Sample(i), want)
				}
				if bits == 8 && channels >= 3 {
					c := color.GrayModel.Convert(color.RGBA{m.Pix[j], m.Pix[j+1], m.Pix[j+2], 255}).(color.Gray)
					if d := int(c.Y) - g.Sample(i); d < -1 || d > 1 {
						t.Fatalf("%s: sample %d is %d, image/color says %d", m.Shape, i, g.Sample(i), c.Y)
					}
				}
			}
		}
	}
	white := New(1, 1, 1, 3, 8)
	copy(white.Pix, []byte{255, 255, 255})
	if v := Luma(white).Sample(0); v != 255 {
		t.Errorf("white becomes %d", v)
	}
	signed := New(1, 1, 1, 3, 16)
	signed.Signed = true
	for i := range 3 {
		set(signed, i, 1<<16-1000)
	}
	if v := Luma(signed).Sample(0); v != -1000 {
		t.Errorf("-1000 becomes %d", v)
	}
}

func TestUint16(t *testing.T) {
	shape := Shape{Width: 3, Height: 2, Depth: 2, Channels: 1, Bits: 12}
	samples := make([]uint16, shape.Samples())
	for i := range samples {
		samples[i] = uint16(341 * i)
	}
	m := FromUint16(shape, samples)
	if m.Shape != shape || len(m.Pix) != shape.Size() || m.Pix[3] != 341>>8 {
		t.Fatalf("%s with samples % x", m.Shape, m.Pix)
	}
	for z := range m.Depth {
		for i, v := range m.Slice(z).Uint16() {
			if want := 341 * (6*z + i); int(v) != want || m.Slice(z).Sample(i) != want {
				t.Errorf("slice %d: sample %d is %d, want %d", z, i, v, want)
			}
		}
	}
	odd := *m
	odd.Pix = append(make([]byte, 1, 1+len(m.Pix)), m.Pix...)[1:]
	if got := odd.Uint16(); !slices.Equal(got, m.Uint16()) {
		t.Errorf("at an odd address: %d", got)
	}
	for what, f := range map[string]func(){
		"bytes":          func() { New(2, 2, 1, 1, 8).Uint16() },
		"bytes for 8":    func() { FromUint16(Shape{Width: 1, Height: 1, Depth: 1, Channels: 1, Bits: 8}, make([]uint16, 1)) },
		"too few":        func() { FromUint16(shape, samples[1:]) },
		"no valid shape": func() { FromUint16(Shape{Bits: 16}, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			f()
		}()
	}
}
