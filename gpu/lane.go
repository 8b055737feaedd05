//go:build cuda && cgo

package gpu

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// spareEvents is how many events a lane has from the start for what its batches wait for.
const spareEvents = 4

// Lane is a thread with a card's context, two streams and memory of its own. It is
// valid inside the function that [Device.Do] runs, and only on its goroutine.
type Lane struct {
	dev     *Device
	card    *card
	streams [2]Stream
	memory  *pool[Ptr]
	kernels map[kernelOf]*Kernel // that it has used

	// What the running batch holds.
	buffers []*Buffer
	hosts   []*Host
	events  []*Event

	ended    error // what freeing everything came to, once the goroutine is gone
	spare    []cuEvent
	moved    []cuEvent // behind the copies of the lane on each link
	launched []string  // kernels since the last wait
	light    bool      // see [Work.Light]

	at    place
	names atomic.Pointer[string] // kernels since the last wait, for whom watches
}

// Card describes the lane's card.
func (l *Lane) Card() Info { return l.card.Info }

// Budget is the most device memory, in bytes, that a batch on the lane may hold.
func (l *Lane) Budget() int64 { return l.memory.budget }

// Stream returns stream 0 or 1 of the lane. What is put into one stream runs in that
// order; between the two only events order anything.
func (l *Lane) Stream(i int) *Stream { return &l.streams[i] }

// Sync waits for both streams. All copies have then arrived.
func (l *Lane) Sync() error {
	for i := range l.streams {
		if err := l.streams[i].Sync(); err != nil {
			return err
		}
	}
	return nil
}

// do makes one call of the driver: it refuses where the card is lost, notes the time
// for the watch, and judges the result.
func (l *Lane) do(call, kernel string, f func() error) error {
	if err := l.dev.Err(); err != nil {
		return err
	}
	err := l.at.in(l.card.Index, call, f)
	if kernel == "" {
		kernel = strings.Join(l.launched, ", ")
	}
	return l.dev.judge(l.card.Index, call, kernel, err)
}

// hangs says whether the lane has been in one call of the driver for longer than limit.
func (l *Lane) hangs(now time.Time, limit time.Duration) error {
	e := l.at.hangs(now, limit)
	if e == nil {
		return nil
	}
	if names := l.names.Load(); names != nil {
		e.Kernel = *names
	}
	return e
}

// maxLaunched bounds the names of kernels that an error lists.
const maxLaunched = 8

func (l *Lane) ran(kernel string) {
	if slices.Contains(l.launched, kernel) || len(l.launched) == maxLaunched {
		return
	}
	l.launched = append(l.launched, kernel)
	names := strings.Join(l.launched, ", ")
	l.names.Store(&names)
}

func (l *Lane) rested() {
	l.launched = l.launched[:0]
	l.names.Store(nil)
}

// loop is the lane's goroutine. It reports how its start went, then waits to hear how
// that of all lanes of the card went.
func (l *Lane) loop(ready chan<- error, verdict <-chan error) {
	defer l.card.running.Done()
	// Never unlocked: the thread ends with the goroutine, and the context with it.
	runtime.LockOSThread()
	err := l.begin()
	ready <- err
	if err != nil {
		return
	}
	if <-verdict != nil {
		l.end()
		return
	}
	jobs := l.dev.jobs
	if l.light {
		jobs = l.dev.lightJobs
	}
	for {
		select {
		case <-l.dev.dead:
			return
		case <-l.dev.closing:
			if !l.dev.discarded.Load() {
				l.ended = l.end()
			}
			return
		case j := <-jobs:
			l.run(j)
			close(j.end)
		}
	}
}

