package volume

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

var update = flag.Bool("update", false, "write the golden files")

// golden are the volumes of testdata and their codings: name.jp3d are files of this package,
// openjp3d-name.jp3d those of openjp3d 2.4.0 with corrections that README.md of codecs/jpeg2000
// names, which other software made and nothing here can write.
var golden = []struct {
	name   string
	image  *raster.Image
	coding Coding
}{
	{"z0", made(shape(45, 38, 13, 1, 8, false)), Coding{Levels: [axes]int{3, 3, 0}, BlockExp: largeBlock}},
	{"z1", made(shape(45, 38, 13, 1, 8, false)), Coding{Levels: [axes]int{3, 3, 1}, BlockExp: smallBlock}},
	{"z2", made(shape(45, 38, 13, 1, 12, false)), Coding{Levels: [axes]int{3, 3, 2}, BlockExp: smallBlock}},
	{"z3", noise(shape(19, 22, 17, 1, 8, false)), Coding{Levels: [axes]int{3, 3, 3}, BlockExp: [axes]int{3, 4, 2}}},
}

// The bytes of files never change, so that what openjp3d decoded once is decoded by it.
func TestGoldenFiles(t *testing.T) {
	for _, g := range golden {
		path := filepath.Join("testdata", g.name+".jp3d")
		got := encodeWith(t, g.image, g.coding)
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
	}
}

// What openjp3d wrote decodes to the volume that it was given.
func TestFilesOfOpenjp3d(t *testing.T) {
	for _, g := range golden {
		file, err := os.ReadFile(filepath.Join("testdata", "openjp3d-"+g.name+".jp3d"))
		if err != nil {
			t.Fatal(err)
		}
		h, err := Read(file)
		if err != nil || h.Coding != g.coding {
			t.Fatalf("%s: %+v, %v; want %+v", g.name, h.Coding, err, g.coding)
		}
		if m, err := Decode(t.Context(), pool.New(), file, 0); err != nil || !bytes.Equal(m.Pix, g.image.Pix) {
			t.Errorf("%s: not decoded as openjp3d does (%v)", g.name, err)
		}
	}
}
