package imageio

import (
	"bytes"
	"compress/lzw"
	"encoding/binary"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tiffFile is a TIFF file of one page for tests: fields as they are given, and
// blocks of data whose places and lengths are added, unless they are given too.
type tiffFile struct {
	order  binary.ByteOrder
	fields map[int][]int // values of type LONG
	shorts map[int][]int // values of type SHORT, as palettes must be
	blocks [][]byte
	tiles  bool // the places of the blocks are in the fields of tiles
	gone   []int
}

func (f *tiffFile) bytes() []byte {
	order := f.order
	if order == nil {
		order = binary.LittleEndian
	}
	app := order.(binary.AppendByteOrder)
	head := "II*\x00\x00\x00\x00\x00"
	if order == binary.BigEndian {
		head = "MM\x00*\x00\x00\x00\x00"
	}
	out := []byte(head)
	var offsets, counts []int
	for _, b := range f.blocks {
		offsets, counts = append(offsets, len(out)), append(counts, len(b))
		out = append(out, b...)
		out = append(out, make([]byte, len(out)&1)...)
	}
	type field struct {
		kind   uint16
		values []int
	}
	all := map[int]field{tagStripOffsets: {4, offsets}, tagStripCounts: {4, counts}}
	if f.tiles {
		all = map[int]field{tagTileOffsets: {4, offsets}, tagTileCounts: {4, counts}}
	}
	for tag, v := range f.fields {
		all[tag] = field{4, v}
	}
	for tag, v := range f.shorts {
		all[tag] = field{3, v}
	}
	for _, tag := range f.gone {
		delete(all, tag)
	}
	var tags []int
	for tag := range all {
		tags = append(tags, tag)
	}
	slices.Sort(tags)
	order.PutUint32(out[4:], uint32(len(out)))
	tail := len(out) + 2 + 12*len(tags) + 4
	var more []byte
	out = app.AppendUint16(out, uint16(len(tags)))
	for _, tag := range tags {
		e := all[tag]
		out = app.AppendUint16(out, uint16(tag))
		out = app.AppendUint16(out, e.kind)
		out = app.AppendUint32(out, uint32(len(e.values)))
		var v []byte
		for _, x := range e.values {
			if e.kind == 3 {
				v = app.AppendUint16(v, uint16(x))
			} else {
				v = app.AppendUint32(v, uint32(x))
			}
		}
		if len(v) > 4 {
			out = app.AppendUint32(out, uint32(tail+len(more)))
			more = append(more, v...)
			continue
		}
		out = append(append(out, v...), make([]byte, 4-len(v))...)
	}
	return append(append(out, 0, 0, 0, 0), more...)
}

// with returns a copy with other fields; a nil value takes the field away.
func (f tiffFile) with(values map[int][]int) *tiffFile {
	merged := map[int][]int{}
	for tag, v := range f.fields {
		merged[tag] = v
	}
	f.gone = slices.Clone(f.gone)
	for tag, v := range values {
		merged[tag] = v
		if v == nil {
			delete(merged, tag)
			f.gone = append(f.gone, tag)
		}
	}
	f.fields = merged
	return &f
}

const (
	variantW = 40
	variantH = 24
)

// variantPage describes a page of noise with n samples of 8 bits per pixel, in one
// strip without compression.
func variantPage(n, photometric int) *tiffFile {
	pix := make([]byte, 0, variantW*variantH*n)
	for i := range variantW * variantH * n {
		pix = append(pix, byte(plasma(i/n%variantW, i/n/variantW, i%n)))
	}
	return &tiffFile{
		fields: map[int][]int{tagWidth: {variantW}, tagLength: {variantH}, tagBits: {8}, tagCompression: {tiffNone},
			tagPhotometric: {photometric}, tagSamples: {n}, tagRowsPerStrip: {variantH}, tagPlanar: {1}},
		blocks: [][]byte{pix},
	}
}

// strips divides the one block of f into strips of rows and compresses each.
func (f tiffFile) strips(rows, compression int, compress func([]byte) []byte) *tiffFile {
	whole := f.blocks[0]
	stride := len(whole) / variantH
	f.blocks = nil
	for y := 0; y < variantH; y += rows {
		f.blocks = append(f.blocks, compress(whole[y*stride:min(y+rows, variantH)*stride]))
	}
	return f.with(map[int][]int{tagRowsPerStrip: {rows}, tagCompression: {compression}})
}

// tiled divides the one block of f, of n samples per pixel, into tiles.
func (f tiffFile) tiled(w, h, n int) *tiffFile {
	whole := f.blocks[0]
	f.blocks = nil
	for y := 0; y < variantH; y += h {
		for x := 0; x < variantW; x += w {
			tile := make([]byte, w*h*n)
			for r := 0; r < h && y+r < variantH; r++ {
				copy(tile[r*w*n:], whole[((y+r)*variantW+x)*n:((y+r)*variantW+min(x+w, variantW))*n])
			}
			f.blocks = append(f.blocks, tile)
		}
	}
	return f.with(map[int][]int{tagRowsPerStrip: nil, tagTileWidth: {w}, tagTileLength: {h}})
}

func asIs(b []byte) []byte { return b }

// oldLZW is LZW as libtiff wrote it before 1991, which is that of GIF.
func oldLZW(b []byte) []byte {
	var out bytes.Buffer
	z := lzw.NewWriter(&out, lzw.LSB, 8)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

func reversed(b []byte) []byte {
	r := bytes.Clone(b)
	for i, v := range r {
		r[i] = bits.Reverse8(v)
	}
	return r
}

// colourMap is a palette of 256 colours, of values that a function makes of 0 to 255.
func colourMap(value func(v int) int) []int {
	var m []int
	for c := range 3 {
		for i := range 256 {
			m = append(m, value(noise(i, c, 9)))
		}
	}
	return m
}

// separated takes the samples of every channel apart.
func (f tiffFile) separated(n int) *tiffFile {
	whole := f.blocks[0]
	f.blocks = nil
	for c := range n {
		var plane []byte
		for i := c; i < len(whole); i += n {
			plane = append(plane, whole[i])
		}
		f.blocks = append(f.blocks, plane)
	}
	return f.with(map[int][]int{tagPlanar: {2}})
}

// tiffVariants are files that libtiff shows. What of them is no colour is not
// compared.
func tiffVariants() map[string]*tiffFile {
	rgb, grey, palette := variantPage(3, tiffRGB), variantPage(1, tiffBlackIsZero), variantPage(1, tiffPalette)
	wide := colourMap(func(v int) int { return v * 257 })
	palette.shorts = map[int][]int{tagColorMap: wide}
	extra := func(n, photometric int, kinds ...int) *tiffFile {
		f := variantPage(n, photometric).with(map[int][]int{tagExtraSamples: kinds})
		if photometric == tiffPalette {
			f.shorts = palette.shorts
		}
		return f
	}
	big := func(f *tiffFile) *tiffFile { f.order = binary.BigEndian; return f }
	colours := func(m []int) *tiffFile {
		f := *palette
		f.shorts = map[int][]int{tagColorMap: m}
		return &f
	}
	return map[string]*tiffFile{
		"plain":                               rgb,
		"RGB with an extra sample":            extra(4, tiffRGB, 0),
		"RGB with two extra samples":          extra(5, tiffRGB, 0, 0),
		"grey with an extra sample":           extra(2, tiffBlackIsZero, 0),
		"grey with three extra samples":       extra(4, tiffBlackIsZero, 0, 0, 0),
		"white at zero with an extra sample":  extra(2, tiffWhiteIsZero, 0),
		"planes with an extra one":            extra(4, tiffRGB, 0).separated(4),
		"tiles with an extra sample":          extra(4, tiffRGB, 0).tiled(16, 16, 4),
		"palette with an extra sample":        extra(2, tiffPalette, 0),
		"palette with two extra samples":      extra(3, tiffPalette, 0, 0),
		"palette":                             palette,
		"palette of 8 bits":                   colours(colourMap(func(v int) int { return v })),
		"palette of 16 bits":                  colours(colourMap(func(v int) int { return v*257 ^ 0x55 })),
		"counts are missing":                  rgb.with(map[int][]int{tagStripCounts: nil}),
		"old LZW":                             rgb.strips(7, tiffLZW, oldLZW),
		"old LZW in one strip":                rgb.strips(variantH, tiffLZW, oldLZW),
		"old LZW, bits in reverse":            rgb.strips(7, tiffLZW, func(b []byte) []byte { return reversed(oldLZW(b)) }).with(map[int][]int{tagFillOrder: {2}}),
		"tiles":                               func() *tiffFile { f := *rgb.tiled(16, 16, 3); f.tiles = true; return &f }(),
		"tiles in the fields of strips":       rgb.tiled(16, 16, 3),
		"tiles with strips' fields and rows":  rgb.tiled(32, 16, 3).with(map[int][]int{tagRowsPerStrip: {16}}),
		"one tile larger than the page":       rgb.tiled(2048, 1040, 3),
		"rows are missing":                    rgb.with(map[int][]int{tagRowsPerStrip: nil}),
		"more rows than the page":             rgb.with(map[int][]int{tagRowsPerStrip: {1 << 20}}),
		"colour space is missing, grey":       grey.with(map[int][]int{tagPhotometric: nil}),
		"a predictor without compression":     rgb.with(map[int][]int{tagPredictor: {2}}),
		"a predictor of floats with PackBits": rgb.strips(1, tiffPackBits, packBits).with(map[int][]int{tagPredictor: {3}}),
		"bits in reverse":                     rgb.strips(9, tiffNone, reversed).with(map[int][]int{tagFillOrder: {2}}),
		"only a reduced page":                 rgb.with(map[int][]int{tagSubfileType: {1}}),
		"CMYK":                                variantPage(4, tiffCMYK),
		"CMYK with an extra sample":           extra(5, tiffCMYK, 0),
		"big-endian planes":                   big(rgb.separated(3)),
		"the places of strips as SHORT":       &tiffFile{fields: rgb.fields, blocks: rgb.blocks, shorts: map[int][]int{tagStripOffsets: {8}, tagStripCounts: {variantW * variantH * 3}}},
	}
}

// packBits writes literal runs.
func packBits(b []byte) []byte {
	var out []byte
	for len(b) > 0 {
		n := min(len(b), 128)
		out = append(append(out, byte(n-1)), b[:n]...)
		b = b[n:]
	}
	return out
}

// What libtiff shows is what is read.
func TestPeersTIFFVariants(t *testing.T) {
	dir := t.TempDir()
	for name, f := range tiffVariants() {
		t.Run(name, func(t *testing.T) {
			writeFile(t, filepath.Join(dir, "in.tif"), f.bytes())
			got := decodeFile(t, filepath.Join(dir, "in.tif"))
			if got.Alpha() {
				t.Fatalf("%s: a sample became alpha", got.Shape)
			}
			// tiff2rgba writes what TIFFReadRGBAImage gives, with -n without alpha.
			shell(t, dir, "tiff2rgba -n -c none in.tif shown.tif 2> warnings && tifftopnm shown.tif > want 2>> warnings")
			sameColours(t, got, decodeFile(t, filepath.Join(dir, "want")))
		})
	}
}

// What is left out is said; alpha is what is said to be alpha.
func TestTIFFExtraSamples(t *testing.T) {
	const unspecified = 0
	for name, c := range map[string]struct {
		samples, photometric int
		kinds                []int
		channels             int
		from                 int // the sample that is alpha
		left                 string
	}{
		"RGB":                               {3, tiffRGB, nil, 3, 0, ""},
		"straight alpha":                    {4, tiffRGB, []int{tiffStraight}, 4, 3, ""},
		"CorelDRAW's alpha":                 {4, tiffRGB, []int{tiffStraightOther}, 4, 3, ""},
		"no meaning":                        {4, tiffRGB, []int{unspecified}, 3, 0, "4 samples per pixel of which 1"},
		"no ExtraSamples":                   {4, tiffRGB, nil, 3, 0, "4 samples per pixel of which 1"},
		"alpha behind another":              {5, tiffRGB, []int{unspecified, tiffStraight}, 4, 4, "5 samples per pixel of which 1"},
		"alpha before another":              {5, tiffRGB, []int{tiffStraight, unspecified}, 4, 3, "5 samples per pixel of which 1"},
		"two alphas":                        {5, tiffRGB, []int{tiffStraight, tiffStraight}, 4, 3, "5 samples per pixel of which 1"},
		"ten bands":                         {10, tiffRGB, nil, 3, 0, "10 samples per pixel of which 7"},
		"grey with alpha":                   {2, tiffBlackIsZero, []int{tiffStraight}, 2, 1, ""},
		"white at zero with alpha":          {2, tiffWhiteIsZero, []int{tiffStraight}, 2, 1, ""},
		"grey":                              {2, tiffBlackIsZero, []int{unspecified}, 1, 0, "2 samples per pixel of which 1"},
		"palette with alpha":                {2, tiffPalette, []int{tiffStraight}, 4, 1, ""},
		"palette with alpha behind another": {3, tiffPalette, []int{unspecified, tiffStraight}, 4, 2, "3 samples per pixel of which 1"},
		"palette":                           {2, tiffPalette, []int{unspecified}, 3, 0, "2 samples per pixel of which 1"},
		"CMYK with alpha":                   {5, tiffCMYK, []int{tiffStraight}, 4, 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := variantPage(c.samples, c.photometric)
			if c.kinds != nil {
				f = f.with(map[int][]int{tagExtraSamples: c.kinds})
			}
			f.shorts = map[int][]int{tagColorMap: colourMap(func(v int) int { return v * 257 })}
			for layout, data := range map[string][]byte{"pixels": f.bytes(), "planes": f.separated(c.samples).bytes(), "tiles": f.tiled(16, 32, c.samples).bytes()} {
				agree(t, data, nil)
				h, err := ReadHeader(data, nil)
				if err != nil {
					t.Fatal(err)
				}
				if (c.left == "") != (h.Note == "") || !strings.Contains(h.Note, c.left) {
					t.Errorf("%s: note %q, want %q", layout, h.Note, c.left)
				}
				m, err := Decode(data, nil)
				if err != nil {
					t.Fatal(err)
				}
				if m.Channels != c.channels {
					t.Fatalf("%s: %s, want %d channels", layout, m.Shape, c.channels)
				}
				for i := range variantW * variantH * min(c.from, 1) {
					want := int(f.blocks[0][i*c.samples+c.from])
					if got := m.Sample(i*m.Channels + m.Channels - 1); got != want {
						t.Fatalf("%s: alpha of pixel %d is %d, want %d", layout, i, got, want)
					}
				}
				if n := allocated(func() { _, _ = Decode(data, nil) }); n > h.DecodedBytes {
					t.Errorf("%s: %d bytes were taken, the header says %d", layout, n, h.DecodedBytes)
				}
			}
		})
	}
}

// libtiff finds missing lengths of a single strip; here those of several are found
// as well.
func TestTIFFMissingCounts(t *testing.T) {
	rgb := variantPage(3, tiffRGB)
	want, err := Decode(rgb.bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	without := map[int][]int{tagStripCounts: nil}
	for name, f := range map[string]*tiffFile{
		"strips":                   rgb.strips(5, tiffNone, asIs).with(without),
		"Deflate":                  rgb.strips(5, tiffDeflate, zlibbed).with(without),
		"PackBits":                 rgb.strips(5, tiffPackBits, packBits).with(without),
		"old LZW":                  rgb.strips(5, tiffLZW, oldLZW).with(without),
		"old LZW, bits in reverse": rgb.strips(5, tiffLZW, func(b []byte) []byte { return reversed(oldLZW(b)) }).with(without).with(map[int][]int{tagFillOrder: {2}}),
		"tiles":                    rgb.tiled(16, 16, 3).with(without),
		"planes":                   rgb.separated(3).with(without),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(f.bytes(), nil)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, want)
		})
	}
	short := rgb.with(without)
	short.blocks = [][]byte{rgb.blocks[0][:900]}
	if _, err := Decode(short.bytes(), nil); err == nil {
		t.Error("a page whose samples are not there is read")
	}
}

