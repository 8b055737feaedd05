package entropy

import (
	"math/bits"
	"slices"

	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// The prefix code groups of a graphic are clusters of tiles. Tiles sorted by their cost make
// the first groups, and tiles that these code badly begin some more. Then each tile takes the
// group in which it costs least, and those two groups become one whose codes save least, as
// long as that makes the stream smaller.

// MaxStartGroups is how many groups a clustering may start with: on a device each has a
// thread of a warp.
const MaxStartGroups = 32

// Estimates for the description of a code, in 1/65536 bit. The length of a symbol's code is
// not known; that its count has as many binary digits as that of the symbol before stands for
// the same length, and a code with equal lengths in a row is written in fewer bits (RFC 9649,
// 3.7.2.1.2). The history has no measurement of these numbers.
const (
	LoneSymbolSize  = 6 << Log2Bits       // of a code with at most one symbol, with all its uses
	DescriptionSize = 40 << Log2Bits      // of any other, besides what follows
	SameLengthSize  = 3 << (Log2Bits - 1) // of a symbol whose count has as many digits as the last
	NextLengthSize  = 5 << (Log2Bits - 1) // one more or less
	OtherLengthSize = 4 << Log2Bits       // of any other symbol
	UnusedSize      = 2 << Log2Bits       // of one or two unused symbols in a row, each
	UnusedRunSize   = 6 << Log2Bits       // of more in a row, and again for each unusedRun of them
	UnusedRun       = 100                 // symbols
	FirstDigits     = 4                   // of the count before the first: 8 to 15
)

// SizeEstimate estimates how many bits a code and the symbols that it codes take.
type SizeEstimate struct {
	counts, logs uint64 // sums over symbols of n, and of n log2(n) times 65536
	description  uint64 // of the code, 1/65536 bit
	used         int    // symbols
	next         int    // the symbol after the last one that occurs
	last         int    // binary digits of its count
}

// NewSizeEstimate is that of no symbol yet of an alphabet that starts at first.
func NewSizeEstimate(first int) SizeEstimate { return SizeEstimate{next: first, last: FirstDigits} }

var lengthSizes = [3]uint64{SameLengthSize, NextLengthSize, OtherLengthSize}

// Add takes the next symbol that occurs, v times.
func (c *SizeEstimate) Add(symbol int, v uint32) {
	n := bits.Len32(v)
	c.description += unusedSize(symbol-c.next) + lengthSizes[min(max(n-c.last, c.last-n), 2)]
	c.next, c.last = symbol+1, n
	c.used++
	c.counts += uint64(v)
	c.logs += uint64(v) * uint64(log2(uint64(v)))
}

// addAll takes the symbols from first on, as often as counts says.
func (c *SizeEstimate) addAll(first int, counts []uint32) {
	for i, v := range counts {
		if v > 0 {
			c.Add(first+i, v)
		}
	}
}

// Size is the estimate in 1/65536 bit.
func (c *SizeEstimate) Size() uint64 {
	if c.used < 2 {
		return LoneSymbolSize
	}
	return max(c.counts*uint64(log2(c.counts)), c.logs) - c.logs + c.description + DescriptionSize
}

// AlphabetSize estimates the bits, times 65536, of a code for counts and of what it codes.
func AlphabetSize(counts []uint32) uint64 {
	c := NewSizeEstimate(0)
	i := 0
	for ; i+4 <= len(counts); i += 4 {
		// Most symbols of a colour cache do not occur, and their neighbours neither.
		if four := counts[i : i+4 : i+4]; four[0]|four[1]|four[2]|four[3] != 0 {
			c.addAll(i, four)
		}
	}
	c.addAll(i, counts[i:])
	return c.Size()
}

// unusedSize estimates the description of n unused symbols in a row.
func unusedSize(n int) uint64 {
	if n < 3 {
		return uint64(n) * UnusedSize
	}
	return UnusedRunSize + uint64(n/UnusedRun)*UnusedRunSize
}

func GroupSizeEstimate(h []uint32) (s uint64) {
	for _, p := range format.WrittenAlphabets(len(h)) {
		s += AlphabetSize(h[p[0]:p[1]])
	}
	return s
}

// symbolSet has a bit for each symbol of a group.
type symbolSet []uint64

// usedSymbols are those that occur.
func usedSymbols(h []uint32) symbolSet {
	s := make(symbolSet, (len(h)+63)/64)
	for i, v := range h {
		if v > 0 {
			s[i/64] |= 1 << (i % 64)
		}
	}
	return s
}

// sumSizeEstimate is GroupSizeEstimate of the sums of the counts a and b, where no symbols but those of
// inA and inB occur.
func sumSizeEstimate(a, b []uint32, inA, inB symbolSet) (s uint64) {
	for _, p := range format.WrittenAlphabets(len(a)) {
		c := NewSizeEstimate(p[0])
		for k := p[0] / 64; k <= (p[1]-1)/64; k++ {
			set := inA[k] | inB[k]
			if from := p[0] - 64*k; from > 0 {
				set &^= 1<<from - 1
			}
			if to := p[1] - 64*k; to < 64 {
				set &= 1<<to - 1
			}
			for ; set != 0; set &= set - 1 {
				i := 64*k + bits.TrailingZeros64(set)
				c.Add(i, a[i]+b[i])
			}
		}
		s += c.Size()
	}
	return s
}

// tileLists has the symbols of all tiles: of tile t list[at[t]:at[t+1]].
type tileLists struct {
	list    []uint16
	at      []uint32
	columns int
	symbols int
	all     []uint32 // how often each symbol occurs
}

func newTileLists(s *bitstream.Stream, bits int) *tileLists {
	p := &s.Pixels
	alphas := uint32(0) // 1 where the alpha of literals counts
	for _, v := range p.ARGB {
		if v>>24 != 255 {
			alphas = 1
			break
		}
	}
	tw, th := format.Tiles(p.W, bits), format.Tiles(p.H, bits)
	l := &tileLists{columns: tw, symbols: s.Parse.Symbols(), at: make([]uint32, tw*th+1)}
	each := func(f func(i, tile int, length uint16)) {
		for i, x, y := 0, 0, 0; i < len(p.ARGB); {
			n := s.Parse.Length[i]
			f(i, y>>bits*tw+x>>bits, n)
			step := 1
			if n > 0 && n < format.Cached {
				step = int(n)
			}
			i += step
			for x += step; x >= p.W; x -= p.W {
				y++
			}
		}
	}
	each(func(_, tile int, length uint16) {
		switch length {
		case 0:
			l.at[tile+1] += 3 + alphas
		case format.Cached:
			l.at[tile+1]++
		default:
			l.at[tile+1] += 2
		}
	})
	for t := range tw * th {
		l.at[t+1] += l.at[t]
	}
	l.list = make([]uint16, l.at[tw*th])
	next := slices.Clone(l.at)
	each(func(i, tile int, length uint16) {
		to := l.list[next[tile]:]
		switch length {
		case 0:
			v := p.ARGB[i]
			to[0], to[1], to[2] = uint16(format.RedAt+v>>16&255), uint16(format.GreenAt+v>>8&255), uint16(format.BlueAt+v&255)
			if alphas > 0 {
				to[3] = uint16(format.AlphaAt + v>>24)
			}
			next[tile] += 3 + alphas
		case format.Cached:
			to[0] = uint16(format.CacheAt + s.Parse.Value[i])
			next[tile]++
		default:
			n, _, _ := format.Prefix(uint32(length))
			d, _, _ := format.Prefix(s.Parse.Value[i])
			to[0], to[1] = uint16(format.LengthAt+n), uint16(format.DistanceAt+d)
			next[tile] += 2
		}
	})
	l.all = make([]uint32, l.symbols)
	for _, v := range l.list {
		l.all[v]++
	}
	return l
}

func (l *tileLists) tile(t int) []uint16 { return l.list[l.at[t]:l.at[t+1]] }

// SeedWeight is how much more the symbols around the seed of a group count than those of the
// whole image. The history has no measurement of it.
const SeedWeight = 4

// startGroups chooses n first groups. Half of them are tiles of about the same cost; each
// other one begins with the tile that costs most in the groups so far, and the tiles around
// it. It returns the group of each tile.
func (l *tileLists) startGroups(n int) []uint16 {
	count := len(l.at) - 1
	rows := count / l.columns
	of := make([]uint16, count)
	least := make([]uint32, count) // cost in the group of the tile, 1/256 bit
	used := make([]bool, count)
	table := make([]uint16, l.symbols)
	IdealCosts(l.all, table)
	h := make([]uint32, l.symbols)
	for t := range count {
		list := l.tile(t)
		least[t] = listCost(list, table)
	}
	first := max(1, n/2)
	order := make([]uint64, 0, count)
	for t, v := range least {
		if k := len(l.tile(t)); k > 0 {
			order = append(order, uint64(v)*16/uint64(k)<<32|uint64(t))
		}
	}
	slices.Sort(order)
	for i, o := range order {
		of[uint32(o)] = uint16(i * first / len(order))
	}
	g := format.EntropyImage{Groups: first, Group: of}
	l.assignTiles(&g, 1)
	hist := l.histograms(&g)
	for k := range first {
		smoothedCosts(hist[k*l.symbols:][:l.symbols], l.all, table)
		for t := range of {
			if of[t] == uint16(k) {
				least[t] = listCost(l.tile(t), table)
			}
		}
	}
	for k := first; k < n; k++ {
		worst, at := uint32(0), -1
		for t, v := range least {
			if !used[t] && v > worst {
				worst, at = v, t
			}
		}
		if at < 0 {
			break
		}
		clear(h)
		size := 0
		x, y := at%l.columns, at/l.columns
		for v := max(0, y-1); v < min(rows, y+2); v++ {
			for u := max(0, x-1); u < min(l.columns, x+2); u++ {
				list := l.tile(v*l.columns + u)
				size += len(list)
				for _, s := range list {
					h[s]++
				}
			}
		}
		f := uint32(max(1, SeedWeight*len(l.list)/max(1, size)))
		for i := range h {
			h[i] = h[i]*f + l.all[i]
		}
		IdealCosts(h, table)
		used[at] = true
		for t := range count {
			if p := listCost(l.tile(t), table); p < least[t] {
				least[t], of[t] = p, uint16(k)
			}
		}
	}
	return of
}

func (l *tileLists) histograms(g *format.EntropyImage) []uint32 {
	out := make([]uint32, g.Groups*l.symbols)
	for t, k := range g.Group {
		h := out[int(k)*l.symbols:][:l.symbols]
		for _, v := range l.tile(t) {
			h[v]++
		}
	}
	return out
}

// assignTiles lets tiles choose their groups. Tiles without symbols follow the one before.
func (l *tileLists) assignTiles(g *format.EntropyImage, passes int) {
	var sums [groupsAtOnce]uint32
	for range passes {
		n := g.Groups
		hist := l.histograms(g)
		p := &CostTables{Entropy: *g, Symbols: l.symbols, Costs: make([]uint16, n*l.symbols)}
		own := make([]uint32, n)
		counts := make([]uint32, n)
		for t, k := range g.Group {
			if len(l.tile(t)) > 0 {
				counts[k]++
			}
		}
		for k := range n {
			smoothedCosts(hist[k*l.symbols:][:l.symbols], l.all, p.Table(k))
		}
		for k, v := range GroupCosts(counts, n) {
			// Neighbouring tiles are often in one group, so that its number takes about
			// half of the ideal bits.
			if own[k] = v / 2; counts[k] == 0 {
				own[k] = NoGroup
			}
		}
		table, stride := p.bySymbol()
		last := uint16(0)
		for t := range g.Group {
			list := l.tile(t)
			if len(list) > 0 {
				best := ^uint32(0)
				for at := 0; at < n; at += groupsAtOnce {
					listCosts(&sums, list, table[at:], stride)
					for k := at; k < min(n, at+groupsAtOnce); k++ {
						if s := own[k] + sums[k-at]; s < best {
							best, last = s, uint16(k)
						}
					}
				}
			}
			g.Group[t] = last
		}
	}
}

// A group's symbols count groupWeight times, and those of the whole image as if each of its
// alphabets had imageWeight uses. The history has no measurement of the two.
const (
	GroupWeight = 32
	ImageWeight = 64
)

// smoothedCosts sets out to costs by the histogram of a group and a little of that of the
// whole image, all, so that symbols that a group does not have get a cost for which tiles
// may still move there.
func smoothedCosts(hist, all []uint32, out []uint16) {
	mixed := make([]uint32, len(hist))
	for _, p := range format.WrittenAlphabets(len(hist)) {
		n := uint64(0)
		for _, v := range all[p[0]:p[1]] {
			n += uint64(v)
		}
		for i := p[0]; i < p[1]; i++ {
			mixed[i] = hist[i]*GroupWeight + uint32(uint64(all[i])*ImageWeight/max(n, 1))
		}
	}
	IdealCosts(mixed, out)
}

// Cluster returns groups on tiles of 1<<bits. Where the stream has groups by an earlier
// parse of the same image, it starts with these, and else with at most most new ones.
func Cluster(s *bitstream.Stream, bits, most int) format.EntropyImage {
	w, h := s.Pixels.W, s.Pixels.H
	n := min(most, MaxStartGroups, format.Tiles(w, bits)*format.Tiles(h, bits)/4)
	if n < 2 {
		return format.EntropyImage{}
	}
	l := newTileLists(s, bits)
	g, rounds := format.EntropyImage{Bits: bits, Groups: s.Entropy.Groups, Group: slices.Clone(s.Entropy.Group)}, 1
	if g.Groups < 2 {
		g.Groups, g.Group, rounds = n, l.startGroups(n), 2
	}
	l.assignTiles(&g, 1)
	for range rounds {
		mergeGroups(&g, l.histograms(&g), l.symbols)
		if g.Groups < 2 {
			return format.EntropyImage{}
		}
		l.assignTiles(&g, 1)
	}
	return g
}

// mergeGroups makes two groups one, those first for which that saves most, while it makes
// the stream smaller by the estimates.
func mergeGroups(g *format.EntropyImage, hist []uint32, symbols int) {
	n := g.Groups
	of := make([]uint16, n)
	live := make([]bool, n)
	size := make([]uint64, n)
	used := make([]symbolSet, n)
	row := func(k int) []uint32 { return hist[k*symbols:][:symbols] }
	for k := range n {
		of[k] = uint16(k)
		used[k] = usedSymbols(row(k))
		live[k] = slices.Max(used[k]) > 0
		size[k] = GroupSizeEstimate(row(k))
	}
	gain := make([]int64, n*n) // of a < b
	pair := func(a, b int) {
		gain[a*n+b] = int64(size[a]+size[b]) - int64(sumSizeEstimate(row(a), row(b), used[a], used[b]))
	}
	first := -1
	for a := range n {
		if live[a] && first < 0 {
			first = a
		}
		for b := a + 1; b < n; b++ {
			if live[a] && live[b] {
				pair(a, b)
			}
		}
	}
	for {
		best, x, y := int64(0), -1, -1
		for a := range n {
			for b := a + 1; b < n; b++ {
				if live[a] && live[b] && gain[a*n+b] > best {
					best, x, y = gain[a*n+b], a, b
				}
			}
		}
		if x < 0 {
			break
		}
		for i, v := range row(y) {
			row(x)[i] += v
		}
		for i, v := range used[y] {
			used[x][i] |= v
		}
		size[x] = GroupSizeEstimate(row(x))
		live[y] = false
		for k := range of {
			if of[k] == uint16(y) {
				of[k] = uint16(x)
			}
		}
		for a := range n {
			if live[a] && a != x {
				pair(min(a, x), max(a, x))
			}
		}
	}
	for k := range n {
		if !live[of[k]] {
			of[k] = uint16(max(first, 0))
		}
	}
	for i, k := range g.Group {
		g.Group[i] = of[k]
	}
	g.Renumber()
}
