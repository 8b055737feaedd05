package backref

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// listed is a small image with the candidates of its positions one after the other, and the
// memory of its parses by costs. The parses are those of Band.cheapest, in an order that suits
// vectors: what can be known of a position before its cost is known is made beforehand.
type listed struct {
	list []Candidate  // of all positions, and behind them a window of others
	left []uint32     // by position: how many candidates it and those behind it have
	ends []uint32     // by position: bit l-1 where a candidate has l pixels; or longer
	best []listedGain // by position: what a greedy parse takes

	few     *fewColours // nil: there are more or others
	symbols []uint8     // of the distance codes of list
	memory  []Candidate // of list, which is at its end

	literals  []uint32 // by position: what its pixel costs as a literal or in the cache
	distances []uint32 // what the distance codes of list cost

	// step is by position, and has the last step of the cheapest way to it: its length, and
	// the distance code where it is a reference, as a candidate has them.
	step []uint32
	cost []uint32 // by position, from the first one of a block on

	references referenceCosts
}

// listedGain is what Band.bestGain returns.
type listedGain struct {
	c    Candidate
	gain int32
}

const (
	// windowPixels is up to which length all lengths of the candidates of a position are
	// tried at once.
	windowPixels = 16

	longer = 1 << 16 // in ends: there is a longer candidate

	// nearLanes is at how many distances pixels are compared at once.
	nearLanes = 16
)

// lists returns the candidates of all positions of a band, of which all are near ones. It is
// nil where they are too many. few has the colours of the image, where it is not nil.
func (b *Band) lists(hits []uint8, few *fewColours) *listed {
	f := b.find
	n := b.Hi - b.Lo
	if f.same == nil || f.Prev != nil || len(f.Near) > nearLanes {
		return nil
	}
	l := listedMemory.Get().(*listed)
	l.few = few
	l.left, l.ends, l.best = sized(l.left, n), sized(l.ends, n), sized(l.best, n)
	// The memory of steps, as long as there are none, has the bits of all pixels before a position in a greedy parse.
	l.step = sized(l.step, n+windowPixels+1)
	saved := l.step
	saved[0] = 0
	for i, h := range hits[b.Lo:b.Hi] {
		saved[i+1] = saved[i] + uint32(savedBits[h])
	}
	a := nearSearch{i: n, stop: uint32(f.stop)}
	for k, code := range f.nearCodes {
		a.candidate[k] = newCandidate(0, code)
		a.bits[k] = int32(referenceBits + extraBits(code))
	}
	if l.memory = l.memory[:cap(l.memory)]; len(l.memory) < 2*n+2*windowPixels {
		l.memory = make([]Candidate, 2*n+2*windowPixels)
	}
	for a.at = len(l.memory) - windowPixels; ; {
		if l.near(&a, f.same[b.Lo:b.Hi], saved); a.i == 0 {
			break
		}
		used := l.memory[a.at:]
		if len(used) > keptCandidates*n {
			l.release()
			return nil
		}
		l.memory = make([]Candidate, 2*len(l.memory))
		a.at = len(l.memory) - len(used)
		copy(l.memory[a.at:], used)
	}
	l.list = l.memory[a.at:]
	l.symbols = sized(l.symbols, len(l.list))
	for i, c := range l.list {
		l.symbols[i] = prefixSymbol(c.code())
	}
	l.literals = sized(l.literals, n)
	l.distances = sized(l.distances, len(l.list))
	l.cost = sized(l.cost, min(costBlock+2*format.MaxLength, n)+2+windowPixels)
	return l
}

// nearSearch is what goes from position to position in the search for near candidates, from
// the last position to the first.
type nearSearch struct {
	candidate [nearLanes]Candidate // by distance: one without a length
	bits      [nearLanes]int32     // by distance: what greedy parses take a reference to cost, without its length
	agree     [nearLanes]uint32    // by distance: how many pixels agree from position i on, at most MaxLength
	left      uint32               // how many candidates there are
	stop      uint32               // a candidate of this length ends those of its position
	at        int                  // where they begin in memory
	i         int                  // the position that was last
}

