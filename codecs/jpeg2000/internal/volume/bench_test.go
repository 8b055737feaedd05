package volume

import (
	"fmt"
	"testing"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// BenchmarkPaper prints what the tables of Cornelis, Lemeire, Bruylants and Schelkens,
// Heterogeneous Acceleration of Volumetric JPEG 2000, hold for volumes, with one goroutine ("seq")
// and with all: one level of the transform (IV), Tier-1 by samples of a code-block (V), and
// lossless encoding (VI) and decoding (VII) with code-blocks of 4096 samples. Their volumes
// are not to be had: this one has the size of mri_ventricles.
func BenchmarkPaper(b *testing.B) {
	m := made(raster.Shape{Width: 256, Height: 256, Depth: 124, Channels: 1, Bits: 8})
	blocks := map[int][axes]int{1 << 12: {5, 5, 2}, 1 << 10: {4, 4, 2}}
	for _, who := range []string{"seq", "all"} {
		p := pool.New()
		if who == "seq" {
			p = pool.Of(1)
		}
		measure := func(name string, f func()) {
			b.Run(name+"/"+who, func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(m.Pixels())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvoxel/s")
			})
		}
		e := newEncoder(p, m)
		one := Coding{Levels: [axes]int{1, 1, 1}, BlockExp: smallBlock}
		load(p, e.arrays, m, false)
		measure("IV transform", func() { e.arrays[0].forward(p, &one) })
		for _, n := range []int{1 << 12, 1 << 10} {
			c := Coding{Levels: [axes]int{3, 3, 3}, BlockExp: blocks[n]}
			load(p, e.arrays, m, false)
			e.arrays[0].forward(p, &c)
			measure(fmt.Sprintf("V Tier-1 of %d", n), func() {
				for _, r := range c.resolutions(e.arrays[0].size) {
					for i := range r {
						p.Each(r[i].blocks.samples(), func(k int) { e.block(&c, &coded{subband: &r[i]}, k) })
					}
				}
			})
		}
		c := Coding{Levels: [axes]int{3, 3, 3}, BlockExp: smallBlock}
		file := encodeWith(b, m, c)
		measure("VI encode", func() {
			if _, err := newEncoder(p, m).encode(b.Context(), &c); err != nil {
				b.Fatal(err)
			}
		})
		measure("VII decode", func() {
			if _, err := Decode(b.Context(), p, file, 0); err != nil {
				b.Fatal(err)
			}
		})
	}
}
