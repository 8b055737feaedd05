package webp

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// batch is the images that a lane of the device searches together. The search of each
// image runs on a goroutine of its own, as it does on the CPU, and sends a request for
// every step that it wants from the device. When all searches that still run have sent
// one, or some have waited for long, the lane does what they want: their data goes to the
// device in one copy, every kernel runs once for all images that need it, and the results
// come back in one copy. In between the searches make tables and codes on all cores: each has one of the pool's goroutines,
// before the images that wait for one, but not while it waits for the lane.
type batch struct {
	lane    *gpu.Lane
	stream  *gpu.Stream
	pool    *pool.Pool
	staging gpu.Staging

	requests chan *request
	ended    chan any // of each search: what it panicked with, or nil

	up, down *gpu.Buffer // data of the requests at work, and their results
	scratch  *gpu.Buffer // zeros that a kernel needs and nobody reads

	mu        sync.Mutex
	discarded []*gpu.Buffer // what searches have no use for any more

	note    func(what string) // told what has just ended; nil: nobody
	kernels bool              // and of every kernel
}

func newBatch(l *gpu.Lane, c *pool.Pool) *batch {
	return &batch{
		lane: l, stream: l.Stream(0), pool: c,
		// The device waits for the copies.
		staging:  gpu.Staging{Lane: l, Spans: c.First().Spans},
		requests: make(chan *request),
		ended:    make(chan any),
	}
}

// discard gives buffers back before the next step; those that are nil are none.
func (b *batch) discard(buffers ...*gpu.Buffer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.discarded = append(b.discarded, buffers...)
}

func (b *batch) freeDiscarded() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, buffer := range b.discarded {
		if buffer != nil {
			buffer.Free()
		}
	}
	b.discarded = nil
}

// mark tells that what began with the last mark has ended.
func (b *batch) mark(what string) {
	if b.note != nil && b.stream.Sync() == nil {
		b.note(what)
	}
}

// request asks for a step of one image.
type request struct {
	step    step
	slot    *slot                       // the image, as it lasts from step to step
	reserve func() error                // takes memory on the device and notes it in slot; may be nil
	uploads [][]byte                    // data that goes to the device
	retain  []**gpu.Buffer              // buffers that keep the first of the uploads after the step
	result  int                         // bytes that come back, zero before the step
	into    []byte                      // where they come to; nil: to new memory
	scratch int                         // bytes of zeros beside them
	set     func(s *slot, at []gpu.Ptr) // notes what holds for this step alone; at is where the uploads are
	fetch   []region                    // what comes back from stepFetch, one after the other
	then    *request                    // of the same image, whose step comes after this one in the same go; nil: none
	wait    time.Duration               // how long the lane waits for requests of other searches at most

	// The answer.
	got  []byte
	err  error
	done chan struct{}
}

// region is some bytes of a buffer on the device.
type region struct {
	buffer   *gpu.Buffer
	at, size int
}

// step is what a batch does in one go. Steps of one image that are asked for together are done in this order.
type step int

const (
	stepLoad step = iota
	stepTransform
	stepChooseModes
	stepChooseMultipliers
	stepTileCosts
	stepSetGroups
	stepAssignGroups
	stepHistograms
	stepFetch
	stepPackLiterals
	stepPixels
	stepCacheCounts
	stepCountSymbols
	stepSeedAndCluster
	stepCluster
	stepPackReferences
	stepHits
	stepChains
	stepCandidates
	stepCount
)

var stepNames = [stepCount]string{
	"load", "transform", "choose modes", "choose multipliers", "tile costs", "set groups", "assign groups", "histograms",
	"fetch", "pack literals", "pixels", "cache counts", "count symbols", "seed and cluster", "cluster", "pack references",
	"hits", "chains", "candidates",
}

// How long a request waits for those of other searches at most. A search for backward
// references parses between its steps, which takes long and not equally long. Both were
// chosen by the time of whole batches on an H200.
const (
	predictorWait = 50 * time.Millisecond
	referenceWait = time.Millisecond
)

// encode runs encode for each of the images. It returns the first error of the device;
// other errors are the business of encode.
func (b *batch) encode(images []*raster.Image, o *Options, encode func(d steps, i int)) error {
	for i := range images {
		go func() {
			defer func() {
				p := recover()
				if p != nil {
					p = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
				}
				b.ended <- p
			}()
			b.pool.Work(func() { encode(&deviceSteps{batch: b, exact: o.exact}, i) })
		}()
	}
	var failed error
	var panicked any
	for live := len(images); live > 0; {
		var list []*request
		searches := 0 // that have sent those of list
		var late <-chan time.Time
		var due time.Time // when late comes
		for waiting := true; waiting && searches < live; {
			select {
			case r := <-b.requests:
				searches++
				for next := r; next != nil; next = next.then {
					list = append(list, next)
				}
				if t := time.Now().Add(r.wait); late == nil || t.Before(due) {
					late, due = time.After(r.wait), t
				}
			case p := <-b.ended:
				live--
				if p != nil {
					panicked = p
				}
			case <-late:
				waiting = false
			}
		}
		if failed == nil {
			failed = b.do(list)
		}
		for _, r := range list {
			if r.err = failed; r.done != nil {
				close(r.done)
			}
		}
	}
	if panicked != nil {
		panic(panicked)
	}
	return failed
}

