package volume

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/internal/allocated"
	"github.com/pelmill/pelmill/raster"
)

// set sets sample i of m to the low bits of v.
func set(m *raster.Image, i int, v int) {
	if !m.Signed {
		v &= 1<<m.Bits - 1
	} else {
		v = v << (64 - m.Bits) >> (64 - m.Bits)
	}
	if m.Bits <= 8 {
		m.Pix[i] = byte(v)
	} else {
		m.Pix[2*i], m.Pix[2*i+1] = byte(v), byte(v>>8)
	}
}

// made is a volume of a smooth body with some noise.
func made(s raster.Shape) *raster.Image {
	m := raster.Make(s)
	r := rand.New(rand.NewPCG(uint64(s.Width), uint64(s.Bits)))
	i := 0
	for z := range s.Depth {
		for y := range s.Height {
			for x := range s.Width {
				for c := range s.Channels {
					dx, dy, dz := x-s.Width/2, y-s.Height/2, 3*(z-s.Depth/2)
					v := max(0, 900-(dx*dx+dy*dy+dz*dz)) << s.Bits >> (11 + c)
					set(m, i, v+r.IntN(1+s.Bits))
					i++
				}
			}
		}
	}
	return m
}

// noise is a volume without order, with extreme samples side by side.
func noise(s raster.Shape) *raster.Image {
	m := raster.Make(s)
	r := rand.New(rand.NewPCG(1, uint64(s.Bits)))
	for i := range s.Samples() {
		v := int(r.Uint32())
		if r.IntN(2) == 0 {
			v = -(v & 1)
		}
		set(m, i, v)
	}
	return m
}

func shape(w, h, d, channels, bits int, signed bool) raster.Shape {
	return raster.Shape{Width: w, Height: h, Depth: d, Channels: channels, Bits: bits, Signed: signed}
}

// encodeWith encodes with one coding.
func encodeWith(t testing.TB, m *raster.Image, c Coding) []byte {
	t.Helper()
	file, err := newEncoder(pool.New(), m).encode(t.Context(), &c)
	if err != nil {
		t.Fatalf("%s with %+v: %v", m.Shape, c, err)
	}
	return file
}

func checkDecode(t testing.TB, file []byte, want *raster.Image) {
	t.Helper()
	h, err := Read(file)
	if err != nil || h.Shape != want.Shape || !Is(file) {
		t.Fatalf("%s: the header says %s, %v", want.Shape, h.Shape, err)
	}
	got, err := Decode(t.Context(), pool.New(), file, 0)
	if err != nil || got.Shape != want.Shape || !bytes.Equal(got.Pix, want.Pix) {
		t.Fatalf("%s with %+v comes back changed: %v", want.Shape, h.Coding, err)
	}
}

var codings = []Coding{
	{BlockExp: largeBlock},
	{Levels: [axes]int{3, 3, 0}, BlockExp: smallBlock},
	{Levels: [axes]int{3, 3, 1}, BlockExp: smallBlock},
	{Levels: [axes]int{3, 3, 2}, BlockExp: largeBlock},
	{Levels: [axes]int{2, 2, 2}, BlockExp: [axes]int{2, 3, 4}},
	{Levels: [axes]int{5, 5, 5}, BlockExp: wideBlock},
	{Levels: [axes]int{5, 5, 0}, BlockExp: sliceBlock},
	{Levels: [axes]int{1, 1, 1}, BlockExp: [axes]int{10, 2, 0}},
}

// Volumes of any size, depth, sign and number of components come back with any coding.
func TestVolumesComeBack(t *testing.T) {
	sizes := [][3]int{{1, 1, 1}, {1, 1, 2}, {2, 1, 3}, {1, 9, 2}, {5, 4, 3}, {17, 16, 9}, {33, 31, 5}, {65, 64, 6}, {9, 70, 66}, {2, 3, 130}}
	for i, s := range sizes {
		for j, c := range codings {
			bits, channels := 1+(3*i+5*j)%16, 1+(i+j)%4
			m := made(shape(s[0], s[1], s[2], channels, bits, (i+j)%3 == 0))
			checkDecode(t, encodeWith(t, m, c), m)
			if i < 7 {
				m = noise(m.Shape)
				checkDecode(t, encodeWith(t, m, c), m)
			}
		}
	}
}

