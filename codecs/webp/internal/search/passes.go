package search

import (
	"context"
	"slices"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
)

// FirstMode is the predictor mode whose residuals make the first cost tables: Select (RFC
// 9649, 3.5.1), which does well everywhere.
const FirstMode = 11

// Costs before any modes and multipliers are chosen, in 1/256 bit. A mode costs near log2 of
// the 14 modes, 975, and a multiplier other than 0 costs 3 bits; the history does not say
// how both were found.
const (
	firstModeCost       = 950
	firstMultiplierCost = 3 << entropy.CostBits
)

// Passes takes one image through the passes of a plan. In a pass all tiles choose by the
// same costs; what they chose makes the costs for the next one.
type Passes struct {
	pool   *pool.Pool
	search PredictorSearch
	plan   PredictorPlan

	ModeCosts       [transform.ModeCount]uint32
	MultiplierCosts transform.MultiplierCosts
	counts          []uint32 // histograms of all groups, one after the other
	Tables          []uint16 // costs made of them
	lengths         []uint8  // of the codes that made the costs; nil: ideal codes did
	lengthMemory    []uint8
}

// NewPasses begins with costs that prefer no mode, and no colour transform.
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

// Transforms chooses modes and multipliers while the image has one prefix code group.
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

// predictorTiles chooses modes for tiles of the largest size of the plan, and for smaller
// ones as long as modes and residuals then have less entropy.
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

// entropyOfModes makes a pass over the predictor's tiles and returns the bits, times 65536,
// of ideal codes for the modes and for the residuals.
func (s *Passes) entropyOfModes() uint64 {
	counts := s.modes(1)
	bits := entropy.IdealBits(counts[:])
	hist := s.search.Histograms()
	for _, p := range format.WrittenAlphabets(len(hist)) {
		bits += entropy.IdealBits(hist[p[0]:p[1]])
	}
	return bits
}

// modes makes a pass over the predictor's tiles, in which every skip-th row counts, and
// returns how many tiles took each mode.
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

// MakeTables makes the cost tables of all groups from their histograms, in the memory of the
// tables before.
func (s *Passes) MakeTables(by func(hist []uint32, out []uint16)) {
	s.count()
	s.pool.Spans(len(s.counts), s.search.Symbols(), func(lo, hi int) { by(s.counts[lo:hi], s.Tables[lo:hi]) })
}

// count takes the histograms, and memory for tables.
func (s *Passes) count() {
	s.counts, s.lengths = s.search.Histograms(), nil
	s.Tables = slices.Grow(s.Tables[:0], len(s.counts))[:len(s.counts)]
}

// newLengths is memory for the lengths of the codes of all groups.
func (s *Passes) newLengths() []uint8 {
	s.lengthMemory = slices.Grow(s.lengthMemory[:0], len(s.counts))[:len(s.counts)]
	return s.lengthMemory
}

// makeCodeTables is MakeTables by the lengths of prefix codes, which it keeps.
func (s *Passes) makeCodeTables() {
	s.count()
	s.lengths = s.newLengths()
	s.pool.Spans(len(s.counts), s.search.Symbols(), func(lo, hi int) {
		entropy.CodeCostsAndLengths(s.counts[lo:hi], s.Tables[lo:hi], s.lengths[lo:hi])
	})
}

// grouping chooses the group of each tile, and modes and multipliers anew by the costs of
// the groups. The tiles begin in groups of equal size, ordered by what they cost.
func (s *Passes) grouping(ctx context.Context) error {
	p := &s.plan
	w, h := s.search.Size()
	n := p.startGroups(w, h)
	if n < 2 {
		return nil
	}
	s.MakeTables(entropy.IdealCosts)
	first, joint, makeTables := p.GroupPasses, p.Joint, s.makeCodeTables
	sparse := s.sparse()
	if sparse {
		first, joint = min(first, sparseGroupPasses), min(joint, sparseJoint)
		makeTables = func() { s.MakeTables(entropy.IdealCosts) }
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
			makeTables()
			s.modes(1)
			if i < first+p.JointColours {
				makeTables()
				s.colours()
			}
			makeTables()
		}
		var regrets []uint64
		counts, regrets = s.search.AssignGroups(entropy.GroupCosts(counts, n), p.Near, s.Tables)
		if i < first+joint-1 && !sparse {
			s.giveUpGroups(counts[:n], regrets)
		}
	}
	return nil
}

