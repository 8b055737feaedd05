package vq

import (
	"bytes"
	"context"
	"math/bits"
	"slices"
	"sort"
)

// train makes a codebook of at most n codewords for the blocks b. The
// blocks give the same codebook on every machine: all arithmetic is on integers,
// chance comes from a fixed generator, and ties go to the lowest index.
//
// Blocks of at most n different contents are their own codebook. Otherwise a
// start codebook (see seed and split) is improved by passes of Lloyd's algorithm,
// as in LBG: every block to its nearest codeword, every codeword to the mean of
// its blocks. Between passes cells are shifted as in ELBG (Patane and Russo,
// 2001): see shift.
func train(ctx context.Context, c *crew, b vectors, s shape, n int, how start, passes int) (*codebook, error) {
	if book := distinct(b, s, n); book != nil {
		return book, nil
	}
	b = sample(b, n*trainBlocks)
	if book := distinct(b, s, n); book != nil {
		return book, nil
	}
	var book *codebook
	switch how {
	case startSplit:
		var err error
		if book, err = split(ctx, c, b, s, n); err != nil {
			return nil, err
		}
	default:
		book = seed(c, b, s, n)
	}
	if err := lloyd(ctx, c, b, book, passes); err != nil {
		return nil, err
	}
	return finished(book), nil
}

// lloyd improves book in place by at most the given number of passes, fewer when
// one changes nothing.
func lloyd(ctx context.Context, c *crew, b vectors, book *codebook, passes int) error {
	keys := make([]key, b.m())
	before := make([]byte, len(book.words))
	shifted := passes * shiftShare / 8
	for pass := range passes {
		if err := ctx.Err(); err != nil {
			return err
		}
		copy(before, book.words)
		search(c, b, book, keys)
		t := gather(c, b, keys, book.n())
		centre(book, t)
		if pass < shifted {
			shift(c, b, keys, book, t, shifted+3*(shifted-1-pass), shifted)
		}
		if bytes.Equal(before, book.words) {
			break
		}
	}
	return nil
}

// shiftShare is the part of the passes, in eighths, after which cells are
// shifted; the passes that remain let the codewords settle.
const shiftShare = 6

// centre moves every codeword to the mean of its blocks, each sample rounded to
// the nearest integer and halves up. The codeword of an empty cell stays.
func centre(book *codebook, t *cells) {
	k := book.k()
	for i, n := range t.count {
		if n == 0 {
			continue
		}
		w := book.word(i)
		for j, s := range t.sum[i*k:][:k] {
			w[j] = mean(s, n)
		}
	}
}

func mean(sum uint64, n uint32) byte {
	return byte((2*sum + uint64(n)) / (2 * uint64(n)))
}

