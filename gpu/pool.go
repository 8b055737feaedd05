package gpu

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// pool keeps blocks of one kind of memory for reuse. It never holds more bytes than
// its budget, idle ones and what slabs have beyond blocks included. Not safe for
// concurrent use, but where alloc and free let go of a lock that protects it, others may
// use it until they return.
type pool[T comparable] struct {
	what   string // for messages
	budget int64
	held   int64       // bytes taken from the driver
	idle   map[int][]T // blocks by their sizes
	alloc  func(n int) (T, error)
	free   func(T) error
	note   func(n int) // told how much held grew; nil: nobody

	slabs    *slabs[T] // that small blocks are cut from; nil: the driver gives each block
	apart    bool      // the driver gives each block for now
	hindered bool      // a block did not fit that may have done without slabs
	resting  bool      // nothing uses a block any more when it is given back

	// Where others use the pool while it waits for the driver: wait lets them, and returns
	// after one of them has called came. nil: nobody does.
	wait, came func()
}

func newPool[T comparable](what string, budget int64, alloc func(int) (T, error), free func(T) error) *pool[T] {
	return &pool[T]{what: what, budget: budget, idle: make(map[int][]T), alloc: alloc, free: free}
}

// cutting lets the pool cut small blocks from slabs. offset is the address so many bytes
// behind another one.
func (p *pool[T]) cutting(sizes slabSizes, offset func(T, int) T) {
	p.slabs = newSlabs(sizes, p.budget, offset)
}

// sizes are eighths of powers of two, so that a block is at most an eighth larger than
// asked for and batches of about equal sizes share blocks.
const leastBlock = 512

func blockSize(n int) int {
	if n <= leastBlock {
		return leastBlock
	}
	step := 1 << max(bits.Len(uint(n-1))-4, 0)
	return (n + step - 1) / step * step
}

// take returns a block of at least n bytes and its size.
func (p *pool[T]) take(n int) (T, int, error) {
	var none T
	if n <= 0 || int64(n) > p.budget {
		if n <= 0 {
			return none, 0, fmt.Errorf("gpu: %d bytes of %s asked for", n, p.what)
		}
		return none, 0, p.exhausted(n)
	}
	size := blockSize(n)
	for {
		if list := p.idle[size]; len(list) > 0 {
			p.idle[size] = list[:len(list)-1]
			return list[len(list)-1], size, nil
		}
		if block, ok := p.cut(size); ok {
			return block, size, nil
		}
		if p.wait == nil || !p.slabs.expects(size) {
			break
		}
		p.wait()
	}
	if err := p.trim(p.budget - int64(size)); err != nil {
		return none, 0, err
	}
	block, err := p.fresh(size)
	if errors.Is(err, ErrOutOfMemory) {
		gone := p.drop(0)
		if err := p.freeAll(gone); err != nil {
			return none, 0, err
		}
		if len(gone) > 0 {
			block, err = p.fresh(size)
		}
	}
	if err != nil {
		// What is idle now lies in slabs that have other blocks.
		lost := p.slabs.spare() + p.idleBytes()
		if errors.Is(err, ErrOutOfMemory) && lost > 0 && p.held-lost+int64(size) <= p.budget {
			p.hindered = true
		}
		return none, 0, err
	}
	return block, size, nil
}

// cut returns a block of a slab, if one has room for it.
func (p *pool[T]) cut(size int) (block T, ok bool) {
	if p.apart {
		return block, false
	}
	return p.slabs.cut(size)
}

// fresh returns a block of memory that the pool did not hold: of another slab, or one
// that the driver gives by itself.
func (p *pool[T]) fresh(size int) (T, error) {
	var none T
	if n := p.slabs.next(size, p.budget-p.held); n > 0 && !p.apart {
		err := p.getSlab(n)
		switch {
		case err == nil:
			block, _ := p.slabs.cut(size)
			return block, nil
		case !errors.Is(err, ErrOutOfMemory):
			return none, err
		}
		p.slabs.full = true
	}
	if p.held+int64(size) > p.budget {
		return none, p.exhausted(size)
	}
	return p.get(size)
}

