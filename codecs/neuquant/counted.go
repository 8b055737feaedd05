package neuquant

import (
	"cmp"
	"context"
	"slices"

	"github.com/pelmill/pelmill/codecs/pool"
)

const (
	// mostCounted is how many colours a drawing has at most. Photographs have more, whose
	// bins of colours serve as well.
	mostCounted = 1 << 13

	// mostCountedParts is the same for pictures with opaque and partly transparent pixels,
	// whose entries are divided by what the colours cost.
	mostCountedParts = 1 << 17

	// Up to manyCounted colours there are passesOfFew times as many passes as the option
	// says, because they take less time than the pixels.
	manyCounted = 1 << 14
	passesOfFew = 4

	// mostMerged is how many colours there may be for merging them to take less time than
	// the pixels: it grows with their square.
	mostMerged = 1 << 10
)

// counted is the colours of a scope and how often each occurs. It knows each by an open
// hash table.
type counted struct {
	colours []uint32
	weights []uint32
	slots   []uint32 // one more than the number of a colour; 0 where empty
	shift   uint32
}

// count counts the colours of p, or returns nil if they are more than most.
func count(p *problem, most int) *counted {
	if p.exceeds(most) {
		return nil
	}
	t := &counted{}
	t.resize(10)
	last, at := ^p.at(0), uint32(0)
	var room [piece]uint32
	for lo, n := 0, p.n(); lo < n; lo += piece {
		for _, v := range p.span(lo, min(n, lo+piece), room[:]) {
			if v != last {
				last, at = v, t.slot(v)
				if t.slots[at] == 0 {
					if len(t.colours) == most {
						return nil
					}
					t.colours, t.weights = append(t.colours, v), append(t.weights, 0)
					t.slots[at] = uint32(len(t.colours))
					if 2*len(t.colours) > len(t.slots) {
						t.resize(33 - t.shift)
						at = t.slot(v)
					}
				}
				at = t.slots[at] - 1
			}
			t.weights[at]++
		}
	}
	return t
}

const (
	// probed is of how many pixels one is looked at first: neighbours of a photograph are alike, and those in some distance
	// are not.
	probed = 8

	probes   = 1 << 10 // that are made without a look at what they have found
	markBits = 17      // of a hash of a colour that has a mark
)

// marks is the hashes of the colours that were met.
type marks [1 << markBits / 64]uint64

// exceeds reports whether p is soon known to have more colours than most, as many have different hashes. It goes over the pixels in
// steps, first one of probed, and then the others, unless these had so few colours that all may have no more than most.
func (p *problem) exceeds(most int) bool {
	n := p.n()
	if n/probed <= most || most >= 1<<markBits {
		return false
	}
	var met marks
	different := 0
	for first := range probed {
		for lo := first; lo < n; lo += probes * probed {
			if different += met.add(p, lo, min(n, lo+probes*probed)); different > most {
				return true
			}
		}
		if different <= most/2 {
			break
		}
	}
	return false
}

// add marks the colours of pixels lo, lo+probed, ..., below hi, and returns how many hashes are new.
func (m *marks) add(p *problem, lo, hi int) (different int) {
	for ; lo < hi; lo += probed {
		h := p.at(lo) * 0x9e3779b1 >> (32 - markBits)
		word := &m[h/64]
		different += int(^*word >> (h % 64) & 1)
		*word |= 1 << (h % 64)
	}
	return different
}

// resize makes 1<<bits slots.
func (t *counted) resize(bits uint32) {
	t.slots, t.shift = make([]uint32, 1<<bits), 32-bits
	for i, v := range t.colours {
		t.slots[t.slot(v)] = uint32(i + 1)
	}
}

// slot is that of a colour, or the empty one where it would be.
func (t *counted) slot(v uint32) uint32 {
	i := v * 0x9e3779b1 >> t.shift
	for t.slots[i] != 0 && t.colours[t.slots[i]-1] != v {
		i = (i + 1) & uint32(len(t.slots)-1)
	}
	return i
}

// exactly is the refinement of a scope's entries by the counts of its colours. It is made on
// the host, whoever has trained, so that it is the same.
type exactly struct {
	part    [2]exactPart // of the opaque colours, of the others
	entries []uint32     // of both parts, those of the first before
	first   int          // entries of the first part
}

// exactPart is the colours of a part.
type exactPart struct {
	colours, weights []uint32
	of               []uint8 // the entry of each, among all
}

// group is the colours that are nearest to an entry.
type group struct {
	moments         // all of them
	err     uint64  // sum of their squared distances
	loss    uint64  // what the sum would grow by without the entry
	axis    int     // the component that spreads most
	at      uint32  // the mean there
	low     moments // of those not above it
	gain    uint64  // what the sum would fall by with an entry for each of the two
}