// shift moves codewords from where they matter least to where they are missed
// most. To dissolve cell i into that of its nearest codeword costs squared error
// (see ward), nothing where i is empty; to cut cell k in two gains what a few passes
// of two means over its blocks show. The cheapest cells are matched with the
// greatest gains as long as bold/over times the gain exceeds the cost, each cell at
// most once. The cost is more than what the blocks of i lose in the end, since they
// may go to different cells, and the gain less than what comes of it; bold moves
// that look like a loss at first also lead out of local minima. Each pass is less
// bold than the one before, from 4 down to 1, as in annealing.
func shift(c *crew, b vectors, keys []key, book *codebook, t *cells, bold, over int) {
	n, k := book.n(), book.k()
	partner, cost := nearest(c, book, t)
	cheap := sorted(n, func(i int) uint64 { return cost[i] })

	members := groups(keys, t.count)
	halves := make([]half, n)
	c.each(n, func(i int) { halves[i] = cut(b, keys, members[i], book.word(i)) })
	dear := sorted(n, func(i int) uint64 { return ^halves[i].gain })

	touched := make([]bool, n)
	next := 0
	for _, i := range cheap {
		j := partner[i]
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
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	sort.SliceStable(list, func(i, j int) bool { return value(list[i]) < value(list[j]) })
	return list
}

// groups lists the blocks of every cell, ascending.
func groups(keys []key, count []uint32) [][]int32 {
	all := make([]int32, len(keys))
	g := make([][]int32, len(count))
	at := 0
	for i, n := range count {
		g[i] = all[at : at : at+int(n)]
		at += int(n)
	}
	for i, k := range keys {
		x := k.index()
		g[x] = append(g[x], int32(i))
	}
	return g
}

// nearest finds for every cell the one that it would be dissolved into, that of its
// nearest other codeword, and the cost of that.
//
// To leave out the codeword itself, the search goes over pairs of codebooks, one for
// each bit of the index: codewords with the bit against those without, and the
// other way round. Two different indices differ in some bit.
func nearest(c *crew, book *codebook, t *cells) (partner []int, cost []uint64) {
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
	partner, cost = make([]int, n), make([]uint64, n)
	for i, k := range best {
		partner[i] = k.index()
		cost[i] = ward(t.count[i], t.count[partner[i]], k.distance())
	}
	return partner, cost
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
// farthest from the codeword, the first of several, and its mirror image.
func cut(b vectors, keys []key, members []int32, word []byte) half {
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
	h := half{a: append([]byte(nil), b.at(far)...), b: make([]byte, k)}
	for j := range k {
		h.b[j] = clip(2*int(word[j]) - int(h.a[j]))
	}
	sums := make([]uint32, 2*k)
	way := make([]int32, k)
	for range cutPasses {
		clear(sums)
		// Block x is nearer to b than to a where 2 x.(b - a) > |b|^2 - |a|^2.
		limit := int32(norm(h.b)) - int32(norm(h.a))
		for j := range way {
			way[j] = 2 * (int32(h.b[j]) - int32(h.a[j]))
		}
		var na, nb uint32
		for _, m := range members {
			x := b.at(int(m))
			to := sums[:k]
			if dot(x, way) > limit {
				to = sums[k:]
				nb++
			} else {
				na++
			}
			for j, v := range x {
				to[j] += uint32(v)
			}
		}
		if na == 0 || nb == 0 {
			return half{}
		}
		for j := range k {
			h.a[j], h.b[j] = mean(uint64(sums[j]), na), mean(uint64(sums[k+j]), nb)
		}
		h.gain = ward(na, nb, distance(h.a, h.b, 1<<30))
	}
	return h
}

func dot(x []byte, w []int32) int32 {
	w = w[:len(x)]
	var s int32
	for i, v := range x {
		s += int32(v) * w[i]
	}
	return s
}

// cutPasses is enough to see what a cut is worth; the passes that follow do the rest.
const cutPasses = 2

// split is LBG's start (Linde, Buzo and Gray, 1980): the mean of all blocks, whose
// cells are cut in two, the ones of greatest gain first, until there are n, with
// two passes of Lloyd's algorithm after every doubling.
func split(ctx context.Context, c *crew, b vectors, s shape, n int) (*codebook, error) {
	k := s.k()
	book := &codebook{shape: s, words: make([]byte, k, n*k)}
	keys := make([]key, b.m())
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		search(c, b, book, keys)
		t := gather(c, b, keys, book.n())
		centre(book, t)
		now := book.n()
		if now == n {
			return book, nil
		}
		members := groups(keys, t.count)
		halves := make([]half, now)
		c.each(now, func(i int) { halves[i] = cut(b, keys, members[i], book.word(i)) })
		order := sorted(now, func(i int) uint64 { return ^halves[i].gain })
		for _, i := range order[:min(now, n-now)] {
			h := halves[i]
			if h.gain == 0 {
				// A cell that cannot be cut gives an empty one; the shifts move it
				// to where it helps.
				h.a, h.b = book.word(i), book.word(i)
			}
			book.words = append(book.words, h.b...)
			copy(book.word(i), h.a)
		}
		if err := lloyd(ctx, c, b, book, 2); err != nil {
			return nil, err
		}
	}
}

// seed is the start of k-means++ (Arthur and Vassilvitskii, 2007): codewords are
// blocks, the first one any, each further one drawn with a probability that is
// proportional to the squared distance to its nearest codeword so far. It draws
// from a sample of seedBlocks blocks per codeword, and in rounds, between which the
// distances are brought up to date, as in k-means|| (Bahmani and others, 2012).
func seed(c *crew, b vectors, s shape, n int) *codebook {
	b = sample(b, n*seedBlocks)
	near := make([]uint32, b.m())
	for i := range near {
		near[i] = 1
	}
	r := rng(1)
	book := &codebook{shape: s, words: make([]byte, 0, n*b.k)}
	keys := make([]key, b.m())
	var total uint64
	for _, d := range near {
		total += uint64(d)
	}
	for book.n() < n {
		round := max(1, min(book.n()/seedRounds, n-book.n()))
		places := make([]uint64, round)
		for i := range places {
			places[i] = r.below(max(total, 1))
		}
		slices.Sort(places)
		added := &codebook{shape: s}
		var sum uint64
		for i, d := range near {
			for sum += uint64(d); len(places) > 0 && places[0] < sum; places = places[1:] {
				added.words = append(added.words, b.at(i)...)
			}
		}
		for range places { // all blocks are codewords already
			added.words = append(added.words, b.at(int(r.below(uint64(b.m()))))...)
		}
		first := book.n() == 0
		book.words = append(book.words, added.words...)
		search(c, b, added, keys)
		total = 0
		for i, k := range keys {
			if first || k.distance() < near[i] {
				near[i] = k.distance()
			}
			total += uint64(near[i])
		}
	}
	return book
}

// seedRounds: each round adds one codeword for every so many that there are.
const seedRounds = 8

const seedBlocks = 16

// rng is the splitmix64 generator (Steele, Lea and Flood, 2014).
type rng uint64

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is a number from 0 to n-1: the high half of a 128-bit product.
func (r *rng) below(n uint64) uint64 {
	hi, _ := bits.Mul64(r.next(), n)
	return hi
}

// sample keeps at most most blocks: one from each of as many equal stretches, at
// a place that the generator draws, so that no column of the picture is favoured.
func sample(b vectors, most int) vectors {
	if b.m() <= most {
		return b
	}
	out := vectors{b.k, make([]byte, 0, most*b.k), make([]uint32, most)}
	r := rng(2)
	for i := range most {
		lo, hi := i*b.m()/most, (i+1)*b.m()/most
		at := lo + int(r.below(uint64(hi-lo)))
		out.samples = append(out.samples, b.at(at)...)
		out.norms[i] = b.norms[at]
	}
	return out
}

// distinct returns the finished codebook of all different blocks if there are at
// most n, and nil otherwise.
func distinct(b vectors, s shape, n int) *codebook {
	seen := make(map[string]struct{}, n+1)
	book := &codebook{shape: s}
	for i := range b.m() {
		x := b.at(i)
		if _, ok := seen[string(x)]; ok {
			continue
		}
		if len(seen) == n {
			return nil
		}
		seen[string(x)] = struct{}{}
		book.words = append(book.words, x...)
	}
	return finished(book)
}

// finished brings a codebook into the order of files, without doubles.
func finished(book *codebook) *codebook {
	n := book.n()
	list := make([][]byte, n)
	for i := range list {
		list[i] = book.word(i)
	}
	sort.Slice(list, func(a, b int) bool { return before(list[a], list[b]) })
	out := &codebook{shape: book.shape, words: make([]byte, 0, len(book.words))}
	for i, w := range list {
		if i == 0 || !bytes.Equal(w, list[i-1]) {
			out.words = append(out.words, w...)
		}
	}
	return out
}

// before is the order of the codewords of a finished codebook.
func before(a, b []byte) bool {
	if s, t := sum(a), sum(b); s != t {
		return s < t
	}
	return bytes.Compare(a, b) < 0
}

// used drops the codewords that no key refers to and renumbers the keys.
func used(book *codebook, keys []key) *codebook {
	n := book.n()
	count := make([]int, n)
	for _, k := range keys {
		count[k.index()]++
	}
	out := &codebook{shape: book.shape, words: make([]byte, 0, len(book.words))}
	at := make([]int, n)
	for i, c := range count {
		if c > 0 {
			at[i] = out.n()
			out.words = append(out.words, book.word(i)...)
		}
	}
	if out.n() < n {
		for i, k := range keys {
			keys[i] = makeKey(k.distance(), at[k.index()])
		}
	}
	return out
}
