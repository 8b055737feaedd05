package search

import (
	"context"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
)

// FirstMode is the mode whose residuals make the first prices: Select, which does well
// everywhere.
const FirstMode = 11

// What elements cost before any are chosen, in 1/256 bit.
const (
	firstModeCost       = 950
	firstMultiplierCost = 3 << entropy.CostBits // of each but 0, which is free
)

// passes takes one image through the passes of a plan.
type Passes struct {
	pool   *pool.Pool
	search PredictorSearch
	plan   PredictorPlan

	ModeCosts       [transform.ModeCount]uint32
	MultiplierCosts transform.MultiplierCosts
	counts          []uint32 // of all groups, as price left it
	Tables          []uint16 // made of them
}

func NewPasses(c *pool.Pool, v PredictorSearch, p PredictorPlan) *Passes {
	s := &Passes{pool: c, search: v, plan: p}
	s.resetModeCosts()
	for i := range s.MultiplierCosts {
		for j := range s.MultiplierCosts[i] {
			s.MultiplierCosts[i][j] = firstMultiplierCost
		}
		s.MultiplierCosts[i][0] = 0
	}
	return s
}

func (s *Passes) resetModeCosts() {
	for k := range s.ModeCosts {
		s.ModeCosts[k] = firstModeCost
	}
}

// Transforms chooses modes and multipliers by one table for all tiles.
func (s *Passes) Transforms(ctx context.Context) error {
	s.search.SetModes(s.plan.Predictor, FirstMode)
	if s.plan.Predictor < s.plan.PredictorMost {
		s.MakeTables(entropy.IdealCosts)
		s.predictorTiles()
	}
	for range s.plan.ModePasses {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.MakeTables(entropy.IdealCosts)
		s.modes(s.plan.ModeSkip)
	}
	if s.plan.Colour > 0 {
		for range s.plan.ColourPasses {
			if err := ctx.Err(); err != nil {
				return err
			}
			s.MakeTables(entropy.IdealCosts)
			s.colours()
		}
	}
	return nil
}

// predictorTiles chooses modes for tiles of the largest size of the plan or, as long as
// modes and residuals then have less entropy, of smaller ones.
func (s *Passes) predictorTiles() {
	p := &s.plan
	least := p.Predictor
	p.Predictor = p.PredictorMost
	bits := s.entropyOfModes()
	for p.Predictor > least {
		last := s.ModeCosts
		s.resetModeCosts()
		p.Predictor--
		b := s.entropyOfModes()
		if b > bits {
			p.Predictor++
			s.ModeCosts = last
			s.modes(1)
			break
		}
		bits = b
	}
	p.Group = max(p.Group, p.Predictor)
}

// entropyOfModes makes a pass over the predictor's tiles and returns the entropy of the
// modes and of the image that they leave.
func (s *Passes) entropyOfModes() uint64 {
	counts := s.modes(1)
	bits := entropy.IdealBits(counts[:])
	hist := s.search.Histograms()
	for _, p := range format.WrittenAlphabets(len(hist)) {
		bits += entropy.IdealBits(hist[p[0]:p[1]])
	}
	return bits
}

// modes makes a pass over the predictor's tiles, of which it looks at every skip-th row,
// and returns how many took each mode.
func (s *Passes) modes(skip int) [transform.ModeCount]uint32 {
	counts := s.search.ChooseModes(s.plan.Predictor, skip, &s.ModeCosts, s.Tables)
	var short [transform.ModeCount]uint16
	entropy.AlphabetCosts(counts[:], short[:])
	for k, v := range short {
		s.ModeCosts[k] = uint32(v)
	}
	return counts
}

// colours makes a pass over the tiles of the colour transform.
func (s *Passes) colours() {
	counts := s.search.ChooseMultipliers(s.plan.Colour, s.plan.ColourSkip, transform.ColourSteps, &s.MultiplierCosts, s.Tables)
	for i := range counts {
		entropy.AlphabetCosts(counts[i][:], s.MultiplierCosts[i][:])
	}
}