// Each effort gives a volume that comes back, and more effort none that is larger.
func TestEfforts(t *testing.T) {
	labels := raster.New(40, 38, 20, 1, 8)
	for i := range labels.Pix {
		labels.Pix[i] = byte(i / 7 % 5 * (i / 2000 % 3))
	}
	for _, m := range []*raster.Image{made(shape(40, 38, 20, 1, 12, false)), noise(shape(20, 21, 7, 1, 8, false)), made(shape(30, 20, 5, 3, 8, false)), labels} {
		before := 0
		for _, effort := range []Effort{Best, Default, Fast} {
			file, coding, err := Encode(t.Context(), pool.New(), m, effort)
			if err != nil {
				t.Fatal(err)
			}
			checkDecode(t, file, m)
			if h, _ := Read(file); h.Coding != coding {
				t.Errorf("%s: the file has %+v, not %+v", m.Shape, h.Coding, coding)
			}
			if len(file) < before {
				t.Errorf("%s: effort %d takes %d bytes and the one above %d", m.Shape, effort, len(file), before)
			}
			before = len(file)
		}
	}
}

// No number of goroutines shows.
func TestSameBytes(t *testing.T) {
	m := made(shape(70, 66, 20, 3, 9, true))
	want, _, _ := Encode(t.Context(), pool.Of(1), m, Default)
	for _, n := range []int{2, 7} {
		if got, _, err := Encode(t.Context(), pool.Of(n), m, Default); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d goroutines give other bytes (%v)", n, err)
		}
	}
}

// The transform is that of the reference, and its inverse undoes it.
func TestTransform(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, s := range []size{{1, 1, 1}, {2, 1, 1}, {1, 1, 2}, {3, 2, 5}, {8, 8, 8}, {13, 7, 9}, {64, 3, 1}} {
		for _, c := range codings {
			a := newArray(s)
			for i := range a.samples {
				a.samples[i] = int32(r.IntN(1<<16) - 1<<15)
			}
			whole := slices.Clone(a.samples)
			want := slices.Clone(a.samples)
			referenceForward(want, s, &c)
			a.forward(pool.New(), &c)
			if !slices.Equal(a.samples, want) {
				t.Fatalf("%v, levels %v: not transformed as the reference does", s, c.Levels)
			}
			a.inverse(pool.New(), &c)
			if !slices.Equal(a.samples, whole) {
				t.Fatalf("%v, levels %v: comes back changed", s, c.Levels)
			}
		}
	}
}

// Subbands and code-blocks cover the array, each coefficient once.
func TestGeometry(t *testing.T) {
	for _, s := range []size{{1, 1, 1}, {3, 2, 5}, {40, 33, 17}, {5, 70, 2}} {
		for _, c := range codings {
			a := newArray(s)
			n := 0
			for _, r := range c.resolutions(s) {
				for i := range r {
					if r[i].index != n {
						t.Fatalf("subband %d has index %d", n, r[i].index)
					}
					n++
					for k := range r[i].blocks.samples() {
						origin, extent := c.block(&r[i], k)
						for j := range extent.samples() {
							p := size{j % extent[0], j / extent[0] % extent[1], j / extent[0] / extent[1]}
							a.samples[a.at(size{origin[0] + p[0], origin[1] + p[1], origin[2] + p[2]})]++
						}
					}
				}
			}
			if n != c.subbands() {
				t.Errorf("%v: %d subbands, want %d", c, n, c.subbands())
			}
			if i := slices.IndexFunc(a.samples, func(v int32) bool { return v != 1 }); i >= 0 {
				t.Fatalf("%v of %v: coefficient %d is covered %d times", c, s, i, a.samples[i])
			}
		}
	}
}