// nearGo goes on to position 0, or to where memory has not room for the candidates of one more.
// same says of the pixels which of those at near distances equal them.
func (l *listed) nearGo(a *nearSearch, same, saved []uint32) {
	for a.i > 0 && a.at >= nearLanes {
		a.i--
		i := a.i
		var found [nearLanes]Candidate
		n, longest, ends, best := 0, uint32(1), uint32(0), listedGain{}
		for k := range a.agree {
			r := uint32(0)
			if same[i]>>k&1 != 0 {
				r = min(a.agree[k]+1, format.MaxLength)
			}
			if a.agree[k] = r; r <= longest || longest >= a.stop {
				continue
			}
			longest = r
			found[n] = a.candidate[k] | Candidate(r)
			ends |= 1 << (min(r, windowPixels+1) - 1)
			m := min(r, weighedPixels)
			if gain := int32(saved[i+int(m)]-saved[i]+equalBits*(r-m)-extraBits(r)) - a.bits[k]; gain > best.gain {
				best = listedGain{found[n], gain}
			}
			n++
		}
		a.at -= n
		copy(l.memory[a.at:], found[:n])
		a.left += uint32(n)
		l.left[i], l.ends[i], l.best[i] = a.left, ends, best
	}
}

// listedMemory is what no image uses: making it takes longer than to fill it.
var listedMemory = sync.Pool{New: func() any { return new(listed) }}

// mostKept is how many candidates the memory that is kept has room for: no budget knows of it.
const mostKept = 1 << 18

// release gives back the memory.
func (l *listed) release() {
	l.few = nil
	l.list = nil
	if cap(l.memory) <= mostKept {
		listedMemory.Put(l)
	}
}

// sized is list, or a new one, with n elements of any contents.
func sized[E any](list []E, n int) []E { return slices.Grow(list[:0], n)[:n] }

// fill sets all of list, which is not empty, to v.
func fill[E any](list []E, v E) {
	list[0] = v
	for n := 1; n < len(list); n *= 2 {
		copy(list[n:], list[:n])
	}
}

// savedBits is how many bits a pixel takes, by the smallest cache that has it, in a greedy parse.
var savedBits = func() (t [256]uint8) {
	for h := range t {
		switch {
		case h <= 1:
			t[h] = equalBits
		case h <= format.MaxCacheBits:
			t[h] = cachedBits
		default:
			t[h] = literalBits
		}
	}
	return t
}()

// extraBits is how many extra bits a length or a distance code has.
func extraBits(v uint32) uint32 { return uint32(max(bits.Len32(v-1), 2) - 2) }

// prefixSymbol is the symbol that format.Prefix gives, without a branch.
func prefixSymbol(v uint32) uint8 {
	v--
	h := uint32(bits.Len32(v|2)) - 1
	s := 2*h + v>>((h-1)&31)&1
	if v < 2 {
		s = v
	}
	return uint8(s)
}

// of returns the candidates of position i of the band.
func (l *listed) of(i int) []Candidate {
	end := len(l.list) - windowPixels
	to := end
	if i+1 < len(l.left) {
		to -= int(l.left[i+1])
	}
	return l.list[end-int(l.left[i]) : to]
}

// symbolCosts fills literals and distances.
func (l *listed) symbolCosts(pixels []uint32, hits []uint8, cacheBits int, t []uint16, distance *[40]uint16) {
	out := l.distances[:len(l.symbols)]
	for i, s := range l.symbols {
		out[i] = uint32(distance[min(s, 39)])
	}
	if l.few != nil {
		l.few.symbolCosts(l.literals, cacheBits, t)
		return
	}
	shift := format.MaxCacheBits - cacheBits
	literal := (*[format.CacheAt]uint16)(t)
	_, _ = hits[:len(pixels)], l.literals[:len(pixels)]
	// Whether a pixel is in the cache cannot be foreseen, so both costs are looked up.
	cached := t[format.LengthAt:][:1]
	if cacheBits > 0 {
		cached = t[format.CacheAt:][:1<<cacheBits]
	}
	for i, v := range pixels {
		c := uint32(literal[format.AlphaAt+v>>24]) + uint32(literal[format.RedAt+v>>16&255]) + uint32(literal[format.BlueAt+v&255]) + uint32(literal[format.GreenAt+v>>8&255])
		d := uint32(cached[int(format.CacheHash(v)>>shift)&(len(cached)-1)])
		if int(hits[i]) <= cacheBits {
			c = d
		}
		l.literals[i] = c
	}
}

