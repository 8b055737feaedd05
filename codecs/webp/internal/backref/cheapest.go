package backref

import "github.com/pelmill/pelmill/codecs/webp/internal/format"

// Cheapest returns the parse that costs least by the costs of the symbols of each group.
// CacheBits 0 is no cache. Of a reference of longReference pixels or more only the last
// lengths are tried, of a shorter one all lengths up to allLengthsTo and beyond them the
// longest of each length code.
func (q *Parser) Cheapest(cacheBits int, g format.EntropyImage, costs [][]uint16, longReference, allLengthsTo int) format.Parse {
	out := format.Parse{CacheBits: cacheBits, Length: make([]uint16, len(q.p.ARGB)), Value: make([]uint32, len(q.p.ARGB))}
	q.each(func(b *Band) { b.cheapest(q, &out, g, costs, longReference, allLengthsTo) })
	return out
}

const (
	// Costs of positions are relative to that of the first position of a block, in 32 bits:
	// a block of costBlock pixels at 4 x entropy.MaxCost each stays below noCost.
	costBlock = 1 << 15
	costStart = 1 << 24 // of the first position of a block; later ones may cost less than it
	noCost    = 1 << 31 // of a position that nothing leads to yet

	// longEnds of a long reference are tried besides its whole length: the best parse ends
	// it there where a better reference begins just before its end. The history has no
	// measurement of it.
	longEnds = 4
)

// referenceCosts are the costs of a backward reference in 1/256 bit: by its length in
// pixels, and by the symbol of its distance code, both with their extra bits.
type referenceCosts struct {
	length   [format.MaxLength + 1]uint16
	distance [40]uint16
}

// set makes them those by a cost table, for lengths up to most.
func (c *referenceCosts) set(t []uint16, most int) {
	for l := 1; l <= most; {
		s, _, n := format.Prefix(uint32(l))
		// The 1<<n lengths with this symbol follow one another.
		end := min(l+1<<n, most+1)
		fill(c.length[l:end], t[format.LengthAt+s]+uint16(n)<<8)
		l = end
	}
	for s := range c.distance {
		n := 0
		if s >= 4 {
			n = s/2 - 1
		}
		c.distance[s] = t[format.DistanceAt+s] + uint16(n)<<8
	}
}

// nextLongest has, by length, the longest length with the symbol that the length one pixel
// longer has: lengths of one symbol cost the same, and the longest covers most.
var nextLongest = func() (t [format.MaxLength + 1]uint32) {
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

// cheapest finds the cheapest way to each position in turn, from the start of the band: by a
// literal or a cached pixel from the position before, or by a backward reference that ends
// there. It notes the last step of that way in out, at the last pixel that the step covers,
// and in the end follows the steps back from the end of the band.
//
// From the last long reference that was found it need not look for candidates again: while
// its own shorter lengths are the cheapest way to the positions inside it, they are stepped
// over (coverEnd and so on).
func (b *Band) cheapest(q *Parser, out *format.Parse, g format.EntropyImage, costs [][]uint16, longReference, allLengthsTo int) {
	p := q.p
	references := make([]*referenceCosts, len(costs))
	for k := range references {
		references[k] = new(referenceCosts)
		references[k].set(costs[k], min(b.Hi-b.Lo, format.MaxLength))
	}
	tw := 0
	if g.Bits > 0 {
		tw = (p.W + 1<<g.Bits - 1) >> g.Bits
	}
	if b.costs == nil {
		// A band of one block has no position behind its end.
		b.costs = make([]uint32, min(costBlock+2*format.MaxLength, b.Hi-b.Lo)+2)
	}
	cost := b.costs
	for k := range cost {
		cost[k] = noCost
	}
	cost[0] = costStart
	base := b.Lo
	x, y := 0, b.Lo/p.W
	t, cp := costs[0], references[0]
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
				t, cp, lastGroup = costs[k], references[k], k
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
			if int(to) >= longReference {
				for l := max(from, to-longEnds); l < to; l++ {
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
				if n := start + uint32(cp.length[l]); n < cost[at+int(l)] {
					cost[at+int(l)] = n
					length[i+int(l)-1], value[i+int(l)-1] = uint16(l), code
				}
				switch {
				case l < uint32(allLengthsTo):
					l++
				case l == to:
					l++
				default:
					l = min(nextLongest[l], to)
				}
			}
			from = to + 1
		}
		for i+step < coverEnd-longEnds && cost[at+step] >= coverCost+uint32(coverLen[i+step-coverAt]) {
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
	// Back along the steps.
	for j := b.Hi - 1; j >= b.Lo; j-- {
		if l := length[j]; l > 0 && l < format.Cached {
			start, code := j+1-int(l), value[j]
			out.SetReference(start, uint32(l), code)
			j = start
		}
	}
}
