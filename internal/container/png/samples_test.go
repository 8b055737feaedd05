package png

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zlib"

	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/raster"
)

// plainly makes an image of what the standard decoder returns, sample by sample.
func plainly(t testing.TB, src image.Image, channels, bits int) *raster.Image {
	b := src.Bounds()
	m := raster.New(b.Dx(), b.Dy(), 1, channels, bits)
	i := 0
	put := func(v uint16) {
		if bits == 8 {
			m.Pix[i] = byte(v >> 8)
			i++
			return
		}
		m.Pix[i], m.Pix[i+1] = byte(v), byte(v>>8)
		i += 2
	}
	wide := func(v uint8) uint16 { return uint16(v) * 0x101 }
	for y := range b.Dy() {
		for x := range b.Dx() {
			var c [4]uint16
			switch v := src.At(x, y).(type) {
			case color.Gray:
				c = [4]uint16{wide(v.Y), wide(v.Y), wide(v.Y), 0xffff}
			case color.Gray16:
				c = [4]uint16{v.Y, v.Y, v.Y, 0xffff}
			case color.NRGBA:
				c = [4]uint16{wide(v.R), wide(v.G), wide(v.B), wide(v.A)}
			case color.NRGBA64:
				c = [4]uint16{v.R, v.G, v.B, v.A}
			case color.RGBA:
				c = [4]uint16{wide(v.R), wide(v.G), wide(v.B), 0xffff}
			case color.RGBA64:
				c = [4]uint16{v.R, v.G, v.B, 0xffff}
			default:
				t.Fatalf("a colour of type %T", v)
			}
			for n := range channels {
				if channels == 2 && n == 1 {
					n = 3
				}
				put(c[n])
			}
		}
	}
	return m
}

// checkSamples holds Samples and the palette's Decode against the standard decoder, and returns whether Samples took
// the file.
func checkSamples(t testing.TB, data []byte, mode container.Mode) bool {
	t.Helper()
	f, err := Open(data, mode)
	if err != nil {
		return false
	}
	// What is not written is noticed.
	dirty := func(n int) []byte { return bytes.Repeat([]byte{0xa5}, n) }
	m, ok := f.samples(func(s raster.Shape) []byte { return dirty(s.Size()) })
	std, stdErr := png.Decode(f.reader())
	if ok {
		if stdErr != nil {
			t.Fatalf("it is read, and the standard decoder says %v", stdErr)
		}
		want := plainly(t, std, m.Channels, m.Bits)
		if !m.Same(want.Shape) || !bytes.Equal(m.Pix, want.Pix) {
			t.Fatalf("%s, other samples than %s of the standard decoder", m.Shape, want.Shape)
		}
	}
	if f.Colour != Palette {
		return ok
	}
	got, err := f.DecodeWith(dirty)
	if (err == nil) != (stdErr == nil) {
		t.Fatalf("%v, and the standard decoder %v", err, stdErr)
	}
	if err == nil {
		a, b := got.(*image.Paletted), std.(*image.Paletted)
		if !bytes.Equal(a.Pix, b.Pix) || a.Rect != b.Rect || a.Stride != b.Stride || fmt.Sprintf("%#v", a.Palette) != fmt.Sprintf("%#v", b.Palette) {
			t.Fatal("the indices or the palette are others than the standard decoder's")
		}
	}
	return ok
}

func bothWays(t *testing.T, f func(t *testing.T)) {
	t.Run("go", func(t *testing.T) {
		defer setVector(false)()
		f(t)
	})
	if vector {
		t.Run("vector", f)
	}
}

// random is a file of random rows with random filters. Split says how long chunks of samples are at most.
func random(t testing.TB, rng *rand.Rand, width, height, depth, colour, interlace int, split int, before ...[]byte) []byte {
	h := Header{Depth: depth, Colour: colour}
	bits := depth * h.Channels()
	if colour == Palette {
		bits = depth
	}
	passes := whole
	if interlace == 1 {
		passes = adam7
	}
	var rows []byte
	kinds := rng.IntN(7)
	for _, p := range passes {
		w, n := p.size(width, height)
		if w < 1 {
			continue
		}
		for range max(n, 0) {
			filter := rng.IntN(5)
			if kinds < 5 {
				filter = kinds
			}
			rows = append(rows, byte(filter))
			for range (w*bits + 7) / 8 {
				v := byte(rng.Uint32())
				switch rng.IntN(4) {
				case 0:
					v = byte(int8(v) >> 5)
				case 1:
					v = 0
				case 2:
					v = 255
				}
				rows = append(rows, v)
			}
		}
	}
	be := func(v int) []byte { return []byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)} }
	head := append(append(be(width), be(height)...), byte(depth), byte(colour), 0, 0, byte(interlace))
	data := Append([]byte(Signature), "IHDR", head)
	data = append(data, bytes.Join(before, nil)...)
	var z bytes.Buffer
	w, err := zlib.NewWriterLevel(&z, []int{0, 1, 6, 9}[rng.IntN(4)])
	if err != nil {
		t.Fatal(err)
	}
	w.Write(rows)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for stream := z.Bytes(); len(stream) > 0; {
		n := min(len(stream), rng.IntN(split+1))
		data = Append(data, "IDAT", stream[:n])
		stream = stream[n:]
	}
	return Append(data, "IEND", nil)
}

