package worker

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
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

// Objects are read while the device is still being opened. The self-test is before the first batch.
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
