//go:build cuda && cgo

package webp

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// A batch is images that are searched together on a card. The search of each runs on
// its own goroutine, as it does on the CPU, and asks for steps. When all that still run
// have asked, or some are late, the lane serves those that have: what goes to the card goes in one copy, every kernel
// runs once for all images that need it, and what comes back comes in one copy. In
// between the searches make tables and codes on all cores.
type batch struct {
	*deviceLane
	asked    chan *request
	up, down arena
	work     *gpu.Buffer // zeros that a kernel needs and nobody reads

	mu        sync.Mutex
	discarded []*gpu.Buffer // what searches have no use for any more

	note    func(what string) // told what has just ended; nil: nobody
	kernels bool              // and of every kernel
}

// discard gives buffers back before the next step; those that are nil are none.
func (g *batch) discard(buffers ...*gpu.Buffer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.discarded = append(g.discarded, buffers...)
}

func (g *batch) freeDiscarded() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range g.discarded {
		if b != nil {
			b.Free()
		}
	}
	g.discarded = nil
}

// mark tells that what began with the last mark has ended.
func (g *batch) mark(what string) {
	if g.note != nil && g.stream.Sync() == nil {
		g.note(what)
	}
}

// request is a step that a search waits for, or its end.
type request struct {
	step   step
	canvas *devicePredictorSearch // whose frame it is, or
	copier *deviceReferenceSearch // whose
	room   func() error           // takes memory on the card; may be nil
	parts  [][]byte               // what goes to the card
	keep   []**gpu.Buffer         // where parts, the first of them, stay after the step; may be nil
	want   int                    // bytes that come back; zero before the step
	work   int                    // bytes of zeros beside them
	set    func(f *deviceSlot, at []gpu.Ptr)
	fetch  []*gpu.Buffer // what comes back of stepFetch, one after the other

	// Of the answer.
	got  []byte
	err  error
	done chan struct{}

	ended    bool
	panicked any
}

// frame is what the kernels are to know of the image, but for what the step adds.
func (a *request) frame() deviceSlot {
	if a.copier != nil {
		return a.copier.frame
	}
	return a.canvas.frame
}

// step is what a batch does in one go.
type step int

const (
	stepLoad step = iota
	stepFill
	stepPredict
	stepRecolour
	stepTilePrices
	stepSetGroups
	stepAssign
	stepHistograms
	stepFetch
	stepPack
	stepPixels
	stepCacheCounts
	stepCountCopies
	stepSeed
	stepCluster
	stepPackCopies
	stepHits
	stepSearch
	stepCandidates
	stepCount
)

var stepNames = [stepCount]string{"load", "fill", "predict", "recolour", "tile prices", "set groups", "assign", "histograms", "fetch", "pack", "pixels", "cache", "count", "seed and cluster", "cluster", "pack copies", "hits", "search", "candidates"}

// How long an ask waits for others. Searches for copies have parses between their steps,
// which take long and not equally long.
const (
	patience       = 50 * time.Millisecond
	copierPatience = time.Millisecond
)

func (a *request) patience() time.Duration {
	if a.copier != nil {
		return copierPatience
	}
	return patience
}

// encode runs encode for each of the images. It returns the first error of the card;
// others are the business of encode.
func (d *deviceLane) encode(images []*raster.Image, o *Options, encode func(v search.Steps, i int)) error {
	g := &batch{deviceLane: d, asked: make(chan *request), note: d.note, kernels: d.kernels}
	n := len(images)
	for i := range n {
		go func() {
			end := &request{ended: true}
			defer func() {
				if p := recover(); p != nil {
					end.panicked = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
				}
				g.asked <- end
			}()
			encode(&deviceSteps{g, images[i], o}, i)
		}()
	}
	var failed error
	var panicked any
	for live := n; live > 0; {
		var round []*request
		var late <-chan time.Time
		var due time.Time // when late comes
		for waiting := true; waiting && len(round) < live; {
			select {
			case a := <-g.asked:
				if !a.ended {
					round = append(round, a)
					if t := time.Now().Add(a.patience()); late == nil || t.Before(due) {
						late, due = time.After(a.patience()), t
					}
					continue
				}
				live--
				if a.panicked != nil {
					panicked = a.panicked
				}
			case <-late:
				waiting = false
			}
		}
		if failed == nil {
			failed = g.serve(round)
		}
		for _, a := range round {
			a.err = failed
			close(a.done)
		}
	}
	if panicked != nil {
		panic(panicked)
	}
	return failed
}

