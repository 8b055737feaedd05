package intake

import (
	"context"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/intake/instances"
	"github.com/pelmill/pelmill/storage"
)

// Arrival is an object that a [Source] has found.
type Arrival struct {
	Key    string
	Entry  jobs.Entry // as listed; without an ETag it is looked up in the store
	Guess  bool       // one of two spellings of a key: that there is no such object means nothing
	At     time.Time  // when it came; zero: now
	Listed time.Time  // when the listing began that found it; zero: an event
	Done   func()     // called once, when the batch with it is stored or there is nothing to do; may be nil
}

// item is an arrival that waits, or is in a batch.
type item struct {
	key     string
	entry   jobs.Entry
	guess   bool
	at      time.Time // of the first arrival of the key
	listed  time.Time // when the listing began that found it; zero: an event, which may be of another version
	refused string    // why the store lets it be left out
	done    []func()
}

func (i *item) acknowledge() {
	for _, done := range i.done {
		done()
	}
	i.done = nil
}

// Spool holds arrivals until they are in a batch. It is safe for concurrent use.
type Spool struct {
	arrivals *scheduler.Arrivals
	metrics  *metrics
	most     int // items that wait
	batch    int // objects of a batch
	wait     time.Duration
	quiet    time.Duration

	mu      sync.Mutex
	waiting map[string]*item
	order   []*item // those of waiting, in the order of arrival
	held    map[string]int
	folders map[string]time.Time // last arrival in a folder or a series; only with quiet
	changed chan struct{}        // closed and replaced when items leave or come
}

// newSpool makes a spool with room for the next batch and what is found while that begins, and for more where objects wait
// for a quiet period. An object takes about half a kilobyte.
func newSpool(a *scheduler.Arrivals, o *Options, m *metrics) *Spool {
	most := 2 * o.BatchObjects
	if o.Quiet > 0 {
		most *= 2
	}
	return &Spool{arrivals: a, metrics: m, most: max(most, 10_000), batch: o.BatchObjects, wait: o.BatchWait, quiet: o.Quiet,
		waiting: map[string]*item{}, held: map[string]int{}, folders: map[string]time.Time{}, changed: make(chan struct{})}
}

// Add adds an arrival. It waits where the spool is full; full is true where it would have to and wait is false.
// Keys of pelmill's own and those that the filter leaves out are done at once.
func (s *Spool) Add(ctx context.Context, a Arrival, wait bool) (full bool, err error) {
	if why := s.refuses(a); why != "" {
		s.metrics.hint(why)
		if a.Done != nil {
			a.Done()
		}
		return false, nil
	}
	if a.At.IsZero() {
		a.At = time.Now()
	}
	for {
		s.mu.Lock()
		if s.put(a) {
			s.mu.Unlock()
			return false, nil
		}
		changed := s.changed
		s.mu.Unlock()
		if !wait {
			return true, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return true, context.Cause(ctx)
		}
	}
}

// refuses says why nothing is made of an arrival; empty: it is taken.
func (s *Spool) refuses(a Arrival) string {
	size, at := int64(-1), time.Time{}
	if a.Entry.ETag != "" {
		size, at = a.Entry.Size, a.Entry.ModTime
	}
	switch {
	case s.arrivals.Own(a.Key):
		return hintOwn
	case jobs.CheckKey(a.Key) != nil || a.Key[len(a.Key)-1] == '/':
		return hintBadKey
	case !s.arrivals.Takes(storage.Object{Key: a.Key, Size: size, ModTime: at}):
		return hintFiltered
	}
	return ""
}

// mostDone bounds the messages that wait for one object.
const mostDone = 1000

// put adds an arrival where there is room.
func (s *Spool) put(a Arrival) bool {
	it := s.waiting[a.Key]
	if it != nil && len(it.done) >= mostDone {
		return false
	}
	if it == nil {
		if len(s.waiting) >= s.most {
			return false
		}
		it = &item{key: a.Key, guess: a.Guess, at: a.At}
		s.waiting[a.Key] = it
		s.order = append(s.order, it)
		s.wake()
	}
	it.guess = it.guess && a.Guess
	it.entry, it.listed = a.Entry, a.Listed // after an event it is looked up
	if s.quiet > 0 {
		s.folders[group(a.Key)] = a.At
	}
	if a.Done != nil {
		it.done = append(it.done, a.Done)
	}
	s.metrics.waiting(len(s.waiting))
	return true
}

