//go:build cuda && cgo

package gpu

import (
	"sync"
	"time"
)

// stats counts for [Device.Stats].
type stats struct {
	mu     sync.Mutex
	Stats            // but for what is under way
	active int       // batches under way
	since  time.Time // when active was last 0
	waits  []wait    // for each card, by its index
}

// wait is how many lanes wait for a card, and since when at least one does.
type wait struct {
	lanes int
	since time.Time
}

// Stats tells what the device has done so far; zero for the CPU.
func (d *Device) Stats() Stats {
	if d == nil {
		return Stats{}
	}
	d.stats.mu.Lock()
	defer d.stats.mu.Unlock()
	s := d.stats.Stats
	if d.stats.active > 0 {
		s.Busy += time.Since(d.stats.since)
	}
	for _, w := range d.stats.waits {
		if w.lanes > 0 {
			s.Waited += time.Since(w.since)
		}
	}
	return s
}

// begin notes that a batch begins and returns what notes its end.
func (s *stats) begin() (end func()) {
	start := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active++; s.active == 1 {
		s.since = start
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		now := time.Now()
		s.Batches++
		s.LaneTime += now.Sub(start)
		if s.active--; s.active == 0 {
			s.Busy += now.Sub(s.since)
		}
	}
}

// waiting notes that a lane begins to wait for a card and returns what notes the end of the wait.
func (s *stats) waiting(card int) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waits) <= card {
		s.waits = append(s.waits, wait{})
	}
	w := &s.waits[card]
	if w.lanes++; w.lanes == 1 {
		w.since = time.Now()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		w := &s.waits[card]
		if w.lanes--; w.lanes == 0 {
			s.Waited += time.Since(w.since)
		}
	}
}

// held notes that n more bytes of device memory are held.
func (s *stats) held(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Memory += int64(n)
}

// short notes that a batch of n items did not fit.
func (s *stats) short(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > 1 {
		s.Halved++
	} else {
		s.Left++
	}
}
