package imageio

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	segments "github.com/pelmill/pelmill/internal/container/jpeg"
	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/internal/container/webp"
	"github.com/pelmill/pelmill/raster"
)

// What PNG and NIfTI files can hold comes back from files that we write.
func TestAttributesComeBack(t *testing.T) {
	icc := []byte("profile")
	for name, c := range map[string]struct {
		format string
		m      *raster.Image
		meta   raster.Meta
	}{
		"png": {"png", raster.New(3, 2, 1, 3, 8), raster.Meta{
			ICC: icc, XMP: []byte("<x/>"), Density: raster.Density{X: 11811, Y: 5906, Unit: raster.Metre},
			Text: []raster.Text{{Key: "Author", Value: "somebody"}, {Key: "Title", Value: "Überschrift"}, {Key: "Latin", Value: "\xdcber"}},
		}},
		"png, aspect only": {"png", raster.New(3, 2, 1, 1, 16), raster.Meta{Density: raster.Density{X: 2, Y: 1}}},
		"nifti": {"nii", raster.New(3, 2, 4, 1, 16), raster.Meta{
			Spacing: [3]float64{0.5, 0.25, 3}, Geometry: slices.Repeat([]byte{1, 0, 2, 0}, raster.NIfTIGeometry/4),
		}},
	} {
		c.m.Meta = c.meta
		file, err := Encode(c.m, c.format)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := Decode(file, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if lost, added := c.m.Meta.Lost(&got.Meta), got.Meta.Lost(&c.m.Meta); lost != nil || added != nil {
			t.Errorf("%s: lost are %q, new are %q: %+v", name, lost, added, got.Meta)
		}
	}
}

// insert puts bytes into a file.
func insert(file []byte, at int, more ...string) []byte {
	return slices.Concat(file[:at], []byte(strings.Join(more, "")), file[at:])
}

// segment is a JPEG segment with its marker and length.
func segment(marker byte, body string) string {
	return string(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(2+len(body)))) + body
}

