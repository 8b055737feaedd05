package worker

import (
	"sync"

	"github.com/pelmill/pelmill/codecs/codec"
)

// usedMemory is memory that nobody uses any more and that the next ones who ask get: its pages are not new, each of which the
// kernel clears at its first use, and part of it may be in the cache.
//
// Idle memory has no place in the budget. It was in use, and counted, within the last two rounds of the collector,
// which empties pools; without it there would be at least as much garbage, and [Options].Memory leaves room for that.
type usedMemory struct {
	most  int      // longer memory is not kept; a size of loanSize
	pools sync.Map // of *sync.Pool of *[]byte, by their capacity
}

// Files and images are in use for different times.
var (
	usedFiles  = &usedMemory{most: 2 << 20}
	usedImages = &usedMemory{most: 64 << 20}
)

// take returns memory of at least n bytes, of any content. It is at most an eighth longer, or half a KiB, so that an object holds
// about what the budget has counted for it.
func (u *usedMemory) take(n int) *[]byte {
	if n > u.most {
		b := codec.Uncleared(n)
		return &b
	}
	size := loanSize(n)
	if b, ok := u.pool(size).Get().(*[]byte); ok {
		return b
	}
	b := codec.Uncleared(size)
	return &b
}

// give gives memory back that nobody uses any more.
func (u *usedMemory) give(b *[]byte) {
	if cap(*b) <= u.most {
		u.pool(cap(*b)).Put(b)
	}
}

func (u *usedMemory) pool(size int) *sync.Pool {
	p, ok := u.pools.Load(size)
	if !ok {
		p, _ = u.pools.LoadOrStore(size, new(sync.Pool))
	}
	return p.(*sync.Pool)
}

// allocData is the alloc of [storage.GetInto] for the file of a source.
func (o *object) allocData(n int64) []byte {
	o.lent = usedFiles.take(int(n))
	return (*o.lent)[:n]
}

// reuseData lets the memory of the file of an object that was compressed be used again. After its first attempt nobody reads it any
// more, its image included, which may lie there: a call that was given up makes another attempt necessary. A result that is no gain may be the file.
func (o *object) reuseData() {
	if o.lent == nil || o.attempts != 1 || o.kept() {
		return
	}
	b := o.lent
	o.release()
	usedFiles.give(b)
}

// comparedMemory lends one call memory for images that are compared and not kept. What is not given back, because the call
// panicked, is garbage.
type comparedMemory struct {
	mu   sync.Mutex
	lent []*[]byte
}

// alloc is [codec.Run].Alloc.
func (m *comparedMemory) alloc(n int) []byte {
	b := usedImages.take(n)
	m.mu.Lock()
	m.lent = append(m.lent, b)
	m.mu.Unlock()
	return (*b)[:n:n]
}

// giveBack ends what was lent: no image that lies in it is used any more. It clears it: a decoder that leaves samples out must not
// find those of an equal image there.
func (m *comparedMemory) giveBack() {
	for _, b := range m.lent {
		clear(*b)
		usedImages.give(b)
	}
	m.lent = m.lent[:0]
}
