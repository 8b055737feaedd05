package gpu

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// pool keeps blocks of one kind of memory for reuse. It never holds more bytes than
// its budget, idle ones included. Not safe for concurrent use.
type pool[T any] struct {
	what   string // for messages
	budget int64
	held   int64       // bytes taken from the driver
	idle   map[int][]T // by their sizes
	alloc  func(n int) (T, error)
	free   func(T) error
	note   func(n int) // told how much held grew; nil: nobody
}

func newPool[T any](what string, budget int64, alloc func(int) (T, error), free func(T) error) *pool[T] {
	return &pool[T]{what: what, budget: budget, idle: make(map[int][]T), alloc: alloc, free: free}
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
	if list := p.idle[size]; len(list) > 0 {
		p.idle[size] = list[:len(list)-1]
		return list[len(list)-1], size, nil
	}
	if err := p.trim(p.budget - int64(size)); err != nil {
		return none, 0, err
	}
	if p.held+int64(size) > p.budget {
		return none, 0, p.exhausted(n)
	}
	block, err := p.alloc(size)
	if errors.Is(err, ErrOutOfMemory) && p.held > 0 {
		before := p.held
		if err := p.trim(0); err != nil {
			return none, 0, err
		}
		if p.held < before {
			block, err = p.alloc(size)
		}
	}
	if err != nil {
		return none, 0, err
	}
	p.grow(size)
	return block, size, nil
}

func (p *pool[T]) grow(n int) {
	p.held += int64(n)
	if p.note != nil {
		p.note(n)
	}
}

func (p *pool[T]) exhausted(n int) error {
	return fmt.Errorf("gpu: %d bytes of %s do not fit, %d of %d in use: %w", n, p.what, p.held-p.idleBytes(), p.budget, ErrOutOfMemory)
}

// give takes back a block of the size that take reported.
func (p *pool[T]) give(block T, size int) { p.idle[size] = append(p.idle[size], block) }

func (p *pool[T]) idleBytes() int64 {
	var n int64
	for size, list := range p.idle {
		n += int64(size) * int64(len(list))
	}
	return n
}

// trim frees idle blocks, the largest first, until at most target bytes are held or
// none is idle. A block whose freeing failed is gone too.
func (p *pool[T]) trim(target int64) error {
	if p.held <= target {
		return nil
	}
	sizes := make([]int, 0, len(p.idle))
	for size := range p.idle {
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	var all error
	for _, size := range slices.Backward(sizes) {
		for list := p.idle[size]; len(list) > 0 && p.held > target; list = p.idle[size] {
			block := list[len(list)-1]
			p.idle[size] = list[:len(list)-1]
			p.grow(-size)
			all = errors.Join(all, p.free(block))
		}
		if len(p.idle[size]) == 0 {
			delete(p.idle, size)
		}
	}
	return all
}
