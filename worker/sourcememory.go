package worker

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"unsafe"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/imageio"
)

// sourceMemory lends memory for files whose samples are used where they are, see [imageio.Adopts]. It comes in regions that a device pins
// as soon as it can, also of what was read before: the card takes the samples from there by itself, each time that it needs them,
// where they would else be copied on cores first. A nil *sourceMemory lends nothing.
type sourceMemory struct {
	most    int64 // bytes of all regions
	reserve func(n int) (*gpu.Region, error)
	pin     func(*gpu.Region) error // one after the other; waits until a card has its lanes
	log     *slog.Logger

	// Addresses for all regions, reserved at once: the driver keeps whoever maps memory waiting, and they it. Of who adds regions.
	all *gpu.Region

	mu      sync.Mutex
	regions []*sourceRegion // parts of all, in order
	coming  bool            // another one is being made
	came    *sync.Cond      // it is there, or does not come
	over    bool            // there are no more
	closed  bool            // nothing is lent any more
	pins    sync.WaitGroup
}

// sourceRegion is a region, parts of which are lent.
type sourceRegion struct {
	of     *sourceMemory
	region *gpu.Region
	gaps   []gap // in order, no two of which touch
	idle   int   // bytes of all of them
}

// gap is n bytes at a place of a region that are not lent.
type gap struct{ at, n int }

const (
	// Of the memory for files and images this part is set aside for regions, and for each card no more than the objects take that are at
	// work while it has work. A gigabyte takes the driver 20 to 30 ms to pin.
	sourceShare = 8
	sourceMost  = 1 << 30

	// A job of few objects has one region. The next one is made when an eighth of the last is lent: on busy cores that takes as long as
	// these read the rest.
	regionBytes = 64 << 20

	sourcePage = 4096 // parts begin at multiples
)

func newSourceMemory(device *gpu.Device, most int64, log *slog.Logger) *sourceMemory {
	s := &sourceMemory{most: most, reserve: gpu.NewRegion, log: log, pin: func(r *gpu.Region) error { return device.Pin(context.Background(), r) }}
	s.came = sync.NewCond(&s.mu)
	return s
}

// lend returns memory of n bytes, or nil where there is none. The loan is given back like one of a [lender].
func (s *sourceMemory) lend(n int) *loan {
	if s == nil || n <= 0 || n > regionBytes {
		return nil
	}
	size := (n + sourcePage - 1) / sourcePage * sourcePage
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed {
		for i, r := range s.regions {
			if o := r.take(n, size); o != nil {
				if i == len(s.regions)-1 && r.idle < regionBytes/8*7 {
					s.another()
				}
				return o
			}
		}
		if !s.another() {
			return nil
		}
		s.came.Wait()
	}
	return nil
}

// another has another region made, unless one is being made, and reports whether one comes. The caller holds the lock.
func (s *sourceMemory) another() bool {
	if s.coming {
		return true
	}
	if s.over || int64(len(s.regions)+1)*regionBytes > s.most {
		return false
	}
	s.coming = true
	s.pins.Go(s.add)
	return true
}

// add makes a region and has the device pin it. Where that is refused there are no more; what is lent of one that is not pinned is memory
// like any other.
func (s *sourceMemory) add() {
	var err error
	if s.all == nil {
		s.all, err = s.reserve(int(s.most / regionBytes * regionBytes))
	}
	var region *gpu.Region
	if err == nil {
		region = s.all.Part(len(s.regions)*regionBytes, regionBytes) // which nobody else makes longer
		region.Make()
	}
	s.mu.Lock()
	s.coming = false
	if err == nil {
		s.regions = append(s.regions, &sourceRegion{of: s, region: region, gaps: []gap{{0, regionBytes}}, idle: regionBytes})
	} else {
		s.over = true
	}
	s.came.Broadcast()
	s.mu.Unlock()
	if err == nil {
		err = s.pin(region)
	}
	if err == nil {
		return
	}
	s.log.Debug("a device does not take samples of sources by itself", "error", err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// take lends the first size bytes of the first gap that has as many, or nothing. The caller holds the lock.
func (r *sourceRegion) take(n, size int) *loan {
	for i := range r.gaps {
		g := &r.gaps[i]
		if g.n < size {
			continue
		}
		at := g.at
		g.at, g.n, r.idle = g.at+size, g.n-size, r.idle-size
		if g.n == 0 {
			r.gaps = slices.Delete(r.gaps, i, i+1)
		}
		return &loan{region: r, bytes: r.region.Bytes[at:][:n:size]}
	}
	return nil
}

// giveBack makes a gap of what was lent.
func (r *sourceRegion) giveBack(o *loan) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	n := cap(o.bytes)
	r.idle += n
	at := int(uintptr(unsafe.Pointer(unsafe.SliceData(o.bytes))) - uintptr(unsafe.Pointer(unsafe.SliceData(r.region.Bytes))))
	i, _ := slices.BinarySearchFunc(r.gaps, at, func(g gap, at int) int { return g.at - at })
	before, behind := i > 0 && r.gaps[i-1].at+r.gaps[i-1].n == at, i < len(r.gaps) && at+n == r.gaps[i].at
	switch {
	case before && behind:
		r.gaps[i-1].n += n + r.gaps[i].n
		r.gaps = slices.Delete(r.gaps, i, i+1)
	case before:
		r.gaps[i-1].n += n
	case behind:
		r.gaps[i].at, r.gaps[i].n = at, r.gaps[i].n+n
	default:
		r.gaps = slices.Insert(r.gaps, i, gap{at, n})
	}
}

// close ends the lending and waits for the driver. What is lent stays what it is, also when the device is gone.
func (s *sourceMemory) close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.pins.Wait()
}

// free gives the regions back, if nothing of them is lent. It is closed, and the device as well.
func (s *sourceMemory) free() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil || slices.ContainsFunc(s.regions, func(r *sourceRegion) bool { return r.idle < regionBytes }) {
		return
	}
	if err := s.all.Free(); err != nil {
		s.log.Debug("memory for sources stays", "error", err)
	}
	s.all, s.regions = nil, nil
}

// allocData is the alloc of [storage.GetInto] for the source of o: memory that a device takes samples from, where it will.
func (c *chunk) allocData(o *object, n int64) []byte {
	if (c.batches != nil || c.choices != nil) && !o.alone && imageio.Adopts(o.entry.Key) {
		if l := c.w.sources.lend(int(n)); l != nil {
			o.held.loans = append(o.held.loans, l)
			return l.bytes
		}
	}
	return o.allocData(n)
}
