//go:build cuda && cgo

package gpu

import (
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/pelmill/pelmill/gpu/driver"
)

// Stream is a queue of copies and kernels of a lane, which run in their order.
//
// The streams of a card share few queues for copies between it and the host, and a copy that is in one keeps those behind it waiting.
// So such a copy is not put behind kernels: it waits for them before.
type Stream struct {
	lane   *Lane
	stream cuStream
	works  bool // kernels may be at work that were put into it, or that it waits for
}

// inlined is how many bytes of memory that is not pinned the driver copies to a card among the commands of kernels, without a queue for
// copies.
const inlined = 64 << 10

// Upload copies src to dst at off. With pinned src (of a [Host]) it waits for the kernels of the stream only,
// and src must stay as it is until the stream has come to rest; otherwise it
// returns when src may change.
func (s *Stream) Upload(dst *Buffer, off int, src []byte) error {
	p, err := dst.part(off, len(src))
	if err != nil || len(src) == 0 {
		return err
	}
	if len(src) > inlined || s.works && s.lane.pins(src) {
		if err := s.awaitKernels(); err != nil {
			return err
		}
	}
	return s.lane.do("cuMemcpyHtoDAsync", "", func() error { return copyUp(p, src, s.stream) })
}

// Download copies from src at off to dst. With pinned dst it waits for the kernels of the stream only, and
// dst is valid when the stream has come to rest; otherwise it waits for the copy.
func (s *Stream) Download(dst []byte, src *Buffer, off int) error {
	p, err := src.part(off, len(dst))
	if err != nil || len(dst) == 0 {
		return err
	}
	if s.lane.pins(dst) {
		err = s.awaitKernels()
	} else {
		// Else the driver waits for the stream in the call of the copy, with a lock held that all lanes of the card need.
		err = s.Sync()
	}
	if err != nil {
		return err
	}
	return s.lane.do("cuMemcpyDtoHAsync", "", func() error { return copyDown(dst, p, s.stream) })
}

// awaitKernels waits until no kernel of the stream is at work.
func (s *Stream) awaitKernels() error {
	if !s.works {
		return nil
	}
	return s.Sync()
}

// Copy copies n bytes within the card. The two parts must not overlap.
func (s *Stream) Copy(dst *Buffer, dstOff int, src *Buffer, srcOff, n int) error {
	to, err := dst.part(dstOff, n)
	if err != nil {
		return err
	}
	from, err := src.part(srcOff, n)
	if err != nil || n == 0 {
		return err
	}
	return s.lane.do("cuMemcpyDtoDAsync", "", func() error { return copyOnDevice(to, from, n, s.stream) })
}

// Fill sets n bytes of dst from off to value.
func (s *Stream) Fill(dst *Buffer, off, n int, value byte) error {
	p, err := dst.part(off, n)
	if err != nil || n == 0 {
		return err
	}
	return s.lane.do("cuMemsetD8Async", "", func() error { return fill(p, value, n, s.stream) })
}

// patience is how long Sync asks again and again before it sleeps: waking up takes
// longer than the work on a small image.
const patience = 100 * time.Microsecond

// Sync waits until the stream has come to rest. It also reports errors of kernels that
// ran since the last wait.
func (s *Stream) Sync() error {
	if !s.lane.light {
		defer s.lane.dev.stats.waiting(s.lane.card.Index)()
	}
	err := s.lane.do("cuStreamSynchronize", "", func() error {
		for start := time.Now(); !restsStream(s.stream) && time.Since(start) < patience; {
		}
		return waitStream(s.stream)
	})
	if err == nil {
		s.works = false
		s.lane.rested()
	}
	return err
}

// Event is a point in a stream.
type Event struct {
	lane  *Lane
	event cuEvent
}

// Event returns an event that lasts until the end of the batch.
func (l *Lane) Event() (*Event, error) {
	e := &Event{lane: l}
	if n := len(l.spare); n > 0 {
		e.event, l.spare = l.spare[n-1], l.spare[:n-1]
	} else if err := l.do("cuEventCreate", "", func() (err error) { e.event, err = makeEvent(); return err }); err != nil {
		return nil, err
	}
	l.events = append(l.events, e)
	return e, nil
}

// Free lets the lane use the event again before the end of the batch.
func (e *Event) Free() {
	if i := slices.Index(e.lane.events, e); i >= 0 {
		e.lane.events = slices.Delete(e.lane.events, i, i+1)
		e.lane.spare = append(e.lane.spare, e.event)
	}
}