// Pages that are masks or reduced copies are no images of their own, unless a
// file holds nothing else.
func TestTIFFDerivedPages(t *testing.T) {
	m := pattern(4, 5, 2, 1, 8)
	pages := func(types ...uint32) []byte {
		data, err := Encode(m, "tiff")
		if err != nil {
			t.Fatal(err)
		}
		le := binary.LittleEndian
		for at, i := le.Uint32(data[4:]), 0; at != 0; i++ {
			n := uint32(le.Uint16(data[at:]))
			for j := range n {
				if e := data[at+2+12*j:]; le.Uint16(e) == tagSubfileType {
					le.PutUint32(e[8:], types[i])
				}
			}
			at = le.Uint32(data[at+2+12*n:])
		}
		return data
	}
	const page, reduced, mask = 0, 1, 4
	for name, c := range map[string]struct {
		data  []byte
		depth int
		first int // slice of m
		note  string
	}{
		"two pages":        {pages(page, page), 2, 0, ""},
		"a copy behind":    {pages(page, reduced), 1, 0, ""},
		"a copy before":    {pages(reduced, page), 1, 1, ""},
		"nothing but them": {pages(reduced, reduced), 1, 0, ""},
		"a mask":           {pages(page, mask), 1, 0, "transparency mask"},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := ReadHeader(c.data, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Decode(c.data, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.Depth != c.depth || (c.note == "") != (h.Note == "") || !strings.Contains(h.Note, c.note) {
				t.Fatalf("%s with note %q, want %d pages with %q", got.Shape, h.Note, c.depth, c.note)
			}
			same(t, got.Slice(0), m.Slice(c.first))
		})
	}
	camera := variantPage(3, tiffRGB).with(map[int][]int{tagSubfileType: {reduced}, tagSubPages: {8}})
	if _, err := Decode(camera.bytes(), nil); err == nil || !strings.Contains(err.Error(), "below that of a reduced copy") {
		t.Errorf("the preview of a camera's file is taken for its picture: %v", err)
	}
}

// Sides of tiles and numbers of samples that ask for more than they give are
// refused before memory is taken.
func TestTIFFBlocksWithinLimits(t *testing.T) {
	rgb := variantPage(3, tiffRGB)
	for name, f := range map[string]*tiffFile{
		"a tile of a gigabyte":    rgb.tiled(16, 16, 3).with(map[int][]int{tagTileWidth: {20000}, tagTileLength: {20000}}),
		"a tile beyond all sides": rgb.tiled(16, 16, 3).with(map[int][]int{tagTileWidth: {1 << 31}, tagTileLength: {1 << 31}}),
		"many samples":            rgb.with(map[int][]int{tagSamples: {65535}, tagWidth: {1000}, tagLength: {1000}}),
		"many samples in tiles":   rgb.tiled(16, 16, 3).with(map[int][]int{tagSamples: {65535}, tagWidth: {1}, tagLength: {1}, tagTileWidth: {1024}, tagTileLength: {1024}}),
	} {
		t.Run(name, func(t *testing.T) {
			data := f.bytes()
			var err error
			if n := allocated(func() { _, err = Decode(data, nil) }); n > 2<<20 || !overLimitError(err) {
				t.Errorf("%d bytes were taken, error %v", n, err)
			}
		})
	}
}
