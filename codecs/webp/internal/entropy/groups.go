package entropy

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// CostTables is what the symbols of an image cost: a table for each group, and which
// tile is in which group.
type CostTables struct {
	Entropy format.EntropyImage
	Columns int // of tiles
	Symbols int // of a table
	Costs   []uint16
	Opaque  bool // the alpha of all literals is the same, and need not be looked up
}

// LiteralCosts is the part of a table that has the literals.
type LiteralCosts [format.LengthAt]uint16

func (g *CostTables) Table(k int) []uint16 { return g.Costs[k*g.Symbols:][:g.Symbols] }

// GroupAt returns the group of pixel (x, y).
func (g *CostTables) GroupAt(x, y int) int {
	if g.Entropy.Bits == 0 {
		return 0
	}
	return int(g.Entropy.Group[y>>g.Entropy.Bits*g.Columns+x>>g.Entropy.Bits])
}

// LiteralsAt returns the costs of literals for pixel (x, y).
func (g *CostTables) LiteralsAt(x, y int) *LiteralCosts {
	return (*LiteralCosts)(g.Costs[g.GroupAt(x, y)*g.Symbols:])
}

// tileSymbols appends to list the symbols of the pixels of tile (tx, ty) of 1<<bits:
// what its cost adds up, and what the histogram of its group counts.
func tileSymbols(list []uint16, p *format.Pixels, parse *format.Parse, opaque bool, bits, tx, ty int) []uint16 {
	x0, x1 := tx<<bits, min(p.W, (tx+1)<<bits)
	if parse.Length == nil && opaque && bits == 3 && x1-x0 == 8 && (ty+1)<<bits <= p.H {
		if all, ok := literalSymbols(list, p.ARGB[ty<<bits*p.W+x0:], p.W); ok {
			return all
		}
	}
	for y := ty << bits; y < min(p.H, (ty+1)<<bits); y++ {
		at := y*p.W + x0
		line := p.ARGB[at : y*p.W+x1]
		if parse.Length == nil && opaque {
			for _, v := range line {
				list = append(list, uint16(format.RedAt+v>>16&255), uint16(format.GreenAt+v>>8&255), uint16(format.BlueAt+v&255))
			}
			continue
		}
		for i, v := range line {
			l := uint16(0)
			if parse.Length != nil {
				l = parse.Length[at+i]
			}
			switch l {
			case 0:
				list = append(list, uint16(format.RedAt+v>>16&255), uint16(format.GreenAt+v>>8&255), uint16(format.BlueAt+v&255))
				if !opaque {
					list = append(list, uint16(format.AlphaAt+v>>24))
				}
			case format.Covered:
			case format.Cached:
				list = append(list, uint16(format.CacheAt+parse.Value[at+i]))
			default:
				s, _, _ := format.Prefix(uint32(l))
				d, _, _ := format.Prefix(parse.Value[at+i])
				list = append(list, uint16(format.LengthAt+s), uint16(format.DistanceAt+d))
			}
		}
	}
	return list
}

func LiteralCost(v uint32, t *LiteralCosts, opaque bool) uint32 {
	s := uint32(t[format.RedAt+v>>16&255]) + uint32(t[format.GreenAt+v>>8&255]) + uint32(t[format.BlueAt+v&255])
	if opaque {
		return s
	}
	return s + uint32(t[format.AlphaAt+v>>24])
}

func listCost(list, table []uint16) (s uint32) {
	for _, v := range list {
		s += uint32(table[v])
	}
	return s
}

// TileCosts returns the cost of every tile of 1<<bits by one table.
func TileCosts(c *pool.Pool, p *format.Pixels, parse *format.Parse, opaque bool, bits int, table []uint16) []uint32 {
	tw, th := format.Tiles(p.W, bits), format.Tiles(p.H, bits)
	out := make([]uint32, tw*th)
	c.Spans(th, 1, func(ty, _ int) {
		var list []uint16
		for tx := range tw {
			if parse.Length == nil && opaque {
				out[ty*tw+tx] = literalTileCost((*LiteralCosts)(table), p, bits, tx, ty)
				continue
			}
			list = tileSymbols(list[:0], p, parse, opaque, bits, tx, ty)
			out[ty*tw+tx] = listCost(list, table)
		}
	})
	return out
}

// groupsAtOnce is in how many groups the cost of a list of symbols is added up at a time: as
// many sums of 16 bits as a vector of AVX2 has.
const groupsAtOnce = 16

// bySymbol are the tables of all groups, symbol by symbol: the cost in group k lies
// at symbol*stride + k. Beyond the last group there are zeros.
func (g *CostTables) bySymbol() (table []uint16, stride int) {
	stride = (g.Entropy.Groups + groupsAtOnce - 1) / groupsAtOnce * groupsAtOnce
	table = make([]uint16, g.Symbols*stride)
	for k := range g.Entropy.Groups {
		for s, v := range g.Table(k) {
			table[s*stride+k] = v
		}
	}
	return table, stride
}

