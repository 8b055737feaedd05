package scheduler

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// Bounds of the measurement of several objects at once.
const (
	rateObjects = 500                    // of a job for which it is worth its time
	rateSlowest = 0.1                    // seconds of an object; of slower ones codecs take nearly all
	rateWarm    = 400 * time.Millisecond // connections are made and caches filled in this time
	rateTime    = 2 * time.Second        // that is measured
	rateAtOnce  = 4                      // objects for each core
	rateMemory  = 32 << 20               // bytes that encoding one may take
)

// together gives the seconds of one core that an object takes where storage is on the same
// machine: fetching, encoding, checking and storing, with so many objects at once that the
// cores are never idle. One object after the other would count what the disk and the
// network make wait as if it took a core. 0: nothing could be measured.
func (p *planning) together(ctx context.Context, run codec.Run, r *codecs.Resolved, sample []jobs.Entry) (seconds float64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cores := pool.Cores()
	var done, next atomic.Int64
	var all sync.WaitGroup
	over := make(chan struct{})
	for i := range max(1, min(rateAtOnce*cores, int(p.memory.images()/(2*rateMemory)))) {
		key := jobs.Folder(p.spec.ID).Probe(fmt.Sprintf("sample-%d", i))
		all.Go(func() {
			stored := false
			for ctx.Err() == nil {
				select {
				case <-over:
					if stored {
						storage.Delete(context.WithoutCancel(ctx), p.target, key) // one that stays is replaced by the next
					}
					return
				default:
				}
				e := sample[int(next.Add(1))%len(sample)]
				wrote, err := p.oneOfSample(ctx, run, r, e, key)
				if err != nil {
					cancel(err)
					return
				}
				stored = stored || wrote
				done.Add(1)
			}
		})
	}
	wait := func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	wait(rateWarm)
	before, start := done.Load(), time.Now()
	wait(rateTime)
	n, elapsed := done.Load()-before, time.Since(start)
	close(over)
	all.Wait()
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if n == 0 {
		return 0, nil
	}
	return elapsed.Seconds() * float64(cores) / float64(n), nil
}

// oneOfSample does with an object what a worker does. Where nothing may be written it is read
// twice more, which are as many requests.
func (p *planning) oneOfSample(ctx context.Context, run codec.Run, r *codecs.Resolved, e jobs.Entry, key string) (stored bool, err error) {
	item, by, size, reason, err := p.fetch(ctx, r, e, sampleMemory)
	if err != nil || reason != nil {
		return false, err
	}
	data, reason := encode(ctx, run, by.Codec, item, by.Options)
	if reason != nil || int64(len(data)) >= size {
		return false, nil
	}
	if p.spec.Verify != "off" && item.Source.Format != imageio.DICOM && p.belowFloor(ctx, run, &by, item.Image, data) != nil {
		return false, nil
	}
	if p.folder == nil {
		for range 2 {
			if _, err := storage.Get(ctx, p.source, e.Key, sampleFile, nil); err != nil {
				return false, withoutName(err, e.Key)
			}
		}
		return false, nil
	}
	_, err = storage.Put(ctx, p.target, key, data, &storage.PutOptions{Overwrite: true})
	return err == nil, storage.RefusedWrite(err, int64(len(data)))
}
