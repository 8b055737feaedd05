package webp

import (
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
)

// BenchmarkSteps times the passes of the photo path on one core; a pixel is 4 bytes.
func BenchmarkSteps(b *testing.B) {
	c := pool.Of(1)
	p := transform.WithoutGreen(c, testimages.Texture(rand.New(rand.NewPCG(5, 1)), 768, 512, false))
	v := newMemoryPredictorSearch(c, p, format.Parse{})
	s := search.NewPasses(c, v, search.PredictorPlans[6])
	step := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(4 * len(p.ARGB)))
			for range b.N {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(p.ARGB)), "ns/pixel")
		})
	}
	step("fill", func() { v.SetModes(3, search.FirstMode) })
	step("histogram", func() { v.counts = nil; s.MakeTables(entropy.IdealCosts) })
	modes := make([]uint8, len(p.ARGB))
	own := s.ModeCosts
	for bits := 2; bits <= 4; bits++ {
		step("predict-"+string(rune('0'+bits)), func() {
			transform.ChooseModes(c, &p, bits, 1, &own, nil, v.costTables(s.Tables), nil, modes)
		})
	}
	v.ChooseModes(2, 1, &own, s.Tables)
	step("residuals", func() { transform.Residuals(c, &p, 2, v.mode, v.residual) })
	for _, skip := range []int{1, 4} {
		step("colours-"+string(rune('0'+skip)), func() {
			v.multipliers = transform.NewMultipliers(p.W, p.H, 5)
			transform.ChooseMultipliers(c, p.W, p.H, v.residual, skip, transform.ColourSteps, &s.MultiplierCosts, v.costTables(s.Tables), nil, v.multipliers)
		})
	}
	v.multipliers = nil
	v.ChooseMultipliers(5, 4, transform.ColourSteps, &s.MultiplierCosts, s.Tables)
	step("transform-colours", func() { v.transformColours() })
	var cost []uint32
	s.MakeTables(entropy.IdealCosts)
	step("tile-costs", func() { cost = v.TileCosts(3, s.Tables) })
	g := entropy.StartGroups(cost, make([]bool, len(cost)), 32)
	g.Bits = 3
	v.SetEntropyImage(g)
	step("histograms", func() { v.counts = nil; v.Histograms() })
	s.MakeTables(entropy.IdealCosts)
	step("cost", func() { s.MakeTables(entropy.IdealCosts) })
	step("code-cost", func() { s.MakeTables(entropy.CodeCosts) })
	step("predict-joint", func() {
		transform.ChooseModes(c, &p, 2, 1, &own, v.multipliers, v.costTables(s.Tables), nil, modes)
	})
	for _, near := range []int{7, 0} {
		step("assign-"+string(rune('0'+near)), func() { v.AssignGroups(make([]uint32, 32), near, s.Tables) })
	}
}
