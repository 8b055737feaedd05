package webp

import (
	"context"

	"github.com/pelmill/pelmill/codecs/pool"
)

// firstMode is the mode whose residuals make the first prices: Select, which does well
// everywhere.
const firstMode = 11

// What elements cost before any are chosen, in 1/256 bit.
const (
	firstModeCost       = 950
	firstMultiplierCost = 3 << costBits // of each but 0, which is free
)

// passes takes one image through the passes of a plan.
type passes struct {
	pool   *pool.Pool
	search predictorSearch
	plan   predictorPlan

	modeCosts       [modeCount]uint32
	multiplierCosts multiplierCosts
	counts          []uint32 // of all groups, as price left it
	tables          []uint16 // made of them
}

func newPasses(c *pool.Pool, v predictorSearch, p predictorPlan) *passes {
	s := &passes{pool: c, search: v, plan: p}
	s.resetModeCosts()
	for i := range s.multiplierCosts {
		for j := range s.multiplierCosts[i] {
			s.multiplierCosts[i][j] = firstMultiplierCost
		}
		s.multiplierCosts[i][0] = 0
	}
	return s
}

func (s *passes) resetModeCosts() {
	for k := range s.modeCosts {
		s.modeCosts[k] = firstModeCost
	}
}

// transforms chooses modes and multipliers by one table for all tiles.
func (s *passes) transforms(ctx context.Context) error {
	s.search.setModes(s.plan.predictor, firstMode)
	if s.plan.predictor < s.plan.predictorMost {
		s.makeTables(idealCosts)
		s.predictorTiles()
	}
	for range s.plan.modePasses {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.makeTables(idealCosts)
		s.modes(s.plan.modeSkip)
	}
	if s.plan.colour > 0 {
		for range s.plan.colourPasses {
			if err := ctx.Err(); err != nil {
				return err
			}
			s.makeTables(idealCosts)
			s.colours()
		}
	}
	return nil
}

// predictorTiles chooses modes for tiles of the largest size of the plan or, as long as
// modes and residuals then have less entropy, of smaller ones.
func (s *passes) predictorTiles() {
	p := &s.plan
	least := p.predictor
	p.predictor = p.predictorMost
	bits := s.entropyOfModes()
	for p.predictor > least {
		last := s.modeCosts
		s.resetModeCosts()
		p.predictor--
		b := s.entropyOfModes()
		if b > bits {
			p.predictor++
			s.modeCosts = last
			s.modes(1)
			break
		}
		bits = b
	}
	p.group = max(p.group, p.predictor)
}

// entropyOfModes makes a pass over the predictor's tiles and returns the entropy of the
// modes and of the image that they leave.
func (s *passes) entropyOfModes() uint64 {
	counts := s.modes(1)
	bits := idealBits(counts[:])
	hist := s.search.histograms()
	for _, p := range writtenAlphabets(len(hist)) {
		bits += idealBits(hist[p[0]:p[1]])
	}
	return bits
}

// modes makes a pass over the predictor's tiles, of which it looks at every skip-th row,
// and returns how many took each mode.
func (s *passes) modes(skip int) [modeCount]uint32 {
	counts := s.search.chooseModes(s.plan.predictor, skip, &s.modeCosts, s.tables)
	var short [modeCount]uint16
	alphabetCosts(counts[:], short[:])
	for k, v := range short {
		s.modeCosts[k] = uint32(v)
	}
	return counts
}

// colours makes a pass over the tiles of the colour transform.
func (s *passes) colours() {
	counts := s.search.chooseMultipliers(s.plan.colour, s.plan.colourSkip, colourSteps, &s.multiplierCosts, s.tables)
	for i := range counts {
		alphabetCosts(counts[i][:], s.multiplierCosts[i][:])
	}
}

// makeTables makes the tables of all groups from their histograms.
func (s *passes) makeTables(by func(hist []uint32, out []uint16)) {
	s.counts = s.search.histograms()
	s.tables = make([]uint16, len(s.counts))
	s.pool.Spans(len(s.counts), s.search.symbols(), func(lo, hi int) { by(s.counts[lo:hi], s.tables[lo:hi]) })
}

// grouping chooses groups, and with them anew modes and multipliers. It starts with
// groups of one size from the cheapest to the dearest tiles.
func (s *passes) grouping(ctx context.Context) error {
	p := &s.plan
	w, h := s.search.size()
	n := p.startGroups(w, h)
	if n < 2 {
		return nil
	}
	s.makeTables(idealCosts)
	first, joint, by := p.groupPasses, p.joint, codeCosts
	sparse := s.sparse()
	if sparse {
		first, joint, by = min(first, 3), min(joint, 1), idealCosts
	}
	g := startGroups(s.search.tileCosts(p.group, s.tables), s.flatTiles(), n)
	g.bits = p.group
	counts := make([]uint32, g.groups)
	for _, k := range g.group {
		counts[k]++
	}
	s.search.setEntropyImage(g)
	for i := range first + joint {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i < first {
			s.makeTables(idealCosts)
		} else {
			s.makeTables(by)
			s.modes(1)
			if i < first+p.jointColours {
				s.makeTables(by)
				s.colours()
			}
			s.makeTables(by)
		}
		var regrets []uint64
		counts, regrets = s.search.assignGroups(groupCosts(counts, n), p.near, s.tables)
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
func (s *passes) sparse() bool {
	bits := uint64(0)
	for _, p := range writtenAlphabets(len(s.counts)) {
		bits += idealBits(s.counts[p[0]:p[1]])
	}
	w, h := s.search.size()
	return bits>>log2Bits < 5*uint64(w*h)
}

// flatTiles tells tiles that have no symbols but the commonest, if they are more than a
// few. They get a group of their own, whose codes have no bits. One pixel of another kind
// would cost all of them bits; prices cannot tell that, so the group is closed.
func (s *passes) flatTiles() []bool {
	prices := s.search.tileCosts(s.plan.group, commonestFree(s.counts))
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
func (s *passes) giveUpGroups(counts []uint32, regrets []uint64) {
	n := s.search.symbols()
	gain := make([]int64, len(counts))
	s.pool.Spans(len(counts), 1, func(k, _ int) {
		if counts[k] > 0 {
			gain[k] = int64(codeLengthsBits(s.counts[k*n:][:n]))<<costBits - int64(regrets[k])
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
	for _, p := range writtenAlphabets(len(hist)) {
		n += codeLengthBits(codeLengths(hist[p[0]:p[1]], maxCodeLength))
	}
	return n
}
