package jpeg2000

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

var update = flag.Bool("update", false, "write the golden files")

// golden are the files of testdata: every mode, container and effort, with and without loss,
// of small images. The extension is that of the options.
var golden = []struct {
	name  string
	shape raster.Shape
	pairs string
}{
	{"default", shape(45, 38, 3, 8, false), ""},
	{"fast", shape(45, 38, 3, 8, false), "effort=fast container=j2k"},
	{"best", shape(45, 38, 1, 12, true), "effort=best"},
	{"one", shape(1, 1, 1, 1, false), ""},
	{"opacity", shape(33, 19, 4, 16, false), "levels=2 block=16x8"},
	{"tiles", shape(45, 38, 2, 8, false), "container=j2c tile=20x17 levels=3 precincts=16x16,8x8 progression=PCRL"},
	{"layers", shape(45, 38, 3, 8, false), "container=j2k layers=3 progression=RLCP"},
	{"style", shape(45, 38, 1, 8, false), "container=j2k style=bypass+reset+termall+causal+predictable+segsym"},
	{"psnr", shape(45, 38, 3, 8, false), "psnr=38 container=j2k"},
	{"bpp", shape(45, 38, 1, 16, false), "bpp=2 container=j2k layers=2"},
	{"quality", shape(45, 38, 3, 8, false), "quality=60 wavelet=5/3 container=j2k"},
	{"volume", raster.Shape{Width: 25, Height: 18, Depth: 3, Channels: 1, Bits: 8}, ""},
	{"part10", raster.Shape{Width: 25, Height: 18, Depth: 5, Channels: 1, Bits: 8}, "container=jp3d"},
	{"ht", shape(45, 38, 3, 8, false), "mode=ht"},
	{"ht-fast", shape(45, 38, 1, 16, true), "mode=ht container=j2c effort=fast"},
	{"ht-best", shape(45, 38, 1, 12, false), "mode=ht container=j2k effort=best"},
	{"ht-tiles", shape(45, 38, 4, 8, false), "mode=ht container=j2c tile=20x17 levels=2 block=8x32"},
	{"ht-psnr", shape(45, 38, 3, 8, false), "mode=ht container=j2c psnr=38"},
	{"ht-bpp", shape(45, 38, 1, 12, false), "mode=ht container=j2c bpp=2"},
	{"ht-quality", shape(45, 38, 3, 8, false), "mode=ht container=j2c quality=60"},
}

// The bytes of files never change, with a device neither: fingerprints of results stand for
// them. "go test -update" writes the files anew where a change is the point.
func TestGoldenFiles(t *testing.T) {
	for _, g := range golden {
		o, err := Codec{}.Options(strings.Fields(g.pairs))
		if err != nil {
			t.Fatal(err)
		}
		m := pattern(g.shape)
		got := encoded(t, m, strings.Fields(g.pairs)...)
		path := filepath.Join("testdata", g.name+Codec{}.Info().With(o).Extension)
		if *update {
			if err := os.WriteFile(path, got, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			os.WriteFile(path+".got", got, 0o666)
			t.Errorf("%s: other bytes than the golden file; see %s.got", g.name, path)
		}
		back, err := decodeOne(t, want, codec.View{})
		if err != nil || back.Shape != m.Shape || !o.(*Options).Lossy() && !bytes.Equal(back.Pix, m.Pix) {
			t.Errorf("%s: comes back as %v, or changed: %v", g.name, back, err)
		}
	}
}

// A device makes the golden files too.
func TestGoldenFilesOnADevice(t *testing.T) {
	dev := gputest.Device(t, nil)
	for _, g := range golden {
		o, err := Codec{}.Options(strings.Fields(g.pairs))
		if err != nil {
			t.Fatal(err)
		}
		e := Codec{}.Encode(context.Background(), codec.Run{Device: dev}, codec.Items(pattern(g.shape)), o)[0]
		want, err := os.ReadFile(filepath.Join("testdata", g.name+Codec{}.Info().With(o).Extension))
		if err != nil || e.Err != nil || !bytes.Equal(e.Data, want) {
			t.Errorf("%s: other bytes than the golden file: %v, %v", g.name, e.Err, err)
		}
	}
}
