package jpeg2000_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/raster"
)

// BenchmarkSizes prints the bytes of our files of graphics of less than 1.2 million pixels,
// without their opacity, at each effort.
func BenchmarkSizes(b *testing.B) {
	images := graphics(b)
	for _, effort := range []string{"fast", "default", "best"} {
		o, err := jpeg2000.Codec{}.Options([]string{"effort=" + effort})
		if err != nil {
			b.Fatal(err)
		}
		sum := 0
		for _, e := range (jpeg2000.Codec{}).Encode(context.Background(), codec.Run{}, codec.Items(images...), o) {
			if e.Err != nil {
				b.Fatal(e.Err)
			}
			sum += len(e.Data)
		}
		fmt.Printf("graphics %3d images  effort=%-8s %10d bytes\n", len(images), effort, sum)
	}
}

func read(b *testing.B, folder, name string) *raster.Image {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", folder, name))
	if err != nil {
		b.Skipf("NOT TESTED: %v", err)
	}
	m, err := imageio.Decode(data, nil)
	if err != nil {
		b.Fatalf("%s: %v", name, err)
	}
	return m
}

func graphics(b *testing.B) []*raster.Image {
	names, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "data", "graphics", "*.png"))
	if err != nil || len(names) == 0 {
		b.Skip("NOT TESTED: the graphics are absent")
	}
	var list []*raster.Image
	for _, name := range names {
		m := read(b, "graphics", filepath.Base(name))
		if m.Pixels() >= 1_200_000 {
			continue
		}
		if m.Alpha() {
			o := raster.New(m.Width, m.Height, 1, m.Channels-1, 8)
			for i := range m.Pixels() {
				copy(o.Pix[i*o.Channels:], m.Pix[i*m.Channels:][:o.Channels])
			}
			m = o
		}
		list = append(list, m)
	}
	return list
}
