package jpeg2000

import (
	"bytes"
	"context"
	"errors"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/container/jp2"
	"github.com/pelmill/pelmill/raster"
)

func decodeOne(t testing.TB, file []byte, view codec.View) (*raster.Image, error) {
	t.Helper()
	d := Codec{}.DecodeView(context.Background(), codec.Run{}, [][]byte{file}, nil, view)
	return d[0].Image, d[0].Err
}

// Raw codestreams are images of their components, where those have one depth.
func TestImagesOfConformanceStreams(t *testing.T) {
	files := conformanceFiles(t)
	for name, want := range map[string]string{
		"part1/p0_01.j2k": "128 x 128, 1 x 8 bit",
		"part1/p0_03.j2k": "256 x 256, 1 x 4 bit signed",
		"part1/p0_04.j2k": "640 x 480, 3 x 8 bit",
		"part1/p0_06.j2k": "513 x 129, 4 x 12 bit", // three of the components sub-sampled
		"part1/p0_09.j2k": "17 x 37, 1 x 8 bit",
		"part1/p1_04.j2k": "1024 x 1024, 1 x 12 bit",
		"part1/p0_12.j2k": "3 x 5, 1 x 8 bit",
		"part1/p0_13.j2k": "257 components; images of 1 to 4 are decoded",
		"part1/p1_07.j2k": "",
	} {
		m, err := decodeOne(t, files[name], codec.View{})
		h, headErr := Codec{}.Header(files[name])
		if err != nil || headErr != nil {
			if err == nil || headErr == nil || err.Error() != headErr.Error() || want == "" || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, and its header %v", name, err, headErr)
			}
			continue
		}
		if want != "" && m.Shape.String() != want || h.Shape != m.Shape || h.Memory < int64(m.Size()) {
			t.Errorf("%s: %s, and its header %s, want %s", name, m.Shape, h.Shape, want)
		}
	}
}

// boxed puts boxes around the codestream of a conformance stream.
func boxed(t testing.TB, name string, change func(f *jp2.File)) []byte {
	t.Helper()
	stream := conformanceFiles(t)[name]
	h, err := Codec{}.Header(stream)
	if err != nil {
		t.Fatal(err)
	}
	f := &jp2.File{Brand: "jp2 ", Codestream: stream, Width: h.Width, Height: h.Height, Colour: jp2.Colour{Method: jp2.MethodEnumerated, Space: jp2.Greyscale}}
	if h.Channels >= 3 {
		f.Colour.Space = jp2.SRGB
	}
	for range h.Channels {
		f.Components = append(f.Components, jp2.Depth{Bits: h.Bits, Signed: h.Signed})
	}
	change(f)
	return jp2.Append(nil, f)
}

