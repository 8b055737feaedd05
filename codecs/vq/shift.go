package vq

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/pelmill/pelmill/codecs/pool"
)

// shift moves codewords from where they matter least to where they are missed
// most. To dissolve cell i into that of its nearest codeword costs squared error
// (see ward), nothing where i is empty; to cut cell k in two gains what a few passes
// of two means over its blocks show. The cheapest cells are matched with the
// greatest gains as long as bold/over times the gain exceeds the cost, each cell at
// most once. The cost is more than what the blocks of i lose in the end, since they
// may go to different cells, and the gain less than what comes of it; bold moves
// that look like a loss at first also lead out of local minima. Each pass is less
// bold than the one before, from 4 down to 1, as in annealing.
func shift(b *cpuBlocks, book *codebook, t *cells, bold, over int) {
	n, k := book.n(), book.k()
	halves := b.halves(book, t)
	others := make([]key, n) // the nearest other codewords
	if n > 1 {
		others = nearest(b.pool, book)
	}
	cost := make([]uint64, n)
	for i, o := range others {
		cost[i] = ward(t.count[i], t.count[o.index()], o.distance())
	}
	cheap := sorted(n, func(i int) uint64 { return cost[i] })
	dear := sorted(n, func(i int) uint64 { return ^halves[i].gain })

	touched := make([]bool, n)
	next := 0
	for _, i := range cheap {
		j := others[i].index()
		if touched[i] || touched[j] {
			continue
		}
		for next < n && touched[dear[next]] {
			next++
		}
		if next == n {
			return
		}
		d := dear[next]
		if halves[d].gain*uint64(bold) <= cost[i]*uint64(over) {
			return
		}
		if d == i || d == j {
			continue
		}
		touched[i], touched[j], touched[d] = true, true, true
		if both := t.count[i] + t.count[j]; t.count[i] > 0 && both > 0 {
			w := book.word(j)
			for x := range k {
				w[x] = mean(t.sum[i*k+x]+t.sum[j*k+x], both)
			}
		}
		copy(book.word(i), halves[d].a)
		copy(book.word(d), halves[d].b)
	}
}

// sorted lists 0 to n-1 by ascending value, equals by index.
func sorted(n int, value func(i int) uint64) []int {
	type entry struct {
		value uint64
		i     int
	}
	entries := make([]entry, n)
	for i := range entries {
		entries[i] = entry{value(i), i}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.value, b.value), a.i-b.i)
	})
	list := make([]int, n)
	for i, e := range entries {
		list[i] = e.i
	}
	return list
}

// groups lists the blocks of every cell, ascending.
func groups(keys []key, count []uint32) [][]int32 {
	all := make([]int32, len(keys))
	g := make([][]int32, len(count))
	next := make([]uint32, len(count)) // where in all the next block of a cell goes
	at := uint32(0)
	for i, n := range count {
		next[i] = at
		g[i] = all[at : at+n : at+n]
		at += n
	}
	for i, k := range keys {
		x := k.index()
		all[next[x]] = int32(i)
		next[x]++
	}
	return g
}

// nearest finds the nearest other codeword of every codeword.
//
// To leave out the codeword itself, the search goes over pairs of codebooks, one for
// each bit of the index: codewords with the bit against those without, and the
// other way round. Two different indices differ in some bit.
func nearest(c *pool.Pool, book *codebook) []key {
	n := book.n()
	best := make([]key, n)
	for i := range best {
		best[i] = makeKey(1<<30, 0)
	}
	width := bits.Len(uint(n - 1))
	type side struct {
		list  []int
		words vectors
	}
	for bit := range width {
		var sides [2]side
		for i := range sides {
			sides[i].list = make([]int, 0, n)
			sides[i].words.samples = make([]byte, 0, len(book.words))
		}
		for i := range n {
			s := &sides[i>>bit&1]
			s.list = append(s.list, i)
			s.words.samples = append(s.words.samples, book.word(i)...)
		}
		for i := range sides {
			sides[i].words = newVectors(c, book.k(), sides[i].words.samples)
		}
		for i, s := range sides {
			other := sides[1-i]
			keys := make([]key, len(s.list))
			search(c, s.words, &codebook{shape: book.shape, words: other.words.samples}, keys)
			for j, k := range keys {
				x := s.list[j]
				best[x] = min(best[x], makeKey(k.distance(), other.list[k.index()]))
			}
		}
	}
	return best
}

// ward is by how much the squared error of two cells rises when they become one
// (Ward, 1963): na nb / (na + nb) times the squared distance of their means.
func ward(na, nb, distance uint32) uint64 {
	if na == 0 || nb == 0 {
		return 0
	}
	a, b := uint64(na), uint64(nb)
	return a * b * uint64(distance) / (a + b)
}

// half is a cell cut in two: the codewords, and by how much the squared error
// would fall.
type half struct {
	a, b []byte
	gain uint64
}

// cut divides the blocks of a cell by two means. The start is the block that was
// farthest from the codeword, the first of several, and its mirror image. total are
// the sums of the samples of all blocks of the cell. The codewords lie in room, which has
// space for both.
func cut(b vectors, keys []key, members []int32, word []byte, total []uint64, room []byte) half {
	k := b.k
	far, most := 0, uint32(0)
	for _, m := range members {
		if d := keys[m].distance(); d > most {
			far, most = int(m), d
		}
	}
	if most == 0 {
		return half{}
	}
	h := half{a: room[:k:k], b: room[k : 2*k : 2*k]}
	copy(h.a, b.at(far))
	for j := range k {
		h.b[j] = clip(2*int(word[j]) - int(h.a[j]))
	}
	var sumsRoom [maxBlock]uint32
	var wayRoom [maxBlock]int16
	sums, way := sumsRoom[:k], wayRoom[:k] // sums of the blocks nearer to b
	for range cutPasses {
		clear(sums)
		// Block x is nearer to b than to a where 2 x.(b - a) > |b|^2 - |a|^2.
		limit := int32(norm(h.b)) - int32(norm(h.a))
		for j := range way {
			way[j] = 2 * (int16(h.b[j]) - int16(h.a[j]))
		}
		nb := sumBeyond(b, members, way, limit, sums)
		na := uint32(len(members)) - nb
		if na == 0 || nb == 0 {
			return half{}
		}
		for j, s := range sums {
			h.a[j], h.b[j] = mean(total[j]-uint64(s), na), mean(uint64(s), nb)
		}
		h.gain = ward(na, nb, distance(h.a, h.b, 1<<30))
	}
	return h
}

// sumBeyondGo adds up those of the members x of b for which x.way > limit, and counts
// them.
func sumBeyondGo(b vectors, members []int32, way []int16, limit int32, sums []uint32) (count uint32) {
	for _, m := range members {
		x := b.at(int(m))
		if dot(x, way) > limit {
			count++
			for j, v := range x {
				sums[j] += uint32(v)
			}
		}
	}
	return count
}

func dot(x []byte, w []int16) int32 {
	w = w[:len(x)]
	var s int32
	for i, v := range x {
		s += int32(v) * int32(w[i])
	}
	return s
}

// cutPasses is enough to see what a cut is worth; the passes that follow do the rest.
const cutPasses = 2
