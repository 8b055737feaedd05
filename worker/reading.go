package worker

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/container/png/device"
	"github.com/pelmill/pelmill/raster"
)

// deviceReader has a device read sources while there is more to do than the cores can. It is never set: what cores and
// device take is measured all the time, and decides for the objects that wait for a core to read them. A nil *deviceReader
// reads nothing.
type deviceReader struct {
	p       *pipeline
	batches *batcher

	waiting, formed, batched atomic.Int64
	images                   atomic.Int64 // that the device has read

	mu      sync.Mutex
	line    map[*candidate]struct{} // those that wait for a core
	came    int64                   // candidates so far
	taken   int                     // objects that the device has or is about to get
	core    mean                    // seconds of a core in a row, for whatever
	host    mean                    // seconds of a core for a byte of samples
	beside  mean                    // seconds of a core to open a file for the device, for a byte of samples
	device  mean                    // seconds from batch to batch
	loaded  bool                    // the kernels are
	failed  bool                    // a batch has, for a reason that lasts
	trying  bool                    // an image that loads the kernels, or tells anew how long a batch takes, is under way
	renewed time.Time               // when device was
	working float64                 // share of the time in which batches that are encoded waited for the cards
	looked  time.Time               // when working was found out
	waited  time.Duration
}

// candidate is an object whose source a device may read, while it waits for a core. Cores serve the least age first, and among
// equals those that came first.
type candidate struct {
	age, came int64
	take      context.CancelCauseFunc // ends the wait
	taken     bool
}

// errTaken ends the wait for a core of an object that the device reads.
var errTaken = errors.New("the device reads it")

// mean is a running mean of the last values.
type mean struct{ value float64 }

// Weights of a new value: of objects there are many, of batches few.
const (
	objectShare = 1. / 16
	batchShare  = 1. / 4
)

func (m *mean) add(v, share float64) {
	if m.value == 0 {
		m.value = v
	}
	m.value += (v - m.value) * share
}

// presumed is how many seconds a batch takes as long as none but the first was measured, which loads the kernels.
const presumed = 0.05

// readLanes is how many batches are at work for each card: one is opened while the card has others.
const readLanes = 4

// renewal is how long it is believed what a batch takes: a device that was slow is tried again with one image.
const renewal = time.Second

func newDeviceReader(p *pipeline) *deviceReader {
	r := &deviceReader{p: p, line: map[*candidate]struct{}{}}
	r.batches = newBatcher(p, "sources", "", r.readBatch)
	// Lanes of its own, as the device has for such batches: none that is encoded waits for one that is read, nor the other way round.
	r.batches.lanes, r.batches.spare = make(chan struct{}, readLanes*p.cards), nil
	r.batches.lent = func(o *object) bool { return o.by.spec.Verify != verifyDevice }
	r.batches.waiting, r.batches.formed, r.batches.batched = &r.waiting, &r.formed, &r.batched
	return r
}

// read is how many images the device has read.
func (r *deviceReader) read() int64 {
	if r == nil {
		return 0
	}
	return r.images.Load()
}

// awaitReading waits for a core that reads the source of o. A device may have read the samples before.
func (p *pipeline) awaitReading(ctx context.Context, o *object) error {
	if p.reading == nil || !o.streams {
		return p.awaitCoreToFeed(ctx, o)
	}
	taken, err := p.reading.await(ctx, o)
	if !taken {
		return err
	}
	if err := p.reading.do(ctx, o); err != nil {
		return err
	}
	return p.awaitCoreToFeed(ctx, o)
}

// awaitCoreToFeed waits for a core that makes o ready for the device.
func (p *pipeline) awaitCoreToFeed(ctx context.Context, o *object) error {
	defer o.delivery.waits()()
	return p.cores.AcquireToFeed(ctx, o.age)
}

// await waits until o has a core, or until the device takes it.
func (r *deviceReader) await(ctx context.Context, o *object) (taken bool, err error) {
	waiting, take := context.WithCancelCause(ctx)
	defer take(nil)
	c := &candidate{age: o.age, take: take}
	r.mu.Lock()
	c.came = r.came
	r.came++
	r.line[c] = struct{}{}
	r.look()
	r.mu.Unlock()
	err = r.p.awaitCoreToFeed(waiting, o)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.line, c)
	switch {
	case !c.taken:
		return false, err
	case errors.Is(err, errTaken):
		return true, nil
	}
	r.batches.awaited.Add(-1) // it has a core after all, or its end has come
	r.left()
	return false, err
}

// do reads o with others that were taken.
func (r *deviceReader) do(ctx context.Context, o *object) error {
	came := sync.OnceFunc(func() { r.batches.awaited.Add(-1) })
	err := r.batches.do(ctx, o, came)
	came()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left()
	return err
}

// left says that an object that was taken is read, or does not come. It needs the lock.
func (r *deviceReader) left() {
	if r.taken--; r.taken == 0 {
		r.trying = false
	}
	r.look()
}

// look takes those of the line that cores come to last, as many as the device has read before cores would begin. It needs
// the lock, and is called whenever something has changed.
func (r *deviceReader) look() {
	n := r.wanted()
	if n <= 0 {
		return
	}
	last := slices.SortedFunc(maps.Keys(r.line), func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.age, a.age), cmp.Compare(b.came, a.came))
	})[:n]
	r.taken += n
	r.batches.awaited.Add(int64(n))
	for _, c := range last {
		delete(r.line, c)
		c.taken = true
		c.take(errTaken)
	}
}

