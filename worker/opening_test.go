package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

// opening is a worker whose device is being opened, with the objects of its job read.
type opening struct {
	*job
	w       *Worker
	codec   *fake
	open    chan error // what opening the device comes to
	over    chan error // what Run comes to
	endWork context.CancelFunc
}

const openingObjects = 20

// newOpening waits until every object of the job is read. Nothing may have been encoded by then.
func newOpening(t *testing.T) *opening {
	t.Helper()
	o := &opening{codec: &fake{}, open: make(chan error, 1), over: make(chan error, 1)}
	o.job = newJob(t, "mem://source", "mem://target", o.codec, nil).queued()
	o.photos(openingObjects, 8).plan()
	o.w = o.deviceWorker(Options{TestOnUse: true, Grace: 10 * time.Millisecond}, o.codec)
	o.w.ahead = openingObjects
	o.w.inWork = pool.Shared(2 + o.w.ahead)
	answer := make(chan struct{})
	var opened error
	go func() {
		opened = <-o.open
		close(answer)
	}()
	o.w.opened = func(ctx context.Context) error {
		select {
		case <-answer:
			return opened
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	ctx, cancel := context.WithCancel(o.ctx)
	o.endWork = cancel
	t.Cleanup(cancel)
	go func() { o.over <- o.w.Run(ctx) }()
	for _, task := range o.tasks {
		if err := o.conn.Tasks(0).Enqueue(o.ctx, task); err != nil && !errors.Is(err, queue.ErrQueued) {
			t.Fatal(err)
		}
	}
	k, err := o.w.job(o.ctx, o.spec.ID)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "all objects to be read", func() bool {
		busy, waiting := o.w.cores.Load()
		return k.batches.awaited.Load() == openingObjects && busy == 0 && waiting == 0
	})
	if n := o.codec.encoded.Load(); n != 0 {
		t.Errorf("%d images were encoded before the device was open", n)
	}
	return o
}

// undone checks that nothing came of the job yet.
func (o *opening) undone() {
	o.t.Helper()
	done, err := o.conn.Job(o.spec.ID).IsDone(o.ctx, 0)
	if n := o.codec.encoded.Load(); done || err != nil || n != 0 {
		o.t.Errorf("done %v, %v, with %d images encoded", done, err, n)
	}
}

// Objects are read while the device is still being opened.
func TestObjectsAreReadWhileTheDeviceOpens(t *testing.T) {
	o := newOpening(t)
	o.open <- nil
	if counts := o.wait(); counts.Compressed != openingObjects {
		t.Errorf("%+v, want %d compressed", counts, openingObjects)
	}
	until(t, "the places for reading ahead to be taken", func() bool { busy, _ := o.w.inWork.Load(); return busy == o.w.ahead })
	o.endWork()
	if err := <-o.over; err != nil {
		t.Error(err)
	}
	for key, r := range o.results() {
		if r.Attempts != 1 || r.Outcome != jobs.OutcomeCompressed {
			t.Errorf("%s: %s in attempt %d", key, r.Outcome, r.Attempts)
		}
	}
	if images := o.w.batched.Load(); images != openingObjects {
		t.Errorf("%d images in batches", images)
	}
}

// A device that does not open after objects were read ends the worker with that error, and another
// one does the job.
func TestADeviceThatDoesNotOpenAfterReadingBegan(t *testing.T) {
	o := newOpening(t)
	o.open <- fmt.Errorf("out of memory: %w", gpu.ErrNoDevice)
	if err := <-o.over; !errors.Is(err, gpu.ErrNoDevice) {
		t.Errorf("the worker ends with %v", err)
	}
	o.undone()
	if counts := o.run(o.worker(Options{Device: "cpu", TestOnUse: true}, o.codec)); counts.Compressed != openingObjects {
		t.Errorf("%+v, want %d compressed", counts, openingObjects)
	}
	for key, r := range o.results() {
		if r.Attempts != 1 || r.Device != "cpu" {
			t.Errorf("%s: attempt %d on %s", key, r.Attempts, r.Device)
		}
	}
}

// A driver that hangs while it opens the device is an error of its own.
func TestADeviceThatHangsAfterReadingBegan(t *testing.T) {
	o := newOpening(t)
	o.open <- &gpu.HangError{Card: 0, Call: "cuDevicePrimaryCtxRetain", After: time.Second}
	if err := <-o.over; !errors.Is(err, gpu.ErrFatal) || errors.Is(err, gpu.ErrNoDevice) {
		t.Errorf("the worker ends with %v", err)
	}
	o.undone()
}

// Whoever ends the worker does not wait for the device.
func TestTheWorkEndsWhileTheDeviceOpens(t *testing.T) {
	o := newOpening(t)
	o.endWork()
	select {
	case err := <-o.over:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the worker waits for a device that does not open")
	}
	o.undone()
	o.open <- nil
}

// A device encodes beside the self-test of the codec. Nothing of that is stored before the test has passed, nor where it fails.
func TestADeviceEncodesBesideTheSelfTest(t *testing.T) {
	for name, works := range map[string]bool{"a codec that works": true, "a codec that fails": false} {
		t.Run(name, func(t *testing.T) {
			o := newOpening(t)
			verdict := make(chan struct{})
			var encoded atomic.Int64
			known := testImage(1, 8).Width
			o.codec.encode = func(_ context.Context, _ *gpu.Device, m *raster.Image) ([]byte, error, bool) {
				if m.Width != known {
					encoded.Add(1)
					return nil, nil, false
				}
				<-verdict
				return nil, errors.New("no"), !works
			}
			o.open <- nil
			until(t, "all objects to be encoded", func() bool { return encoded.Load() == openingObjects })
			unstored := func() {
				t.Helper()
				done, err := o.conn.Job(o.spec.ID).IsDone(o.ctx, 0)
				files := 0
				err = errors.Join(err, storage.Walk(o.ctx, o.target, nil, func(p storage.Page) error {
					for _, object := range p.Objects {
						if strings.HasSuffix(object.Key, ".fake") {
							files++
						}
					}
					return nil
				}))
				if done || err != nil || files > 0 {
					t.Errorf("done %v, %v, with %d files", done, err, files)
				}
			}
			unstored()
			close(verdict)
			if !works {
				if err := <-o.over; err == nil || !strings.Contains(err.Error(), "self-test of codec fake") {
					t.Errorf("the worker ends with %v", err)
				}
				unstored()
				return
			}
			if counts := o.wait(); counts.Compressed != openingObjects {
				t.Errorf("%+v, want %d compressed", counts, openingObjects)
			}
			o.endWork()
			if err := <-o.over; err != nil {
				t.Error(err)
			}
		})
	}
}
