//go:build cuda && cgo

package neuquant

import (
	"context"
	"sync"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
)

// onCard is the device whose steps run on cards.
func onCard(dev *gpu.Device, c *pool.Pool) device { return &cards{dev: dev, pool: c} }

// cards is a device: problems go to its lanes in batches, so that the copies of one run
// beside the kernels of another.
type cards struct {
	dev  *gpu.Device
	pool *pool.Pool

	locked bool // see card
	train  trainer
	most   int               // problems of a batch; 0: as it is best
	note   func(what string) // see card
}

// trainer is who trains the networks of a batch. The entries are the same.
type trainer int

const (
	trainWhereFaster trainer = iota
	trainOnCard
	trainOnHost
)

// What a sample takes: on a core, and on a card for one problem or for all of a batch at
// the same time.
const (
	coreSample = 90  // ns
	cardSample = 310 // ns
)

// trainer decides for a batch: a few problems are trained sooner by the cores.
func (g *batch) trainer() trainer {
	if g.card.train != trainWhereFaster {
		return g.card.train
	}
	var all, longest int
	for i := range g.frames {
		n := int(g.frames[i].Cycles)
		all, longest = all+n, max(longest, n)
	}
	workers := min(g.pool.Size(), len(g.frames))
	if max(all/workers, longest)*coreSample < longest*cardSample {
		return trainOnHost
	}
	return trainOnCard
}

const (
	// mostColours is what the bins of a card count without a sum that is too large
	// (bins.cuh), and what a batch has at most.
	mostColours = 1<<27 - 1

	// A batch of leastBatch problems takes no longer than a smaller one, and with mostBatch a
	// card is full; a call makes some batches.
	leastBatch, mostBatch = 64, 512
	batchesOfCall         = 6
)

// batches divides the problems of list with numbers items into batches of neighbours.
func (d *cards) batches(list []problem, items []int) [][]int {
	most := d.most
	if most == 0 {
		most = min(max((len(items)+batchesOfCall-1)/batchesOfCall, leastBatch), mostBatch)
	}
	return pool.Sets(items, mostColours, most, func(i int) int { return list[i].n() })
}

func (d *cards) solve(ctx context.Context, list []problem, o *Options) []solution {
	out := make([]solution, len(list))
	var items, left []int
	for i := range list {
		if list[i].entries == 1 || list[i].n() > mostColours {
			left = append(left, i)
			continue
		}
		items = append(items, i)
	}
	var mu sync.Mutex
	batches := d.batches(list, items)
	// Who waits for a lane keeps no core from working.
	pool.Of(len(batches)).Each(len(batches), func(i int) {
		alone := d.solveBatch(ctx, list, batches[i], o, out)
		mu.Lock()
		defer mu.Unlock()
		left = append(left, alone...)
	})
	rest := make([]problem, len(left))
	for j, i := range left {
		rest[j] = list[i]
	}
	for j, s := range (cpu{d.pool}).solve(ctx, rest, o) {
		out[left[j]] = s
	}
	return out
}

// solveBatch solves the problems of list with numbers items, and returns the numbers of
// those that do not fit into the memory of a lane even alone.
func (d *cards) solveBatch(ctx context.Context, list []problem, items []int, o *Options, out []solution) (left []int) {
	alone, err := d.dev.Split(ctx, len(items), func(l *gpu.Lane, from, to int) error {
		g := &batch{card: &card{pool: d.pool, lane: l, locked: d.locked, train: d.train, note: d.note}, options: o}
		for _, i := range items[from:to] {
			g.problems = append(g.problems, &list[i])
		}
		solved, err := g.solve(ctx)
		if err != nil {
			return err
		}
		for j, i := range items[from:to] {
			out[i] = solved[j]
		}
		return nil
	})
	for _, j := range alone {
		left = append(left, items[j])
	}
	if err != nil {
		for _, i := range items {
			out[i] = solution{err: err}
		}
		return nil
	}
	return left
}
