package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker"
)

// local does jobs in this process: an embedded queue, a scheduler and a worker.
type local struct {
	p        *program
	c        *cluster
	made     chan struct{}  // closed when the worker knows its cards, or there is makeErr
	worker   *worker.Worker // to be used after that
	makeErr  error
	onCPU    func() (*worker.Worker, error) // makes another worker where the card does not open; nil: a card is insisted on
	ended    chan struct{}                  // has a value when the report of the job is written
	kernels  string                         // said where a card is opened that is of no use to the job's codec
	sched    *scheduler.Scheduler
	display  *display
	places   []string // that the command line names: nothing else is opened for a job
	running  sync.WaitGroup
	endTrace func(error) error
	cancel   context.CancelFunc

	mu   sync.Mutex
	err  error       // of the scheduler or the worker, the first
	live jobs.Counts // of the objects this process has done
}

// localGrace is how long an interrupt waits for the images at work. What is
// not done by then is done again later; nothing is half-written.
const localGrace = 3 * time.Second

// readable looks whether the source can be listed. A scheduler waits for a
// source that is away; a command that somebody waits for says so at once.
func (c *cluster) readable(ctx context.Context, source string) error {
	b, err := c.buckets.Open(ctx, source)
	if err != nil {
		return err
	}
	enough := errors.New("enough")
	err = storage.Walk(ctx, b, &storage.WalkOptions{PageSize: 1}, func(storage.Page) error { return enough })
	if errors.Is(err, enough) {
		return nil
	}
	return err
}

// startLocal prepares to run jobs of c here. The device is opened meanwhile, which takes longer than listing a folder does.
// Where the command line insists on a card startLocal waits until the cards are known, so that nothing is written without
// one; that a card which is there opens is waited for only when the first objects are read. The caller stops it.
func (p *program) startLocal(ctx context.Context, c *cluster, w *workerFlags, device, codecName string, stats time.Duration) (*local, error) {
	opts, err := w.options()
	if err != nil {
		return nil, err
	}
	conn, err := queue.Open(ctx, "", nil)
	if err != nil {
		return nil, err
	}
	c.conn, c.client.Conn = conn, conn // c closes it
	l := &local{p: p, c: c, display: p.display(stats), made: make(chan struct{}), ended: make(chan struct{}, 1)}
	l.display.hold()
	log := p.loggerTo(l.display, false)
	if opts.Trace, l.endTrace, err = openTrace(w.trace); err != nil {
		l.display.close()
		return nil, err
	}
	opts.Device, opts.Codec, opts.Grace, opts.Log, opts.OnResult, opts.TestOnUse, opts.OneJob, opts.Presume = device, codecName, localGrace, log, l.result, true, true, true
	newWorker := p.newWorker
	if newWorker == nil {
		newWorker = worker.New
	}
	if !insists(device) {
		l.onCPU = func() (*worker.Worker, error) {
			without := *opts
			without.Device = "cpu"
			return newWorker(conn, c.buckets, &without)
		}
	}
	go func() {
		defer close(l.made)
		l.worker, l.makeErr = newWorker(conn, c.buckets, opts)
	}()
	if insists(device) {
		if <-l.made; l.makeErr != nil {
			l.display.close()
			return nil, l.endTrace(l.makeErr)
		}
	}
	l.sched = scheduler.New(conn, c.buckets, &scheduler.Options{Log: log, Memory: opts.Memory, Notify: c.notify, Ended: l.reported})
	return l, nil
}

// insists reports whether a device of the command line is a card.
func insists(device string) bool { return device != "" && device != "auto" && device != "cpu" }

// reported is called by the scheduler when the job has its report.
func (l *local) reported(string) {
	select {
	case l.ended <- struct{}{}:
	default:
	}
}

