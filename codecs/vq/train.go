package vq

import (
	"bytes"
	"context"
	"math/bits"
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
		book = seed(b, s, n)
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
	for pass := range passes {
		if err := ctx.Err(); err != nil {
			return err
		}
		copy(before, book.words)
		search(c, b, book, keys)
		t := gather(c, b, keys, book.n())
		centre(book, t)
		if pass < passes*shiftShare/8 {
			shift(c, b, keys, book, t)
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
// most. To dissolve cell i into the cell j of its nearest codeword costs
// ni nj / (ni + nj) x |ci - cj|^2 of squared error (Ward, 1963), nothing where i is
// empty; to cut cell k in two gains what a few passes of two means over its
// blocks show. The cheapest cells are matched with the greatest gains as long as
// that lowers the error, each cell at most once.
func shift(c *crew, b vectors, keys []key, book *codebook, t *cells) {
	n, k := book.n(), book.k()
	members := groups(keys, t.count)
	halves := make([]half, n)
	c.each(n, func(i int) { halves[i] = cut(b, members[i], book.word(i), t.distance[i]) })
	partner := make([]int, n)
	cost := make([]uint64, n)
	nearest(c, book, t, partner, cost)

	cheap, dear := make([]int, n), make([]int, n)
	for i := range n {
		cheap[i], dear[i] = i, i
	}
	sort.SliceStable(cheap, func(a, b int) bool { return cost[cheap[a]] < cost[cheap[b]] })
	sort.SliceStable(dear, func(a, b int) bool { return halves[dear[a]].gain > halves[dear[b]].gain })

	touched := make([]bool, n)
	next := 0
	for _, i := range cheap {
		j := partner[i]
		if touched[i] || j < 0 || touched[j] {
			continue
		}
		for next < n && touched[dear[next]] {
			next++
		}
		if next == n {
			return
		}
		d := dear[next]
		if halves[d].gain <= cost[i] {
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

// nearest finds for every cell the one that it would be dissolved into and the
// cost of that. A lone cell has the partner -1.
func nearest(c *crew, book *codebook, t *cells, partner []int, cost []uint64) {
	n := book.n()
	c.spans(n, 64, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			best := makeKey(1<<30, 0)
			partner[i] = -1
			for j := range n {
				if j == i {
					continue
				}
				if t := makeKey(distance(book.word(i), book.word(j), best.distance()), j); t < best {
					best, partner[i] = t, j
				}
			}
			a, b := uint64(t.count[i]), uint64(0)
			if partner[i] >= 0 {
				b = uint64(t.count[partner[i]])
			}
			cost[i] = 0
			if a+b > 0 {
				cost[i] = a * b * uint64(best.distance()) / (a + b)
			}
		}
	})
}

// half is a cell cut in two: the codewords, and by how much the squared error
// would fall.
type half struct {
	a, b []byte
	gain uint64
}

// cut divides the blocks of a cell by two means. The start is the block that is
// farthest from the codeword, the first of several, and its mirror image.
func cut(b vectors, members []int32, word []byte, error uint64) half {
	k := len(word)
	if len(members) < 2 || error == 0 {
		return half{}
	}
	far, most := 0, uint32(0)
	for _, m := range members {
		if d := distance(b.at(int(m)), word, 1<<30); d > most {
			far, most = int(m), d
		}
	}
	h := half{a: append([]byte(nil), b.at(far)...), b: make([]byte, k)}
	for j := range k {
		h.b[j] = clip(2*int(word[j]) - int(h.a[j]))
	}
	sums := make([]uint64, 2*k)
	for range cutPasses {
		clear(sums)
		var na, nb uint32
		var left uint64
		for _, m := range members {
			x := b.at(int(m))
			da := distance(x, h.a, 1<<30)
			db := distance(x, h.b, da)
			to := sums[:k]
			if db < da {
				to = sums[k:]
				nb++
				left += uint64(db)
			} else {
				na++
				left += uint64(da)
			}
			for j, v := range x {
				to[j] += uint64(v)
			}
		}
		if left < error {
			h.gain = error - left
		}
		if na == 0 || nb == 0 {
			return half{}
		}
		for j := range k {
			h.a[j], h.b[j] = mean(sums[j], na), mean(sums[k+j], nb)
		}
	}
	return h
}

const cutPasses = 3

// split is LBG's start (Linde, Buzo and Gray, 1980): the mean of all blocks, whose
// cells are cut in two, the ones of greatest gain first, until there are n, with
// two passes of Lloyd's algorithm after every doubling.
func split(ctx context.Context, c *crew, b vectors, s shape, n int) (*codebook, error) {
	k := s.k()
	book := &codebook{s, make([]byte, k, n*k)}
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
		c.each(now, func(i int) { halves[i] = cut(b, members[i], book.word(i), t.distance[i]) })
		order := make([]int, now)
		for i := range order {
			order[i] = i
		}
		sort.SliceStable(order, func(a, b int) bool { return halves[order[a]].gain > halves[order[b]].gain })
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
// from a sample of seedBlocks blocks per codeword.
func seed(b vectors, s shape, n int) *codebook {
	b = sample(b, n*seedBlocks)
	near := make([]uint32, b.m())
	for i := range near {
		near[i] = 1 << 30
	}
	r := rng(1)
	book := &codebook{s, make([]byte, 0, n*b.k)}
	pick := int(r.below(uint64(b.m())))
	for {
		word := b.at(pick)
		book.words = append(book.words, word...)
		if book.n() == n {
			return book
		}
		var total uint64
		for i, d := range near {
			near[i] = min(d, distance(b.at(i), word, d))
			total += uint64(near[i])
		}
		if total == 0 {
			pick = int(r.below(uint64(b.m())))
			continue
		}
		at := r.below(total)
		for i, d := range near {
			if at < uint64(d) {
				pick = i
				break
			}
			at -= uint64(d)
		}
	}
}

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
	out := &codebook{book.shape, make([]byte, 0, len(book.words))}
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
	out := &codebook{book.shape, make([]byte, 0, len(book.words))}
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