// Record puts the event after everything that the stream holds so far.
func (s *Stream) Record(e *Event) error {
	return s.lane.do("cuEventRecord", "", func() error { return record(e.event, s.stream) })
}

// Wait lets what is put into the stream from now on wait for the event, which may be
// of the other stream. It does not wait itself.
func (s *Stream) Wait(e *Event) error {
	s.works = true
	return s.lane.do("cuStreamWaitEvent", "", func() error { return waitEvent(s.stream, e.event) })
}

// Sync waits until the event has happened.
func (e *Event) Sync() error {
	l := e.lane
	if !l.light {
		defer l.dev.stats.waiting(l.card.Index)()
	}
	return l.do("cuEventSynchronize", "", func() error {
		for start := time.Now(); !happened(e.event) && time.Since(start) < patience; {
		}
		return awaitEvent(e.event)
	})
}

// Since is the time on the card from event start to e. Both must have happened: the
// stream has come to rest after them.
func (e *Event) Since(start *Event) (time.Duration, error) {
	var ms float64
	err := e.lane.do("cuEventElapsedTime", "", func() (err error) { ms, err = elapsed(start.event, e.event); return err })
	return time.Duration(ms * float64(time.Millisecond)), err
}

// Time is how long the card takes for what f puts into the stream. It waits for it.
func (s *Stream) Time(f func() error) (time.Duration, error) {
	start, err := s.lane.Event()
	if err != nil {
		return 0, err
	}
	end, err := s.lane.Event()
	if err != nil {
		return 0, err
	}
	if err := s.Record(start); err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	if err := s.Record(end); err != nil {
		return 0, err
	}
	if err := s.Sync(); err != nil {
		return 0, err
	}
	took, err := end.Since(start)
	start.Free()
	end.Free()
	return took, err
}

// Limits of a launch that the host checks, the same for all capabilities from 7.5 on
// ("Technical Specifications per Compute Capability" of the CUDA programming guide).
const (
	maxGridX        = 1<<31 - 1
	maxGridYZ       = 1<<16 - 1
	maxBlockThreads = 1024
	maxBlockZ       = 64
	plainShared     = 48 << 10 // above it a kernel must opt in
)

// size checks the grid and returns it as the driver takes it.
func (g *Grid) size(card *Info) (size [6]uint32, err error) {
	b, t := g.Blocks, g.Threads
	for i := 1; i < 3; i++ {
		b[i], t[i] = max(b[i], 1), max(t[i], 1)
	}
	switch {
	case b[0] < 1 || b[0] > maxGridX || b[1] > maxGridYZ || b[2] > maxGridYZ:
		err = fmt.Errorf("%v blocks", g.Blocks)
	case t[0] < 1 || t[0] > maxBlockThreads || t[1] > maxBlockThreads || t[2] > maxBlockZ || t[0]*t[1]*t[2] > maxBlockThreads:
		err = fmt.Errorf("%v threads a block", g.Threads)
	case g.Shared < 0 || g.Shared > card.SharedMemory:
		err = fmt.Errorf("%d bytes of shared memory a block, the card has %d", g.Shared, card.SharedMemory)
	}
	for i := range 3 {
		size[i], size[3+i] = uint32(b[i]), uint32(t[i])
	}
	return size, err
}

// Launch starts a kernel with params, a pointer to a struct in the layout of its
// parameter list (see [CheckParams]); the struct may change at once.
func Launch[P any](s *Stream, k *Kernel, g Grid, params *P) error {
	l := s.lane
	size, err := g.size(&l.card.Info)
	if err != nil {
		return fmt.Errorf("gpu: launch %s: %w", k.name, err)
	}
	if n := int(unsafe.Sizeof(*params)); !k.layout.fits(n) {
		return fmt.Errorf("gpu: launch %s: %d bytes for %d bytes of parameters", k.name, n, k.layout.size)
	}
	if err := k.allowShared(l, g.Shared); err != nil {
		return err
	}
	l.ran(k.name)
	s.works = true
	return l.do("cuLaunchKernel", k.name, func() error {
		return driver.Launch(functionHandle(&k.function), streamHandle(&s.stream), size, g.Shared, unsafe.Pointer(params), k.layout.size)
	})
}