// wait hands the ask to the lane and returns when the step is done.
func (g *batch) wait(a *request) error {
	a.done = make(chan struct{})
	g.asked <- a
	<-a.done
	return a.err
}

// serve does the steps of a round.
func (g *batch) serve(round []*request) error {
	if len(round) == 0 {
		return nil
	}
	g.mark("host")
	g.freeDiscarded()
	var kinds [stepCount][]*request
	var up, down, work gpu.Layout
	for _, a := range round {
		if a.room != nil {
			if err := a.room(); err != nil {
				return err
			}
		}
		kinds[a.step] = append(kinds[a.step], a)
	}
	var lists [stepCount]int
	partsAt, downAt, workAt := make([][]int, len(round)), make([]int, len(round)), make([]int, len(round))
	frames := make([]deviceSlot, 0, len(round))
	n := 0
	for k, list := range kinds {
		for _, a := range list {
			for _, p := range a.parts {
				partsAt[n] = append(partsAt[n], up.Take(len(p)))
			}
			downAt[n], workAt[n] = down.Take(a.want), work.Take(a.work)
			round[n] = a
			n++
		}
		lists[k] = up.Take(len(list) * len(asBytes(make([]deviceSlot, 1))))
	}
	if err := g.rooms(up.Size, down.Size, work.Size); err != nil {
		return err
	}
	for i, a := range round {
		f := a.frame()
		at := make([]gpu.Ptr, len(a.parts))
		for j := range a.parts {
			at[j] = g.up.device.Ptr + gpu.Ptr(partsAt[i][j])
		}
		if a.want > 0 {
			f.Result = g.down.device.Ptr + gpu.Ptr(downAt[i])
		}
		if a.work > 0 {
			f.State = g.work.Ptr + gpu.Ptr(workAt[i])
		}
		if a.set != nil {
			a.set(&f, at)
		}
		frames = append(frames, f)
	}
	first := 0
	for k, list := range kinds {
		copy(g.up.host.Bytes[lists[k]:], asBytes(frames[first:first+len(list)]))
		first += len(list)
	}
	g.pool.Each(len(round), func(i int) {
		for j, p := range round[i].parts {
			g.copy(g.up.host.Bytes[partsAt[i][j]:], p)
		}
	})
	g.mark("gather")
	if err := g.stream.Upload(g.up.device, 0, g.up.host.Bytes[:up.Size]); err != nil {
		return err
	}
	for i, a := range round {
		for j, b := range a.keep {
			if err := g.stream.Copy(*b, 0, g.up.device, partsAt[i][j], (*b).Size); err != nil {
				return err
			}
		}
	}
	g.mark("upload")
	first = 0
	for k, list := range kinds {
		if len(list) > 0 {
			params := &listParams{g.up.device.Ptr + gpu.Ptr(lists[k])}
			if err := g.do(step(k), list, frames[first:first+len(list)], downAt[first:], params); err != nil {
				return err
			}
			g.mark(stepNames[k])
		}
		first += len(list)
	}
	if down.Size > 0 {
		if err := g.stream.Download(g.down.host.Bytes[:down.Size], g.down.device, 0); err != nil {
			return err
		}
	}
	if err := g.stream.Sync(); err != nil {
		return err
	}
	g.mark("download")
	// The next round may begin before a search has read what it was given.
	g.pool.Each(len(round), func(i int) {
		if a := round[i]; a.want > 0 {
			a.got = bytes.Clone(g.down.host.Bytes[downAt[i]:][:a.want])
		}
	})
	g.mark("hand out")
	return nil
}

// rooms makes room for a round, and zeros where they are wanted.
func (g *batch) rooms(up, down, work int) error {
	if err := g.up.room(g.lane, up); err != nil {
		return err
	}
	if err := g.down.room(g.lane, down); err != nil {
		return err
	}
	if down > 0 {
		if err := g.stream.Fill(g.down.device, 0, down, 0); err != nil {
			return err
		}
	}
	if work == 0 {
		return nil
	}
	if g.work == nil || g.work.Size < work {
		if g.work != nil {
			g.work.Free()
		}
		var err error
		if g.work, err = g.lane.Device(work); err != nil {
			return err
		}
	}
	return g.stream.Fill(g.work, 0, work, 0)
}