// Pixels of less than sparseBits bits have so little entropy that codes of one bit are
// common. The length of such a code does not say what its symbol is worth: passes that go by
// it made files of such images up to 18 % larger. So ideal costs are taken throughout, with
// fewer passes, and no group is given up, because tiles that cost nothing would mix with the
// rest. The history does not say how the three numbers were found.
const (
	sparseBits        = 5
	sparseGroupPasses = 3
	sparseJoint       = 1
)

// sparse reports whether the residuals have less than sparseBits bits a pixel.
func (s *Passes) sparse() bool {
	bits := uint64(0)
	for _, p := range format.WrittenAlphabets(len(s.counts)) {
		bits += entropy.IdealBits(s.counts[p[0]:p[1]])
	}
	w, h := s.search.Size()
	return bits>>entropy.Log2Bits < sparseBits*uint64(w*h)
}

// flatTiles says which tiles have only the commonest symbol of each alphabet, if there are
// leastFlat of them. They get a group of their own, whose codes have no bits. A single other
// pixel in that group would cost all of its pixels bits, which no cost table can say, so the
// group is closed to other tiles: a mosaic of twelve photographs with black borders came out
// 16 % larger at effort 9 than at effort 6 without this, and 0.5 % smaller with it.
func (s *Passes) flatTiles() []bool {
	costs := s.search.TileCosts(s.plan.Group, entropy.CommonestFree(s.counts))
	flat := make([]bool, len(costs))
	n := 0
	for i, v := range costs {
		if flat[i] = v == 0; flat[i] {
			n++
		}
	}
	if n < leastFlat {
		clear(flat)
	}
	return flat
}

// leastFlat is how many flat tiles are worth a group of their own, whose five codes take 4 or
// 11 bits each. The history has no measurement of it.
const leastFlat = 8

// giveUpGroups sets the counts of groups to 0 whose codes take more bits than their tiles
// would lose in the next best groups, which is their regret. The regrets hold only while all
// other groups stay, so no more than an eighth of the groups go in a pass, those first whose
// end saves most.
//
// Codes are made, and the best descriptions of these looked for, only of groups that may be
// next by the most that they can take: most groups lose more than that.
func (s *Passes) giveUpGroups(counts []uint32, regrets []uint64) {
	n := s.search.Symbols()
	lengths := s.lengths // or of the codes of groups that were looked at closer
	gain := func(k, step int) int64 {
		if counts[k] == 0 {
			return 0
		}
		hist := s.counts[k*n:][:n]
		bits := 0
		for _, p := range format.WrittenAlphabets(n) {
			if step == 0 {
				bits += bitstream.MostCodeLengthBits(hist[p[0]:p[1]])
				continue
			}
			if lengths == nil {
				lengths = s.newLengths()
			}
			of := lengths[k*n:][p[0]:p[1]]
			if step == 1 {
				if s.lengths == nil {
					bitstream.SetCodeLengths(of, hist[p[0]:p[1]], bitstream.MaxCodeLength)
				}
				bits += bitstream.UsualLengthBits(of)
			} else {
				bits += bitstream.CodeLengthBits(of)
			}
		}
		return int64(bits)<<entropy.CostBits - int64(regrets[k])
	}
	for _, k := range largestGains(len(counts), (len(counts)+7)/8, codeBitsSteps, gain) {
		counts[k] = 0
	}
}

// codeBitsSteps is in how many steps giveUpGroups finds out how many bits the descriptions of the codes of a group take: each
// takes longer than the one before and is closer, none gives too few, and the last is exact.
const codeBitsSteps = 3

// largestGains returns up to n of the places below size with the largest gains above 0, the
// largest first and of equal ones the first. gain gives no less than the gain of a place
// in each of some steps, in the last one the gain itself, and is asked for a further step only where
// the place may be the next.
func largestGains(size, n, steps int, gain func(k, step int) int64) (list []int) {
	most, step := make([]int64, size), make([]int, size)
	for k := range most {
		most[k] = gain(k, 0)
	}
	for len(list) < n {
		next := 0
		for k, g := range most {
			if g > most[next] {
				next = k
			}
		}
		if most[next] <= 0 {
			break
		}
		if step[next]++; step[next] < steps {
			most[next] = gain(next, step[next])
			continue
		}
		list = append(list, next)
		most[next] = 0
	}
	return list
}
