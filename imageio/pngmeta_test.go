package imageio

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"

	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/raster"
)

// pngWith puts chunks into a PNG file: before PLTE and IDAT, or between IDAT and
// IEND.
func pngWith(t testing.TB, m *raster.Image, before, after []byte) []byte {
	t.Helper()
	data, err := Encode(m, "png")
	if err != nil {
		t.Fatal(err)
	}
	const head, end = 33, 12
	return bytes.Join([][]byte{data[:head], before, data[head : len(data)-end], after, data[len(data)-end:]}, nil)
}

func chunkOf(kind string, body []byte) []byte {
	return png.Append(nil, kind, body)
}

// rawProfileText is the text of a raw profile as ImageMagick and ExifTool write it.
func rawProfileText(name string, profile []byte) []byte {
	text := fmt.Sprintf("\n%s\n%8d", name, len(profile))
	for i, digit := range hex.EncodeToString(profile) {
		if i%72 == 0 {
			text += "\n"
		}
		text += string(digit)
	}
	return []byte(text + "\n")
}

func zlibbed(data []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

// The EXIF block of a PNG file counts wherever programs put it, and its
// orientation is applied.
func TestPNGWhereEXIFLies(t *testing.T) {
	m := pattern(7, 4, 1, 3, 8)
	exif, other := exifBlock(binary.BigEndian, 6), exifBlock(binary.LittleEndian, 3)
	app1 := append([]byte("Exif\x00\x00"), exif...)
	text := func(kind, keyword string, between, text []byte) []byte {
		return chunkOf(kind, bytes.Join([][]byte{append([]byte(keyword), 0), between, text}, nil))
	}
	zipped := func(keyword string, profile []byte) []byte {
		return text("zTXt", keyword, []byte{0}, zlibbed(rawProfileText("exif", profile)))
	}
	bomb := zlibbed(append([]byte("\nexif\n 900000\n"), bytes.Repeat([]byte("0"), 8<<20)...))
	for name, c := range map[string]struct {
		before, after []byte
		none          bool
	}{
		"eXIf":                          {before: chunkOf("eXIf", exif)},
		"eXIf behind the samples":       {after: chunkOf("eXIf", exif)},
		"eXIf with the prefix of APP1":  {after: chunkOf("eXIf", app1)},
		"two of eXIf, the first counts": {before: chunkOf("eXIf", exif), after: chunkOf("eXIf", other)},
		"zTXt":                          {before: zipped("Raw profile type exif", app1)},
		"zTXt behind the samples":       {after: zipped("Raw profile type exif", app1)},
		"zTXt of APP1":                  {after: zipped("Raw profile type APP1", app1)},
		"zTXt without the prefix":       {after: zipped("Raw profile type exif", exif)},
		"tEXt":                          {after: text("tEXt", "Raw profile type exif", nil, rawProfileText("exif", app1))},
		"iTXt":                          {after: text("iTXt", "Raw profile type exif", []byte{0, 0, 'e', 'n', 0, 0}, rawProfileText("exif", app1))},
		"iTXt, compressed":              {after: text("iTXt", "Raw profile type exif", []byte{1, 0, 0, 0}, zlibbed(rawProfileText("exif", app1)))},
		"eXIf goes before zTXt":         {before: zipped("Raw profile type exif", other), after: chunkOf("eXIf", exif)},

		"XMP in APP1":                 {after: zipped("Raw profile type APP1", []byte("http://ns.adobe.com/xap/1.0/\x00<x/>")), none: true},
		"another profile":             {after: zipped("Raw profile type iptc", app1), none: true},
		"a length that is not there":  {after: text("tEXt", "Raw profile type exif", nil, []byte("\nexif\n 900\n4578")), none: true},
		"letters for digits":          {after: text("tEXt", "Raw profile type exif", nil, []byte("\nexif\n 2\nxyzw")), none: true},
		"a bomb":                      {after: text("zTXt", "Raw profile type exif", []byte{0}, bomb), none: true},
		"many that cannot be read":    {after: append(bytes.Repeat(text("tEXt", "Raw profile type exif", nil, nil), 4), zipped("Raw profile type exif", app1)...), none: true},
		"data that are not zlib's":    {after: text("zTXt", "Raw profile type exif", []byte{0}, []byte("abc")), none: true},
		"text without end of keyword": {after: chunkOf("tEXt", []byte("Raw profile type exif")), none: true},
	} {
		t.Run(name, func(t *testing.T) {
			data := pngWith(t, m, c.before, c.after)
			agree(t, data, nil)
			got, err := Decode(data, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.none {
				same(t, got, m)
				if got.Meta.EXIF != nil || got.Meta.Orientation != 0 {
					t.Errorf("EXIF %q, orientation %d, want none", got.Meta.EXIF, got.Meta.Orientation)
				}
				return
			}
			same(t, got, raster.Orient(m, 6))
			if got.Meta.Orientation != 6 || !bytes.Equal(got.Meta.EXIF, exifBlock(binary.BigEndian, 1)) {
				t.Errorf("orientation %d, EXIF %x", got.Meta.Orientation, got.Meta.EXIF)
			}
			h, err := ReadHeader(data, nil)
			if err != nil || h.Width != 4 || h.Height != 7 {
				t.Errorf("header %+v, error %v", h, err)
			}
			if n := allocated(func() { _, _ = Decode(data, nil) }); n > h.DecodedBytes {
				t.Errorf("%d bytes were taken, the header says %d", n, h.DecodedBytes)
			}
		})
	}
}

// ImageMagick writes the EXIF block of a JPEG behind the samples of a PNG.
func TestPeersEXIFInPNG(t *testing.T) {
	dir := t.TempDir()
	jpg := withEXIF(asJPEG(t, scene(40, 20, 3, plasma), 90), exifBlock(binary.BigEndian, 6))
	if err := os.WriteFile(filepath.Join(dir, "in.jpg"), jpg, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"", "-define png:exclude-chunks=eXIf "} {
		shell(t, dir, "convert in.jpg "+kind+"PNG24:out.png && convert in.jpg -auto-orient -strip PNG24:want.png")
		data, err := os.ReadFile(filepath.Join(dir, "out.png"))
		if err != nil {
			t.Fatal(err)
		}
		if kind == "" && bytes.Index(data, []byte("eXIf")) < bytes.LastIndex(data, []byte("IDAT")) {
			t.Log("this ImageMagick writes eXIf before the samples")
		}
		got, want := decodeFile(t, filepath.Join(dir, "out.png")), decodeFile(t, filepath.Join(dir, "want.png"))
		if kind == "" && got.Meta.Orientation != 6 {
			t.Fatalf("orientation %d", got.Meta.Orientation)
		}
		if got.Meta.Orientation == 6 {
			same(t, got, want)
		}
	}
}

// An animation is read as viewers without animation show it, and the header says
// so.
func TestPNGAnimation(t *testing.T) {
	m := pattern(3, 3, 1, 3, 8)
	control := func(frames uint32) []byte {
		return chunkOf("acTL", binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, frames), 0))
	}
	for name, c := range map[string]struct {
		data []byte
		note string
	}{
		"two pictures":       {pngWith(t, m, control(2), chunkOf("fdAT", []byte("more"))), "animation of 2 pictures"},
		"one picture":        {pngWith(t, m, control(1), nil), ""},
		"behind the samples": {pngWith(t, m, nil, control(2)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := ReadHeader(c.data, nil)
			if err != nil {
				t.Fatal(err)
			}
			if (c.note == "") != (h.Note == "") || !strings.Contains(h.Note, c.note) {
				t.Errorf("note %q, want %q", h.Note, c.note)
			}
			got, err := Decode(c.data, nil)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, m)
		})
	}
}