// MakeTables makes the tables of all groups from their histograms.
func (s *Passes) MakeTables(by func(hist []uint32, out []uint16)) {
	s.counts = s.search.Histograms()
	s.Tables = make([]uint16, len(s.counts))
	s.pool.Spans(len(s.counts), s.search.Symbols(), func(lo, hi int) { by(s.counts[lo:hi], s.Tables[lo:hi]) })
}

// grouping chooses groups, and with them anew modes and multipliers. It starts with
// groups of one size from the cheapest to the dearest tiles.
func (s *Passes) grouping(ctx context.Context) error {
	p := &s.plan
	w, h := s.search.Size()
	n := p.startGroups(w, h)
	if n < 2 {
		return nil
	}
	s.MakeTables(entropy.IdealCosts)
	first, joint, by := p.GroupPasses, p.Joint, entropy.CodeCosts
	sparse := s.sparse()
	if sparse {
		first, joint, by = min(first, 3), min(joint, 1), entropy.IdealCosts
	}
	g := entropy.StartGroups(s.search.TileCosts(p.Group, s.Tables), s.flatTiles(), n)
	g.Bits = p.Group
	counts := make([]uint32, g.Groups)
	for _, k := range g.Group {
		counts[k]++
	}
	s.search.SetEntropyImage(g)
	for i := range first + joint {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i < first {
			s.MakeTables(entropy.IdealCosts)
		} else {
			s.MakeTables(by)
			s.modes(1)
			if i < first+p.JointColours {
				s.MakeTables(by)
				s.colours()
			}
			s.MakeTables(by)
		}
		var regrets []uint64
		counts, regrets = s.search.AssignGroups(entropy.GroupCosts(counts, n), p.Near, s.Tables)
		if i < first+joint-1 && !sparse {
			s.giveUpGroups(counts[:n], regrets)
		}
	}
	return nil
}

// sparse reports whether pixels have so little entropy, less than five bits, that codes of
// one bit are common. Lengths of codes say nothing about what such a symbol is worth, and
// prices nothing about what a code without bits is: passes that go by the former settle
// for flat histograms, and many passes, or groups that are dissolved, mix what costs
// nothing with the rest.
func (s *Passes) sparse() bool {
	bits := uint64(0)
	for _, p := range format.WrittenAlphabets(len(s.counts)) {
		bits += entropy.IdealBits(s.counts[p[0]:p[1]])
	}
	w, h := s.search.Size()
	return bits>>entropy.Log2Bits < 5*uint64(w*h)
}

// flatTiles tells tiles that have no symbols but the commonest, if they are more than a
// few. They get a group of their own, whose codes have no bits. One pixel of another kind
// would cost all of them bits; prices cannot tell that, so the group is closed.
func (s *Passes) flatTiles() []bool {
	prices := s.search.TileCosts(s.plan.Group, entropy.CommonestFree(s.counts))
	flat := make([]bool, len(prices))
	n := 0
	for i, v := range prices {
		if flat[i] = v == 0; flat[i] {
			n++
		}
	}
	if n < leastFlat {
		clear(flat)
	}
	return flat
}

const leastFlat = 8

// giveUpGroups sets the counts of groups to 0 whose codes take more bits than their tiles
// would lose elsewhere. As that is known only while all others stay, no more than an
// eighth of the groups go in a pass, the worst first.
func (s *Passes) giveUpGroups(counts []uint32, regrets []uint64) {
	n := s.search.Symbols()
	gain := make([]int64, len(counts))
	s.pool.Spans(len(counts), 1, func(k, _ int) {
		if counts[k] > 0 {
			gain[k] = int64(codeLengthsBits(s.counts[k*n:][:n]))<<entropy.CostBits - int64(regrets[k])
		}
	})
	for range (len(counts) + 7) / 8 {
		worst := 0
		for k, g := range gain {
			if g > gain[worst] {
				worst = k
			}
		}
		if gain[worst] <= 0 {
			return
		}
		counts[worst], gain[worst] = 0, 0
	}
}

// codeLengthsBits is what the five codes of a group take.
func codeLengthsBits(hist []uint32) (n int) {
	for _, p := range format.WrittenAlphabets(len(hist)) {
		n += bitstream.CodeLengthBits(bitstream.CodeLengths(hist[p[0]:p[1]], bitstream.MaxCodeLength))
	}
	return n
}
