package gpu

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// space is memory that gives addresses, and knows what is taken.
type space struct {
	next  int
	taken map[int]int // bytes by address
	bytes int64
	calls int
	full  bool
	odds  int // one of so many calls finds no memory; 0: none
	r     *rand.Rand
}

func newSpace() *space {
	return &space{next: 1 << 20, taken: map[int]int{}, r: rand.New(rand.NewPCG(3, 4))}
}

func (s *space) alloc(n int) (int, error) {
	s.calls++
	if s.full || s.odds > 0 && s.r.IntN(s.odds) == 0 {
		return 0, &Error{Card: -1, Call: "cuMemAlloc", Code: codeOutOfMemory}
	}
	at := s.next
	s.next += slabAligned(n) + slabAlign*s.r.IntN(3) // some lie side by side
	s.taken[at] = n
	s.bytes += int64(n)
	return at, nil
}

func (s *space) free(at int) error {
	n, ok := s.taken[at]
	if !ok {
		return fmt.Errorf("%d was freed and not taken", at)
	}
	delete(s.taken, at)
	s.bytes -= int64(n)
	return nil
}

// pooled is a pool with slabs over a space.
func pooled(s *space, budget int64) *pool[int] {
	p := newPool("memory", budget, s.alloc, s.free)
	p.cutting(deviceSlabs, func(base, bytes int) int { return base + bytes })
	return p
}

type lent struct{ at, size int }

// TestBlocksOfSlabsStayApart lets batches take, give back and trim at random, on a driver that always has memory and on one
// that often has none, and looks after each step at everything that is out.
func TestBlocksOfSlabsStayApart(t *testing.T) {
	for _, c := range []struct {
		budget int64
		odds   int
		ahead  int
	}{{32 << 20, 0, 0}, {128 << 20, 0, 0}, {300 << 20, 0, 0}, {1 << 30, 0, 0}, {1 << 30, 0, 100 << 20}, {300 << 20, 3, 0}, {300 << 20, 3, 32 << 20}, {2 << 30, 10, 0}} {
		s := newSpace()
		s.odds = c.odds
		p := pooled(s, c.budget)
		noted := int64(0)
		p.note = func(n int) { noted += int64(n) }
		if c.ahead > 0 {
			s.odds = 0
			base, err := s.alloc(c.ahead)
			if err != nil {
				t.Fatal(err)
			}
			p.ahead(base, c.ahead)
			s.odds = c.odds
		}
		r := rand.New(rand.NewPCG(uint64(c.budget), uint64(c.odds)))
		var out []lent
		inUse := int64(0)
		give := func(i int) {
			p.give(out[i].at, out[i].size)
			inUse -= int64(out[i].size)
			out[i] = out[len(out)-1]
			out = out[:len(out)-1]
		}
		slabs, wide := 0, 2+r.IntN(24)
		for step := range 6000 {
			switch k := r.IntN(100); {
			case k < 60:
				n := 1 + r.IntN(1<<(3+r.IntN(wide)))
				p.hindered = false
				at, size, err := p.take(n)
				switch {
				case err == nil:
					out, inUse = append(out, lent{at, size}), inUse+int64(size)
				case !errors.Is(err, ErrOutOfMemory):
					t.Fatal(err)
				case c.odds == 0 && !p.hindered && inUse+int64(blockSize(n)) <= c.budget:
					t.Fatalf("budget %d, step %d: %d bytes do not fit beside %d, and slabs are not to blame: %v", c.budget, step, n, inUse, err)
				}
			case k < 90 && len(out) > 0:
				give(r.IntN(len(out)))
			case k < 92:
				if err := p.trim(r.Int64N(c.budget)); err != nil {
					t.Fatal(err)
				}
			case k < 94: // the end of a batch
				for len(out) > 0 {
					give(0)
				}
				p.settle()
				p.apart, wide = r.IntN(4) == 0, 2+r.IntN(24)
				if p.apart {
					if err := p.trim(0); err != nil || len(s.taken) != 0 {
						t.Fatalf("%v, %d allocations remain of a batch that has ended", err, len(s.taken))
					}
				}
			}
			if p.slabs != nil {
				slabs = max(slabs, len(p.slabs.list))
			}
			if p.held > c.budget || p.held != s.bytes || noted != s.bytes {
				t.Fatalf("budget %d, step %d: %d held, %d noted, the driver gave %d", c.budget, step, p.held, noted, s.bytes)
			}
			if want := inUse + p.idleBytes() + p.slabs.spare(); p.held != want {
				t.Fatalf("budget %d, step %d: %d held, %d in use, idle and spare", c.budget, step, p.held, want)
			}
			if step%16 == 0 {
				apart(t, s, p, out)
			}
		}
		if most := c.budget / deviceSlabs.share / int64(deviceSlabs.least); (slabs > 0) != (most > 0) {
			t.Errorf("budget %d: %d slabs", c.budget, slabs)
		}
		for len(out) > 0 {
			give(0)
		}
		if r.IntN(2) == 0 {
			p.settle()
		}
		if err := p.trim(0); err != nil || p.held != 0 || len(s.taken) != 0 || p.slabs.total != 0 || p.slabs.unused != 0 || len(p.slabs.cuts) != 0 {
			t.Errorf("budget %d: %v, %d bytes held, %d allocations, %+v remain", c.budget, err, p.held, len(s.taken), p.slabs)
		}
	}
}

