package instances

import (
	"context"
	"errors"
	"sync"

	"github.com/pelmill/pelmill/storage"
)

// ErrFull means that the store has no room: the sender should try again later.
var ErrFull = errors.New("instances: the spool is full")

// budget counts the bytes that a store keeps, and those that are on their way.
type budget struct {
	most  int64        // 0: no limit
	floor int64        // bytes that stay free on a disk
	free  func() int64 // bytes that the disk has; nil: there is none to ask

	mu       sync.Mutex
	used     int64
	reserved int64
}

// room reports whether n more bytes can be taken in; n below 1 means that it is not known how many.
func (b *budget) room(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.roomLocked(max(n, 1))
}

func (b *budget) roomLocked(n int64) bool {
	if b.most > 0 && b.used+b.reserved+n > b.most {
		return false
	}
	return b.free == nil || b.free()-b.reserved-n >= b.floor
}

// reserve takes n bytes, which the caller gives back with settle.
func (b *budget) reserve(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.roomLocked(n) {
		return false
	}
	b.reserved += n
	return true
}

// settle ends a reservation of n bytes, of which stored are kept.
func (b *budget) settle(n, stored int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved -= n
	b.used += stored
}

// Used is how many bytes the store keeps, as far as it knows.
func (s *Store) Used() int64 {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return s.budget.used
}

// Count counts the bytes that the store keeps, by listing: others remove originals and what is in quarantine. It does
// nothing where there is no limit.
func (s *Store) Count(ctx context.Context) error {
	if s.budget.most == 0 {
		return nil
	}
	s.budget.mu.Lock()
	before := s.budget.used
	s.budget.mu.Unlock()
	var found int64
	for _, at := range []struct {
		b      *storage.Bucket
		prefix string
	}{{s.spool, received}, {s.target, Quarantine}} {
		err := storage.Walk(ctx, at.b, &storage.WalkOptions{Prefix: at.prefix}, func(p storage.Page) error {
			for _, o := range p.Objects {
				found += o.Size
			}
			return nil
		})
		if err != nil && !storage.IsNotExist(err) {
			return err
		}
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.budget.used = found + s.budget.used - before // with what came meanwhile, some of which may count twice until the next time
	return nil
}
