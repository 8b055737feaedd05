package webp

// parser finds parses of one image.
type parser struct {
	v     referenceSearch
	p     pixels
	hits  []uint8 // cacheHits
	bands []*band
}

// band is a range of positions that is parsed by itself: copies reach back over its
// start, but not over its end.
type band struct {
	lo, hi int
	find   *finder
	first  []uint32 // of a position in kept; 0: nothing is kept, 1: it has none; nil: none is kept
	kept   candidateStore
	found  *foundCandidates // what a device has found; nil: none has looked
	costs  []uint32
}

// bandPixels is the least size of a band, which ends with a row.
const bandPixels = 1 << 20

func newParser(v referenceSearch, f referencePlan) *parser {
	return &parser{v: v, p: v.image(), hits: v.hits(), bands: v.bands(f)}
}

// newBands divides an image.
func newBands(p pixels) (list []*band) {
	rows := (bandPixels + p.w - 1) / p.w
	for y := 0; y < p.h; y += rows {
		lo, hi := y*p.w, min(y+rows, p.h)*p.w
		if p.h-y < 2*rows {
			hi = p.h * p.w
		}
		list = append(list, &band{lo: lo, hi: hi})
		if hi == p.h*p.w {
			break
		}
	}
	return list
}

// at returns the candidates of position i.
func (b *band) at(i int) []candidate {
	if b.found != nil {
		return b.found.at(i - b.lo)
	}
	if b.first == nil {
		return b.find.at(i)
	}
	switch k := b.first[i-b.lo]; k {
	case 0:
		out := b.find.at(i)
		if len(out) == 0 {
			b.first[i-b.lo] = 1
		} else if at, ok := b.kept.add(out, keptCandidates*(b.hi-b.lo)); ok {
			b.first[i-b.lo] = at + 2
		}
		return out
	case 1:
		return nil
	default:
		return b.kept.at(k - 2)
	}
}

// foundCandidates are the candidates of all positions of a band, as a device finds them.
type foundCandidates struct {
	offsets []uint32 // where those of a position begin in list, and behind the last one where they end
	list    []candidate
}

// at returns the candidates of position i of the band.
func (g *foundCandidates) at(i int) []candidate { return g.list[g.offsets[i]:g.offsets[i+1]] }

// greedy parses with fixed ideas of what things cost.
func (q *parser) greedy() parse {
	out := parse{length: make([]uint16, len(q.p.argb)), value: make([]uint32, len(q.p.argb))}
	q.each(func(b *band) { b.greedy(&out, q.hits) })
	return out
}

// each calls f for all bands, which write to parts of a parse that do not meet.
func (q *parser) each(f func(b *band)) {
	q.v.workers().Each(len(q.bands), func(k int) { f(q.bands[k]) })
}