// cheapestListed is cheapest for one prefix code group, where all lengths up to windowPixels
// are tried and then the longest of each length code. It leaves it to SetCache to note which
// pixels are in the cache.
func (b *Band) cheapestListed(q *Parser, out *format.Parse, t []uint16, longReference int) {
	l, n := b.listed, b.Hi-b.Lo
	references := &l.references
	references.set(t, min(n, format.MaxLength))
	pixels, hits := q.p.ARGB[b.Lo:b.Hi], q.Hits[b.Lo:b.Hi]
	l.symbolCosts(pixels, hits, out.CacheBits, t, &references.distance)
	fill(l.cost, noCost)
	l.cost[0] = costStart
	base := 0
	cost, step, length := l.cost, l.step, &references.length
	coverEnd, coverAt, coverCost, coverCode := 0, 0, uint32(0), uint32(0)
	for i := 0; i < n; {
		if i-base >= costBlock {
			low := cost[i-base] - costStart
			coverCost -= low
			k := copy(cost, cost[i-base:])
			for j, c := range cost[:k] {
				if c != noCost {
					cost[j] = c - low
				}
			}
			for j := k; j < len(cost); j++ {
				cost[j] = noCost
			}
			base = i
		}
		if coverEnd <= i+1 {
			if k := l.window(i, base, min(n, base+costBlock), length); k > i {
				i = k
				continue
			}
		}
		at := i - base
		here := cost[at]
		if c := here + l.literals[i]; c < cost[at+1] {
			cost[at+1], step[i+1] = c, 1
		}
		from := uint32(2)
		for _, c := range l.of(i) {
			code := c.code()
			s, _, _ := format.Prefix(code)
			start := here + uint32(references.distance[s])
			try := func(l uint32) {
				if n := start + uint32(length[l]); n < cost[at+int(l)] {
					cost[at+int(l)], step[i+int(l)] = n, uint32(newCandidate(l, code))
					if l == c.length() && int(l) >= longReference && i+int(l) >= coverEnd {
						coverEnd, coverAt, coverCost, coverCode = i+int(l), i, start, code
					}
				}
			}
			to := c.length()
			if int(to) >= longReference {
				for l := max(from, to-longEnds); l <= to; l++ {
					try(l)
				}
				from = to + 1
				continue
			}
			for l := from; l <= to; {
				try(l)
				if l < windowPixels || l == to {
					l++
				} else {
					l = min(nextLongest[l], to)
				}
			}
			from = to + 1
		}
		k := 1
		for i+k < coverEnd-longEnds && cost[at+k] >= coverCost+uint32(length[i+k-coverAt]) {
			k++
		}
		if i+k < coverEnd {
			if n := coverCost + uint32(length[i+k-coverAt]); cost[at+k] >= noCost || n < cost[at+k] {
				cost[at+k], step[i+k] = n, uint32(newCandidate(uint32(i+k-coverAt), coverCode))
			}
		}
		i += k
	}
	// Back along the steps. They have to be waited for, which leaves time to count them.
	var few *fewMemory
	if l.few != nil {
		few = l.few.begin()
	}
	for i := n; i > 0; {
		c := Candidate(step[i])
		i -= int(c.length())
		if c.length() > 1 {
			out.SetReference(b.Lo+i, c.length(), c.code())
			if few != nil {
				few.countReference(c.length(), c.code())
			}
			continue
		}
		out.Length[b.Lo+i] = 0
		if few != nil {
			few.countPixel(b.Lo + i)
		}
	}
}

// windowGo goes on from position i to the first one that has a longer candidate, or to end,
// and returns it. Costs are those from position base on.
func (l *listed) windowGo(i, base, end int, length *[format.MaxLength + 1]uint16) int {
	for ; i < end && l.ends[i] < longer; i++ {
		cost, step := l.cost[i-base:][:windowPixels+1], l.step[i:][:windowPixels+1]
		here := cost[0]
		if c := here + l.literals[i]; c < cost[1] {
			cost[1], step[1] = c, 1
		}
		ends, from := l.ends[i], 2
		for k := len(l.list) - windowPixels - int(l.left[i]); ends != 0; k++ {
			to := bits.TrailingZeros32(ends) + 1
			start := here + l.distances[k]
			for ; from <= to; from++ {
				if c := start + uint32(length[from]); c < cost[from] {
					cost[from], step[from] = c, uint32(l.list[k])&^format.MaxLength|uint32(from)
				}
			}
			ends &= ends - 1
		}
	}
	return i
}