// wanted is how many objects of the line the device should take now. It needs the lock.
//
// The cores are what all wait for where objects wait for them longer than the device takes to read: then each byte that
// they do not inflate is gained. The device takes none where as many wait for it as well and it has no time for them: they may wait
// as long for the cores, which code what it has found.
func (r *deviceReader) wanted() int {
	cores := r.p.cores.Size()
	busy, waiting := r.p.cores.Load()
	switch {
	case len(r.line) == 0 || busy < cores || waiting == 0 || r.core.value == 0:
		return 0
	case r.failed || r.p.queued.Load() >= batchImages && r.load() > mostLoad:
		return 0
	case r.taken == 0 && (!r.loaded || time.Since(r.renewed) > renewal):
		r.trying = true
		return 1
	case r.trying && (r.loaded || !r.p.open.Load()): // others may come behind the first, but not before there is a device
		return 0
	case r.loaded && r.beside.value >= r.host.value:
		return 0
	}
	batch := batchImages * float64(r.p.cards)
	each := r.device.value
	if !r.loaded {
		each = presumed
	}
	ready := each * (1 + float64(r.taken)/batch)
	before := int(math.Ceil(ready / r.core.value * float64(cores) / turns)) // to which cores come until then
	n := min(int(readLanes*batch)-r.taken, waiting-before, len(r.line))
	if n < leastReading {
		return 0
	}
	return n
}

// turns is how often an object has a core, to be read and for its result to be checked: of those that cores come to meanwhile, as many
// are further on as wait to be read.
const turns = 2

// leastReading is how many objects are worth a batch, which takes about as long with fewer.
const leastReading = batchImages / 4

// mostLoad is the share of the time above which a device has no time to read while others wait for it.
const mostLoad = 3. / 4

// loadLook is how long the load of the device is looked at.
const loadLook = 20 * time.Millisecond

// load is the share of the last moments in which the cards worked for batches that are encoded or decoded. It needs the lock.
func (r *deviceReader) load() float64 {
	now := time.Now()
	if d := now.Sub(r.looked); d >= loadLook {
		waited := r.p.stats().Waited
		r.working = (waited - r.waited).Seconds() / d.Seconds() / float64(max(1, len(r.p.device.Cards())))
		r.looked, r.waited = now, waited
	}
	return r.working
}

// onCores is how many seconds cores take for objects.
func (r *deviceReader) onCores(objects int) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return float64(objects) * r.core.value / float64(r.p.cores.Size())
}

// onCore learns that something has had a core for so long.
func (r *deviceReader) onCore(d time.Duration) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.core.add(d.Seconds(), objectShare)
	r.look()
}

// onHost learns what a core has taken for the source of o.
func (r *deviceReader) onHost(o *object, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.host.add(d.Seconds()/float64(max(1, o.head.Size())), objectShare)
}

// readBatch lets the device read the sources of a batch. What it does not take, and what it fails with, is read by a core.
func (r *deviceReader) readBatch(ctx context.Context, run codec.Run, batch []*object) error {
	start, atWork := time.Now(), len(r.batches.lanes)
	streams, coded := make([]*imageio.Stream, len(batch)), make([]*device.Stream, len(batch))
	var opening, bytes atomic.Int64
	run.Pool.Each(len(batch), func(i int) {
		begin := time.Now()
		o := batch[i]
		o.stage, o.failure = stageRead, nil
		o.delivery.enters(o, stageRead)
		if s, ok := imageio.OpenStream(o.data, o.by.limits()); ok {
			streams[i], coded[i] = s, s.Stream
			bytes.Add(int64(s.Size()))
		}
		opening.Add(int64(time.Since(begin)))
	})
	if slices.ContainsFunc(batch, func(o *object) bool { return o.by.spec.Verify == verifyDevice }) {
		run.Alloc = nil // what is lent is for the images that the device decodes
	}
	done, err := device.Decode(ctx, run, coded)
	took := time.Since(start)
	failed := err != nil && ctx.Err() == nil && r.p.lost() == nil
	if failed {
		r.p.log.Warn("the device does not read sources any more, cores do", "error", err)
	}
	share := took / time.Duration(len(batch))
	batch[0].traced(stageRead, start, len(batch))
	for i, o := range batch {
		o.spend(stageRead, share)
		o.streams = done[i]
		if done[i] {
			o.stream = streams[i]
			r.images.Add(1)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.beside.add(time.Duration(opening.Load()).Seconds()/float64(max(1, bytes.Load())), batchShare)
		r.learn(took, atWork)
	}
	if !r.loaded {
		r.loaded, r.trying = true, false // others may have been taken since the device is open
	}
	r.failed = r.failed || failed
	return nil
}

// learn learns what a batch took that was one of so many at work. It needs the lock.
func (r *deviceReader) learn(took time.Duration, atWork int) {
	each := took.Seconds() / max(1, float64(atWork)/float64(r.p.cards)) // they end one after the other
	switch {
	case !r.loaded:
		r.device = mean{min(each, presumed)}
	case r.trying:
		r.device = mean{each}
	default:
		r.device.add(each, batchShare)
	}
	r.renewed = time.Now()
}

// streamed is an image in the memory of the samples that a device has read, nil where it has not.
func (o *object) streamed() *raster.Image {
	if o.stream == nil {
		return nil
	}
	return &raster.Image{Pix: o.stream.Samples()}
}
