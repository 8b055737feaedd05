package gpu

import (
	"errors"
	"math/rand/v2"
	"testing"
)

func TestBlocksAreAtMostAnEighthLarger(t *testing.T) {
	for n := 1; n < 1<<20; n = n*9/8 + 1 {
		size := blockSize(n)
		if size < n || n > leastBlock && size > n+n/8 {
			t.Errorf("%d bytes take a block of %d", n, size)
		}
		if again := blockSize(size); again != size {
			t.Errorf("a block of %d takes one of %d", size, again)
		}
	}
}

// memory counts what a pool has.
type memory struct {
	blocks map[int]bool
	next   int
	most   int // blocks there can be; 0: no limit
}

func (m *memory) alloc(int) (int, error) {
	if m.most > 0 && len(m.blocks) == m.most {
		return 0, &Error{Card: -1, Call: "cuMemAlloc", Code: codeOutOfMemory}
	}
	m.next++
	m.blocks[m.next] = true
	return m.next, nil
}

func (m *memory) free(b int) error {
	if !m.blocks[b] {
		return errors.New("freed twice")
	}
	delete(m.blocks, b)
	return nil
}

func TestAPoolKeepsItsBudget(t *testing.T) {
	const budget = 1 << 20
	m := &memory{blocks: map[int]bool{}}
	p := newPool("memory", budget, m.alloc, m.free)
	random := rand.New(rand.NewPCG(1, 2))
	type taken struct{ block, size int }
	var list []taken
	held := 0
	for range 20_000 {
		if random.IntN(2) == 0 && len(list) > 0 {
			i := random.IntN(len(list))
			p.give(list[i].block, list[i].size)
			held -= list[i].size
			list = append(list[:i], list[i+1:]...)
			continue
		}
		n := 1 + random.IntN(1<<(4+random.IntN(17)))
		block, size, err := p.take(n)
		switch {
		case err == nil:
			if !m.blocks[block] || size < n {
				t.Fatalf("%d bytes: block %d of %d", n, block, size)
			}
			for _, l := range list {
				if l.block == block {
					t.Fatalf("block %d was given out twice", block)
				}
			}
			list = append(list, taken{block, size})
			held += size
		case !errors.Is(err, ErrOutOfMemory) || held+blockSize(n) <= budget:
			t.Fatalf("%d bytes with %d of %d in use: %v", n, held, budget, err)
		}
		if p.held > budget || int64(held)+p.idleBytes() != p.held {
			t.Fatalf("%d held, %d in use, %d idle", p.held, held, p.idleBytes())
		}
	}
	for _, l := range list {
		p.give(l.block, l.size)
	}
	if err := p.trim(0); err != nil || p.held != 0 || len(m.blocks) != 0 {
		t.Errorf("%v, %d bytes, %d blocks remain", err, p.held, len(m.blocks))
	}
}

func TestAPoolMakesRoomOnAFullCard(t *testing.T) {
	m := &memory{blocks: map[int]bool{}, most: 1}
	p := newPool("memory", 1<<20, m.alloc, m.free)
	a, size, err := p.take(1000)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.take(2000); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("with the card full: %v", err)
	}
	p.give(a, size)
	if _, _, err := p.take(2000); err != nil {
		t.Errorf("with an idle block: %v", err)
	}
}

func TestImpossibleSizesAreRefused(t *testing.T) {
	m := &memory{blocks: map[int]bool{}}
	p := newPool("memory", 1<<20, m.alloc, m.free)
	for _, n := range []int{0, -1, 1<<20 + 1, 1 << 62} {
		if _, _, err := p.take(n); err == nil || errors.Is(err, ErrOutOfMemory) != (n > 0) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
