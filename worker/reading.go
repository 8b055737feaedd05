package worker

import (
	"context"
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
// device take is measured all the time, and decides for each object. A nil *deviceReader reads nothing.
type deviceReader struct {
	p       *pipeline
	batches *batcher

	waiting, formed, batched atomic.Int64
	images                   atomic.Int64 // that the device has read

	mu      sync.Mutex
	core    mean      // seconds of a core in a row, for whatever
	host    mean      // seconds of a core for a byte of samples
	beside  mean      // seconds of a core to open a file for the device, for a byte of samples
	device  mean      // seconds from batch to batch
	loaded  bool      // the kernels are
	failed  bool      // a batch has, for a reason that lasts
	trying  bool      // an image that loads the kernels, or tells anew how long a batch takes, is under way
	renewed time.Time // when device was
	working float64   // share of the time in which batches that are encoded waited for the cards
	looked  time.Time // when working was found out
	waited  time.Duration
}

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

// readLanes is how many batches are at work for each card: one is opened while the card has another.
const readLanes = 2

// renewal is how long it is believed what a batch takes: a device that was slow is tried again with one image.
const renewal = time.Second

func newDeviceReader(p *pipeline) *deviceReader {
	r := &deviceReader{p: p}
	r.batches = newBatcher(p, "sources", "", r.readBatch)
	// Lanes of its own, as the device has for such batches: none that is encoded waits for one that is read, nor the other way round.
	r.batches.lanes, r.batches.spare = make(chan struct{}, readLanes*p.cards), nil
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

// chosen decides whether the device reads the source of o, which is about to ask for a core. It does where o waits for a core for
// longer than the device takes: then the cores are what all wait for, and each byte that they do not inflate is gained. It does
// not where as many wait for the device as well, and the device has no time for them: they may wait as long for the cores, which code
// what it has found.
func (r *deviceReader) chosen(o *object) bool {
	if r == nil || !o.streams {
		return false
	}
	cores := r.p.cores.Size()
	busy, waiting := r.p.cores.Load()
	if busy < cores || waiting == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trying || r.failed || r.p.queued.Load() >= batchImages && r.load() > mostLoad {
		return false
	}
	wait := float64(waiting) * r.core.value / float64(cores)
	if !r.loaded || time.Since(r.renewed) > renewal {
		r.trying = wait > 0
		return r.trying
	}
	// Those at work are half done, on the mean.
	cards := float64(r.p.cards)
	ahead := float64(r.waiting.Load())/batchImages + max(0, float64(len(r.batches.lanes))-cards/2)
	return wait > (1+ahead/cards)*r.device.value && r.beside.value < r.host.value
}

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

// missed learns that a chosen object did not come to its batch.
func (r *deviceReader) missed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trying = false
}

// onCore learns that something has had a core for so long.
func (r *deviceReader) onCore(d time.Duration) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.core.add(d.Seconds(), objectShare)
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
	r.loaded, r.trying = true, false
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
