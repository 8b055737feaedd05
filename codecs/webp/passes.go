package webp

import (
	"context"
	"math"

	"github.com/pelmill/pelmill/codecs/pool"
)

// firstMode is the mode whose residuals make the first prices: Select, which does well
// everywhere.
const firstMode = 11

// What elements cost before any are chosen, in 1/256 bit.
const (
	firstModePrice       = 950
	firstMultiplierPrice = 3 << priceBits // of each but 0, which is free
)

// colourSteps are how far multipliers move: see the function colours.
var colourSteps = []int{16, 8, 4, 2, 1}

// chooser takes one image through the passes of a plan.
type chooser struct {
	pool   *pool.Pool
	canvas canvas
	plan   plan

	modePrices       [predictors]uint32
	multiplierPrices multiplierPrices
	hist             []uint32 // of all groups, as price left it
	tables           []uint16 // made of them
}

func newChooser(c *pool.Pool, v canvas, p plan) *chooser {
	s := &chooser{pool: c, canvas: v, plan: p}
	s.forgetModes()
	for i := range s.multiplierPrices {
		for j := range s.multiplierPrices[i] {
			s.multiplierPrices[i][j] = firstMultiplierPrice
		}
		s.multiplierPrices[i][0] = 0
	}
	return s
}

func (s *chooser) forgetModes() {
	for k := range s.modePrices {
		s.modePrices[k] = firstModePrice
	}
}

// transforms chooses modes and multipliers by one table for all tiles.
func (s *chooser) transforms(ctx context.Context) error {
	s.canvas.fill(s.plan.predictor, firstMode)
	if s.plan.predictor < s.plan.predictorMost {
		s.price(prices)
		s.predictorTiles()
	}
	for range s.plan.modePasses {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.price(prices)
		s.modes(s.plan.modeSkip)
	}
	if s.plan.colour > 0 {
		for range s.plan.colourPasses {
			if err := ctx.Err(); err != nil {
				return err
			}
			s.price(prices)
			s.colours()
		}
	}
	return nil
}

// predictorTiles chooses modes for tiles of the largest size of the plan or, as long as
// modes and residuals then have less entropy, of smaller ones.
func (s *chooser) predictorTiles() {
	p := &s.plan
	least := p.predictor
	p.predictor = p.predictorMost
	bits := s.entropyOfModes()
	for p.predictor > least {
		last := s.modePrices
		s.forgetModes()
		p.predictor--
		b := s.entropyOfModes()
		if b > bits {
			p.predictor++
			s.modePrices = last
			s.modes(1)
			break
		}
		bits = b
	}
	p.group = max(p.group, p.predictor)
}

// entropyOfModes makes a pass over the predictor's tiles and returns the entropy of the
// modes and of the image that they leave.
func (s *chooser) entropyOfModes() uint64 {
	counts := s.modes(1)
	bits := entropy(counts[:])
	hist := s.canvas.histograms()
	for _, p := range alphabets(len(hist)) {
		bits += entropy(hist[p[0]:p[1]])
	}
	return bits
}

// modes makes a pass over the predictor's tiles, of which it looks at every skip-th row,
// and returns how many took each mode.
func (s *chooser) modes(skip int) [predictors]uint32 {
	counts := s.canvas.predict(s.plan.predictor, skip, &s.modePrices, s.tables)
	var short [predictors]uint16
	idealPrices(counts[:], short[:])
	for k, v := range short {
		s.modePrices[k] = uint32(v)
	}
	return counts
}

// colours makes a pass over the tiles of the colour transform.
func (s *chooser) colours() {
	counts := s.canvas.recolour(s.plan.colour, s.plan.colourSkip, colourSteps, &s.multiplierPrices, s.tables)
	for i := range counts {
		idealPrices(counts[i][:], s.multiplierPrices[i][:])
	}
}

