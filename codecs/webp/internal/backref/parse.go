// Package backref finds the backward references and the colour cache of an image (RFC 9649,
// 3.6.2.2 and 3.6.2.3).
//
//	Matcher, Finder    match.go            candidates: the references that may begin at a position
//	Parser.greedy      parse.go            a first parse, by fixed ideas of what pixels cost
//	Parser.Cheapest    cheapest.go         a parse that costs least, by the symbols of the one before
//	fewColours         fewcolours.go       the search in most images that describe another one
//	listed             listed.go           the same parses, of such images, with vectors
//	ChooseCache        cache.go            which pixels caches have, and the best size of the cache
//	ReferenceSearch    referencesearch.go  the steps over all pixels, in memory or on a device
//	ReferencePlans     plans.go            how much of it each effort does
package backref

import (
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// Parser chooses the backward references of one image.
type Parser struct {
	V     ReferenceSearch
	p     format.Pixels
	Hits  []uint8 // see CacheHits
	Bands []*Band
}

// Band is a range of positions that is parsed by itself. Backward references of its pixels
// may point to pixels before it, but none goes over its end.
type Band struct {
	Lo, Hi int
	Found  *FoundCandidates // what a device has found; nil: find looks for candidates
	find   *Finder
	costs  []uint32 // memory of Cheapest
	listed *listed  // nil: candidates are not listed

	// kept has the candidates of positions that were looked at. first is by position: 2
	// more than where they begin in kept, 1 where there are none, 0 where they are not
	// kept. It is nil until something is kept.
	kept  candidateStore
	first []uint32
	keeps bool // else nothing is
}

// bandPixels is the least size of a band, so that several cores parse a large image.
const bandPixels = 1 << 20

// NewParser finds out what the parses of a plan need of the image of v.
func NewParser(v ReferenceSearch, plan ReferencePlan) *Parser {
	return &Parser{V: v, p: v.Image(), Hits: v.Hits(), Bands: v.Bands(plan)}
}

// NewBands divides an image into bands of whole rows.
func NewBands(p format.Pixels) (list []*Band) {
	rows := (bandPixels + p.W - 1) / p.W
	for y := 0; y < p.H; y += rows {
		lo, hi := y*p.W, min(y+rows, p.H)*p.W
		if p.H-y < 2*rows {
			hi = p.H * p.W
		}
		list = append(list, &Band{Lo: lo, Hi: hi})
		if hi == p.H*p.W {
			break
		}
	}
	return list
}

// At returns the candidates of position i.
func (b *Band) At(i int) []Candidate {
	if b.Found != nil {
		return b.Found.at(i - b.Lo)
	}
	if !b.keeps {
		return b.find.At(i)
	}
	if b.first == nil {
		b.first = make([]uint32, b.Hi-b.Lo)
	}
	switch k := b.first[i-b.Lo]; k {
	case 0:
		out := b.find.At(i)
		if len(out) == 0 {
			b.first[i-b.Lo] = 1
		} else if at, ok := b.kept.add(out, keptCandidates*(b.Hi-b.Lo)); ok {
			b.first[i-b.Lo] = at + 2
		}
		return out
	case 1:
		return nil
	default:
		return b.kept.at(k - 2)
	}
}

// FoundCandidates are the candidates of all positions of a band, as a device has found them.
type FoundCandidates struct {
	Offsets []uint32 // where those of a position begin in list, and behind the last one where they end
	List    []Candidate
}

// at returns the candidates of position i of the band.
func (g *FoundCandidates) at(i int) []Candidate { return g.List[g.Offsets[i]:g.Offsets[i+1]] }

// Greedy parses by fixed ideas of what pixels cost: of the references at a position and at
// the next one it takes the one that saves most.
func (q *Parser) Greedy() format.Parse {
	out := format.Parse{Length: make([]uint16, len(q.p.ARGB)), Value: make([]uint32, len(q.p.ARGB))}
	q.each(func(b *Band) { b.greedy(&out, q.Hits) })
	return out
}

// each calls f for all bands, at the same time. They write to different parts of a parse.
func (q *Parser) each(f func(b *Band)) {
	q.V.Workers().Each(len(q.Bands), func(k int) { f(q.Bands[k]) })
}

func (b *Band) greedy(out *format.Parse, hits []uint8) {
	var few *fewMemory
	if b.listed != nil && b.listed.few != nil {
		few = b.listed.few.begin()
	}
	c, gain := b.bestGain(b.Lo, hits)
	for i := b.Lo; i < b.Hi; {
		var next Candidate
		more := 0
		if i+1 < b.Hi {
			next, more = b.bestGain(i+1, hits)
		}
		if gain <= 0 || more > gain {
			if few != nil {
				few.countPixel(i)
			}
			c, gain = next, more
			i++
			continue
		}
		out.SetReference(i, c.length(), c.code())
		if few != nil {
			few.countReference(c.length(), c.code())
		}
		if i += int(c.length()); i < b.Hi {
			c, gain = b.bestGain(i, hits)
		}
	}
}

// What a greedy parse takes pixels and references to cost, in bits. With the cost of cached
// pixels below that of others, effort 1 of 32 graphics came down from 2,175,206 to 2,142,304
// bytes; the history does not say how the single values were found.
const (
	equalBits     = 3  // a pixel that equals the one before
	cachedBits    = 4  // one that is in the largest colour cache
	literalBits   = 14 // any other
	referenceBits = 11 // a backward reference, besides the extra bits of its length and distance

	// weighedPixels of a reference are looked at, and the others count as equal to the one
	// before. It bounds the time for long references.
	weighedPixels = 16
)

// bestGain returns the candidate of position i that saves most, and how many bits it saves;
// none where it is 0.
func (b *Band) bestGain(i int, hits []uint8) (Candidate, int) {
	var best Candidate
	if l := b.listed; l != nil {
		g := l.best[i-b.Lo]
		return g.c, int(g.gain)
	}
	gain, saved, seen := 0, 0, 0
	for _, c := range b.At(i) {
		for ; seen < min(int(c.length()), weighedPixels); seen++ {
			switch h := hits[i+seen]; {
			case h <= 1:
				saved += equalBits
			case h <= format.MaxCacheBits:
				saved += cachedBits
			default:
				saved += literalBits
			}
		}
		_, _, e := format.Prefix(c.code())
		_, _, f := format.Prefix(c.length())
		if g := saved + equalBits*(int(c.length())-seen) - referenceBits - int(e) - int(f); g > gain {
			best, gain = c, g
		}
	}
	return best, gain
}

// Start parses the pixels of a stream greedily and chooses the best cache for that.
func (q *Parser) Start(s *bitstream.Stream) {
	s.Entropy = format.EntropyImage{}
	s.Parse = q.Greedy()
	q.V.SetParse(&s.Parse)
	q.V.SetCache(q.V.ChooseCache())
}

// parseByCosts parses by the costs of the symbols of the parse before.
func (q *Parser) parseByCosts(s *bitstream.Stream, plan ReferencePlan) {
	costs := entropy.CostsOf(q.V.Histograms(s.Entropy))
	if b := q.Bands[0]; b.listed != nil && len(costs) == 1 {
		b.cheapestListed(q, &s.Parse, costs[0], plan.LongReference) // in the memory of the parse before
	} else {
		s.Parse = q.Cheapest(s.Parse.CacheBits, s.Entropy, costs, plan.LongReference, plan.AllLengthsTo)
	}
	q.V.SetParse(&s.Parse)
}

// Refine parses by the costs of one prefix code group, as often as the plan says, each time
// by those of the parse before.
func (q *Parser) Refine(s *bitstream.Stream, plan ReferencePlan) {
	for range plan.costPasses {
		q.parseByCosts(s, plan)
		q.V.SetCache(q.V.ChooseCache())
	}
}

// Group chooses prefix code groups on tiles of 1<<bits, and parses by their costs. A parse
// by the costs of groups keeps these, and only moves tiles and puts groups together, which
// takes less time and makes smaller files than groups from nothing.
func (q *Parser) Group(s *bitstream.Stream, plan ReferencePlan, bits int) {
	q.V.SetParse(&s.Parse)
	if plan.groups > 0 {
		s.Entropy = q.V.Cluster(s.Entropy, bits, plan.groups)
		for range plan.groupPasses {
			if s.Entropy.Groups < 2 {
				break
			}
			q.parseByCosts(s, plan)
			q.V.SetCache(s.Parse.CacheBits)
			s.Entropy = q.V.Cluster(s.Entropy, bits, plan.groups)
		}
	}
	s.Packer = q.V.Packer(s.Entropy)
}

// whole does all of a plan, at last with groups on tiles of 1<<bits.
func (q *Parser) whole(s *bitstream.Stream, plan ReferencePlan, bits int) {
	q.Start(s)
	q.Refine(s, plan)
	q.Group(s, plan, bits)
}

// Plans for the small images that describe the main one: modes, multipliers, the entropy
// image and palettes. They look at near candidates alone: a Depth of 16 and 24 NearCodes make
// the files of 12 photographs 191 of 5,407,470 bytes smaller and those of 32 graphics 98 of
// 2,106,216, and take 1.9 times as long. One parse by costs instead of two makes the
// photographs 347 bytes larger.
var (
	smallPlan      = ReferencePlan{NearCodes: nearLanes, StopLength: 256, LongReference: 64, AllLengthsTo: 16, costPasses: 2}
	smallQuickPlan = ReferencePlan{NearCodes: 8, StopLength: 64}
)

// ParseSmall parses a small image three times, twice by costs.
func ParseSmall(p format.Pixels) format.Parse {
	return parseOne(p, smallPlan)
}

// ParseSmallQuickly parses a small image once, greedily.
func ParseSmallQuickly(p format.Pixels) format.Parse {
	return parseOne(p, smallQuickPlan)
}

func parseOne(p format.Pixels, plan ReferencePlan) format.Parse {
	if len(p.ARGB) < 16 {
		return format.Parse{}
	}
	s := &bitstream.Stream{Pixels: p}
	few := newFewColours(p)
	var v ReferenceSearch = few
	if few == nil {
		v = NewMemoryReferenceSearch(p)
	} else {
		defer few.release()
	}
	q := NewParser(v, plan)
	if plan.costPasses > 0 && plan.AllLengthsTo == windowPixels && len(p.ARGB) <= samePixels {
		b := q.Bands[0]
		if b.listed = b.lists(q.Hits, few); b.listed != nil {
			defer b.listed.release()
		}
	}
	q.whole(s, plan, 0)
	if few != nil {
		few.finish()
	}
	return s.Parse
}
