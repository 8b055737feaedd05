package worker

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// Bounds of a batch on a device.
const (
	batchImages = 64
	batchBytes  = 256 << 20 // of samples
)

// batchWait is how long a batch with a free lane waits for images that are being
// read: some images at once take a card little longer than one.
const batchWait = 20 * time.Millisecond

// batcher collects images of a job, of all its chunks at work, into batches for
// the device. While all lanes are busy a batch grows; when one is free it takes the
// images that are about to come as well, and starts.
type batcher struct {
	w     *Worker
	k     *jobContext
	items chan *item
	near  atomic.Int64 // images being read, whose items come next

	mu    sync.Mutex
	users int           // chunks
	over  chan struct{} // closed when the last of them has left
}

// item is a product that waits for the device.
type item struct {
	*product
	ctx  context.Context // of its chunk
	done chan error      // buffered
}

func newBatcher(w *Worker, k *jobContext) *batcher {
	return &batcher{w: w, k: k, items: make(chan *item, 2*batchImages)}
}

// join lets a chunk use the batcher until it calls what is returned.
func (b *batcher) join() (leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users++; b.users == 1 {
		b.over = make(chan struct{})
		go b.run(b.over)
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.users--; b.users == 0 {
			close(b.over)
		}
	}
}

// encode runs p's encode stage in a batch, and the decoding for its verify stage
// where the device is to do that. p is near until then.
func (b *batcher) encode(ctx context.Context, p *product) error {
	it := &item{product: p, ctx: ctx, done: make(chan error, 1)}
	select {
	case b.items <- it:
		b.near.Add(-1)
	case <-ctx.Done():
		b.near.Add(-1)
		return context.Cause(ctx)
	}
	select {
	case err := <-it.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run forms batches until over is closed.
func (b *batcher) run(over <-chan struct{}) {
	var next *item // did not fit into the last batch
	for {
		first := next
		if first == nil {
			select {
			case first = <-b.items:
			case <-over:
				return
			}
		}
		b.w.lanes <- struct{}{}
		var batch []*item
		batch, next = b.collect(first)
		go b.launch(batch)
	}
}

// collect forms a batch, and returns the item that it took and that does not fit.
func (b *batcher) collect(first *item) (batch []*item, next *item) {
	patience := time.NewTimer(batchWait)
	defer patience.Stop()
	batch, bytes := []*item{first}, len(first.image.Pix)
	for len(batch) < batchImages {
		// Asked before the channel: an item is in it before it is no longer near.
		coming := b.near.Load() > 0
		var it *item
		select {
		case it = <-b.items:
		default:
			if !coming {
				return batch, nil
			}
			select {
			case it = <-b.items:
			case <-patience.C:
				return batch, nil
			}
		}
		if bytes += len(it.image.Pix); bytes > batchBytes {
			return batch, it
		}
		batch = append(batch, it)
	}
	return batch, nil
}

// together is a context that ends when those of all items have.
func together(batch []*item) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	var left atomic.Int64
	seen := map[context.Context]bool{}
	for _, it := range batch {
		seen[it.ctx] = true
	}
	left.Store(int64(len(seen)))
	for c := range seen {
		stop := context.AfterFunc(c, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
		context.AfterFunc(ctx, func() { stop() })
	}
	return ctx, cancel
}

// answer is what the device made of one item.
type answer struct {
	codec.Encoded
	asked     bool // to decode its data
	decoded   *raster.Image
	decodeErr error
}

func (b *batcher) launch(batch []*item) {
	w := b.w
	ctx, cancel := together(batch)
	defer cancel()
	w.formed.Add(1)
	w.batched.Add(int64(len(batch)))
	var answers []answer
	var encode, verify time.Duration // of each item
	err := w.guards.run(ctx, func() { <-w.lanes }, func(ctx context.Context) (err error) {
		defer func() {
			if v := recover(); v != nil {
				w.log.Warn("a codec panicked on the device", "job", b.k.spec.ID, "panic", v, "stack", string(debug.Stack()))
				f := faultf(jobs.OutcomeFailed, jobs.ClassCodec, "%s panicked on the device: %v", b.k.info.Name, v)
				f.again = true
				err = f
			}
		}()
		start := time.Now()
		a, err := b.onDevice(ctx, batch)
		if err != nil {
			return err
		}
		encoded := time.Now()
		n, err := b.decode(ctx, batch, a)
		if err != nil {
			return err
		}
		answers, encode = a, encoded.Sub(start)/time.Duration(len(batch))
		verify = time.Since(encoded) / time.Duration(max(1, n))
		return nil
	})
	if lost := w.lost(); lost != nil {
		// Nothing that came from a lost card can be trusted, success or not, and no
		// object is to blame: the chunk goes back to the queue.
		err = lost
	}
	w.sayShortMemory(b.k.spec.ID)
	for i, it := range batch {
		if err != nil {
			it.done <- err
			continue
		}
		a := answers[i]
		it.spend(stageEncode, encode)
		if a.asked {
			it.spend(stageVerify, verify)
			it.decoded, it.decodeErr = a.decoded, a.decodeErr
		}
		it.done <- it.take(a.Encoded)
	}
}

func (b *batcher) onDevice(ctx context.Context, batch []*item) ([]answer, error) {
	items := make([]codec.Item, len(batch))
	for i, it := range batch {
		items[i] = it.item()
	}
	var answers []answer
	for _, e := range b.k.codec.Encode(ctx, codec.Run{Device: b.k.device}, items, b.k.options) {
		answers = append(answers, answer{Encoded: e})
	}
	if len(answers) != len(batch) {
		return nil, codecFault(fmt.Errorf("%s: %d results for a batch of %d", b.k.info.Name, len(answers), len(batch)))
	}
	return answers, nil
}

// decode decodes the files that the device is to verify, in a batch again, and
// returns how many those are.
func (b *batcher) decode(ctx context.Context, batch []*item, answers []answer) (int, error) {
	if b.k.spec.Verify != verifyDevice {
		return 0, nil
	}
	var files [][]byte
	for i := range answers {
		a := &answers[i]
		if a.asked = a.Err == nil && len(a.Data) > 0 && len(a.Data) < len(batch[i].data); a.asked {
			files = append(files, a.Data)
		}
	}
	if len(files) == 0 {
		return 0, nil
	}
	decoded := b.k.codec.Decode(ctx, codec.Run{Device: b.k.device}, files, b.k.assets)
	if len(decoded) != len(files) {
		return 0, unverified("%s: %d pictures from %d files", b.k.info.Name, len(decoded), len(files))
	}
	for i := range answers {
		if answers[i].asked {
			answers[i].decoded, answers[i].decodeErr = decoded[0].Image, decoded[0].Err
			decoded = decoded[1:]
		}
	}
	return len(files), nil
}