// The header of 12 bits, 79x95x79, two levels along each axis and code-blocks of 32x32x4.
func TestHeaderOfKnownBytes(t *testing.T) {
	h := header{Shape: shape(79, 95, 79, 1, 12, false), Coding: Coding{Levels: [axes]int{2, 2, 2}, BlockExp: smallBlock}, guard: 2, layers: 1}
	for i := range h.Coding.subbands() {
		h.exponents = append(h.exponents, []int{15, 13, 13, 14, 13, 14, 14}[i%7])
	}
	h.exponents[0] = 12
	want := []byte{0xff, 0x4f,
		0xff, 0x51, 0, 41, 0x80, 0x41, 0, 0, 0, 79, 0, 0, 0, 95, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 79, 0, 0, 0, 95, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 11, 1, 1,
		0xff, 0x50, 0, 8, 0, 0x40, 0, 0, 0, 0,
		0xff, 0x54, 0, 20, 3, 0, 0, 0, 79, 0, 0, 0, 0, 0, 0, 0, 79, 0, 0, 0, 0, 1,
		0xff, 0x52, 0, 17, 0, 0, 0, 1, 0, 2, 2, 2, 5, 5, 2, 0, 1, 1, 1,
		0xff, 0x5c, 0, 18, 0x40, 0x60, 0x68, 0x68, 0x70, 0x68, 0x70, 0x70, 0x78, 0x68, 0x68, 0x70, 0x68, 0x70, 0x70, 0x78}
	if got := h.append(nil); !bytes.Equal(got, want) {
		t.Errorf("% x\nwant\n% x", got, want)
	}
	m := made(h.Shape)
	if got := encodeWith(t, m, h.Coding); !bytes.HasPrefix(got, want) {
		t.Errorf("% x\nwant\n% x", got[:len(want)], want)
	}
}

// A code-block of one slice has the bytes of a code-block of Part 1: that of the same
// slice, transformed alone.
func TestOneSliceBlocksAreThoseOfPart1(t *testing.T) {
	m := made(shape(150, 131, 3, 1, 8, false))
	c := Coding{Levels: [axes]int{2, 2, 0}, BlockExp: sliceBlock}
	e := newEncoder(pool.New(), m)
	file, err := e.encode(t.Context(), &c)
	if err != nil {
		t.Fatal(err)
	}
	var alone bitplane.Encoder
	transform := wavelet.New(wavelet.LeGall53(), wavelet.RowsFirst)
	for z := range m.Depth {
		src, dst := wavelet.NewPlane[int32](m.Width, m.Height), wavelet.NewPlane[int32](m.Width, m.Height)
		for i := range src.Samples {
			src.Samples[i] = int32(m.Slice(z).Sample(i)) - 128
		}
		transform.Forward(dst, src, 2, 0, 0)
		for _, r := range c.resolutions(size{m.Width, m.Height, m.Depth}) {
			for i := range r {
				for k := range r[i].blocks.samples() {
					origin, extent := c.block(&r[i], k)
					if origin[axisZ] != z {
						continue
					}
					at := origin[axisY]*m.Width + origin[axisX]
					part1 := alone.Encode(dst.Samples[at:], m.Width, extent[axisX], extent[axisY], codestream.Orientation(r[i].orientation), 0)
					if got := e.block(&c, &coded{subband: &r[i]}, k); !bytes.Equal(got.Data, part1.Data) || !bytes.Contains(file, part1.Data) {
						t.Fatalf("slice %d: block %d of %v has other bytes", z, k, r[i].orientation)
					}
				}
			}
		}
	}
}

// Volumes that are not transformed along z are had at lower resolutions: of each slice its
// low-pass subband.
func TestReduced(t *testing.T) {
	m := made(shape(37, 29, 4, 1, 10, false))
	c := Coding{Levels: [axes]int{3, 3, 0}, BlockExp: smallBlock}
	file := encodeWith(t, m, c)
	transform := wavelet.New(wavelet.LeGall53(), wavelet.RowsFirst)
	for reduce := range 4 {
		got, err := Decode(t.Context(), pool.New(), file, reduce)
		if err != nil {
			t.Fatal(err)
		}
		h, _ := Read(file)
		if h.Resolutions != 4 || h.Memory(reduce) > h.Memory(0) {
			t.Errorf("%d resolutions", h.Resolutions)
		}
		for z := range m.Depth {
			src, dst := wavelet.NewPlane[int32](m.Width, m.Height), wavelet.NewPlane[int32](m.Width, m.Height)
			for i := range src.Samples {
				src.Samples[i] = int32(m.Slice(z).Sample(i)) - 512
			}
			transform.Forward(dst, src, reduce, 0, 0)
			for y := range got.Height {
				for x := range got.Width {
					want := int(max(-512, min(511, dst.Row(y)[x]))) + 512
					if v := got.Slice(z).Sample(y*got.Width + x); v != want {
						t.Fatalf("1/2^%d: sample %d, %d, %d is %d, want %d", reduce, x, y, z, v, want)
					}
				}
			}
		}
	}
	if _, err := Decode(t.Context(), pool.New(), file, 4); err == nil {
		t.Error("the file has no fifth resolution")
	}
}