// apart checks that each block that is out or idle has bytes of its own within one allocation.
func apart(t *testing.T, s *space, p *pool[int], out []lent) {
	t.Helper()
	owner := map[int]int{} // block by the unit of slabAlign bytes
	check := func(at, size int) {
		if at%slabAlign != 0 {
			t.Fatalf("a block at %d", at)
		}
		for u := at / slabAlign; u <= (at+size-1)/slabAlign; u += max(1, size/slabAlign/8) {
			if other, ok := owner[u]; ok {
				t.Fatalf("blocks at %d and %d share bytes", other, at)
			}
			owner[u] = at
		}
		last := (at + size - 1) / slabAlign
		if other, ok := owner[last]; ok && other != at {
			t.Fatalf("blocks at %d and %d share bytes", other, at)
		}
		owner[last] = at
		base, n := at, s.taken[at]
		if of := p.slabs.of(at); of != nil {
			base, n = of.base, s.taken[of.base]
		}
		if at < base || at+size > base+n {
			t.Fatalf("a block of %d at %d in an allocation of %d at %d", size, at, n, base)
		}
	}
	for _, l := range out {
		check(l.at, l.size)
	}
	for size, list := range p.idle {
		for _, at := range list {
			check(at, size)
		}
	}
}

func TestManySmallBlocksTakeFewCalls(t *testing.T) {
	s := newSpace()
	p := pooled(s, 8<<30)
	for i := range 1000 {
		if _, _, err := p.take(1 + i*731); err != nil {
			t.Fatal(err)
		}
	}
	if s.calls > 8 {
		t.Errorf("%d calls for 1000 blocks in %d bytes", s.calls, s.bytes)
	}
	s = newSpace()
	p = pooled(s, 8<<30)
	if _, _, err := p.take(1000); err != nil || s.bytes > int64(deviceSlabs.least) {
		t.Errorf("%v, %d bytes for 1000", err, s.bytes)
	}
	if at, size, err := p.take(deviceSlabs.mostCut + 1); err != nil || s.taken[at] != size {
		t.Errorf("%v, a large block of %d is in an allocation of %d", err, size, s.taken[at])
	}
}