func TestAttributesOfFormats(t *testing.T) {
	var jpg, g, p bytes.Buffer
	grey := image.NewGray(image.Rect(0, 0, 8, 8))
	if err := jpeg.Encode(&jpg, grey, nil); err != nil {
		t.Fatal(err)
	}
	if err := gif.Encode(&g, image.NewPaletted(grey.Rect, color.Palette{color.Black, color.White}), nil); err != nil {
		t.Fatal(err)
	}
	file, err := Encode(raster.New(2, 2, 1, 1, 8), "png")
	if err != nil {
		t.Fatal(err)
	}
	p.Write(file)
	zipped, err := deflated(bytes.Repeat([]byte("a"), textLimit+1))
	if err != nil {
		t.Fatal(err)
	}
	jfif := func(unit byte, x, y byte) string {
		return segment(0xe0, "JFIF\x00\x01\x02"+string([]byte{unit, 0, x, 0, y, 0, 0}))
	}
	gifStart := 13 + 3*2 // header, screen descriptor, two colours
	comment := "\x21\xfe\x05hello\x00"
	for name, c := range map[string]struct {
		file []byte
		want raster.Meta
		note string
	}{
		"jpeg, XMP":             {insert(jpg.Bytes(), 2, segment(0xe1, segments.XMP+"<x/>")), raster.Meta{XMP: []byte("<x/>")}, ""},
		"jpeg, 72 to the inch":  {insert(jpg.Bytes(), 2, jfif(1, 72, 72)), raster.Meta{Density: raster.Density{X: 72, Y: 72, Unit: raster.Inch}}, ""},
		"jpeg, centimetres":     {insert(jpg.Bytes(), 2, jfif(2, 30, 40)), raster.Meta{Density: raster.Density{X: 30, Y: 40, Unit: raster.Centimetre}}, ""},
		"jpeg, no density":      {insert(jpg.Bytes(), 2, jfif(0, 1, 1)), raster.Meta{}, ""},
		"jpeg, aspect":          {insert(jpg.Bytes(), 2, jfif(0, 1, 2)), raster.Meta{Density: raster.Density{X: 1, Y: 2}}, ""},
		"jpeg, density of zero": {insert(jpg.Bytes(), 2, jfif(1, 0, 0)), raster.Meta{}, ""},
		"gif, profile":          {insert(g.Bytes(), gifStart, "\x21\xff\x0bICCRGBG1012\x03pro\x04file\x00"), raster.Meta{ICC: []byte("profile")}, ""},
		"jpeg, comments":        {insert(jpg.Bytes(), 2, segment(0xfe, "one")+segment(0xfe, "two\x00")+segment(0xfe, "")), raster.Meta{Text: []raster.Text{{Key: "Comment", Value: "one"}, {Key: "Comment", Value: "two"}}}, ""},
		"jpeg, many comments":   {insert(jpg.Bytes(), 2, strings.Repeat(segment(0xfe, "x"), 20000)), raster.Meta{Text: slices.Repeat([]raster.Text{{Key: "Comment", Value: "x"}}, textLimit/(textCost+1))}, "texts"},
		"jpeg, many densities":  {insert(jpg.Bytes(), 2, strings.Repeat(jfif(1, 72, 72), 20000)), raster.Meta{Density: raster.Density{X: 72, Y: 72, Unit: raster.Inch}}, ""},
		"gif, comment":          {insert(g.Bytes(), gifStart, comment), raster.Meta{Text: []raster.Text{{Key: "Comment", Value: "hello"}}}, ""},
		"png, a bomb of text":   {slices.Concat(p.Bytes()[:33], png.Append(nil, "zTXt", append([]byte("Title\x00\x00"), zipped...)), p.Bytes()[33:]), raster.Meta{}, ""},
		"png, much text": {slices.Concat(p.Bytes()[:33], png.Append(nil, "tEXt", append([]byte("Title\x00"), make([]byte, textLimit+1)...)), p.Bytes()[33:]),
			raster.Meta{}, "texts"},
	} {
		m, err := Decode(c.file, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n := allocated(func() { _, _ = ReadHeader(c.file, nil) }); n > 2<<20 {
			t.Errorf("%s: ReadHeader took %d bytes", name, n)
		}
		h, err := ReadHeader(c.file, nil)
		if err != nil || !strings.Contains(h.Note, c.note) || c.note == "" && h.Note != "" {
			t.Errorf("%s: note %q, want %q (%v)", name, h.Note, c.note, err)
		}
		var names []string
		for _, a := range c.want.Attributes() {
			names = append(names, a.Name)
		}
		if !slices.Equal(names, h.Attributes) && name != "png, a bomb of text" {
			t.Errorf("%s: the header has the attributes %q, want %q", name, h.Attributes, names)
		}
		if lost, added := c.want.Lost(&m.Meta), m.Meta.Lost(&c.want); lost != nil || added != nil {
			t.Errorf("%s: lost are %q, new are %q: %+v", name, lost, added, m.Meta)
		}
	}
}

// What ImageMagick writes beside the samples is read from every format that has a
// place for it.
func TestPeersAttributes(t *testing.T) {
	dir := t.TempDir()
	line := "convert -size 4x3 xc:red -density 300x150 -units PixelsPerInch -set comment hello "
	shell(t, dir, line+"out.tiff && "+line+"out.jpg && "+line+"out.png && "+line+"out.gif")
	inches := raster.Density{X: 300, Y: 150, Unit: raster.Inch}
	for name, want := range map[string]raster.Meta{
		"out.tiff": {Density: inches, Text: []raster.Text{{Key: "ImageDescription", Value: "hello"}}},
		"out.jpg":  {Density: inches, Text: []raster.Text{{Key: "Comment", Value: "hello"}}},
		"out.gif":  {Text: []raster.Text{{Key: "Comment", Value: "hello"}}},
	} {
		m := decodeFile(t, filepath.Join(dir, name))
		for _, lost := range want.Lost(&m.Meta) {
			t.Errorf("%s: lost is %s: %+v", name, lost, m.Meta)
		}
	}
	if d := decodeFile(t, filepath.Join(dir, "out.png")).Meta.Density; d.Unit != raster.Metre || math.Round(d.X*0.0254) != 300 || math.Round(d.Y*0.0254) != 150 {
		t.Errorf("out.png: density %+v", d)
	}
}

func TestWebPKeepsXMP(t *testing.T) {
	good := goodFiles(t)["lossless.webp"]
	picture, ok := webp.Find(good, "VP8L")
	shape := decode(t, good).Shape
	if !ok {
		t.Fatal("no picture")
	}
	file := webpFile("VP8X", webp.Extended(webp.FlagXMP, shape.Width, shape.Height), "VP8L", picture.Body, "XMP ", []byte("<x/>"))
	if got := decode(t, file).Meta.XMP; string(got) != "<x/>" {
		t.Errorf("XMP %q", got)
	}
}

func decode(t *testing.T, file []byte) *raster.Image {
	t.Helper()
	m, err := Decode(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The scale of the values is not applied, and the header says so.
func TestNIfTIScale(t *testing.T) {
	file, err := Encode(raster.New(2, 2, 2, 1, 16), "nii")
	if err != nil {
		t.Fatal(err)
	}
	if h, err := ReadHeader(file, nil); err != nil || h.Note != "" {
		t.Errorf("note %q (%v)", h.Note, err)
	}
	binary.LittleEndian.PutUint32(file[112:], math.Float32bits(2.5))
	if h, err := ReadHeader(file, nil); err != nil || !strings.Contains(h.Note, "times 2.5 plus 0") {
		t.Errorf("note %q (%v)", h.Note, err)
	}
}
