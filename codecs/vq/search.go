package vq

import "sort"

// finder answers nearest-codeword queries for one codebook. It is safe for
// concurrent use. Every way of searching gives the same keys.
type finder struct {
	vector *vectorFinder // nil: the codewords in order, as follows

	k     int
	order []int32 // codewords by ascending sum of their samples, then by index
	sums  []int32 // in that order
	words []byte  // in that order
}

func newFinder(book *codebook, use kernel) *finder {
	n, k := book.n(), book.k()
	f := &finder{k: k, vector: newVectorFinder(book, use)}
	if f.vector != nil {
		return f
	}
	f.order = make([]int32, n)
	sums := make([]int32, n)
	for i := range n {
		f.order[i] = int32(i)
		sums[i] = sum(book.word(i))
	}
	sort.SliceStable(f.order, func(a, b int) bool { return sums[f.order[a]] < sums[f.order[b]] })
	f.sums = make([]int32, n)
	f.words = make([]byte, 0, n*k)
	for i, x := range f.order {
		f.sums[i] = sums[x]
		f.words = append(f.words, book.word(int(x))...)
	}
	return f
}

func sum(b []byte) int32 {
	var s int32
	for _, v := range b {
		s += int32(v)
	}
	return s
}

// find sets keys to the least key of each of at most blocksAtOnce blocks.
func (f *finder) find(b vectors, keys []key) {
	if f.vector != nil {
		f.vector.find(b, keys)
		return
	}
	f.findOrdered(b, keys)
}

// findOrdered goes through the codewords outwards from the one whose sum is
// nearest to the block's. The squared difference of two sums is at most K times
// the squared distance of the vectors (equal-average search, Ra and Kim, 1993), so
// that it can stop when that bound exceeds the best distance; codewords at
// exactly the best distance are still seen, and the key decides among them.
func (f *finder) findOrdered(b vectors, keys []key) {
	n, k := len(f.sums), f.k
	for i := range keys {
		x := b.at(i)
		s := sum(x)
		hi := sort.Search(n, func(j int) bool { return f.sums[j] >= s })
		lo := hi - 1
		best := makeKey(1<<30, 0)
		limit := int64(1) << 40 // K x the best distance
		for lo >= 0 || hi < n {
			if hi < n {
				d := int64(f.sums[hi] - s)
				if d*d > limit {
					hi = n
				} else {
					if t := makeKey(distance(x, f.words[hi*k:], best.distance()), int(f.order[hi])); t < best {
						best, limit = t, int64(k)*int64(t.distance())
					}
					hi++
				}
			}
			if lo >= 0 {
				d := int64(f.sums[lo] - s)
				if d*d > limit {
					lo = -1
				} else {
					if t := makeKey(distance(x, f.words[lo*k:], best.distance()), int(f.order[lo])); t < best {
						best, limit = t, int64(k)*int64(t.distance())
					}
					lo--
				}
			}
		}
		keys[i] = best
	}
}

// distance is the squared Euclidean distance (eq. 1 without the root) of block x
// and the codeword at the start of c. It may stop at any sum above limit.
func distance(x, c []byte, limit uint32) uint32 {
	c = c[:len(x)]
	var s uint32
	for len(x) >= 4 && len(c) >= 4 {
		d0, d1 := int32(x[0])-int32(c[0]), int32(x[1])-int32(c[1])
		d2, d3 := int32(x[2])-int32(c[2]), int32(x[3])-int32(c[3])
		s += uint32(d0*d0+d1*d1) + uint32(d2*d2+d3*d3)
		if s > limit {
			return s
		}
		x, c = x[4:], c[4:]
	}
	return s
}

func (k kernel) String() string { return [...]string{"go", "avx2", "vnni"}[k] }