// TestWhereNoSlabFitsABlockMay: the driver has no memory for a slab, and the budget has none.
func TestWhereNoSlabFitsABlockMay(t *testing.T) {
	s := newSpace()
	refuse := true
	p := newPool("memory", 1<<30, func(n int) (int, error) {
		if s.full = refuse && n >= deviceSlabs.least; s.full {
			return 0, &Error{Card: -1, Call: "cuMemAlloc", Code: codeOutOfMemory}
		}
		return s.alloc(n)
	}, s.free)
	p.cutting(deviceSlabs, func(base, bytes int) int { return base + bytes })
	for range 3 {
		at, size, err := p.take(1000)
		if err != nil || s.taken[at] != size {
			t.Fatalf("%v, a block of %d in an allocation of %d", err, size, s.taken[at])
		}
	}
	refuse = false
	if _, _, err := p.take(1000); err != nil || len(p.slabs.list) != 0 {
		t.Errorf("%v, another slab was tried within the batch", err)
	}
	p.settle()
	if _, _, err := p.take(1000); err != nil || len(p.slabs.list) != 1 {
		t.Errorf("%v, %d slabs after it", err, len(p.slabs.list))
	}

	// Blocks of their own are out, for all but 4 MiB of the budget.
	s = newSpace()
	p = pooled(s, 1<<30)
	if _, _, err := p.take(1<<30 - 64<<20); err != nil { // its size is a multiple of 64 MiB
		t.Fatal(err)
	}
	if _, _, err := p.take(60 << 20); err != nil {
		t.Fatal(err)
	}
	if at, size, err := p.take(2 << 20); err != nil || s.taken[at] != size {
		t.Errorf("%v, a block of %d in an allocation of %d", err, size, s.taken[at])
	}
}

// TestGapsWaitForTheEndOfABatch: within a batch, what one stream has used reaches another one only as the block that it was,
// or through the driver, which waits.
func TestGapsWaitForTheEndOfABatch(t *testing.T) {
	s := newSpace()
	p := pooled(s, 128<<20) // one slab of 16 MiB
	var blocks []lent
	for range 4 {
		at, size, err := p.take(4 << 20)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, lent{at, size})
	}
	for _, b := range blocks[:2] {
		p.give(b.at, b.size)
	}
	if err := p.trim(0); err != nil || p.held != int64(deviceSlabs.least) {
		t.Fatalf("%v, %d bytes held", err, p.held)
	}
	at, size, err := p.take(5 << 20)
	if err != nil || p.slabs.of(at) != nil {
		t.Errorf("%v: the place of two blocks of this batch is a block of another size", err)
	}
	p.give(at, size)
	if again, size, err := p.take(4 << 20); err != nil || again != blocks[1].at {
		t.Errorf("%v: not the block that was given back", err)
	} else {
		p.give(again, size)
	}
	for _, b := range blocks[2:] {
		p.give(b.at, b.size)
	}
	p.settle()
	if err := p.trim(int64(deviceSlabs.least)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if at, _, err := p.take(8 << 20); err != nil || p.slabs.of(at) == nil {
			t.Errorf("%v: the slab of a batch that has ended has no room", err)
		}
	}
}

// TestLargerBlocksShareASlab: blocks that no slab is made for are cut from one that is there, for as long as it has room.
func TestLargerBlocksShareASlab(t *testing.T) {
	s := newSpace()
	p := pooled(s, 1<<30)
	p.resting, p.slabs.mostShared = true, 2*deviceSlabs.mostCut
	base, err := s.alloc(4 * deviceSlabs.mostCut)
	if err != nil {
		t.Fatal(err)
	}
	p.grow(4 * deviceSlabs.mostCut)
	p.slabs.add(base, 4*deviceSlabs.mostCut)
	calls := s.calls
	var lents []lent
	for i, want := range []int{0, 0, 1, 2} { // calls
		at, size, err := p.take(2 * deviceSlabs.mostCut)
		if err != nil || s.calls-calls != want {
			t.Fatalf("block %d: %v, %d calls, want %d", i, err, s.calls-calls, want)
		}
		lents = append(lents, lent{at, size})
	}
	for _, l := range lents[:2] {
		p.give(l.at, l.size)
	}
	if _, _, err := p.take(2*deviceSlabs.mostCut + 1); err != nil || s.calls-calls != 3 {
		t.Errorf("a block that is too large to share: %v, %d calls", err, s.calls-calls)
	}
	if _, _, err := p.take(deviceSlabs.mostCut); err != nil || s.calls-calls != 3 {
		t.Errorf("a block of a slab: %v, %d calls", err, s.calls-calls)
	}
}
