package scheduler

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

const (
	leastProbe = 64 << 10 // bytes; a disk that is full to the last block may still take a few
	mostProbe  = 64 << 20
	probeTime  = 30 * time.Second
	localDelay = 5 * time.Second // most between two probes where somebody waits for the job at the terminal
)

// wait holds a blocked job back until what blocks it is gone, or the operator
// wants something of the job that he did not want before. It looks after delay,
// and then more and more rarely up to mostDelay.
func (d *drive) wait(ctx context.Context, b jobs.Block, delay time.Duration) error {
	d.log.Warn("job is blocked", "cause", b.Cause, "reason", b.Reason)
	if d.control.At.IsZero() {
		if err := d.readControl(ctx, true); err != nil {
			return err
		}
	}
	controlRead, most := d.control.At, mostDelay
	if d.s.conn.Embedded() {
		most = localDelay
	}
	for ; ; delay = 2 * delay {
		delay = min(delay, most)
		d.hold(ctx, b)
		for until := time.Now().Add(delay); time.Now().Before(until); sleep(ctx, min(d.s.opts.Tick, time.Until(until))) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := d.readControl(ctx, false); err == nil && !d.control.At.Equal(controlRead) {
				return d.lift(ctx, "the operator wants it")
			}
		}
		if err := d.gone(ctx, b); err == nil {
			return d.lift(ctx, "what blocked it is gone")
		} else if ctx.Err() == nil {
			d.log.Debug("job is still blocked", "error", err)
		}
	}
}

// hold writes down that the job is blocked, in Redis and in the target as far as
// they take writes, and keeps its chunks out of the queue. It repeats what Redis may
// have lost.
func (d *drive) hold(ctx context.Context, b jobs.Block) {
	failed := func(what string, err error) {
		if err != nil && ctx.Err() == nil {
			d.log.Debug(what, "error", err)
		}
	}
	failed("cannot note that the job is blocked", d.s.conn.Job(d.f.id).Block(ctx, b))
	if d.withdraw != nil {
		failed("cannot withdraw chunks of a blocked job", d.withdraw(ctx))
	}
	if d.state.State != "" && !d.state.State.Terminal() {
		failed("cannot write the state", d.setBlocked(ctx, jobs.StatePaused, b.Reason, b.Cause))
	}
}

func (d *drive) lift(ctx context.Context, why string) error {
	if err := d.s.conn.Job(d.f.id).Unblock(ctx); err != nil {
		return err
	}
	d.log.Info("blocked job goes on", "because", why)
	return nil
}

var errStays = errors.New("only the operator can tell when it is gone")

// gone is nil where what blocks the job is gone.
func (d *drive) gone(ctx context.Context, b jobs.Block) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	switch b.Cause {
	case jobs.BlockTarget:
		return d.probe(ctx, b.Bytes)
	case jobs.BlockRedis:
		return d.s.conn.Job(d.f.id).Block(ctx, b) // which lift takes back
	case jobs.BlockTemp:
		return probeTemp()
	case jobs.BlockStore:
		if err := d.probe(ctx, 0); err != nil {
			return err
		}
		return d.readable(ctx)
	}
	return errStays
}

// probe writes to the target what is as large as the write that was refused.
func (d *drive) probe(ctx context.Context, bytes int64) error {
	// Only the job's leader uses this key, so what a killed one left is replaced by the next probe, and deleted.
	return storage.Probe(ctx, d.f.b, jobs.Folder(d.f.id).Probe("scheduler"), min(max(bytes, leastProbe), mostProbe))
}

// readable lists the beginning of the source.
func (d *drive) readable(ctx context.Context) error {
	source, err := d.s.buckets.Open(ctx, d.spec.Source)
	if err != nil {
		return err
	}
	err = storage.Walk(ctx, source, nil, func(storage.Page) error { return errEnough })
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// probeTemp writes to the temporary folder.
func probeTemp() error {
	f, err := os.CreateTemp("", "pelmill-probe-*")
	if err != nil {
		return temporary(err)
	}
	defer f.Close()
	os.Remove(f.Name())
	_, err = f.Write(make([]byte, 1<<20))
	return temporary(err)
}
