package gpu

import "slices"

// slabSizes says which blocks of a kind of memory are cut from slabs, in bytes. A slab is as large as those before it together,
// within limits: a small image does not take much, and a large batch takes few calls.
type slabSizes struct {
	mostCut     int // of a block in a slab
	least, most int // of a slab; least is no less than mostCut

	// Slabs have this part of a pool's budget at most, for what they hold beyond blocks is lost to larger ones. A pool
	// with less than share*least has none.
	share int64
}

// deviceSlabs are there because a call of the driver for device memory takes longer than what many batches do with a block of
// some KiB, and is made under a lock that all lanes share.
var deviceSlabs = slabSizes{mostCut: 8 << 20, least: 16 << 20, most: 128 << 20, share: 8}

// slabAlign is what the places of blocks in a slab are multiples of, as are the addresses that the driver gives.
const slabAlign = 512

// slabs is which parts of larger pieces of memory are blocks. It knows them by their addresses and touches neither them nor
// the driver. A nil *slabs has none.
type slabs[T comparable] struct {
	slabSizes
	limit int64 // bytes of all slabs at most

	// Blocks up to this size, above mostCut, are cut where a slab has room for them, but none is made for them; 0: there are none.
	mostShared int

	offset func(base T, bytes int) T // is the address so many bytes behind another one

	list   []*slab[T]
	cuts   map[T]cut[T] // the blocks
	total  int64        // bytes of all slabs
	unused int64        // of these, bytes in no block
	full   bool         // the driver has no memory for another one
	coming int          // so many are on their way
}

type slab[T comparable] struct {
	base   T
	size   int
	blocks int
	gaps   []gap // between blocks, ascending; no two of them touch
}

// gap is n bytes from at.
type gap struct{ at, n int }

type cut[T comparable] struct {
	of *slab[T]
	at int
}

func newSlabs[T comparable](sizes slabSizes, budget int64, offset func(T, int) T) *slabs[T] {
	return &slabs[T]{slabSizes: sizes, limit: budget / sizes.share, offset: offset, cuts: make(map[T]cut[T])}
}

func slabAligned(n int) int { return (n + slabAlign - 1) &^ (slabAlign - 1) }

// cut returns a block of size bytes, if a slab has room for it.
func (s *slabs[T]) cut(size int) (block T, ok bool) {
	if s == nil || size > max(s.mostCut, s.mostShared) {
		return block, false
	}
	n := slabAligned(size)
	for _, from := range s.list {
		i := slices.IndexFunc(from.gaps, func(g gap) bool { return g.n >= n })
		if i < 0 {
			continue
		}
		g := &from.gaps[i]
		at := g.at
		if g.at, g.n = g.at+n, g.n-n; g.n == 0 {
			from.gaps = slices.Delete(from.gaps, i, i+1)
		}
		from.blocks++
		s.unused -= int64(size)
		block = s.offset(from.base, at)
		s.cuts[block] = cut[T]{from, at}
		return block, true
	}
	return block, false
}

// of is the slab that a block was cut from, or nil.
func (s *slabs[T]) of(block T) *slab[T] {
	if s == nil {
		return nil
	}
	return s.cuts[block].of
}

// put takes back a block of size bytes.
func (s *slabs[T]) put(block T, size int) {
	c := s.cuts[block]
	delete(s.cuts, block)
	to, n := c.of, slabAligned(size)
	to.blocks--
	s.unused += int64(size)
	i, _ := slices.BinarySearchFunc(to.gaps, c.at, func(g gap, at int) int { return g.at - at })
	to.gaps = slices.Insert(to.gaps, i, gap{c.at, n})
	if i+1 < len(to.gaps) && c.at+n == to.gaps[i+1].at {
		to.gaps[i].n += to.gaps[i+1].n
		to.gaps = slices.Delete(to.gaps, i+1, i+2)
	}
	if i > 0 && to.gaps[i-1].at+to.gaps[i-1].n == c.at {
		to.gaps[i-1].n += to.gaps[i].n
		to.gaps = slices.Delete(to.gaps, i, i+1)
	}
}

// next is how large another slab is to be for a block of size bytes where there is room for so many bytes; 0: there is to be
// none.
func (s *slabs[T]) next(size int, room int64) int {
	if s == nil || s.full || s.coming > 0 || size > s.mostCut {
		return 0
	}
	n := s.least
	for n < s.most && int64(n) < s.total {
		n *= 2
	}
	for ; n >= s.least; n /= 2 {
		if int64(n) <= room && s.total+int64(n) <= s.limit {
			return n
		}
	}
	return 0
}

// add makes n bytes from base a slab without blocks.
func (s *slabs[T]) add(base T, n int) {
	s.list = append(s.list, &slab[T]{base: base, size: n, gaps: []gap{{0, n}}})
	s.total += int64(n)
	s.unused += int64(n)
}

// remove forgets a slab without blocks.
func (s *slabs[T]) remove(gone *slab[T]) {
	i := slices.Index(s.list, gone)
	s.list = slices.Delete(s.list, i, i+1)
	s.total -= int64(gone.size)
	s.unused -= int64(gone.size)
}

// spare is how many bytes of slabs are in no block.
func (s *slabs[T]) spare() int64 {
	if s == nil {
		return 0
	}
	return s.unused
}

// expects says whether a slab is on its way that may have room for a block of size bytes.
func (s *slabs[T]) expects(size int) bool {
	return s != nil && s.coming > 0 && size <= max(s.mostCut, s.mostShared)
}
