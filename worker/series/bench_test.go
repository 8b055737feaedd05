package series

import (
	"context"
	"os"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/worker/series/seriestest"
)

// BenchmarkSeries prints what series of the shared volumes take as one object, and as
// slices one by one without their headers.
func BenchmarkSeries(b *testing.B) {
	for _, name := range []string{"CT_pitch", "CT_AVM", "spm152"} {
		data, err := os.ReadFile("../../../shared/data/volumes/" + name + ".nii.gz")
		if err != nil {
			b.Skip("SKIPPED: ../shared/data/volumes, which is no part of the project, is absent")
		}
		m, err := imageio.Decode(data, nil)
		if err != nil || m.Bits != 8 {
			b.Fatalf("%s: %v", name, err)
		}
		files := slicesOf(m.Depth, func(i int, f *seriestest.Made) {
			f.Width, f.Height, f.Bits, f.Allocated, f.Pixels = m.Width, m.Height, 8, 8, m.Slice(i).Pix
		})
		b.Run(name, func(b *testing.B) {
			single, object := 0, 0
			c := jpeg2000.Codec{}
			one, _ := c.Options([]string{"container=j2k"})
			for b.Loop() {
				single, object = 0, 0
				p := Group(files)
				for _, s := range p.images[0] {
					single += len(c.Encode(context.Background(), codec.Run{}, []codec.Item{{Image: s.raster}}, one)[0].Data)
				}
				volume, _ := c.Options([]string{"container=jp3d"})
				stream := c.Encode(context.Background(), codec.Run{}, []codec.Item{{Image: p.Image(0)}}, volume)[0].Data
				file, err := p.Object([][]byte{stream})
				if err != nil {
					b.Fatal(err)
				}
				object = len(file)
			}
			b.ReportMetric(float64(len(m.Pix)), "raw-B")
			b.ReportMetric(float64(single), "slices-B")
			b.ReportMetric(float64(object), "object-B")
			if object > single {
				b.Errorf("%s: the object, headers and all, is larger than its slices without them", name)
			}
		})
	}
}
