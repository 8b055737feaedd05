// Package slab is memory that is used again for what one tile after the other takes. The lists of a
// large tile's code-blocks are new pages where they are new memory, and the first touch of these, by
// all cores at once, takes longer than to fill them.
package slab

// Slab is memory for elements that are given back together. The zero value is ready for use.
// It is used by one goroutine at a time.
type Slab[T any] struct {
	all  []T
	used int
}

// Take returns n zero values, which are the caller's until Reset.
func (s *Slab[T]) Take(n int) []T {
	out := s.TakeAny(n)
	clear(out)
	return out
}

// TakeAny is Take of any values.
func (s *Slab[T]) TakeAny(n int) []T {
	if n > len(s.all)-s.used {
		// What was taken before stays with those who have it.
		s.all, s.used = make([]T, max(2*len(s.all), 4*n)), 0
	}
	out := s.all[s.used:][:n:n]
	s.used += n
	return out
}

// Reserve makes room for n elements, and for no more where there is not room enough. Nothing may be taken.
func (s *Slab[T]) Reserve(n int) {
	if n > len(s.all) {
		s.all = make([]T, n)
	}
}

// Size is the number of elements that there is memory for.
func (s *Slab[T]) Size() int { return len(s.all) }

// Reset lets all that was taken be taken again.
func (s *Slab[T]) Reset() { s.used = 0 }