// kinds are all colour types and depths.
var kinds = []struct{ colour, depth int }{
	{Grey, 1}, {Grey, 2}, {Grey, 4}, {Grey, 8}, {Grey, 16}, {RGB, 8}, {RGB, 16}, {Palette, 1}, {Palette, 2}, {Palette, 4}, {Palette, 8},
	{GreyAlpha, 8}, {GreyAlpha, 16}, {RGBA, 8}, {RGBA, 16},
}

// Files of every kind and size, with and without a transparent colour, have the samples of the standard decoder, and
// none of them is left to it.
func TestSamplesOfEveryKind(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		rounds := 4
		if testing.Short() {
			rounds = 1
		}
		sizes := [][2]int{{1, 1}, {2, 3}, {3, 9}, {7, 5}, {8, 8}, {9, 4}, {16, 17}, {33, 12}, {61, 31}, {300, 41}, {1025, 9}}
		for _, k := range kinds {
			for _, size := range sizes {
				for interlace := range 2 {
					for transparent := range 2 {
						for range rounds {
							var before [][]byte
							if k.colour == Palette {
								colours := make([]byte, 3*(1+rng.IntN(1<<k.depth)))
								for i := range colours {
									colours[i] = byte(rng.Uint32())
								}
								before = append(before, chunk("PLTE", string(colours)))
							}
							if transparent == 1 {
								n := map[int]int{Grey: 2, RGB: 6, Palette: rng.IntN(257)}[k.colour]
								if n == 0 && k.colour != Palette {
									continue
								}
								key := make([]byte, n)
								for i := range key {
									key[i] = byte(rng.Uint32() % 3 * 255)
								}
								before = append(before, chunk("tRNS", string(key)))
							}
							data := random(t, rng, size[0], size[1], k.depth, k.colour, interlace, 1+rng.IntN(9000), before...)
							for _, mode := range []container.Mode{container.Lenient, container.Strict} {
								if !checkSamples(t, data, mode) {
									t.Fatalf("colour type %d with %d bits of %v, interlaced %d, transparent %d: not read", k.colour, k.depth, size, interlace, transparent)
								}
							}
						}
					}
				}
			}
		}
	})
}