// The packets of layers come in the order that COD names.
func TestOrderOfPackets(t *testing.T) {
	for order, want := range []string{
		"000 001 010 011 100 101 110 111", // LRCP: layer, resolution, component
		"000 001 100 101 010 011 110 111",
		"000 100 001 101 010 110 011 111",
		"000 100 010 110 001 101 011 111",
		"000 100 010 110 001 101 011 111",
	} {
		h := header{Shape: shape(4, 4, 4, 2, 8, false), Coding: Coding{Levels: [axes]int{1, 1, 1}}, layers: 2, order: codestream.Order(order)}
		var got []string
		h.packets(func(l, r, c int) error {
			got = append(got, fmt.Sprintf("%d%d%d", l, r, c))
			return nil
		})
		if fmt.Sprint(got) != "["+want+"]" {
			t.Errorf("%v: %v, want %v", h.order, got, want)
		}
	}
}

// What is cut short or changed is an error of a known kind, or another image.
func TestDamagedFiles(t *testing.T) {
	file := encodeWith(t, made(shape(12, 11, 6, 3, 9, false)), Coding{Levels: [axes]int{2, 2, 1}, BlockExp: smallBlock})
	for n := range len(file) - 2 { // EOC is not asked for
		if _, err := Decode(t.Context(), pool.Of(1), file[:n], 0); !known(err) {
			t.Fatalf("%d of %d bytes: %v", n, len(file), err)
		}
	}
	for i := range file {
		for _, flip := range []byte{1, 0x80} {
			b := bytes.Clone(file)
			b[i] ^= flip
			if h, err := Read(b); err == nil && h.Samples() > 1<<14 {
				continue
			}
			if _, err := Decode(t.Context(), pool.Of(1), b, 0); err != nil && !known(err) {
				t.Fatalf("byte %d changed: %v", i, err)
			}
		}
	}
}

func known(err error) bool {
	var unsupported *codec.UnsupportedError
	var malformed *codec.FormatError
	return errors.As(err, &unsupported) || errors.As(err, &malformed)
}

func TestHeadersThatAreRefused(t *testing.T) {
	file := encodeWith(t, made(shape(20, 17, 6, 1, 9, false)), Coding{Levels: [axes]int{2, 2, 1}, BlockExp: smallBlock})
	at := func(marker byte) int { return bytes.Index(file, []byte{0xff, marker}) }
	siz, capability, nsi, cod, qcd, sot := at(0x51), at(0x50), at(0x54), at(0x52), at(0x5c), at(0x90)
	for name, tt := range map[string]struct {
		at          int
		bytes       []byte
		unsupported bool
	}{
		"no SOC":                    {0, []byte{0}, false},
		"no width":                  {siz + 6, []byte{0, 0, 0, 0}, false},
		"wider than precincts":      {siz + 6, []byte{0, 1, 0, 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}, true},
		"an origin":                 {siz + 14, []byte{0, 0, 0, 1}, true},
		"tiles":                     {siz + 22, []byte{0, 0, 0, 8}, true},
		"no component":              {siz + 38, []byte{0, 0}, true},
		"17 bits":                   {siz + 40, []byte{16}, true},
		"sub-sampled":               {siz + 41, []byte{2}, true},
		"another part":              {capability + 4, []byte{0, 2}, true},
		"two dimensions":            {nsi + 4, []byte{2}, true},
		"sub-sampled along z":       {nsi + 21, []byte{2}, true},
		"no slices":                 {nsi + 5, []byte{0, 0, 0, 0}, false},
		"precincts":                 {cod + 4, []byte{1}, true},
		"order 5":                   {cod + 5, []byte{5}, false},
		"no layer":                  {cod + 6, []byte{0, 0}, false},
		"MCT of one component":      {cod + 8, []byte{1}, true},
		"more levels along z":       {cod + 11, []byte{3}, true},
		"fewer levels along y":      {cod + 10, []byte{1}, true},
		"33 levels":                 {cod + 9, []byte{33, 33}, false},
		"blocks of 2^11":            {cod + 12, []byte{11}, false},
		"blocks of 2^19 samples":    {cod + 12, []byte{8, 8, 3}, false},
		"style of HT":               {cod + 15, []byte{0x40}, true},
		"irreversible":              {cod + 16, []byte{0}, true},
		"quantization":              {qcd + 4, []byte{0x42}, true},
		"exponents missing":         {cod + 9, []byte{3, 3}, false},
		"length of the tile-part":   {sot + 6, []byte{1}, false},
		"length in the header":      {sot + 6, []byte{0, 0, 0, 13}, false},
		"NSI as another marker":     {nsi + 1, []byte{0x64}, false},
		"a marker that is not read": {nsi + 1, []byte{0x5f}, true},
	} {
		b := bytes.Clone(file)
		copy(b[tt.at:], tt.bytes)
		_, err := Read(b)
		var unsupported *codec.UnsupportedError
		if !known(err) || errors.As(err, &unsupported) != tt.unsupported {
			t.Errorf("%s: %v", name, err)
		}
	}
	if Is(file[:20]) || Is(nil) || Is(codestream.AppendEOC([]byte{0xff, 0x4f, 0xff, 0x51, 0, 41})) {
		t.Error("not a volume")
	}
}

