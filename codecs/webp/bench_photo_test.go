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
	v := newMemoryPredictorSearch(c, p, parse{})
	s := newPasses(c, v, predictorPlans[6])
	step := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(4 * len(p.argb)))
			for range b.N {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(p.argb)), "ns/pixel")
		})
	}
	step("fill", func() { v.setModes(3, firstMode) })
	step("histogram", func() { s.makeTables(idealCosts) })
	modes := make([]uint8, len(p.argb))
	own := s.modeCosts
	for bits := 2; bits <= 4; bits++ {
		step("predict-"+string(rune('0'+bits)), func() {
			chooseModes(c, &p, bits, 1, &own, nil, v.costTables(s.tables), nil, modes)
		})
	}
	v.chooseModes(2, 1, &own, s.tables)
	step("residuals", func() { residuals(c, &p, 2, v.mode, v.residual) })
	for _, skip := range []int{1, 4} {
		step("colours-"+string(rune('0'+skip)), func() {
			v.multipliers = newMultipliers(p.w, p.h, 5)
			chooseMultipliers(c, p.w, p.h, v.residual, skip, colourSteps, &s.multiplierCosts, v.costTables(s.tables), nil, v.multipliers)
		})
	}
	v.multipliers = nil
	v.chooseMultipliers(5, 4, colourSteps, &s.multiplierCosts, s.tables)
	step("transform-colours", func() { v.transformColours() })
	var price []uint32
	s.makeTables(idealCosts)
	step("tile-prices", func() { price = v.tileCosts(3, s.tables) })
	g := startGroups(price, make([]bool, len(price)), 32)
	g.bits = 3
	v.setEntropyImage(g)
	step("histograms", func() { v.histograms() })
	s.makeTables(idealCosts)
	step("price", func() { s.makeTables(idealCosts) })
	step("code-price", func() { s.makeTables(codeCosts) })
	step("predict-joint", func() {
		chooseModes(c, &p, 2, 1, &own, v.multipliers, v.costTables(s.tables), nil, modes)
	})
	for _, near := range []int{7, 0} {
		step("assign-"+string(rune('0'+near)), func() { v.assignGroups(make([]uint32, 32), near, s.tables) })
	}
}