// send hands a request, and those that come after it, to the lane and returns when their steps are done.
func (b *batch) send(r *request) error {
	r.done = make(chan struct{})
	b.pool.Rest(func() {
		b.requests <- r
		<-r.done
	})
	return r.err
}

// places says where the data of requests lies in the buffers of the batch.
type places struct {
	up, down, scratch gpu.Layout
	uploads           [][]int // of each request, of each of its uploads
	results, zeros    []int   // of each request
	slots             [stepCount]int
}

// do does the steps of requests.
func (b *batch) do(requests []*request) error {
	if len(requests) == 0 {
		return nil
	}
	b.mark("host")
	b.freeDiscarded()
	var steps [stepCount][]*request
	for _, r := range requests {
		if r.reserve != nil {
			if err := r.reserve(); err != nil {
				return err
			}
		}
		steps[r.step] = append(steps[r.step], r)
	}
	requests = requests[:0]
	var p places
	for k, list := range steps {
		for _, r := range list {
			requests = append(requests, r)
			at := make([]int, len(r.uploads))
			for j, data := range r.uploads {
				at[j] = p.up.Take(len(data))
			}
			p.uploads = append(p.uploads, at)
			p.results, p.zeros = append(p.results, p.down.Take(r.result)), append(p.zeros, p.scratch.Take(r.scratch))
		}
		p.slots[k] = p.up.Take(len(list) * len(gpu.Bytes(make([]slot, 1))))
	}
	if err := b.room(&p); err != nil {
		return err
	}
	slots := b.slots(requests, &p)
	if err := b.upload(&steps, slots, &p); err != nil {
		return err
	}
	b.mark("upload")
	first := 0
	for k, list := range steps {
		if len(list) > 0 {
			params := &slotParams{b.up.Ptr + gpu.Ptr(p.slots[k])}
			if err := b.start(step(k), list, slots[first:first+len(list)], p.results[first:], params); err != nil {
				return err
			}
			b.mark(stepNames[k])
		}
		first += len(list)
	}
	return b.download(requests, &p)
}

// room makes room on the device, with zeros where they are wanted.
func (b *batch) room(p *places) error {
	for _, buffer := range []struct {
		at   **gpu.Buffer
		size int
	}{{&b.up, p.up.Size}, {&b.down, p.down.Size}, {&b.scratch, p.scratch.Size}} {
		if buffer.size == 0 {
			continue
		}
		if err := b.lane.Room(buffer.at, buffer.size); err != nil {
			return err
		}
		if buffer.at == &b.up {
			continue
		}
		if err := b.stream.Fill(*buffer.at, 0, buffer.size, 0); err != nil {
			return err
		}
	}
	return nil
}

// slots are those of the requests, with what holds for this step alone.
func (b *batch) slots(requests []*request, p *places) []slot {
	slots := make([]slot, len(requests))
	for i, r := range requests {
		s := &slots[i]
		*s = *r.slot
		at := make([]gpu.Ptr, len(r.uploads))
		for j := range at {
			at[j] = b.up.Ptr + gpu.Ptr(p.uploads[i][j])
		}
		if r.result > 0 {
			s.Result = b.down.Ptr + gpu.Ptr(p.results[i])
		}
		if r.scratch > 0 {
			s.Scratch = b.scratch.Ptr + gpu.Ptr(p.zeros[i])
		}
		if r.set != nil {
			r.set(s, at)
		}
	}
	return slots
}

// upload brings slots and the data of requests to the device, and into the buffers that
// keep it.
func (b *batch) upload(steps *[stepCount][]*request, slots []slot, p *places) error {
	var parts []gpu.Part
	i := 0
	for k, list := range steps {
		first := i
		for _, r := range list {
			for j, data := range r.uploads {
				if len(data) > 0 {
					parts = append(parts, gpu.Part{At: p.uploads[i][j], Bytes: data})
				}
			}
			i++
		}
		if len(list) > 0 {
			parts = append(parts, gpu.Part{At: p.slots[k], Bytes: gpu.Bytes(slots[first:i])})
		}
	}
	last := parts[len(parts)-1]
	if err := b.staging.Upload(b.up, last.At+len(last.Bytes), parts); err != nil {
		return err
	}
	i = 0
	for _, list := range steps {
		for _, r := range list {
			for j, buffer := range r.retain {
				if err := b.stream.Copy(*buffer, 0, b.up, p.uploads[i][j], (*buffer).Size); err != nil {
					return err
				}
			}
			i++
		}
	}
	return nil
}

// download waits for the device and gives requests their results.
func (b *batch) download(requests []*request, p *places) error {
	var parts []gpu.Part
	end := 0
	for i, r := range requests {
		if r.result > 0 {
			if r.got = r.into; r.got == nil {
				r.got = codec.Uncleared(r.result)
			}
			r.got = r.got[:r.result]
			end = p.results[i] + r.result
			parts = append(parts, gpu.Part{At: p.results[i], Bytes: r.got})
		}
	}
	if err := b.staging.Download(parts, b.down, end); err != nil {
		return err
	}
	if err := b.stream.Sync(); err != nil {
		return err
	}
	b.mark("download")
	return nil
}
