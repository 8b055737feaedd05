package pcwt

import (
	"context"
	"image"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

func encoded(t *testing.T, m *raster.Image, pairs ...string) []byte {
	t.Helper()
	o, err := Codec{}.Options(pairs)
	if err != nil {
		t.Fatal(err)
	}
	e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)[0]
	if e.Err != nil {
		t.Fatal(e.Err)
	}
	return e.Data
}

func decoded(file []byte) (*raster.Image, error) {
	d := Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{file}, nil)[0]
	return d.Image, d.Err
}

// refused holds a file to an error of one of the two kinds.
func refused(t *testing.T, what string, file []byte) {
	t.Helper()
	m, err := decoded(file)
	if err == nil {
		t.Errorf("%s: decoded as %s", what, m.Shape)
		return
	}
	classified(t, err)
}

// No sample changes by more than the bound, of any type and in any part of its range.
func TestNearLosslessBound(t *testing.T) {
	for _, s := range []raster.Shape{
		{Width: 61, Height: 47, Depth: 1, Channels: 1, Bits: 8},
		{Width: 40, Height: 41, Depth: 1, Channels: 3, Bits: 8},
		{Width: 33, Height: 30, Depth: 1, Channels: 4, Bits: 12, Signed: true},
		{Width: 52, Height: 30, Depth: 1, Channels: 2, Bits: 16},
		{Width: 45, Height: 44, Depth: 1, Channels: 1, Bits: 16, Signed: true},
		{Width: 33, Height: 32, Depth: 6, Channels: 1, Bits: 10},
		{Width: 130, Height: 120, Depth: 5, Channels: 1, Bits: 8}, // levels along z are tried
	} {
		for _, bound := range []string{"1", "2", "7", "100", "32767"} {
			for _, profile := range []string{"0", "1"} {
				if s.Depth > 1 && s.Width > 100 && (bound != "2" || profile == "0") || testing.Short() && (bound != "7" || s.Depth > 1) {
					continue
				}
				m := small(s)
				file := encoded(t, m, "near-lossless="+bound, "profile="+profile)
				h, err := readHeader(file)
				if err != nil {
					t.Fatal(err)
				}
				got, err := decoded(file)
				if err != nil || !got.Same(s) {
					t.Fatalf("%s, %s: %v", s, bound, err)
				}
				worst := 0
				for i := range m.Samples() {
					d := m.Sample(i) - got.Sample(i)
					worst = max(worst, d, -d)
				}
				if worst > h.near {
					t.Errorf("%s, profile %s: a sample changes by %d, and the bound is %d", s, profile, worst, h.near)
				}
			}
		}
	}
}

// A file that ends anywhere is refused, and what is whole in it is decoded at a lower resolution: the bytes up to a level
// are the smaller image.
func TestPrefixes(t *testing.T) {
	m := small(raster.Shape{Width: 150, Height: 133, Depth: 2, Channels: 3, Bits: 8})
	file := encoded(t, m, "effort=0", "tile=64")
	h, err := readHeader(file)
	if err != nil {
		t.Fatal(err)
	}
	ends := []int{h.start}
	for _, n := range h.sections {
		ends = append(ends, ends[len(ends)-1]+n)
	}
	for i, end := range ends {
		for _, n := range []int{end - 1, end, end + 1} {
			if n < len(file) {
				refused(t, "a prefix", file[:n])
			}
		}
		if i%h.shape.Depth != 0 || i == 0 {
			continue
		}
		reduce := h.levels + 1 - i/h.shape.Depth
		v := codec.View{Reduce: reduce}
		if viewOf(t, file[:end], v).Hash() != viewOf(t, file, v).Hash() {
			t.Errorf("the first %d bytes are another image at 1/2^%d", end, reduce)
		}
		d := Codec{}.DecodeView(context.Background(), codec.Run{}, [][]byte{file[:end-1]}, nil, v)[0]
		if d.Err == nil {
			t.Errorf("an image at 1/2^%d without its last byte", reduce)
		}
	}
	for n := 0; n < h.start; n += 3 {
		refused(t, "headers", file[:n])
	}
}

// tileFile is a file of one grey slice, and its header, whose first level has the given body of tiles.
func tileFile(t *testing.T) (*header, [][]byte) {
	m := small(raster.Shape{Width: 150, Height: 90, Depth: 1, Channels: 1, Bits: 8})
	file := encoded(t, m)
	h, err := readHeader(file)
	if err != nil {
		t.Fatal(err)
	}
	var sections [][]byte
	for i := range h.sections {
		s, err := h.sectionBytes(file, i)
		if err != nil {
			t.Fatal(err)
		}
		sections = append(sections, append([]byte(nil), s...))
	}
	if _, err := decoded(assemble(h, sections)); err != nil {
		t.Fatal(err)
	}
	return h, sections
}

// Files whose checksums of headers are right, and whose sections are not what they should be.
func TestHostileSections(t *testing.T) {
	h, sections := tileFile(t)
	changed := func(what string, level int, change func(s []byte) []byte) {
		t.Helper()
		copied := append([][]byte(nil), sections...)
		i := h.section(level, 0)
		copied[i] = change(append([]byte(nil), copied[i]...))
		refused(t, what, assemble(h.copy(), copied))
	}
	// Each state of the first tile of each level, which does not end at 2^16 then, or the words do not.
	for level := 1; level <= h.levels; level++ {
		columns, rows := h.tiles(level)
		bodies, err := readLengths(sections[h.section(level, 0)], columns*rows)
		if err != nil {
			t.Fatal(err)
		}
		for state := range 1 << h.laneLog {
			if bodies[0].words == 0 || bodies[0].raw {
				continue
			}
			changed("a wrong state", level, func(s []byte) []byte { s[bodies[0].at+4*state+1] ^= 0x41; return s })
		}
		changed("a length more", level, func(s []byte) []byte { s[0] += 2; return s })
		changed("a length that is not the shortest", level, func(s []byte) []byte { return append([]byte{s[0] | 0x80, 0}, s[1:]...) })
		changed("a huge length", level, func(s []byte) []byte {
			return append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, s[1:]...)
		})
		changed("a raw tile without words", level, func(s []byte) []byte { s[0] = 1; return s })
		changed("bytes after the tiles", level, func(s []byte) []byte { return append(s, 0, 0) })
		changed("no bodies", level, func(s []byte) []byte { return s[:columns*rows] })
	}
	changed("LL of 33 bits", 0, func(s []byte) []byte { s[0] = 33; return s })
	changed("LL that is cut short", 0, func(s []byte) []byte { return s[:len(s)-1] })
	changed("bytes after LL", 0, func(s []byte) []byte { return append(s, 0) })
}