// serve waits for the worker and runs it. Where its card does not open after all, and no card is insisted on, another
// one runs on the CPU: nothing was encoded by then.
func (l *local) serve(ctx context.Context) error {
	select {
	case <-l.made:
	case <-ctx.Done():
		return nil
	}
	if l.makeErr != nil {
		return l.makeErr
	}
	if why := l.worker.WhyCPU(); why != nil {
		l.sayCPU(why)
	} else if l.kernels != "" && l.worker.Device() != nil && !l.p.quiet && !l.p.json {
		l.display.say(l.kernels)
	}
	run := l.p.runWorker
	if run == nil {
		run = (*worker.Worker).Run
	}
	why := run(l.worker, ctx)
	if l.onCPU == nil || !errors.Is(why, gpu.ErrNoDevice) || ctx.Err() != nil {
		return why
	}
	w, err := l.onCPU()
	if err != nil {
		return err
	}
	l.sayCPU(why)
	return run(w, ctx)
}

// sayCPU says why the device "auto" is the CPU.
func (l *local) sayCPU(why error) {
	if !l.p.quiet && !l.p.json {
		l.display.say("on the CPU: " + why.Error())
	}
}

// close stops l and gives the device back, for a process that goes on with another job. It waits for a device that is
// still being opened, unless the process is to end.
func (l *local) close(ctx context.Context) error {
	l.stop()
	select {
	case <-l.made:
	case <-ctx.Done():
		return nil
	}
	if l.makeErr != nil {
		return nil // the job has ended with it
	}
	return l.worker.Close()
}

// noKernels says that a card is of no use to a codec, or is empty.
func noKernels(name string) string {
	c, err := codecs.Find(name)
	if err != nil {
		return ""
	}
	if _, has := c.(codec.DeviceCodec); has {
		return ""
	}
	return fmt.Sprintf("on the CPU: %s has no kernels", name)
}

// result counts and shows an object that the worker has done.
func (l *local) result(r jobs.Result) {
	l.mu.Lock()
	l.live.Add(&r)
	l.mu.Unlock()
	l.display.object(r)
}

// finish runs the job to its end, shows it, and returns what the program ends
// with. When ctx ends first the job is left so that it can be continued.
func (l *local) finish(ctx context.Context, r ref, source string) error {
	status, err := l.work(ctx, r, source)
	if err != nil {
		return err
	}
	return l.p.reportEnd(ctx, l.c, r, status)
}

// work runs the job to its end, for finish.
func (l *local) work(ctx context.Context, r ref, source string) (scheduler.Status, error) {
	var none scheduler.Status
	if err := l.c.conn.Job(r.id).Register(ctx, r.target); err != nil {
		return none, err
	}
	var err error
	if l.c.buckets.Allow, err = storage.Only(l.places...); err != nil {
		return none, err
	}
	end, announced := l.p.announce("compress", r.id, source, r.target)
	defer end()
	defer l.hold(ctx, r, announced)()
	defer whenEnded(ctx, func() {
		if !l.p.quiet && !l.p.json {
			l.display.say(fmt.Sprintf("%v: what is at work has %v to end", context.Cause(ctx), localGrace))
		}
	})()
	work, cancel := context.WithCancel(ctx)
	l.cancel = cancel
	l.running.Go(func() { l.note(cancel, "scheduler", l.sched.Run(work)) }) // of this job only, not of others in the target
	l.running.Go(func() { l.note(cancel, "worker", l.serve(work)) })
	status, err := l.p.await(work, l.c, r, l.display, l.counts, l.ended)
	l.stop()
	var signal *interrupted
	switch {
	case errors.As(context.Cause(ctx), &signal):
		return status, &exit{exitInterrupted, fmt.Errorf("interrupted; what is done is kept, and the same command continues (job %s)", r.id)}
	case l.err != nil:
		return status, l.err
	case err != nil:
		return status, l.p.blockedEnd(status, err, "the same command continues (job "+r.id+")")
	}
	return status, nil
}

// note keeps the error of a part that ended before its time, and stops the rest.
func (l *local) note(cancel context.CancelFunc, part string, err error) {
	defer cancel()
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = fmt.Errorf("%s: %w", part, err)
	}
}

func (l *local) counts() jobs.Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.live
}

// stop ends the scheduler and the worker and waits for them.
func (l *local) stop() {
	if l.cancel != nil {
		l.cancel()
	}
	l.running.Wait()
	if err := l.endTrace(nil); err != nil {
		l.display.say(err.Error())
	}
	l.display.close()
}
