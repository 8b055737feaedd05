package webp

import (
	"math/bits"
	"slices"
)

// mostClusters is how many groups a search starts with.
const mostClusters = 32

// clusters finds the groups of prefix codes of a stream with copies: from tiles sorted
// by their price, as many groups as most, to the group that costs each tile least, and
// then the two groups together whose codes are worth least apart, as long as there are
// such.

// codeSize is about what a code costs, 1/65536 bits: its symbols and its lengths.
func codeSize(counts []uint32) uint64 {
	used, header := 0, uint64(0)
	zeros, last := 0, 4
	for _, v := range counts {
		if v == 0 {
			zeros++
			continue
		}
		used++
		// Codes of symbols that are as frequent as the last are as long.
		n := bits.Len32(v)
		d := n - last
		last = n
		step := uint64(3) << (log2Bits - 1)
		switch d {
		case 0:
		case 1, -1:
			step = 5 << (log2Bits - 1)
		default:
			step = 4 << log2Bits
		}
		header += zeroSize(zeros) + step
		zeros = 0
	}
	if used < 2 {
		return 6 << log2Bits
	}
	return entropy(counts) + header + 40<<log2Bits
}

func zeroSize(n int) uint64 {
	if n < 3 {
		return uint64(n) * (2 << log2Bits)
	}
	return 6<<log2Bits + uint64(n/100)*(6<<log2Bits)
}

func groupSize(h []uint32) (s uint64) {
	for _, p := range alphabets(len(h)) {
		s += codeSize(h[p[0]:p[1]])
	}
	return s
}

// tileLists are the symbols of all tiles, of tile t list[at[t]:at[t+1]].
type tileLists struct {
	list    []uint16
	at      []uint32
	columns int
	symbols int
	all     []uint32 // how often each symbol occurs
}

func newTileLists(s *stream, bits int) *tileLists {
	opaque := true
	for _, v := range s.pixels.argb {
		if v>>24 != 255 {
			opaque = false
			break
		}
	}
	tw, th := tiles(s.pixels.w, bits), tiles(s.pixels.h, bits)
	l := &tileLists{columns: tw, symbols: s.parse.symbols(), at: make([]uint32, 1, tw*th+1)}
	for ty := range th {
		for tx := range tw {
			l.list = tileSymbols(l.list, &s.pixels, &s.parse, opaque, bits, tx, ty)
			l.at = append(l.at, uint32(len(l.list)))
		}
	}
	l.all = make([]uint32, l.symbols)
	for _, v := range l.list {
		l.all[v]++
	}
	return l
}

func (l *tileLists) tile(t int) []uint16 { return l.list[l.at[t]:l.at[t+1]] }