// pngFileOf builds a file of rows that are filtered and packed already.
func pngFileOf(width, height, depth, colour, interlace int, rows []byte, before ...[]byte) []byte {
	var head [13]byte
	binary.BigEndian.PutUint32(head[0:], uint32(width))
	binary.BigEndian.PutUint32(head[4:], uint32(height))
	head[8], head[9], head[12] = byte(depth), byte(colour), byte(interlace)
	parts := append([][]byte{[]byte("\x89PNG\r\n\x1a\n"), chunkOf("IHDR", head[:])}, before...)
	return bytes.Join(append(parts, chunkOf("IDAT", zlibbed(rows)), chunkOf("IEND", nil)), nil)
}

// Every colour type at every depth, plain and interlaced, with and without tRNS,
// of sides down to 1, gives the samples that libpng gives ImageMagick.
func TestPeersPNGKinds(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ colour, channels int }{{png.Grey, 1}, {png.RGB, 3}, {png.Palette, 1}, {png.GreyAlpha, 2}, {png.RGBA, 4}} {
		for _, depth := range []int{1, 2, 4, 8, 16} {
			if depth < 8 && c.colour != png.Grey && c.colour != png.Palette || depth == 16 && c.colour == png.Palette {
				continue
			}
			for _, size := range [][2]int{{9, 7}, {1, 1}, {1, 5}, {3, 1}} {
				for interlace := range 2 {
					for _, key := range []bool{false, true} {
						if key && (c.colour == png.GreyAlpha || c.colour == png.RGBA) {
							continue
						}
						name := fmt.Sprintf("colour-%d-%dbit-%dx%d-interlace%d-key-%v", c.colour, depth, size[0], size[1], interlace, key)
						writeFile(t, filepath.Join(dir, name+".png"), pngKind(size[0], size[1], depth, c.colour, c.channels, interlace, key))
					}
				}
			}
		}
	}
	// One process for all files.
	shell(t, dir, "mogrify -depth 16 -type TrueColorMatte -format pam *.png")
	names, err := filepath.Glob(filepath.Join(dir, "*.png"))
	if err != nil || len(names) < 100 {
		t.Fatalf("%d files, error %v", len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			sameColours(t, decodeFile(t, name), decodeFile(t, strings.TrimSuffix(name, "png")+"pam"))
		})
	}
}