func (s *Spool) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// take gives the next batch: as many objects as a batch holds, or those there are when the first has waited long
// enough. Its objects, and all with the same stem, stay out of later batches until they are released.
func (s *Spool) take(ctx context.Context) ([]*item, error) {
	for {
		s.mu.Lock()
		began := time.Now()
		items, next := s.ripe(began)
		pause := max(20*time.Millisecond, 20*time.Since(began)) // so that a flood of arrivals does not make each look at all
		changed := s.changed
		s.mu.Unlock()
		if len(items) > 0 {
			return items, nil
		}
		t := time.NewTimer(next)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil, context.Cause(ctx)
		case <-changed:
			t.Stop()
			sleep(ctx, min(pause, s.wait))
		case <-t.C:
		}
	}
}

// longestWait bounds how long an object waits for its folder to be quiet, in quiet periods.
const longestWait = 10

// ripe gives a batch, or how long there can be none.
func (s *Spool) ripe(now time.Time) (items []*item, next time.Duration) {
	next = time.Minute
	var first time.Time // of the objects that can go
	taken := map[string]bool{}
	for _, it := range s.order {
		if s.isHeld(it.key) {
			continue
		}
		ready := it.at
		if s.quiet > 0 {
			ready = s.folders[group(it.key)].Add(s.quiet)
			if cap := it.at.Add(longestWait * s.quiet); ready.After(cap) {
				ready = cap
			}
			if left := ready.Sub(now); left > 0 {
				next = min(next, left)
				continue
			}
		}
		if items = append(items, it); len(items) == 1 || it.at.Before(first) {
			first = it.at
		}
		taken[it.key] = true
		if len(items) == s.batch {
			break
		}
	}
	if len(items) == 0 {
		return nil, max(next, time.Millisecond)
	}
	if left := first.Add(s.wait).Sub(now); len(items) < s.batch && left > 0 && s.quiet == 0 {
		return nil, max(min(next, left), time.Millisecond)
	}
	s.order = slices.DeleteFunc(s.order, func(it *item) bool { return taken[it.key] })
	for _, it := range items {
		delete(s.waiting, it.key)
	}
	s.forgetFolders()
	s.holdLocked(items)
	s.wake()
	s.metrics.waiting(len(s.waiting))
	return items, 0
}

// group is what an object waits with for a quiet period: its series, where it was received as a DICOM instance, else its
// folder.
func group(key string) string {
	if series, ok := instances.Series(key); ok {
		return "series " + series
	}
	return path.Dir(key)
}

// forgetFolders drops the folders in which nothing waits.
func (s *Spool) forgetFolders() {
	if s.quiet == 0 {
		return
	}
	kept := map[string]time.Time{}
	for _, it := range s.order {
		of := group(it.key)
		kept[of] = s.folders[of]
	}
	s.folders = kept
}

// names are the strings by which the results of two objects could meet: two jobs that run side by side do not see
// each other's names.
func (s *Spool) names(key string) []string {
	if stem := s.arrivals.Extensions().Stem(key); stem != key {
		return []string{key, stem}
	}
	return []string{key}
}

func (s *Spool) isHeld(key string) bool {
	for _, name := range s.names(key) {
		if s.held[name] > 0 {
			return true
		}
	}
	return false
}

// hold keeps objects out of batches.
func (s *Spool) hold(items []*item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holdLocked(items)
}

func (s *Spool) holdLocked(items []*item) {
	for _, it := range items {
		for _, name := range s.names(it.key) {
			s.held[name]++
		}
	}
}

// release ends hold.
func (s *Spool) release(items []*item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range items {
		for _, name := range s.names(it.key) {
			if s.held[name]--; s.held[name] <= 0 {
				delete(s.held, name)
			}
		}
	}
	s.wake()
}
