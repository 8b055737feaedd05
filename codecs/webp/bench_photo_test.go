package webp

import (
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/pool"
)

// BenchmarkSteps times the passes of the photo path on one core; a pixel is 4 bytes.
func BenchmarkSteps(b *testing.B) {
	c := pool.Of(1)
	p := withoutGreen(c, texture(rand.New(rand.NewPCG(5, 1)), 768, 512, false))
	v := newCPUCanvas(c, p, parse{})
	s := newChooser(c, v, plans[6])
	step := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(4 * len(p.argb)))
			for range b.N {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(p.argb)), "ns/pixel")
		})
	}
	step("fill", func() { v.fill(3, firstMode) })
	step("histogram", func() { s.price(prices) })
	modes := make([]uint8, len(p.argb))
	own := s.modePrices
	for bits := 2; bits <= 4; bits++ {
		step("predict-"+string(rune('0'+bits)), func() {
			predict(c, &p, bits, 1, &own, nil, v.pricing(s.tables), nil, modes)
		})
	}
	v.predict(2, 1, &own, s.tables)
	step("residuals", func() { residuals(c, &p, 2, v.mode, v.residual) })
	for _, skip := range []int{1, 4} {
		step("colours-"+string(rune('0'+skip)), func() {
			v.multipliers = newMultipliers(p.w, p.h, 5)
			colours(c, p.w, p.h, v.residual, skip, colourSteps, &s.multiplierPrices, v.pricing(s.tables), nil, v.multipliers)
		})
	}
	v.multipliers = nil
	v.recolour(5, 4, colourSteps, &s.multiplierPrices, s.tables)
	step("transform-colours", func() { v.transformColours() })
	var price []uint32
	s.price(prices)
	step("tile-prices", func() { price = v.tilePrices(3, s.tables) })
	g := startGroups(price, make([]bool, len(price)), 32)
	g.bits = 3
	v.setGroups(g)
	step("histograms", func() { v.histograms() })
	s.price(prices)
	step("price", func() { s.price(prices) })
	step("code-price", func() { s.price(codePrices) })
	step("predict-joint", func() {
		predict(c, &p, 2, 1, &own, v.multipliers, v.pricing(s.tables), nil, modes)
	})
	for _, near := range []int{7, 0} {
		step("assign-"+string(rune('0'+near)), func() { v.assign(make([]uint32, 32), near, s.tables) })
	}
}
