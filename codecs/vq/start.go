package vq

import (
	"context"
	"math/bits"
	"slices"
)

// split is LBG's start (Linde, Buzo and Gray, 1980): the mean of all blocks, whose
// cells are cut in two, the ones of greatest gain first, until there are n, with
// two passes of Lloyd's algorithm after every doubling.
func split(ctx context.Context, b *cpuBlocks, s shape, n int) (*codebook, error) {
	k := s.k()
	book := &codebook{shape: s, words: make([]byte, k, n*k)}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b.search(book)
		t := b.gather(book.n())
		centre(book, t)
		now := book.n()
		if now == n {
			return book, nil
		}
		halves := b.halves(book, t)
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
		if err := lloyd(ctx, b, book, 2); err != nil {
			return nil, err
		}
	}
}

// seed is the start of k-means++ (Arthur and Vassilvitskii, 2007): codewords are
// blocks, the first one any, each further one drawn with a probability that is
// proportional to the squared distance to its nearest codeword so far. It draws
// from a sample of seedBlocks blocks per codeword, and in rounds, between which the
// distances are brought up to date, as in k-means|| (Bahmani and others, 2012).
func seed(_ context.Context, b *cpuBlocks, s shape, n int) (*codebook, error) {
	b = b.keep(n * seedBlocks)
	k := s.k()
	near := make([]uint32, b.m()) // squared distance to the nearest codeword so far
	for i := range near {
		near[i] = 1
	}
	total := uint64(b.m())
	r := rng(1)
	book := &codebook{shape: s, words: make([]byte, 0, n*k)}
	for book.n() < n {
		round := max(1, min(book.n()/seedRounds, n-book.n()))
		added := &codebook{shape: s}
		for _, i := range draw(&r, near, total, round) {
			added.words = append(added.words, b.at(i)...)
		}
		first := book.n() == 0
		book.words = append(book.words, added.words...)
		if book.n() == n {
			break
		}
		b.search(added)
		total = 0
		for i, k := range b.keys {
			if first {
				near[i] = k.distance()
			} else {
				near[i] = min(near[i], k.distance())
			}
			total += uint64(near[i])
		}
	}
	return book, nil
}

// draw picks blocks, each with a probability that is proportional to its weight;
// any block where there is no weight left.
func draw(r *rng, weight []uint32, total uint64, count int) []int {
	picks := make([]int, count)
	if total == 0 {
		for i := range picks {
			picks[i] = int(r.below(uint64(len(weight))))
		}
		return picks
	}
	places := make([]uint64, count) // on the line of all weights, end to end
	for i := range places {
		places[i] = r.below(total)
	}
	slices.Sort(places)
	block, end := 0, uint64(weight[0])
	for i, p := range places {
		for p >= end {
			block++
			end += uint64(weight[block])
		}
		picks[i] = block
	}
	return picks
}

const (
	seedBlocks = 16 // blocks to draw from, for each codeword
	seedRounds = 8  // a round adds one codeword for every so many that there are
)

// sampleSeed starts the generator that draws a sample.
const sampleSeed = 2

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

// sample is the step of [source].
func sample(b vectors, most int) vectors {
	if b.m() <= most {
		return b
	}
	out := vectors{b.k, make([]byte, 0, most*b.k), make([]uint32, most)}
	for i, at := range samplePlaces(b.m(), most) {
		out.samples = append(out.samples, b.at(at)...)
		out.norms[i] = b.norms[at]
	}
	return out
}

// samplePlaces draws which of m blocks a sample of most of them has.
func samplePlaces(m, most int) []int {
	places := make([]int, most)
	r := rng(sampleSeed)
	for i := range places {
		lo, hi := i*m/most, (i+1)*m/most
		places[i] = lo + int(r.below(uint64(hi-lo)))
	}
	return places
}