func TestPalettes(t *testing.T) {
	plain, err := decodeOne(t, conformanceFiles(t)["part1/p0_09.j2k"], codec.View{})
	if err != nil {
		t.Fatal(err)
	}
	palette := &jp2.Palette{Columns: []jp2.Depth{{Bits: 12}, {Bits: 12}, {Bits: 12}, {Bits: 1}}}
	for i := range int32(200) { // fewer than there are indices: the last entry stands for the others
		palette.Entries = append(palette.Entries, i, 4095-i, 7*i, i&1)
	}
	file := boxed(t, "part1/p0_09.j2k", func(f *jp2.File) {
		f.Colour.Space, f.Palette = jp2.SRGB, palette
		f.Mapping = []jp2.Mapping{{Component: 0, Palette: true, Column: 3}, {Component: 0, Palette: true, Column: 2}, {Component: 0, Palette: true, Column: 0}, {Component: 0, Palette: true, Column: 1}}
		f.Channels = []jp2.Channel{{Index: 0, Type: jp2.OpacityChannel}, {Index: 1, Association: 3}, {Index: 2, Association: 1}, {Index: 3, Association: 2}}
	})
	m, err := decodeOne(t, file, codec.View{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Channels != 4 || m.Bits != 12 {
		t.Fatalf("%s", m.Shape)
	}
	for i := range m.Pixels() {
		v := min(plain.Sample(i), 199)
		want := []int{v, 4095 - v, 7 * v, 4095 * (v & 1)}
		if got := []int{m.Sample(4 * i), m.Sample(4*i + 1), m.Sample(4*i + 2), m.Sample(4*i + 3)}; !slices.Equal(got, want) {
			t.Fatalf("pixel %d: %v, want %v of entry %d", i, got, want, v)
		}
	}
}

func TestColoursAndOpacity(t *testing.T) {
	plain, err := decodeOne(t, conformanceFiles(t)["part1/p0_04.j2k"], codec.View{})
	if err != nil {
		t.Fatal(err)
	}
	swapped, err := decodeOne(t, boxed(t, "part1/p0_04.j2k", func(f *jp2.File) {
		f.Channels = []jp2.Channel{{Index: 0, Association: 3}, {Index: 1, Association: 2}, {Index: 2, Association: 1}}
	}), codec.View{})
	if err != nil {
		t.Fatal(err)
	}
	sycc, err := decodeOne(t, boxed(t, "part1/p0_04.j2k", func(f *jp2.File) { f.Colour.Space = jp2.SYCC }), codec.View{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < plain.Samples(); i += 3 {
		r, g, b := plain.Sample(i), plain.Sample(i+1), plain.Sample(i+2)
		if swapped.Sample(i) != b || swapped.Sample(i+1) != g || swapped.Sample(i+2) != r {
			t.Fatalf("sample %d is not swapped", i)
		}
		y, cb, cr := float64(r), float64(g-128), float64(b-128)
		for c, want := range []float64{y + 1.402*cr, y - 0.344136*cb - 0.714136*cr, y + 1.772*cb} {
			if d := float64(sycc.Sample(i+c)) - min(max(want, 0), 255); d > 0.51 || d < -0.51 {
				t.Fatalf("sample %d of sYCC: %d, want %.2f", i+c, sycc.Sample(i+c), want)
			}
		}
	}
	for name, change := range map[string]func(f *jp2.File){
		"premultiplied":   func(f *jp2.File) { f.Channels = []jp2.Channel{{Index: 0, Type: jp2.PremultipliedChannel}} },
		"colour space 12": func(f *jp2.File) { f.Colour.Space = 12 },
		`colour space "CMYK"`: func(f *jp2.File) {
			f.Colour = jp2.Colour{Method: jp2.MethodICC, ICC: []byte("................CMYK....")}
		},
		"names no channel":         func(f *jp2.File) { f.Channels = []jp2.Channel{{Index: 0, Association: 1}} },
		"3 components for 1 color": func(f *jp2.File) { f.Colour.Space = jp2.Greyscale },
		"the boxes are of":         func(f *jp2.File) { f.Width++ },
	} {
		if _, err := decodeOne(t, boxed(t, "part1/p0_04.j2k", change), codec.View{}); err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(name, " for 1 color")) && name != "names no channel" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAttributesOfBoxes(t *testing.T) {
	density := raster.Density{X: 300, Y: 150, Unit: raster.Inch}
	m, err := decodeOne(t, boxed(t, "part1/p0_12.j2k", func(f *jp2.File) {
		f.Colour = jp2.Colour{Method: jp2.MethodICC, ICC: []byte("a profile of nobody knows what")}
		f.EXIF, f.XMP = []byte("MM\x00*"), []byte("<x/>")
		f.Resolution, _ = jp2.NewResolution(density)
	}), codec.View{})
	if err != nil {
		t.Fatal(err)
	}
	if string(m.Meta.ICC) != "a profile of nobody knows what" || string(m.Meta.EXIF) != "MM\x00*" || string(m.Meta.XMP) != "<x/>" || m.Meta.Density != density {
		t.Errorf("%+v", m.Meta)
	}
}

// A view is a part of the image at its resolution, of sub-sampled components and palettes
// too.
func TestViews(t *testing.T) {
	files := conformanceFiles(t)
	for _, name := range []string{"part1/p0_01.j2k", "part1/p0_06.j2k", "part1/p1_05.j2k", "ht/ds0_ht_04_b11.j2k"} {
		h, err := Codec{}.Header(files[name])
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 1))
		for k := range min(3, h.Resolutions) {
			all, err := decodeOne(t, files[name], codec.View{Reduce: k})
			if err != nil {
				t.Fatalf("%s at 1/%d: %v", name, 1<<k, err)
			}
			lo := image.Pt(r.IntN(h.Width), r.IntN(h.Height))
			view := codec.View{Reduce: k, Region: image.Rectangle{Min: lo, Max: lo.Add(image.Pt(1<<k+r.IntN(300), 1<<k+r.IntN(300)))}}
			area, err := view.In(h.Shape, h.Resolutions)
			if err != nil {
				t.Fatal(err)
			}
			got, err := decodeOne(t, files[name], view)
			if err != nil {
				t.Fatal(err)
			}
			if want := raster.Crop(all, area); !got.Same(want.Shape) || !bytes.Equal(got.Pix, want.Pix) {
				t.Errorf("%s: view %+v is %s and not %v of the whole", name, view, got.Shape, area)
			}
			part, err := Codec{}.HeaderView(files[name], view)
			if err != nil || part.Shape != got.Shape || part.Memory > h.Memory {
				t.Errorf("%s: view %+v: header %+v (%v) for %s", name, view, part, err, got.Shape)
			}
		}
	}
}

// Cut, changed and invented files end in an error of package codec, or in some image.
func TestDamagedFiles(t *testing.T) {
	files := conformanceFiles(t)
	r := rand.New(rand.NewPCG(9, 10))
	list := [][]byte{boxed(t, "part1/p0_12.j2k", func(*jp2.File) {})}
	rounds := 400
	if testing.Short() {
		rounds = 40
	}
	for _, name := range []string{"part1/p0_09.j2k", "part1/p0_11.j2k", "part1/p0_12.j2k", "part1/p0_14.j2k", "part1/p1_01.j2k", "part1/p1_06.j2k", "part1/p1_07.j2k", "ht/ds0_ht_09_b11.j2k", "ht/ds1_ht_06_b11.j2k", "ht/ds0_ht_12_b11.j2k"} {
		list = append(list, files[name])
	}
	for _, file := range list {
		for range rounds {
			bad := bytes.Clone(file)
			switch r.IntN(3) {
			case 0:
				bad = bad[:r.IntN(len(bad))]
			case 1:
				bad[r.IntN(len(bad))] = byte(r.Uint32())
			case 2:
				bad[r.IntN(min(len(bad), 150))] ^= 1 << r.IntN(8)
			}
			checkDamaged(t, bad)
		}
	}
}

// checkDamaged decodes a file that asks for little memory.
func checkDamaged(t *testing.T, file []byte) {
	t.Helper()
	h, err := Codec{}.Header(file)
	if err == nil {
		if h.Memory > 64<<20 {
			return
		}
		_, err = decodeOne(t, file, codec.View{})
	}
	var malformed *codec.FormatError
	var unsupported *codec.UnsupportedError
	if err != nil && !errors.As(err, &malformed) && !errors.As(err, &unsupported) {
		t.Errorf("%T: %v", err, err)
	}
}

func FuzzDecode(f *testing.F) {
	if files, err := conformance(); err == nil {
		for name, data := range files {
			if !strings.HasPrefix(name, "references/") && len(data) < 5000 {
				f.Add(data)
			}
		}
		f.Add(boxed(f, "part1/p0_12.j2k", func(*jp2.File) {}))
	}
	golden, err := filepath.Glob("testdata/*.j*")
	if err != nil || len(golden) == 0 {
		f.Fatal("no golden files", err)
	}
	for _, name := range golden {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 5000 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 100000 {
			checkHostile(t, "fuzz", len(data), data)
		}
	})
}