// moments is the sums over colours, each as often as it occurs, of which mean and spread are made.
type moments struct {
	w    uint64
	s, q [4]uint64 // of components and of their squares
}

func (s *moments) add(v uint32, w uint64) {
	s.w += w
	for t := range s.s {
		c := uint64(v >> (8 * t) & 255)
		s.s[t] += w * c
		s.q[t] += w * c * c
	}
}

// spread is the sum of squared distances from the mean along component t, rounded up.
func (s *moments) spread(t int) uint64 {
	if s.w == 0 {
		return 0
	}
	// q - s^2/w, where s^2 can be more than 64 bits, with s = m w + r.
	m, r := s.s[t]/s.w, s.s[t]%s.w
	return s.q[t] - m*s.s[t] - m*r - (r*r)/s.w
}

func (s *moments) spreads() (sum uint64) {
	for t := range s.s {
		sum += s.spread(t)
	}
	return sum
}

// mean is the rounded mean of the colours.
func (s *moments) mean() uint32 { return (&bin{sum: s.s, w: s.w}).mean() }

// less is s without o.
func (s *moments) less(o *moments) moments {
	out := moments{w: s.w - o.w}
	for t := range out.s {
		out.s[t], out.q[t] = s.s[t]-o.s[t], s.q[t]-o.q[t]
	}
	return out
}

// refineExactly moves the entries of a scope's parts, whose colours are counted, from where
// they are and, if the colours are few, from where merging the colours puts them. It returns
// the entries with which the sum of squared errors was the least; it is never larger than with
// those it is given.
func (d *paletteScope) refineExactly(ctx context.Context, c *pool.Pool, of [][]uint32, passes int) ([][]uint32, error) {
	x := newExactly(d, of)
	if len(d.counted.colours) <= manyCounted {
		passes *= passesOfFew
	}
	best, least, err := x.refine(ctx, c, passes)
	if err != nil || least == 0 || len(d.counted.colours) > mostMerged {
		return best, err
	}
	x.merge()
	other, sum, err := x.refine(ctx, c, passes)
	if sum < least {
		best = other
	}
	return best, err
}

// refine makes passes of k-means. In all but the last two, entries that are missed least go to
// where one more saves the most, from one part to the other, too. It returns the best entries
// that it meets and their sum of squared errors.
func (x *exactly) refine(ctx context.Context, c *pool.Pool, passes int) (best [][]uint32, least uint64, err error) {
	least = ^uint64(0)
	for pass := range passes + 1 {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		groups := x.assign(c)
		sum := uint64(0)
		for k := range groups {
			sum += groups[k].err
		}
		if sum < least {
			best, least = x.split(), sum
		}
		if sum == 0 || pass == passes {
			break
		}
		before := slices.Clone(x.entries)
		x.spread(groups)
		for k := range groups {
			if groups[k].w > 0 {
				x.entries[k] = groups[k].mean()
			}
		}
		moved := false
		if pass < passes-2 {
			moved = x.move(groups, max(1, len(groups)>>(2+pass/passesOfFew)))
		}
		if !moved && slices.Equal(before, x.entries) {
			break
		}
	}
	return best, least, nil
}

func newExactly(d *paletteScope, of [][]uint32) *exactly {
	x := &exactly{}
	for i := range d.parts {
		if x.entries = append(x.entries, of[i]...); d.parts[i].opaque {
			x.first = len(of[i])
		}
	}
	for i, v := range d.counted.colours {
		k := d.class(v)
		if k == 0 {
			continue
		}
		p := &x.part[k-1]
		p.colours, p.weights = append(p.colours, v), append(p.weights, d.counted.weights[i])
	}
	for k := range x.part {
		x.part[k].of = make([]uint8, len(x.part[k].colours))
	}
	return x
}

// span is where the entries of a part are.
func (x *exactly) span(part int) (lo, hi int) {
	if part == 0 {
		return 0, x.first
	}
	return x.first, len(x.entries)
}

// split is the entries of the parts that there are.
func (x *exactly) split() (of [][]uint32) {
	for k := range x.part {
		if lo, hi := x.span(k); len(x.part[k].colours) > 0 {
			of = append(of, slices.Clone(x.entries[lo:hi]))
		}
	}
	return of
}

// assign finds the nearest entry of each colour.
func (x *exactly) assign(c *pool.Pool) []group {
	groups := make([]group, len(x.entries))
	for part := range x.part {
		p := &x.part[part]
		lo, hi := x.span(part)
		f := newFinder(x.entries[lo:hi])
		seconds := make([]uint32, len(p.colours))
		keys := make([]uint32, len(p.colours))
		c.Spans(len(p.colours), binsAtOnce, func(from, to int) {
			f.two(p.colours[from:to], keys[from:to], seconds[from:to])
		})
		for i, v := range p.colours {
			k := lo + int(uint8(keys[i]))
			p.of[i] = uint8(k)
			g, w := &groups[k], uint64(p.weights[i])
			g.add(v, w)
			d1 := uint64(keys[i] >> indexBits)
			g.err += w * d1
			if hi-lo > 1 {
				g.loss += w * (uint64(seconds[i]>>indexBits) - d1)
			} else {
				g.loss = ^uint64(0) // the part keeps one entry
			}
		}
	}
	return groups
}

