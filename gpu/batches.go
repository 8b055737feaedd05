package gpu

import (
	"context"
	"sync"
)

// Batching is how the items of a call are divided into batches. Sizes are in whatever
// the time on a device depends on.
type Batching struct {
	Calls int // batches of a call, so that the host's part of one runs beside the device's part of others; 0: as few as Most allows
	Least int // size of a batch below which a device takes no less time for it
	Most  int // size of a batch at most, unless it is a single item
	Items int // in a batch at most; 0: any number

	// First is the size of the first batch at most, and each of the next ones may be larger by it, up to the size of all others: so the
	// device begins while the host prepares larger batches, and lanes do not come to their ends all at once. 0: all have the same size.
	First int
}

// Divide divides items into batches of neighbours.
func (b Batching) Divide(items []int, size func(item int) int) [][]int {
	all := 0
	for _, i := range items {
		all += size(i)
	}
	most := b.Most
	if b.Calls > 0 {
		most = min(max(all/b.Calls, b.Least), b.Most)
	}
	var batches [][]int
	sum := 0 // of the last batch
	for _, i := range items {
		n := size(i)
		last := len(batches) - 1
		limit := most
		if b.First > 0 {
			limit = min(most, b.First*len(batches))
		}
		if last < 0 || sum+n > limit || b.Items > 0 && len(batches[last]) >= b.Items {
			batches, last, sum = append(batches, nil), last+1, 0
		}
		batches[last] = append(batches[last], i)
		sum += n
	}
	return batches
}

// Share is b for a call that begins, of those that are at work on the device: all of them together have as many batches for each card as b
// has Calls. The host's part of one call then runs beside the device's part of another, and a device does fewer, larger batches in
// less time. The caller calls end when its batches are done.
func (d *Device) Share(b Batching) (own Batching, end func()) {
	if d == nil {
		return b, func() {}
	}
	calls := int(d.calls.Add(1))
	if b.Calls > 0 {
		b.Calls = max(1, b.Calls*max(1, len(d.Cards()))/calls)
	}
	return b, func() { d.calls.Add(-1) }
}

// Work is what a codec does with the items of its batches, which it knows by number. Of
// the functions several run at the same time, each for other items.
type Work struct {
	// Light says that the batches leave most of a card to others, for whom they are not worth waiting either: a warp
	// does what takes long. Each card has some lanes more for such batches, whose kernels come before those of others and
	// whose waits do not count in [Stats].
	Light bool

	// Device does items on a lane, all together. Where it ends in [ErrOutOfMemory] it is
	// called again with parts of them.
	Device func(l *Lane, items []int) error

	// Host goes on with items that a lane has done, while other batches take the lane;
	// nil: there is nothing more to do.
	Host func(items []int)

	// CPU does the items of a batch for which no lane has the memory, not even for one
	// alone.
	CPU func(items []int)

	// Failed learns that the device failed with items, whose results are void.
	Failed func(items []int, err error)
}

// Run does all batches, at the same time as far as there are lanes, which they take in their order,
// and returns when all are done. Without a device, nil, everything is left to w.CPU, in one call. A panic of
// one of the functions goes on in the caller.
func (d *Device) Run(ctx context.Context, batches [][]int, w Work) {
	if d == nil {
		var all []int
		for _, items := range batches {
			all = append(all, items...)
		}
		w.CPU(all)
		return
	}
	var wg sync.WaitGroup
	var once sync.Once
	var failure any
	turn := make(chan struct{}) // closed when a batch may take a lane
	close(turn)
	for _, items := range batches {
		own, next := turn, make(chan struct{})
		turn = next
		wg.Go(func() {
			began := sync.OnceFunc(func() { close(next) })
			defer began()
			defer func() {
				if p := recover(); p != nil {
					once.Do(func() { failure = p })
				}
			}()
			<-own
			d.runBatch(ctx, items, w, began)
		})
	}
	wg.Wait()
	if failure != nil {
		panic(failure)
	}
}

// runBatch does a batch and calls began once it has a lane, if it gets one.
func (d *Device) runBatch(ctx context.Context, items []int, w Work, began func()) {
	alone, err := d.split(ctx, len(items), w.Light, func(l *Lane, from, to int) error {
		began()
		return w.Device(l, items[from:to])
	})
	if err != nil {
		w.Failed(items, err)
		return
	}
	var done, left []int
	for i, item := range items {
		if len(alone) > 0 && alone[0] == i {
			alone, left = alone[1:], append(left, item)
			continue
		}
		done = append(done, item)
	}
	if len(done) > 0 && w.Host != nil {
		w.Host(done)
	}
	if len(left) > 0 {
		w.CPU(left)
	}
}