// listCostsGo sets sums to the costs of a list of symbols in the first groups of table.
func listCostsGo(sums *[groupsAtOnce]uint32, list, table []uint16, stride int) {
	*sums = [groupsAtOnce]uint32{}
	for _, v := range list {
		for j, p := range table[int(v)*stride:][:groupsAtOnce] {
			sums[j] += uint32(p)
		}
	}
}

// AssignGroups moves every tile of g.groups to the group where it costs least, by that
// group's own cost and its table; of groups that cost the same to the lowest. Of a
// tile in group k it looks at groups k-near to k+near, or at all where near is 0. It
// returns for each group the sum of its tiles' regrets: what they would cost more in the
// next best of the groups looked at, NoGroup where that is the only one. Tiles of groups
// whose own cost is Closed stay there, without regret.
func AssignGroups(c *pool.Pool, p *format.Pixels, parse *format.Parse, g *CostTables, own []uint32, near int) []uint64 {
	regrets := make([]atomic.Uint64, g.Entropy.Groups)
	bits := g.Entropy.Bits
	tw, th := format.Tiles(p.W, bits), format.Tiles(p.H, bits)
	table, stride := g.bySymbol()
	c.Spans(th, 1, func(ty, _ int) {
		var list []uint16
		var sums [groupsAtOnce]uint32
		for tx := range tw {
			k := &g.Entropy.Group[ty*tw+tx]
			if own[*k] == Closed {
				continue
			}
			list = tileSymbols(list[:0], p, parse, g.Opaque, bits, tx, ty)
			lo, hi := 0, g.Entropy.Groups
			if near > 0 {
				lo, hi = max(0, int(*k)-near), min(g.Entropy.Groups, int(*k)+near+1)
			}
			best, second := ^uint32(0), ^uint32(0)
			for lo < hi {
				at := min(lo, stride-groupsAtOnce)
				listCosts(&sums, list, table[at:], stride)
				for ; lo < min(hi, at+groupsAtOnce); lo++ {
					if s := own[lo] + sums[lo-at]; s < best {
						best, second, *k = s, best, uint16(lo)
					} else if s < second {
						second = s
					}
				}
			}
			regrets[*k].Add(uint64(min(second-best, NoGroup)))
		}
	})
	out := make([]uint64, len(regrets))
	for k := range regrets {
		out[k] = regrets[k].Load()
	}
	return out
}

// Histograms counts the symbols of each group: n histograms one after the other.
func Histograms(c *pool.Pool, p *format.Pixels, parse *format.Parse, opaque bool, g format.EntropyImage) []uint32 {
	symbols := parse.Symbols()
	n := max(1, g.Groups)
	bits := g.Bits
	if bits == 0 {
		bits = 7
	}
	tw, th := format.Tiles(p.W, bits), format.Tiles(p.H, bits)
	// A part for each goroutine, but none of few pixels: the histograms of many groups are larger than some rows.
	part := max(1, (th+c.Size()-1)/c.Size(), countedPixels/(p.W<<bits))
	sums := make([][]uint32, (th+part-1)/part)
	c.Spans(th, part, func(from, to int) {
		h := make([]uint32, n*symbols)
		if parse.Length == nil && opaque {
			sums[from/part] = h
			twice := literalCounts.Get().(*[]literalCount)
			defer literalCounts.Put(twice)
			*twice = slices.Grow((*twice)[:0], n)[:n]
			clear(*twice)
			for ty := from; ty < to; ty++ {
				for tx := range tw {
					k := 0
					if g.Bits > 0 {
						k = int(g.Group[ty*tw+tx])
					}
					(*twice)[k].add(p, bits, tx, ty)
				}
			}
			for k := range *twice {
				own := h[k*symbols:][:format.LengthAt]
				for s, v := range &(*twice)[k] {
					own[s] = v[0] + v[1]
				}
			}
			return
		}
		var list []uint16
		for ty := from; ty < to; ty++ {
			for tx := range tw {
				k := 0
				if g.Bits > 0 {
					k = int(g.Group[ty*tw+tx])
				}
				own := h[k*symbols:][:symbols]
				list = tileSymbols(list[:0], p, parse, opaque, bits, tx, ty)
				for _, v := range list {
					own[v]++
				}
			}
		}
		sums[from/part] = h
	})
	for _, h := range sums[1:] {
		for i, v := range h {
			sums[0][i] += v
		}
	}
	return sums[0]
}