// suite are the files of PngSuite, and others, that come with the standard library.
func suite(t testing.TB) (names []string) {
	for _, pattern := range []string{"pngsuite/*.png", "*.png"} {
		found, err := filepath.Glob(filepath.Join(runtime.GOROOT(), "src/image/png/testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	return names
}

// The files of PngSuite are read as the standard decoder reads them, and none of the sound ones is left to it.
func TestPngSuite(t *testing.T) {
	names := suite(t)
	if len(names) < 30 {
		t.Skipf("SKIPPED: the standard library's test files are not there: %d files in %s", len(names), runtime.GOROOT())
	}
	bothWays(t, func(t *testing.T) {
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, err = png.Decode(bytes.NewReader(data))
			if ok := checkSamples(t, data, container.Strict); ok != (err == nil) {
				t.Errorf("%s: taken %t, and the standard decoder says %v", filepath.Base(name), ok, err)
			}
		}
	})
}

// What differs from the rules is left to the standard decoder, be it read or not.
func TestUnusualFilesAreLeftOut(t *testing.T) {
	rows := zlibbed(t, []byte{0, 1, 2, 0, 3, 4})
	head := chunk("IHDR", "\x00\x00\x00\x02\x00\x00\x00\x02\x08\x00\x00\x00\x00")
	end := chunk("IEND", "")
	flipped := func(c []byte) []byte {
		c = bytes.Clone(c)
		c[len(c)-1] ^= 1
		return c
	}
	samples := chunk("IDAT", string(rows))
	half := len(rows) / 2
	for name, c := range map[string]struct {
		want   bool
		chunks [][]byte
	}{
		"plain":                       {true, [][]byte{head, samples, end}},
		"other chunks":                {true, [][]byte{head, chunk("gAMA", "1234"), samples, chunk("tEXt", "a\x00b"), end}},
		"two chunks of samples":       {true, [][]byte{head, chunk("IDAT", string(rows[:half])), chunk("IDAT", ""), chunk("IDAT", string(rows[half:])), end}},
		"empty chunks of samples":     {true, [][]byte{head, chunk("IDAT", ""), samples, chunk("IDAT", ""), end}},
		"a byte behind the samples":   {false, [][]byte{head, chunk("IDAT", string(rows)+"a"), end}},
		"a chunk behind the samples":  {false, [][]byte{head, samples, chunk("IDAT", "a"), end}},
		"a chunk within the samples":  {false, [][]byte{head, chunk("IDAT", string(rows[:half])), chunk("gAMA", "1234"), chunk("IDAT", string(rows[half:])), end}},
		"samples cut":                 {false, [][]byte{head, chunk("IDAT", string(rows[:len(rows)-1])), end}},
		"a wrong checksum of samples": {false, [][]byte{head, flipped(samples), end}},
		"a wrong checksum of a text":  {false, [][]byte{head, flipped(chunk("tEXt", "a\x00b")), samples, end}},
		"a wrong checksum of the end": {false, [][]byte{head, samples, flipped(end)}},
		"a body of the end":           {false, [][]byte{head, samples, chunk("IEND", "a")}},
		"no samples":                  {false, [][]byte{head, end}},
		"a palette of grey":           {false, [][]byte{head, chunk("PLTE", "123"), samples, end}},
		"two transparent values":      {false, [][]byte{head, chunk("tRNS", "12"), chunk("tRNS", "12"), samples, end}},
		"a long transparent value":    {false, [][]byte{head, chunk("tRNS", "123"), samples, end}},
		"another filter":              {false, [][]byte{head, chunk("IDAT", string(zlibbed(t, []byte{0, 1, 2, 5, 3, 4}))), end}},
		"a row too much":              {false, [][]byte{head, chunk("IDAT", string(zlibbed(t, make([]byte, 9)))), end}},
		"a row too little":            {false, [][]byte{head, chunk("IDAT", string(zlibbed(t, make([]byte, 3)))), end}},
		"another method":              {false, [][]byte{chunk("IHDR", "\x00\x00\x00\x02\x00\x00\x00\x02\x08\x00\x01\x00\x00"), samples, end}},
		"another way to interlace":    {false, [][]byte{chunk("IHDR", "\x00\x00\x00\x02\x00\x00\x00\x02\x08\x00\x00\x00\x02"), samples, end}},
		"a depth that is not defined": {false, [][]byte{chunk("IHDR", "\x00\x00\x00\x02\x00\x00\x00\x02\x08\x03\x00\x00\x00"), samples, end}},
	} {
		data := append([]byte(Signature), bytes.Join(c.chunks, nil)...)
		if got := checkSamples(t, data, container.Lenient); got != c.want {
			t.Errorf("%s: taken %t, want %t", name, got, c.want)
		}
	}
}

// Every filter gives what the specification says, for rows of any length.
func TestUnfilter(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for _, back := range []int{1, 2, 3, 4, 6, 8} {
			for pixels := 1; pixels < 90; pixels++ {
				n := pixels * back
				const rows = 9
				src, got, want := make([]byte, rows*(1+n)), make([]byte, rows*n), make([]byte, rows*n)
				for i := range src {
					src[i] = byte(rng.Uint32()) >> (rng.Uint32() % 8)
				}
				up := make([]byte, n)
				for i := range up {
					up[i] = byte(rng.Uint32())
				}
				for r := range rows {
					src[r*(1+n)] = byte(rng.IntN(5))
				}
				above := up
				for r := range rows {
					row := src[r*(1+n):][:1+n]
					bytesGo(want[r*n:][:n], row[1:], above, row[0], back, 0, n)
					above = want[r*n:][:n]
				}
				above = up
				for r := 0; r < rows; {
					did := unfilterRows(got[r*n:], src[r*(1+n):], above, n, back)
					if did == 0 {
						row := src[r*(1+n):][:1+n]
						if !unfilter(got[r*n:][:n], row[1:], above, row[0], back) {
							t.Fatal("a filter is not known")
						}
						did = 1
					}
					r += did
					above = got[(r-1)*n:][:n]
				}
				if !bytes.Equal(got, want) {
					t.Fatalf("%d pixels of %d bytes differ", pixels, back)
				}
			}
		}
		if unfilter(make([]byte, 3), make([]byte, 3), make([]byte, 3), 5, 1) {
			t.Error("filter 5 is taken")
		}
	})
}

// FuzzPNG holds the fast decoder against the standard one, with the vector code and without.
func FuzzPNG(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for _, k := range kinds {
		var before [][]byte
		if k.colour == Palette {
			before = [][]byte{chunk("PLTE", "123456")}
		}
		f.Add(random(f, rng, 13, 9, k.depth, k.colour, rng.IntN(2), 100, before...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// Most changes of a fuzzer break a checksum, so these are made right.
		data = bytes.Clone(data)
		for c, err := range Chunks(data) {
			if err == nil {
				copy(c.Whole[len(c.Whole)-4:], Append(nil, c.Kind, c.Body())[len(c.Whole)-4:])
			}
		}
		h, err := ReadHeader(data)
		if err != nil || h.Width == 0 || h.Height == 0 || int64(h.Width)*int64(h.Height) > 1<<16 {
			return
		}
		for _, mode := range []container.Mode{container.Lenient, container.Strict} {
			fast := checkSamples(t, data, mode)
			if vector {
				restore := setVector(false)
				if checkSamples(t, data, mode) != fast {
					t.Error("the vector code takes other files than the code in Go")
				}
				restore()
			}
		}
	})
}