// spread finds what another entry for each group would save, one for the colours above the
// mean of the component that spreads most and one for the others.
func (x *exactly) spread(groups []group) {
	for k := range groups {
		g := &groups[k]
		if g.w == 0 {
			continue
		}
		most := uint64(0)
		for t := range g.s {
			if v := g.moments.spread(t); t == 0 || v > most {
				g.axis, most = t, v
			}
		}
		g.at = uint32(g.s[g.axis] / g.w)
	}
	for part := range x.part {
		p := &x.part[part]
		for i, v := range p.colours {
			if g := &groups[p.of[i]]; v>>(8*g.axis)&255 <= g.at {
				g.low.add(v, uint64(p.weights[i]))
			}
		}
	}
	for k := range groups {
		g := &groups[k]
		if high := g.less(&g.low); g.low.w > 0 && high.w > 0 {
			if all, both := g.spreads(), g.low.spreads()+high.spreads(); both < all {
				g.gain = all - both
			}
		}
	}
}

// move gives at most most entries whose loss is the least to the groups where they save
// the most, as long as that is more, and reports whether there were any.
func (x *exactly) move(groups []group, most int) bool {
	n := len(groups)
	from, to := make([]int, n), make([]int, n)
	for i := range n {
		from[i], to[i] = i, i
	}
	slices.SortFunc(from, func(a, b int) int {
		return cmp.Or(cmp.Compare(groups[a].loss, groups[b].loss), cmp.Compare(a, b))
	})
	slices.SortFunc(to, func(a, b int) int {
		return cmp.Or(cmp.Compare(groups[b].gain, groups[a].gain), cmp.Compare(a, b))
	})
	const left, grown = 1, 2
	var role [maxEntries]uint8
	var added [2][]uint32
	kept := [2]int{x.first, n - x.first}
	partOf := func(k int) int {
		if k < x.first {
			return 0
		}
		return 1
	}
	for i := range min(n, most) {
		a, b := from[i], to[i]
		if groups[a].loss >= groups[b].gain || role[a] == grown || role[b] == left || a == b {
			break
		}
		if kept[partOf(a)] == 1 {
			continue
		}
		kept[partOf(a)]--
		role[a], role[b] = left, grown
		g := &groups[b]
		high := g.less(&g.low)
		x.entries[b] = g.low.mean()
		added[partOf(b)] = append(added[partOf(b)], high.mean())
	}
	if added[0] == nil && added[1] == nil {
		return false
	}
	var of [2][]uint32
	for part := range of {
		lo, hi := x.span(part)
		for k := lo; k < hi; k++ {
			if role[k] != left {
				of[part] = append(of[part], x.entries[k])
			}
		}
		of[part] = append(of[part], added[part]...)
	}
	x.entries, x.first = slices.Concat(of[0], of[1]), len(of[0])
	return true
}

// mapCounted finds the entry of a scope's palette for each of its pixels. of are the entries
// of the parts, and first is where each kind begins.
func (d *paletteScope) mapCounted(ctx context.Context, c *pool.Pool, of [][]uint32, first [3]uint8) ([]uint8, error) {
	t := d.counted
	near := make([]uint8, len(t.colours)) // of each colour
	for j, v := range t.colours {
		if d.class(v) == 0 {
			near[j] = first[0]
		}
	}
	for i, entries := range of {
		k, f := d.parts[i].kind(), newFinder(entries)
		var colours, which [piece]uint32
		var found [piece]uint8
		n := 0
		find := func() {
			f.indices(colours[:n], found[:n])
			for j, at := range which[:n] {
				near[at] = first[k] + found[j]
			}
			n = 0
		}
		for j, v := range t.colours {
			if d.class(v) == k {
				colours[n], which[n] = v, uint32(j)
				if n++; n == piece {
					find()
				}
			}
		}
		find()
	}
	out := make([]uint8, d.all.n())
	c.Spans(len(out), 1<<16, func(lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		var room [piece]uint32
		last, at := ^d.all.at(lo), uint8(0)
		for ; lo < hi; lo += piece {
			for i, v := range d.all.span(lo, min(hi, lo+piece), room[:]) {
				if v != last {
					last, at = v, near[t.slots[t.slot(v)]-1]
				}
				out[lo+i] = at
			}
		}
	})
	return out, ctx.Err()
}