func (b *band) greedy(out *parse, hits []uint8) {
	c, gain := b.bestGain(b.lo, hits)
	for i := b.lo; i < b.hi; {
		var next candidate
		more := 0
		if i+1 < b.hi {
			next, more = b.bestGain(i+1, hits)
		}
		if gain <= 0 || more > gain {
			c, gain = next, more
			i++
			continue
		}
		out.setReference(i, c.length(), c.code())
		if i += int(c.length()); i < b.hi {
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
func (b *band) bestGain(i int, hits []uint8) (candidate, int) {
	var best candidate
	gain, saved, seen := 0, 0, 0
	for _, c := range b.at(i) {
		for ; seen < min(int(c.length()), weighed); seen++ {
			switch h := hits[i+seen]; {
			case h <= 1:
				saved += equalBits
			case h <= maxCacheBits:
				saved += cachedBits
			default:
				saved += literalBits
			}
		}
		_, _, e := prefix(c.code())
		_, _, f := prefix(c.length())
		if g := saved + equalBits*(int(c.length())-seen) - copyBits - int(e) - int(f); g > gain {
			best, gain = c, g
		}
	}
	return best, gain
}

// cheapest parses by prices of the groups' symbols. cacheBits 0 is no cache.
func (q *parser) cheapest(cacheBits int, g entropyImage, prices [][]uint16, nice, fine int) parse {
	out := parse{cacheBits: cacheBits, length: make([]uint16, len(q.p.argb)), value: make([]uint32, len(q.p.argb))}
	q.each(func(b *band) { b.cheapest(q, &out, g, prices, nice, fine) })
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
	length   [maxLength + 1]uint16
	distance [40]uint16
}

func newReferenceCosts(t []uint16) *referenceCosts {
	c := new(referenceCosts)
	for l := 1; l <= maxLength; l++ {
		s, _, n := prefix(uint32(l))
		c.length[l] = t[lengthAt+s] + uint16(n)<<8
	}
	for s := range c.distance {
		n := 0
		if s >= 4 {
			n = s/2 - 1
		}
		c.distance[s] = t[distanceAt+s] + uint16(n)<<8
	}
	return c
}

// bucketEnd is the longest length with the symbol of the next longer one.
var bucketEnd = func() (t [maxLength + 1]uint32) {
	for l := maxLength; l > 0; l-- {
		t[l] = maxLength
		if l < maxLength {
			a, _, _ := prefix(uint32(l + 1))
			t[l] = uint32(l + 1)
			if l+1 < maxLength {
				if b, _, _ := prefix(uint32(l + 2)); a == b {
					t[l] = t[l+1]
				}
			}
		}
	}
	return t
}()

func (b *band) cheapest(q *parser, out *parse, g entropyImage, prices [][]uint16, nice, fine int) {
	p := q.p
	copies := make([]*referenceCosts, len(prices))
	for k := range copies {
		copies[k] = newReferenceCosts(prices[k])
	}
	tw := 0
	if g.bits > 0 {
		tw = (p.w + 1<<g.bits - 1) >> g.bits
	}
	if b.costs == nil {
		b.costs = make([]uint32, costBlock+2*maxLength+2)
	}
	cost := b.costs
	for k := range cost {
		cost[k] = noCost
	}
	cost[0] = costStart
	base := b.lo
	x, y := 0, b.lo/p.w
	t, cp := prices[0], copies[0]
	shift := maxCacheBits - out.cacheBits
	length, value := out.length, out.value
	lastGroup := uint16(0)
	coverEnd, coverAt, coverCost, coverCode, coverLen := 0, 0, uint32(0), uint32(0), &cp.length
	for i := b.lo; i < b.hi; {
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
			if k := g.group[y>>g.bits*tw+x>>g.bits]; k != lastGroup {
				t, cp, lastGroup = prices[k], copies[k], k
			}
		}
		at := i - base
		here := cost[at]
		v := p.argb[i]
		var one uint32
		if int(q.hits[i]) <= out.cacheBits {
			one = here + uint32(t[cacheAt+cacheHash(v)>>shift])
			if one < cost[at+1] {
				cost[at+1] = one
				length[i], value[i] = cached, cacheHash(v)>>shift
			}
		} else {
			one = here + uint32(t[alphaAt+v>>24]) + uint32(t[redAt+v>>16&255]) + uint32(t[blueAt+v&255]) + uint32(t[greenAt+v>>8&255])
			if one < cost[at+1] {
				cost[at+1] = one
				length[i] = 0
			}
		}
		step := 1
		from := uint32(2)
		for _, c := range b.at(i) {
			code := c.code()
			s, _, _ := prefix(code)
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
		for x >= p.w {
			x -= p.w
			y++
		}
	}
	// Each position knows the last step of the cheapest way to it.
	for j := b.hi - 1; j >= b.lo; j-- {
		if l := length[j]; l > 0 && l < cached {
			start, code := j+1-int(l), value[j]
			out.setReference(start, uint32(l), code)
			j = start
		}
	}
}

// start parses the pixels of a stream, which are the copier's, greedily.
func (q *parser) start(s *stream) {
	s.entropy = entropyImage{}
	s.parse = q.greedy()
	q.v.setParse(&s.parse)
	q.v.setCache(q.v.chooseCache())
}

// parseByCosts parses by the prices of the parse before, which the copier has.
func (q *parser) parseByCosts(s *stream, f referencePlan) {
	s.parse = q.cheapest(s.parse.cacheBits, s.entropy, costsOf(q.v.histograms(s.entropy)), f.longReference, f.allLengthsTo)
	q.v.setParse(&s.parse)
}

// refine parses them by the prices of the parse before.
func (q *parser) refine(s *stream, f referencePlan) {
	for range f.costPasses {
		q.parseByCosts(s, f)
		q.v.setCache(q.v.chooseCache())
	}
}

// group makes groups on tiles of 1<<bits, and parses by their prices.
func (q *parser) group(s *stream, f referencePlan, bits int) {
	q.v.setParse(&s.parse)
	if f.groups > 0 {
		s.entropy = q.v.cluster(s.entropy, bits, f.groups)
		for range f.groupPasses {
			if s.entropy.groups < 2 {
				break
			}
			q.parseByCosts(s, f)
			q.v.setCache(s.parse.cacheBits)
			s.entropy = q.v.cluster(s.entropy, bits, f.groups)
		}
	}
	s.packer = q.v.packer(s.entropy)
}

// whole parses the pixels of a stream, at last with groups on tiles of 1<<bits.
func (q *parser) whole(s *stream, f referencePlan, bits int) {
	q.start(s)
	q.refine(s, f)
	q.group(s, f, bits)
}

// parseSmall parses one of the small images that describe the main one.
func parseSmall(p pixels) parse {
	return parseOne(p, referencePlan{nearCodes: 24, depth: 16, stopLength: 256, longReference: 64, allLengthsTo: 16, costPasses: 2})
}

// parseSmallQuickly parses such an image once, greedily.
func parseSmallQuickly(p pixels) parse {
	return parseOne(p, referencePlan{nearCodes: 8, depth: 4, stopLength: 64})
}

func parseOne(p pixels, f referencePlan) parse {
	if len(p.argb) < 16 {
		return parse{}
	}
	s := &stream{pixels: p}
	newParser(newMemoryReferenceSearch(p), f).whole(s, f, 0)
	return s.parse
}