// MovedHistograms is Histograms, from the counts that it returned of the same symbols when tiles were in the groups before, of
// which there were as many: the symbols of the tiles that moved change places. ok is false where so many have moved that
// counting takes no longer.
func MovedHistograms(c *pool.Pool, p *format.Pixels, parse *format.Parse, opaque bool, g format.EntropyImage, before []uint16, counts []uint32) (moved []uint32, ok bool) {
	n := 0
	for t, k := range g.Group {
		if k != before[t] {
			n++
		}
	}
	if 3*n > len(before) {
		return nil, false
	}
	symbols := parse.Symbols()
	tw, th := format.Tiles(p.W, g.Bits), format.Tiles(p.H, g.Bits)
	part := max(1, (th+c.Size()-1)/c.Size(), countedPixels/(p.W<<g.Bits))
	changes := make([][]uint32, (th+part-1)/part)
	c.Spans(th, part, func(from, to int) {
		h := make([]uint32, len(counts)) // modulo 1<<32
		var list []uint16
		for t := from * tw; t < to*tw; t++ {
			if g.Group[t] == before[t] {
				continue
			}
			old, own := h[int(before[t])*symbols:][:symbols], h[int(g.Group[t])*symbols:][:symbols]
			list = tileSymbols(list[:0], p, parse, opaque, g.Bits, t%tw, t/tw)
			for _, v := range list {
				old[v]--
				own[v]++
			}
		}
		changes[from/part] = h
	})
	moved = slices.Clone(counts)
	for _, h := range changes {
		for i, v := range h {
			moved[i] += v
		}
	}
	return moved, true
}

// literalTileCost is the cost of an opaque tile of literals, without a list of its symbols.
func literalTileCost(t *LiteralCosts, p *format.Pixels, bits, tx, ty int) (s uint32) {
	x0, x1 := tx<<bits, min(p.W, (tx+1)<<bits)
	for y := ty << bits; y < min(p.H, (ty+1)<<bits); y++ {
		for _, v := range p.ARGB[y*p.W+x0 : y*p.W+x1] {
			s += LiteralCost(v, t, true)
		}
	}
	return s
}

// countedPixels is the least that a goroutine counts, unless there are fewer.
const countedPixels = 1 << 17

// literalCount counts literals twice, neighbours in different counts: many are equal, and a count that was just written has to be
// waited for.
type literalCount [format.LengthAt][2]uint32

// literalCounts are those that nobody uses.
var literalCounts = sync.Pool{New: func() any { return new([]literalCount) }}

// add counts the symbols of an opaque tile of literals, without a list of them.
func (h *literalCount) add(p *format.Pixels, bits, tx, ty int) {
	x0, x1 := tx<<bits, min(p.W, (tx+1)<<bits)
	for y := ty << bits; y < min(p.H, (ty+1)<<bits); y++ {
		line := p.ARGB[y*p.W+x0 : y*p.W+x1]
		for ; len(line) >= 2; line = line[2:] {
			v, w := line[0], line[1]
			h[format.RedAt+v>>16&255][0]++
			h[format.RedAt+w>>16&255][1]++
			h[format.GreenAt+v>>8&255][0]++
			h[format.GreenAt+w>>8&255][1]++
			h[format.BlueAt+v&255][0]++
			h[format.BlueAt+w&255][1]++
		}
		for _, v := range line {
			h[format.RedAt+v>>16&255][0]++
			h[format.GreenAt+v>>8&255][0]++
			h[format.BlueAt+v&255][0]++
		}
	}
}

// StartGroups divides tiles, ordered by cost, into n groups of the same size: group 0 has
// those that cost least. Flat tiles, where there are any, make one more group.
func StartGroups(costs []uint32, flat []bool, n int) format.EntropyImage {
	order := make([]uint64, 0, len(costs))
	of := make([]uint16, len(costs))
	for i, v := range costs {
		if flat[i] {
			of[i] = uint16(n)
		} else {
			order = append(order, uint64(v)<<32|uint64(i))
		}
	}
	order = sortedByCost(order)
	for i, o := range order {
		of[uint32(o)] = uint16(i * n / len(order))
	}
	if len(order) < len(costs) {
		n++
	}
	return format.EntropyImage{Groups: n, Group: of}
}

// sortedByCost sorts a list by its high 32 bits, those that are equal in their order in
// the list, by digits of 11 bits from the least on. It may write to the list.
func sortedByCost(list []uint64) []uint64 {
	const digit = 11
	next := make([]uint64, len(list))
	for shift := 32; shift < 64; shift += digit {
		var at [1 << digit]int
		for _, v := range list {
			at[v>>shift&(1<<digit-1)]++
		}
		if len(list) == 0 || at[list[0]>>shift&(1<<digit-1)] == len(list) {
			continue
		}
		sum := 0
		for i, n := range at {
			at[i] = sum
			sum += n
		}
		for _, v := range list {
			d := v >> shift & (1<<digit - 1)
			next[at[d]] = v
			at[d]++
		}
		list, next = next, list
	}
	return list
}

// CommonestFree is a table in which the commonest symbol of each alphabet costs 0 and all
// others cost 1.
func CommonestFree(hist []uint32) []uint16 {
	table := make([]uint16, len(hist))
	for _, p := range format.Alphabets(len(hist)) {
		top := p[0]
		for i := p[0]; i < p[1]; i++ {
			if table[i] = 1; hist[i] > hist[top] {
				top = i
			}
		}
		table[top] = 0
	}
	return table
}