func writeFile(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// pngKind is a file of noise.
func pngKind(width, height, depth, colour, channels, interlace int, key bool) []byte {
	var rows []byte
	row := func(w int) {
		if w == 0 {
			return
		}
		rows = append(rows, 0)
		for i := range (w*channels*depth + 7) / 8 {
			rows = append(rows, byte(noise(i, len(rows), depth)))
		}
	}
	if interlace == 0 {
		for range height {
			row(width)
		}
	} else {
		for _, p := range [7][4]int{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}} {
			for y := p[1]; y < height; y += p[3] {
				row((width - p[0] + p[2] - 1) / p[2])
			}
		}
	}
	var before [][]byte
	if colour == png.Palette {
		colours := make([]byte, 3<<depth)
		for i := range colours {
			colours[i] = byte(noise(i, 1, 2))
		}
		before = append(before, chunkOf("PLTE", colours))
	}
	switch {
	case key && colour == png.Palette:
		before = append(before, chunkOf("tRNS", []byte{0, 128}))
	case key:
		// The first sample or colour is the transparent one.
		v := make([]byte, 2*channels)
		for i := range channels {
			if depth == 16 {
				copy(v[2*i:], rows[1+2*i:3+2*i])
			} else {
				v[2*i+1] = rows[1+i] >> (8 - depth)
			}
		}
		before = append(before, chunkOf("tRNS", v))
	}
	return pngFileOf(width, height, depth, colour, interlace, rows, before...)
}

// sameColours compares images that may differ in their number of channels: a
// peer repeats grey, widens samples, or adds an opaque alpha channel.
func sameColours(t *testing.T, got, want *raster.Image) {
	t.Helper()
	if got.Width != want.Width || got.Height != want.Height || got.Depth != want.Depth {
		t.Fatalf("got %s, want %s", got.Shape, want.Shape)
	}
	for i := range got.Width * got.Height * got.Depth {
		a, b := colourAt(got, i), colourAt(want, i)
		if a != b {
			t.Fatalf("pixel %d is %v, want %v (of 65535; %s, %s)", i, a, b, got.Shape, want.Shape)
		}
	}
}

// colourAt is red, green, blue and alpha of a pixel, of 16 bits.
func colourAt(m *raster.Image, pixel int) [4]int {
	at := func(c int) int { return m.Sample(pixel*m.Channels+c) * 65535 / (1<<m.Bits - 1) }
	c := [4]int{at(0), at(0), at(0), 65535}
	if m.Channels >= 3 {
		c[1], c[2] = at(1), at(2)
	}
	if m.Alpha() {
		c[3] = at(m.Channels - 1)
	}
	return c
}

// libpng reads these without a word, and so do we.
func TestPNGThatLibpngTakes(t *testing.T) {
	dir := t.TempDir()
	colours := make([]byte, 3*256)
	for i := range colours {
		colours[i] = byte(noise(i, 1, 2))
	}
	rows := []byte{0, 0x1b, 0, 0xe4}
	for name, data := range map[string][]byte{
		"more colours than the depth reaches": pngFileOf(4, 2, 2, png.Palette, 0, rows, chunkOf("PLTE", colours)),
		"an index beyond the palette":         pngFileOf(4, 2, 2, png.Palette, 0, rows, chunkOf("PLTE", colours[:9])),
		"a suggested palette":                 pngFileOf(1, 1, 8, png.RGB, 0, []byte{0, 1, 2, 3}, chunkOf("PLTE", colours)),
		"bytes behind the end":                append(pngFileOf(4, 2, 2, png.Grey, 0, rows), "tail"...),
		"an empty IDAT":                       pngFileOf(4, 2, 2, png.Grey, 0, rows, chunkOf("IDAT", nil)),
		"a private chunk":                     pngFileOf(4, 2, 2, png.Grey, 0, rows, chunkOf("prVt", []byte("x"))),
	} {
		t.Run(name, func(t *testing.T) {
			writeFile(t, filepath.Join(dir, "in.png"), data)
			got := decodeFile(t, filepath.Join(dir, "in.png"))
			shell(t, dir, "pngtopam -alphapam in.png > want")
			sameColours(t, got, decodeFile(t, filepath.Join(dir, "want")))
		})
	}
	// Of a transparent grey value, libpng takes the bits of the depth.
	m, err := Decode(pngFileOf(4, 2, 2, png.Grey, 0, rows, chunkOf("tRNS", []byte{0, 0x12})), nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, m, scene(4, 2, 2, func(x, y, c int) int {
		v := x
		if y == 1 {
			v = 3 - x
		}
		if c == 0 {
			return v * 85
		}
		return map[bool]int{true: 0, false: 255}[v == 2]
	}))
	// The changed palette does not hide that the file is damaged.
	broken := pngFileOf(4, 2, 2, png.Palette, 0, rows, chunkOf("PLTE", colours))
	at := bytes.Index(broken, []byte("PLTE"))
	broken[at+9] ^= 1
	if crc32.ChecksumIEEE(broken[at:at+4+768]) == binary.BigEndian.Uint32(broken[at+4+768:]) {
		t.Fatal("the checksum is still right")
	}
	if _, err := Decode(broken, nil); err == nil {
		t.Error("a damaged palette is read")
	}
}
