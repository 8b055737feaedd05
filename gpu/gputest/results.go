package gputest

import (
	"sync"

	"github.com/pelmill/pelmill/gpu"
)

// Results is pinned memory for the results of one round of a benchmark after the other, as callers have it
// that use memory again. A nil *Results has none.
type Results struct {
	Device *gpu.Device

	mu   sync.Mutex
	idle map[int][][]byte // by size
	used [][]byte
	all  []*gpu.Host
}

// Alloc returns n bytes, or nil where there is no pinned memory.
func (r *Results) Alloc(n int) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b []byte
	if list := r.idle[n]; len(list) > 0 {
		b, r.idle[n] = list[len(list)-1], list[:len(list)-1]
	} else {
		h, err := r.Device.Host(n)
		if err != nil {
			return nil
		}
		b, r.all = h.Bytes, append(r.all, h)
	}
	r.used = append(r.used, b)
	return b
}

// Reuse lets the memory of all results be used again.
func (r *Results) Reuse() {
	if r == nil {
		return
	}
	if r.idle == nil {
		r.idle = make(map[int][][]byte)
	}
	for _, b := range r.used {
		r.idle[len(b)] = append(r.idle[len(b)], b)
	}
	r.used = nil
}

// Free gives all memory back.
func (r *Results) Free() {
	for _, h := range r.all {
		h.Free()
	}
}