// price makes the tables of all groups from their histograms.
func (s *chooser) price(by func(hist []uint32, out []uint16)) {
	s.hist = s.canvas.histograms()
	s.tables = make([]uint16, len(s.hist))
	s.pool.Spans(len(s.hist), s.canvas.symbols(), func(lo, hi int) { by(s.hist[lo:hi], s.tables[lo:hi]) })
}

// grouping chooses groups, and with them anew modes and multipliers. It starts with
// groups of one size from the cheapest to the dearest tiles.
func (s *chooser) grouping(ctx context.Context) error {
	p := &s.plan
	w, h := s.canvas.size()
	n := p.startGroups(w, h)
	if n < 2 {
		return nil
	}
	s.price(prices)
	first, joint, by := p.groupPasses, p.joint, codePrices
	sparse := s.sparse()
	if sparse {
		first, joint, by = min(first, 3), min(joint, 1), prices
	}
	g := startGroups(s.canvas.tilePrices(p.group, s.tables), s.flatTiles(), n)
	g.bits = p.group
	counts := make([]uint32, g.n)
	for _, k := range g.of {
		counts[k]++
	}
	s.canvas.setGroups(g)
	for i := range first + joint {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i < first {
			s.price(prices)
		} else {
			s.price(by)
			s.modes(1)
			if i < first+p.jointColours {
				s.price(by)
				s.colours()
			}
			s.price(by)
		}
		var regrets []uint64
		counts, regrets = s.canvas.assign(groupPrices(counts, n), p.near, s.tables)
		if i < first+joint-1 && !sparse {
			s.dissolve(counts[:n], regrets)
		}
	}
	return nil
}

// sparse reports whether pixels have so little entropy, less than five bits, that codes of
// one bit are common. Lengths of codes say nothing about what such a symbol is worth, and
// prices nothing about what a code without bits is: passes that go by the former settle
// for flat histograms, and many passes, or groups that are dissolved, mix what costs
// nothing with the rest.
func (s *chooser) sparse() bool {
	bits := uint64(0)
	for _, p := range alphabets(len(s.hist)) {
		bits += entropy(s.hist[p[0]:p[1]])
	}
	w, h := s.canvas.size()
	return bits>>log2Bits < 5*uint64(w*h)
}

// flatTiles tells tiles that have no symbols but the commonest, if they are more than a
// few. They get a group of their own, whose codes have no bits. One pixel of another kind
// would cost all of them bits; prices cannot tell that, so the group is closed.
func (s *chooser) flatTiles() []bool {
	prices := s.canvas.tilePrices(s.plan.group, flatTable(s.hist))
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

// Prices of groups that no tile may move to: with the dearest tile they still fit into
// 32 bits. Tiles of a closed group stay there.
const (
	noGroup = math.MaxUint32 / 2
	closed  = noGroup + 1
)

// groupPrices are what it costs to say that a tile is in a group. From the n-th on they
// are closed.
func groupPrices(counts []uint32, n int) []uint32 {
	short := make([]uint16, len(counts))
	idealPrices(counts, short)
	out := make([]uint32, len(counts))
	for k, v := range short {
		switch {
		case k >= n:
			out[k] = closed
		case counts[k] == 0:
			out[k] = noGroup
		default:
			out[k] = uint32(v)
		}
	}
	return out
}

// dissolve sets the counts of groups to 0 whose codes take more bits than their tiles
// would lose elsewhere. As that is known only while all others stay, no more than an
// eighth of the groups go in a pass, the worst first.
func (s *chooser) dissolve(counts []uint32, regrets []uint64) {
	n := s.canvas.symbols()
	gain := make([]int64, len(counts))
	s.pool.Spans(len(counts), 1, func(k, _ int) {
		if counts[k] > 0 {
			gain[k] = int64(headBits(s.hist[k*n:][:n]))<<priceBits - int64(regrets[k])
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

// headBits is what the five codes of a group take.
func headBits(hist []uint32) (n int) {
	for _, p := range alphabets(len(hist)) {
		n += codeBits(codeLengths(hist[p[0]:p[1]], maxCodeLength))
	}
	return n
}