// get takes n bytes from the driver, for which there is room.
func (p *pool[T]) get(n int) (T, error) {
	p.grow(n) // before others look for room
	at, err := p.alloc(n)
	if err != nil {
		p.grow(-n)
	}
	return at, err
}

// getSlab makes n bytes from the driver a slab.
func (p *pool[T]) getSlab(n int) error {
	p.slabs.coming++
	defer p.arrived()
	base, err := p.get(n)
	if err == nil {
		p.slabs.add(base, n)
	}
	return err
}

// ahead has the pool cut blocks from n bytes from base, which it takes over, as long as there is room for them.
func (p *pool[T]) ahead(base T, n int) {
	p.grow(n)
	p.slabs.add(base, n)
	p.slabs.mostShared = n
}

// arrived ends the waiting for a slab that was on its way.
func (p *pool[T]) arrived() {
	p.slabs.coming--
	if p.came != nil {
		p.came()
	}
}

func (p *pool[T]) grow(n int) {
	p.held += int64(n)
	if p.note != nil {
		p.note(n)
	}
}

func (p *pool[T]) exhausted(n int) error {
	return fmt.Errorf("gpu: %d bytes of %s do not fit, %d of %d in use: %w", n, p.what, p.held-p.idleBytes()-p.slabs.spare(), p.budget, ErrOutOfMemory)
}

// give takes back a block of the size that take reported.
func (p *pool[T]) give(block T, size int) {
	if p.resting && p.slabs.of(block) != nil {
		p.slabs.put(block, size)
		return
	}
	p.idle[size] = append(p.idle[size], block)
}

func (p *pool[T]) idleBytes() int64 {
	var n int64
	for size, list := range p.idle {
		n += int64(size) * int64(len(list))
	}
	return n
}

// trim frees idle blocks, the largest first, and then slabs with only idle ones, until at
// most target bytes are held or nothing is left of them. What it failed to free is gone
// too.
func (p *pool[T]) trim(target int64) error { return p.freeAll(p.drop(target)) }

func (p *pool[T]) freeAll(gone []T) error {
	var all error
	for _, at := range gone {
		all = errors.Join(all, p.free(at))
	}
	return all
}

// drop is what trim frees, which the pool has no more.
func (p *pool[T]) drop(target int64) (gone []T) {
	if p.held <= target {
		return nil
	}
	sizes := make([]int, 0, len(p.idle))
	for size := range p.idle {
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	for _, size := range slices.Backward(sizes) {
		p.keep(size, func(block T) bool {
			if p.held <= target || p.slabs.of(block) != nil {
				return true
			}
			p.grow(-size)
			gone = append(gone, block)
			return false
		})
	}
	if p.slabs == nil || p.held <= target {
		return gone
	}
	// A block of a slab that has others goes neither to the driver nor to the gaps of the
	// slab: the driver waits for whatever still uses what it frees, and a gap does not.
	idle := make(map[*slab[T]]int)
	for _, list := range p.idle {
		for _, block := range list {
			idle[p.slabs.of(block)]++
		}
	}
	for _, s := range slices.Backward(slices.Clone(p.slabs.list)) {
		if p.held <= target || idle[s] < s.blocks {
			continue
		}
		for size := range p.idle {
			p.keep(size, func(block T) bool {
				if p.slabs.of(block) != s {
					return true
				}
				p.slabs.put(block, size)
				return false
			})
		}
		p.slabs.remove(s)
		p.grow(-s.size)
		gone = append(gone, s.base)
	}
	return gone
}

// keep drops the idle blocks of a size for which f is false.
func (p *pool[T]) keep(size int, f func(block T) bool) {
	p.idle[size] = slices.DeleteFunc(p.idle[size], func(block T) bool { return !f(block) })
	if len(p.idle[size]) == 0 {
		delete(p.idle, size)
	}
}

// settle puts idle blocks of slabs back into them, where they make room for blocks of
// other sizes. Nothing on the card uses an idle block any more.
func (p *pool[T]) settle() {
	if p.slabs == nil {
		return
	}
	p.slabs.full = false
	for size := range p.idle {
		p.keep(size, func(block T) bool {
			if p.slabs.of(block) == nil {
				return true
			}
			p.slabs.put(block, size)
			return false
		})
	}
}
