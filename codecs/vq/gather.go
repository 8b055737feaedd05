package vq

import (
	"sync"

	"github.com/pelmill/pelmill/codecs/pool"
)

// cells is what a pass over the blocks learns about the cells of the codebook.
type cells struct {
	count []uint32
	sum   []uint64 // N x K, sums of the samples
}

func newCells(n, k int) *cells { return &cells{make([]uint32, n), make([]uint64, n*k)} }

// gather adds up the blocks of each cell. All sums are of integers, so that it
// does not matter who adds what.
func gather(c *pool.Pool, b vectors, keys []key, n int) *cells {
	t := newCells(n, b.k)
	parts := min(c.Size(), (len(keys)+blocksAtOnce-1)/blocksAtOnce)
	size := (len(keys) + parts - 1) / parts
	var mu sync.Mutex
	var free []*partialCells // no more than there are goroutines at work
	c.Each(parts, func(p int) {
		mu.Lock()
		var sums *partialCells
		if last := len(free) - 1; last >= 0 {
			sums, free = free[last], free[:last]
		}
		mu.Unlock()
		if sums == nil {
			sums = &partialCells{count: make([]uint32, n), sum: make([]uint32, n*b.k)}
		}
		for lo, end := p*size, min(len(keys), (p+1)*size); lo < end; {
			hi := min(end, lo+maxPartial-sums.blocks)
			sums.add(b.part(lo, hi), keys[lo:hi])
			if lo = hi; sums.blocks == maxPartial {
				mu.Lock()
				t.take(sums)
				mu.Unlock()
			}
		}
		mu.Lock()
		free = append(free, sums)
		mu.Unlock()
	})
	for _, sums := range free {
		t.take(sums)
	}
	return t
}

// maxPartial is of how many blocks the sums surely fit into 32 bits.
const maxPartial = 1 << 24

// partialCells is cells of at most maxPartial blocks.
type partialCells struct {
	blocks     int
	count, sum []uint32
}

func (s *partialCells) add(b vectors, keys []key) {
	s.blocks += len(keys)
	addBlocks(s.sum, s.count, b, keys)
}

// take adds the sums of s, and clears them.
func (t *cells) take(s *partialCells) {
	for i, v := range s.count {
		t.count[i] += v
	}
	for i, v := range s.sum {
		t.sum[i] += uint64(v)
	}
	s.blocks = 0
	clear(s.count)
	clear(s.sum)
}

// addBlocksGo adds each block to the sums and the count of its cell.
func addBlocksGo(sums, count []uint32, b vectors, keys []key) {
	k := b.k
	for i, key := range keys {
		x := key.index()
		count[x]++
		sum := sums[x*k:][:k]
		for j, v := range b.at(i) {
			sum[j] += uint32(v)
		}
	}
}