// seed chooses n first groups: each from the tile, with those around it, that is coded
// worst by the groups before, against a code of its own.
func (l *tileLists) seed(n int) []uint16 {
	count := len(l.at) - 1
	rows := count / l.columns
	of := make([]uint16, count)
	least := make([]uint32, count) // price in the group of the tile
	used := make([]bool, count)
	table := make([]uint16, l.symbols)
	prices(l.all, table)
	h := make([]uint32, l.symbols)
	for t := range count {
		list := l.tile(t)
		least[t] = listPrice(list, table)
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
	g := groups{n: first, of: of}
	l.settle(&g, 1)
	hist := l.histograms(&g)
	for k := range first {
		smoothPrices(hist[k*l.symbols:][:l.symbols], l.all, table)
		for t := range of {
			if of[t] == uint16(k) {
				least[t] = listPrice(l.tile(t), table)
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
		f := uint32(max(1, 4*len(l.list)/max(1, size)))
		for i := range h {
			h[i] = h[i]*f + l.all[i]
		}
		prices(h, table)
		used[at] = true
		for t := range count {
			if p := listPrice(l.tile(t), table); p < least[t] {
				least[t], of[t] = p, uint16(k)
			}
		}
	}
	return of
}

func (l *tileLists) histograms(g *groups) []uint32 {
	out := make([]uint32, g.n*l.symbols)
	for t, k := range g.of {
		h := out[int(k)*l.symbols:][:l.symbols]
		for _, v := range l.tile(t) {
			h[v]++
		}
	}
	return out
}

// settle lets tiles choose their groups. Tiles without symbols follow the one before.
func (l *tileLists) settle(g *groups, passes int) {
	var sums [lanes]uint32
	for range passes {
		n := g.n
		hist := l.histograms(g)
		p := &pricing{groups: *g, symbols: l.symbols, tables: make([]uint16, n*l.symbols)}
		own := make([]uint32, n)
		counts := make([]uint32, n)
		for t, k := range g.of {
			if len(l.tile(t)) > 0 {
				counts[k]++
			}
		}
		for k := range n {
			smoothPrices(hist[k*l.symbols:][:l.symbols], l.all, p.table(k))
		}
		for k, v := range groupPrices(counts, n) {
			// Neighbours are often in one group, which the map makes use of.
			if own[k] = v / 2; counts[k] == 0 {
				own[k] = noGroup
			}
		}
		table, stride := p.lanePrices()
		last := uint16(0)
		for t := range g.of {
			list := l.tile(t)
			if len(list) > 0 {
				best := ^uint32(0)
				for at := 0; at < n; at += lanes {
					listPrices(&sums, list, table[at:], stride)
					for k := at; k < min(n, at+lanes); k++ {
						if s := own[k] + sums[k-at]; s < best {
							best, last = s, uint16(k)
						}
					}
				}
			}
			g.of[t] = last
		}
	}
}

// smoothPrices sets out to prices by hist, of a group, and a little of all: symbols that
// a group does not have are not free there, nor out of reach.
func smoothPrices(hist, all []uint32, out []uint16) {
	mixed := make([]uint32, len(hist))
	for _, p := range alphabets(len(hist)) {
		n := uint64(0)
		for _, v := range all[p[0]:p[1]] {
			n += uint64(v)
		}
		for i := p[0]; i < p[1]; i++ {
			mixed[i] = hist[i]*32 + uint32(uint64(all[i])*64/max(n, 1))
		}
	}
	prices(mixed, out)
}

// cluster returns groups on tiles of 1<<bits. passes is how often tiles choose.
func cluster(s *stream, bits, most, passes int) groups {
	w, h := s.pixels.w, s.pixels.h
	n := min(most, tiles(w, bits)*tiles(h, bits)/4)
	if n < 2 {
		return groups{}
	}
	l := newTileLists(s, bits)
	g := groups{bits, n, l.seed(n)}
	l.settle(&g, passes)
	for range 2 {
		hist := l.histograms(&g)
		mergeGroups(&g, hist, l.symbols)
		if g.n < 2 {
			return groups{}
		}
		l.settle(&g, 1)
	}
	return g
}

// mergeGroups puts groups together while that makes the stream smaller.
func mergeGroups(g *groups, hist []uint32, symbols int) {
	n := g.n
	of := make([]uint16, n)
	live := make([]bool, n)
	size := make([]uint64, n)
	row := func(k int) []uint32 { return hist[k*symbols:][:symbols] }
	for k := range n {
		of[k] = uint16(k)
		for _, v := range row(k) {
			if v > 0 {
				live[k] = true
				break
			}
		}
		size[k] = groupSize(row(k))
	}
	sum := make([]uint32, symbols)
	gain := make([]int64, n*n) // of a < b
	pair := func(a, b int) {
		for i, v := range row(a) {
			sum[i] = v + row(b)[i]
		}
		gain[a*n+b] = int64(size[a]+size[b]) - int64(groupSize(sum))
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
		size[x] = groupSize(row(x))
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
	for i, k := range g.of {
		g.of[i] = of[k]
	}
	g.renumber()
}
