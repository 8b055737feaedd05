// Package backref finds the backward references and the colour cache of an image (RFC 9649,
// 3.6.2.2 and 3.6.2.3): the candidates at every position, and the parse that chooses among them,
// greedily first and then by the costs of the symbols of the parse before.
package backref

import (
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// Parser finds parses of one image.
type Parser struct {
	V     ReferenceSearch
	p     format.Pixels
	Hits  []uint8 // CacheHits
	Bands []*Band
}

// Band is a range of positions that is parsed by itself: copies reach back over its
// start, but not over its end.
type Band struct {
	Lo, Hi int
	find   *finder
	first  []uint32 // of a position in kept; 0: nothing is kept, 1: it has none; nil: none is kept
	kept   candidateStore
	Found  *FoundCandidates // what a device has found; nil: none has looked
	costs  []uint32
}

// bandPixels is the least size of a band, which ends with a row.
const bandPixels = 1 << 20

func NewParser(v ReferenceSearch, f ReferencePlan) *Parser {
	return &Parser{V: v, p: v.Image(), Hits: v.Hits(), Bands: v.Bands(f)}
}

// NewBands divides an image.
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
	if b.first == nil {
		return b.find.At(i)
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

// FoundCandidates are the candidates of all positions of a band, as a device finds them.
type FoundCandidates struct {
	Offsets []uint32 // where those of a position begin in list, and behind the last one where they end
	List    []Candidate
}

// at returns the candidates of position i of the band.
func (g *FoundCandidates) at(i int) []Candidate { return g.List[g.Offsets[i]:g.Offsets[i+1]] }

// Greedy parses with fixed ideas of what things cost.
func (q *Parser) Greedy() format.Parse {
	out := format.Parse{Length: make([]uint16, len(q.p.ARGB)), Value: make([]uint32, len(q.p.ARGB))}
	q.each(func(b *Band) { b.greedy(&out, q.Hits) })
	return out
}

// each calls f for all bands, which write to parts of a parse that do not meet.
func (q *Parser) each(f func(b *Band)) {
	q.V.Workers().Each(len(q.Bands), func(k int) { f(q.Bands[k]) })
}

func (b *Band) greedy(out *format.Parse, hits []uint8) {
	c, gain := b.bestGain(b.Lo, hits)
	for i := b.Lo; i < b.Hi; {
		var next Candidate
		more := 0
		if i+1 < b.Hi {
			next, more = b.bestGain(i+1, hits)
		}
		if gain <= 0 || more > gain {
			c, gain = next, more
			i++
			continue
		}
		out.SetReference(i, c.length(), c.code())
		if i += int(c.length()); i < b.Hi {
			c, gain = b.bestGain(i, hits)
		}
	}
}

// What a greedy parse takes things to cost, in bits without the extra bits of a copy.
const (
	equalBits   = 3  // a pixel that equals the one before
	cachedBits  = 4  // one that is in the largest colour cache
	literalBits = 14 // any other
	copyBits    = 11

	weighed = 16 // pixels of a copy that are looked at; others count as equal ones
)

// bestGain returns the candidate that saves most.
func (b *Band) bestGain(i int, hits []uint8) (Candidate, int) {
	var best Candidate
	gain, saved, seen := 0, 0, 0
	for _, c := range b.At(i) {
		for ; seen < min(int(c.length()), weighed); seen++ {
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
		if g := saved + equalBits*(int(c.length())-seen) - copyBits - int(e) - int(f); g > gain {
			best, gain = c, g
		}
	}
	return best, gain
}

// Cheapest parses by prices of the groups' symbols. CacheBits 0 is no cache.
func (q *Parser) Cheapest(cacheBits int, g format.EntropyImage, prices [][]uint16, nice, fine int) format.Parse {
	out := format.Parse{CacheBits: cacheBits, Length: make([]uint16, len(q.p.ARGB)), Value: make([]uint32, len(q.p.ARGB))}
	q.each(func(b *Band) { b.cheapest(q, &out, g, prices, nice, fine) })
	return out
}

const (
	costBlock = 1 << 15 // positions whose costs are relative to the first's
	costStart = 1 << 24 // other ways may be cheaper than the one to the first
	noCost    = 1 << 31
	lastEnds  = 4 // of a long copy
)

// lengthPrices are prices of copies' lengths, distances by symbol, with extra bits.
type referenceCosts struct {
	length   [format.MaxLength + 1]uint16
	distance [40]uint16
}

func newReferenceCosts(t []uint16) *referenceCosts {
	c := new(referenceCosts)
	for l := 1; l <= format.MaxLength; l++ {
		s, _, n := format.Prefix(uint32(l))
		c.length[l] = t[format.LengthAt+s] + uint16(n)<<8
	}
	for s := range c.distance {
		n := 0
		if s >= 4 {
			n = s/2 - 1
		}
		c.distance[s] = t[format.DistanceAt+s] + uint16(n)<<8
	}
	return c
}

// bucketEnd is the longest length with the symbol of the next longer one.
var bucketEnd = func() (t [format.MaxLength + 1]uint32) {
	for l := format.MaxLength; l > 0; l-- {
		t[l] = format.MaxLength
		if l < format.MaxLength {
			a, _, _ := format.Prefix(uint32(l + 1))
			t[l] = uint32(l + 1)
			if l+1 < format.MaxLength {
				if b, _, _ := format.Prefix(uint32(l + 2)); a == b {
					t[l] = t[l+1]
				}
			}
		}
	}
	return t
}()

func (b *Band) cheapest(q *Parser, out *format.Parse, g format.EntropyImage, prices [][]uint16, nice, fine int) {
	p := q.p
	copies := make([]*referenceCosts, len(prices))
	for k := range copies {
		copies[k] = newReferenceCosts(prices[k])
	}
	tw := 0
	if g.Bits > 0 {
		tw = (p.W + 1<<g.Bits - 1) >> g.Bits
	}
	if b.costs == nil {
		b.costs = make([]uint32, costBlock+2*format.MaxLength+2)
	}
	cost := b.costs
	for k := range cost {
		cost[k] = noCost
	}
	cost[0] = costStart
	base := b.Lo
	x, y := 0, b.Lo/p.W
	t, cp := prices[0], copies[0]
	shift := format.MaxCacheBits - out.CacheBits
	length, value := out.Length, out.Value
	lastGroup := uint16(0)
	coverEnd, coverAt, coverCost, coverCode, coverLen := 0, 0, uint32(0), uint32(0), &cp.length
	for i := b.Lo; i < b.Hi; {
		if i-base >= costBlock {
			coverCost -= cost[i-base] - costStart
			low := cost[i-base] - costStart
			n := copy(cost, cost[i-base:])
			for k := range cost[:n] {
				if cost[k] != noCost {
					cost[k] -= low
				}
			}
			for k := n; k < len(cost); k++ {
				cost[k] = noCost
			}
			base = i
		}
		if tw > 0 {
			if k := g.Group[y>>g.Bits*tw+x>>g.Bits]; k != lastGroup {
				t, cp, lastGroup = prices[k], copies[k], k
			}
		}
		at := i - base
		here := cost[at]
		v := p.ARGB[i]
		var one uint32
		if int(q.Hits[i]) <= out.CacheBits {
			one = here + uint32(t[format.CacheAt+format.CacheHash(v)>>shift])
			if one < cost[at+1] {
				cost[at+1] = one
				length[i], value[i] = format.Cached, format.CacheHash(v)>>shift
			}
		} else {
			one = here + uint32(t[format.AlphaAt+v>>24]) + uint32(t[format.RedAt+v>>16&255]) + uint32(t[format.BlueAt+v&255]) + uint32(t[format.GreenAt+v>>8&255])
			if one < cost[at+1] {
				cost[at+1] = one
				length[i] = 0
			}
		}
		step := 1
		from := uint32(2)
		for _, c := range b.At(i) {
			code := c.code()
			s, _, _ := format.Prefix(code)
			start := here + uint32(cp.distance[s])
			to := c.length()
			if int(to) >= nice {
				for l := max(from, to-lastEnds); l < to; l++ {
					if n := start + uint32(cp.length[l]); n < cost[at+int(l)] {
						cost[at+int(l)] = n
						length[i+int(l)-1], value[i+int(l)-1] = uint16(l), code
					}
				}
				if n := start + uint32(cp.length[to]); n < cost[at+int(to)] {
					cost[at+int(to)] = n
					length[i+int(to)-1], value[i+int(to)-1] = uint16(to), code
					if i+int(to) >= coverEnd {
						coverEnd, coverAt, coverCost, coverCode, coverLen = i+int(to), i, start, code, &cp.length
					}
				}
				from = to + 1
				continue
			}
			for l := from; l <= to; {
				// To the end of the bucket of this length, or all of a short one.
				if n := start + uint32(cp.length[l]); n < cost[at+int(l)] {
					cost[at+int(l)] = n
					length[i+int(l)-1], value[i+int(l)-1] = uint16(l), code
				}
				switch {
				case l < uint32(fine):
					l++
				case l == to:
					l++
				default:
					l = min(bucketEnd[l], to)
				}
			}
			from = to + 1
		}
		for i+step < coverEnd-lastEnds && cost[at+step] >= coverCost+uint32(coverLen[i+step-coverAt]) {
			step++
		}
		if i+step < coverEnd {
			if n := coverCost + uint32(coverLen[i+step-coverAt]); cost[at+step] >= noCost || n < cost[at+step] {
				cost[at+step] = n
				length[i+step-1], value[i+step-1] = uint16(i+step-coverAt), coverCode
			}
		}
		i += step
		x += step
		for x >= p.W {
			x -= p.W
			y++
		}
	}
	// Each position knows the last step of the cheapest way to it.
	for j := b.Hi - 1; j >= b.Lo; j-- {
		if l := length[j]; l > 0 && l < format.Cached {
			start, code := j+1-int(l), value[j]
			out.SetReference(start, uint32(l), code)
			j = start
		}
	}
}

// Start parses the pixels of a stream, which are the copier's, greedily.
func (q *Parser) Start(s *bitstream.Stream) {
	s.Entropy = format.EntropyImage{}
	s.Parse = q.Greedy()
	q.V.SetParse(&s.Parse)
	q.V.SetCache(q.V.ChooseCache())
}

// parseByCosts parses by the prices of the parse before, which the copier has.
func (q *Parser) parseByCosts(s *bitstream.Stream, f ReferencePlan) {
	s.Parse = q.Cheapest(s.Parse.CacheBits, s.Entropy, entropy.CostsOf(q.V.Histograms(s.Entropy)), f.LongReference, f.AllLengthsTo)
	q.V.SetParse(&s.Parse)
}

// Refine parses them by the prices of the parse before.
func (q *Parser) Refine(s *bitstream.Stream, f ReferencePlan) {
	for range f.costPasses {
		q.parseByCosts(s, f)
		q.V.SetCache(q.V.ChooseCache())
	}
}

// Group makes groups on tiles of 1<<bits, and parses by their prices.
func (q *Parser) Group(s *bitstream.Stream, f ReferencePlan, bits int) {
	q.V.SetParse(&s.Parse)
	if f.groups > 0 {
		s.Entropy = q.V.Cluster(s.Entropy, bits, f.groups)
		for range f.groupPasses {
			if s.Entropy.Groups < 2 {
				break
			}
			q.parseByCosts(s, f)
			q.V.SetCache(s.Parse.CacheBits)
			s.Entropy = q.V.Cluster(s.Entropy, bits, f.groups)
		}
	}
	s.Packer = q.V.Packer(s.Entropy)
}

// whole parses the pixels of a stream, at last with groups on tiles of 1<<bits.
func (q *Parser) whole(s *bitstream.Stream, f ReferencePlan, bits int) {
	q.Start(s)
	q.Refine(s, f)
	q.Group(s, f, bits)
}

// ParseSmall parses one of the small images that describe the main one.
func ParseSmall(p format.Pixels) format.Parse {
	return parseOne(p, ReferencePlan{NearCodes: 24, Depth: 16, StopLength: 256, LongReference: 64, AllLengthsTo: 16, costPasses: 2})
}

// ParseSmallQuickly parses such an image once, greedily.
func ParseSmallQuickly(p format.Pixels) format.Parse {
	return parseOne(p, ReferencePlan{NearCodes: 8, Depth: 4, StopLength: 64})
}

func parseOne(p format.Pixels, f ReferencePlan) format.Parse {
	if len(p.ARGB) < 16 {
		return format.Parse{}
	}
	s := &bitstream.Stream{Pixels: p}
	NewParser(NewMemoryReferenceSearch(p), f).whole(s, f, 0)
	return s.Parse
}
