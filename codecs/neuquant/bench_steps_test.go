package neuquant

import (
	"context"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/pool"
)

// BenchmarkSteps times the steps of a photo on one core.
func BenchmarkSteps(b *testing.B) {
	c := pool.Of(1)
	_, m := readImage(b, kodakFiles(b)[0])
	p := problem{samples: m.Pix, entries: 256, opaque: true, mapped: true}
	step := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(m.Pix)))
			for range b.N {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*p.n()), "ns/pixel")
		})
	}
	ctx := context.Background()
	step("exact", func() { p.distinct(256) })
	step("train-1", func() { train(&p, 1) })
	step("train-10", func() { train(&p, 10) })
	h := collect(c, &p)
	b.Logf("%d bins", len(h.bins))
	step("collect", func() { collect(c, &p) })
	entries := train(&p, 10)
	step("refine-6", func() {
		if err := refine(ctx, c, h, slices.Clone(entries), 6); err != nil {
			b.Fatal(err)
		}
	})
	if err := refine(ctx, c, h, entries, 6); err != nil {
		b.Fatal(err)
	}
	step("map", func() {
		if _, err := mapTo(ctx, c, &p, entries, h); err != nil {
			b.Fatal(err)
		}
	})
	for _, how := range []dither{ordered, floydSteinberg} {
		d := &paletteScope{all: p, parts: []part{{problem: p}}}
		step(how.String(), func() {
			if _, err := d.dither(ctx, c, &Options{dither: how}, m.Width, m.Height, [][]uint32{entries}, [3]uint8{}); err != nil {
				b.Fatal(err)
			}
		})
	}
}
