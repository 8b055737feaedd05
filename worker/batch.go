package worker

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// Bounds of a batch on a device.
const (
	batchPictures = 64
	batchBytes    = 256 << 20 // of samples
)

// batcher collects pictures of a chunk into batches for the device. While all
// lanes are busy a batch grows; when one is free it starts with what there is.
type batcher struct {
	c     *chunk
	items chan *item
}

// item is a product that waits for the device.
type item struct {
	*product
	decode bool
	done   chan error // buffered
}

func newBatcher(c *chunk) *batcher {
	return &batcher{c: c, items: make(chan *item, 2*batchPictures)}
}

// encode runs p's encode stage in a batch.
func (b *batcher) encode(ctx context.Context, p *product) error { return b.submit(ctx, p, false) }

// verify decodes p's result in a batch on the device, and compares on the CPU.
func (b *batcher) verify(ctx context.Context, p *product) error {
	if err := b.submit(ctx, p, true); err != nil {
		return err
	}
	p.verified = "device"
	return b.c.onCPU(ctx, func() {}, p, func(p *product, _ context.Context) error {
		return p.in(stageVerify, func() error { return p.compare(p.decoded, nil) })
	})
}

func (b *batcher) submit(ctx context.Context, p *product, decode bool) error {
	it := &item{product: p, decode: decode, done: make(chan error, 1)}
	select {
	case b.items <- it:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-it.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run forms batches until over is closed or ctx ends, and waits for those it
// started.
func (b *batcher) run(ctx context.Context, over <-chan struct{}) {
	var started sync.WaitGroup
	defer started.Wait()
	var next *item // came while a batch of the other kind, or a full one, was formed
	for {
		first := next
		next = nil
		if first == nil {
			select {
			case first = <-b.items:
			case <-over:
				return
			case <-ctx.Done():
				return
			}
		}
		if take(ctx, b.c.w.lanes) != nil {
			return
		}
		batch, bytes := []*item{first}, len(first.image.Pix)
	collect:
		for len(batch) < batchPictures {
			select {
			case it := <-b.items:
				bytes += len(it.image.Pix)
				if it.decode != first.decode || bytes > batchBytes {
					next = it
					break collect
				}
				batch = append(batch, it)
			default:
				break collect
			}
		}
		started.Go(func() { b.launch(ctx, batch) })
	}
}

// answer is what the device made of one item.
type answer struct {
	data  []byte
	image *raster.Image
	err   error
}

func (b *batcher) launch(ctx context.Context, batch []*item) {
	w := b.c.w
	start := time.Now()
	var answers []answer
	err := w.guard(ctx, func() { <-w.lanes }, func(ctx context.Context) (err error) {
		defer func() {
			if v := recover(); v != nil {
				w.log.Warn("a codec panicked on the device", "job", b.c.task.Job, "panic", v, "stack", string(debug.Stack()))
				f := faultf(jobs.FailedOut, jobs.ClassCodec, "%s panicked on the device: %v", b.c.info.Name, v)
				f.again = true
				err = f
			}
		}()
		a := b.onDevice(ctx, batch)
		if len(a) != len(batch) {
			return codecFault(fmt.Errorf("%s: %d results for a batch of %d", b.c.info.Name, len(a), len(batch)))
		}
		answers = a
		return nil
	})
	if lost := w.lost(); lost != nil {
		// Nothing that came from a lost card can be trusted, success or not, and no
		// object is to blame: the chunk goes back to the queue.
		err = lost
	}
	each := time.Since(start) / time.Duration(len(batch))
	for i, it := range batch {
		if err != nil {
			it.done <- err
			continue
		}
		a := answers[i]
		stage := stageEncode
		if it.decode {
			stage = stageVerify
			it.decoded = a.image
			if a.err != nil {
				a.err = unverified("the result does not decode on the device: %w", a.err)
			}
		} else {
			a.err = it.take(a.data, a.err)
		}
		it.spent[stage] += each
		it.done <- a.err
	}
}

func (b *batcher) onDevice(ctx context.Context, batch []*item) []answer {
	var answers []answer
	if batch[0].decode {
		files := make([][]byte, len(batch))
		for i, it := range batch {
			files[i] = it.encoded
		}
		for _, d := range b.c.codec.Decode(ctx, b.c.device, files, b.c.assets) {
			answers = append(answers, answer{image: d.Image, err: d.Err})
		}
		return answers
	}
	pictures := make([]*raster.Image, len(batch))
	for i, it := range batch {
		pictures[i] = it.image
	}
	for _, e := range b.c.codec.Encode(ctx, b.c.device, pictures, b.c.options) {
		answers = append(answers, answer{data: e.Data, err: e.Err})
	}
	return answers
}