// begin makes the context current and the streams. The card's first lane also tries
// whether the driver takes kernels.
func (l *Lane) begin() error {
	d, at := l.dev, l.card.Index
	if err := d.ask(&l.card.opening, at, "cuCtxSetCurrent", func() error { return setContext(l.card.ctx) }); err != nil {
		return err
	}
	if l == l.card.lanes[0] {
		if err := l.card.tryKernels(d); err != nil {
			return err
		}
	}
	budget := d.opts.Memory
	if budget <= 0 {
		var free int64
		if err := d.ask(&l.card.opening, at, "cuMemGetInfo", func() (err error) { free, err = memoryInfo(); return err }); err != nil {
			return err
		}
		budget = free / 4 * 3
	}
	l.memory = newPool("device memory", d.opts.share(budget, l.card.Memory, l.light),
		func(n int) (p Ptr, err error) {
			err = l.do("cuMemAlloc", "", func() error { p, err = memAlloc(n); return err })
			return p, err
		},
		func(p Ptr) error { return l.do("cuMemFree", "", func() error { return memFree(p) }) })
	l.memory.note = d.stats.held
	if !d.opts.Apart {
		l.memory.cutting(deviceSlabs, func(base Ptr, bytes int) Ptr { return base + Ptr(bytes) })
	}
	call := "cuStreamCreate"
	if l.light {
		call = "cuStreamCreateWithPriority"
	}
	for i := range l.streams {
		var s cuStream
		if err := d.ask(&l.card.opening, at, call, func() (err error) { s, err = makeStream(l.light); return err }); err != nil {
			if i > 0 && d.Err() == nil {
				destroyStream(l.streams[0].stream)
			}
			return err
		}
		l.streams[i] = Stream{lane: l, stream: s}
	}
	for i := range len(l.card.links) + spareEvents {
		if err := d.ask(&l.card.opening, at, "cuEventCreate", func() error {
			e, err := makeEvent()
			switch {
			case err != nil:
			case i < len(l.card.links):
				l.moved = append(l.moved, e)
			default:
				l.spare = append(l.spare, e)
			}
			return err
		}); err != nil {
			if d.Err() == nil {
				l.end()
			}
			return err
		}
	}
	if err := l.takeAhead(); err != nil {
		if d.Err() == nil {
			l.end()
		}
		return err
	}
	return nil
}

// takeAhead takes the memory of [Options.Ahead], unless the driver has less.
func (l *Lane) takeAhead() error {
	n := l.dev.opts.Ahead
	if n <= 0 || l.light || l.memory.slabs == nil || int64(n) > l.memory.slabs.limit {
		return nil
	}
	err := l.dev.ask(&l.card.opening, l.card.Index, "cuMemAlloc", func() error {
		base, err := memAlloc(n)
		if err == nil {
			l.memory.ahead(base, n)
		}
		return err
	})
	if errors.Is(err, ErrOutOfMemory) && !errors.Is(err, ErrFatal) {
		return nil
	}
	return err
}

// end frees everything of the lane.
func (l *Lane) end() error {
	all := l.memory.trim(0)
	for _, e := range append(l.spare, l.moved...) {
		all = errors.Join(all, l.do("cuEventDestroy", "", func() error { return destroyEvent(e) }))
	}
	for i := range l.streams {
		all = errors.Join(all, l.do("cuStreamDestroy", "", func() error { return destroyStream(l.streams[i].stream) }))
	}
	return all
}

// run runs a batch and takes back everything that it holds.
func (l *Lane) run(j *job) {
	defer l.dev.stats.begin()()
	func() {
		defer func() {
			if p := recover(); p != nil {
				j.panicked = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			}
		}()
		if j.apart {
			// All that is held is idle, slabs with it: what follows has the whole budget.
			l.memory.apart = true
			if j.err = l.memory.trim(0); j.err != nil {
				return
			}
		}
		j.err = j.f(l)
	}()
	j.hindered = l.memory.hindered
	l.memory.apart, l.memory.hindered = false, false
	// Memory goes back only once nothing on the card uses it any more. After a fatal
	// error it stays where it is: the process ends.
	if err := l.Sync(); err != nil && j.err == nil {
		j.err = err
	}
	if l.dev.Err() != nil {
		return
	}
	buffers, hosts, events := l.buffers, l.hosts, l.events
	l.buffers, l.hosts, l.events = nil, nil, nil
	for _, b := range buffers {
		b.free()
	}
	for _, h := range hosts {
		h.Free()
	}
	for _, e := range events {
		l.spare = append(l.spare, e.event)
	}
	l.memory.settle()
}