// Headers of volumes take memory in proportion to the file, and those that are read are written again as they
// were understood.
func FuzzRead(f *testing.F) {
	for i, c := range codings {
		m := made(shape(9, 8+i, 5, 1+i%4, 8+i, i%2 == 0))
		if i%2 == 1 {
			m.Meta.Spacing, m.Meta.Geometry = [3]float64{0.5, 0.25, 3}, bytes.Repeat([]byte{1}, raster.NIfTIGeometry)
		}
		file := encodeWith(f, m, c)
		f.Add(file[:bytes.Index(file, []byte{0xff, 0x93})+2]) // to SOD
		for _, extra := range []string{"\xff\x64\x00\x04\x00\x01", "\xff\x64\x00\x15\x00\x00" + spaceMark, "\xff\x55\x00\x06\x00\x40\x00\x01", "\xff\x57\x00\x04\x00\x00", "\xff\x5e\x00\x05\x00\x00\x07", "\xff\x5f\x00\x09\x00\x00\x00\x01\x01\x01\x00"} {
			at := bytes.Index(file, []byte{0xff, 0x90})
			f.Add(slices.Concat(file[:at], []byte(extra), file[at:]))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var h *header
		var body []byte
		var err error
		if took, more := allocated.MoreThan(uint64(1<<20+64*len(data)), func() { h, body, err = parse(data) }); more {
			t.Errorf("headers in %d bytes take %d bytes", len(data), took)
		}
		if err != nil {
			if !known(err) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		again, _, err := parse(append(appendStart(h, len(body)), body...))
		if err != nil || !reflect.DeepEqual(again.Shape, h.Shape) || again.Coding != h.Coding || !bytes.Equal(again.space.geometry, h.space.geometry) {
			t.Errorf("%+v comes back as %+v (%v)", h, again, err)
		}
	})
}

// appendStart are the headers before a body of so many bytes.
func appendStart(h *header, body int) []byte {
	return codestream.AppendSOD(codestream.AppendSOT(h.append(nil), 0, codestream.TilePartHeader+body, 0, 1))
}

func FuzzDecode(f *testing.F) {
	for i, c := range codings {
		f.Add(encodeWith(f, made(shape(9, 8+i, 5, 1+i%4, 8+i, i%2 == 0)), c))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := Read(data)
		if err == nil && h.Samples() > 1<<18 {
			return
		}
		m, err := Decode(t.Context(), pool.Of(1), data, 0)
		if err != nil && !known(err) {
			t.Fatal(err)
		}
		if err == nil {
			checkDecode(t, encodeWith(t, m, h.Coding), m)
		}
	})
}