// Directories whose sections overlap the end, are too short for their tiles, or say another size than the header.
func TestHostileDirectories(t *testing.T) {
	h, sections := tileFile(t)
	for i := range sections {
		for _, n := range []int{0, 1, len(sections[i]) - 1, len(sections[i]) + 1, 1 << 30, 1<<31 - 1} {
			c := h.copy()
			c.sections = append([]int(nil), c.sections...)
			c.sections[i] = n
			file := c.append()
			for _, s := range sections {
				file = append(file, s...)
			}
			refused(t, "a directory", file)
		}
	}
}

// A header that says a large image costs no memory; a file of tiles without residuals may be such an image, of which a region
// takes what the region is worth.
func TestLargeHeaders(t *testing.T) {
	const side = 40000
	h := &header{profile: 1, shape: raster.Shape{Width: side, Height: side, Depth: 1, Channels: 1, Bits: 8}, tileLog: 6, laneLog: 3, planes: make([]planeParams, 1)}
	h.levels = levelsOf(side, side)
	sections := [][]byte{{0, 5, 0, 0, 0}}
	for level := h.levels; level > 0; level-- {
		columns, rows := h.tiles(level)
		sections = append(sections, make([]byte, columns*rows))
	}
	file := assemble(h, sections)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	says, err := Codec{}.Header(file)
	if err != nil || says.Memory < side*side {
		t.Fatalf("%d bytes of memory (%v)", says.Memory, err)
	}
	v := codec.View{Region: image.Rect(30001, 20003, 30101, 20053)}
	part, err := Codec{}.HeaderView(file, v)
	if err != nil || part.Memory > 64<<20 {
		t.Errorf("%d bytes of memory for a region of 100x50 (%v)", part.Memory, err)
	}
	m := viewOf(t, file, v)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
		t.Errorf("headers and a region took %d bytes", n)
	}
	for _, v := range m.Pix {
		if v != 128+5 {
			t.Fatalf("a sample of %d, want 133", v)
		}
	}
	// With less than a byte for each tile no memory is taken for them.
	h.sections[len(h.sections)-1]--
	refused(t, "a large image", h.append())
}

// Offsets of contexts make files smaller where the format's tables are of other images, and are undone.
func TestOffsets(t *testing.T) {
	m := small(raster.Shape{Width: 180, Height: 150, Depth: 1, Channels: 1, Bits: 12})
	e := &encoder{context.Background(), codec.Run{}.Cores(), m, &defaults}
	plain := e.plain()
	shifted := e.withOffsets(plain, e.sample(plain))
	if shifted == nil {
		t.Fatal("no offsets")
	}
	a, err := e.file(plain)
	if err != nil {
		t.Fatal(err)
	}
	b, err := e.file(shifted)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) >= len(a) {
		t.Errorf("%d bytes with offsets %v, %d without", len(b), shifted.planes[0].offsets, len(a))
	}
	if got, err := decoded(b); err != nil || got.Hash() != m.Hash() {
		t.Errorf("another image with offsets (%v)", err)
	}
}

// patches is an image of 12 bits with columns of flat, random and smooth samples, each wider than the tiles of the first level.
func patches() *raster.Image {
	m := raster.Make(raster.Shape{Width: 3 * 256, Height: 130, Depth: 1, Channels: 1, Bits: 12})
	r := rand.New(rand.NewPCG(11, 12))
	for i := range m.Samples() {
		x, y := i%m.Width, i/m.Width
		v := 1000
		switch x / 256 {
		case 1:
			v = r.IntN(4096)
		case 2:
			v = 2*x + y*y/20
		}
		m.Pix[2*i], m.Pix[2*i+1] = byte(v), byte(v>>8)
	}
	return m
}

// Tiles without residuals have no body, random ones are raw, and others coded. All come back.
func TestKindsOfTiles(t *testing.T) {
	m := patches()
	for _, pairs := range [][]string{{"effort=0"}, {"effort=0", "fast=true"}} {
		file := encoded(t, m, pairs...)
		h, err := readHeader(file)
		if err != nil {
			t.Fatal(err)
		}
		data, err := h.sectionBytes(file, h.section(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		columns, rows := h.tiles(1)
		bodies, err := readLengths(data, columns*rows)
		if err != nil {
			t.Fatal(err)
		}
		empty, raw, coded := 0, 0, 0
		for _, b := range bodies {
			switch {
			case b.words == 0:
				empty++
			case b.raw:
				raw++
			default:
				coded++
			}
		}
		if empty == 0 || raw == 0 || coded == 0 {
			t.Errorf("%q: %d tiles are empty, %d raw, %d coded", pairs, empty, raw, coded)
		}
		if got, err := decoded(file); err != nil || got.Hash() != m.Hash() {
			t.Errorf("%q: another image (%v)", pairs, err)
		}
	}
}
