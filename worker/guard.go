package worker

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// deafTime is how long a call may go on after its context has ended before it is
// given up.
const deafTime = 2 * time.Second

// deafError says that a call goes on although its context has ended.
type deafError struct {
	fault error // what becomes of the object; the chunk's error where its context ended
	call  *call
}

func (e *deafError) Error() string { return e.fault.Error() }
func (e *deafError) Unwrap() error { return e.fault }

// then runs f when the call ends.
func (e *deafError) then(f func()) { e.call.then(f) }

// call is one guarded call.
type call struct {
	mu    sync.Mutex
	ended bool
	deaf  bool
	after []func()
}

func (c *call) then(f func()) {
	c.mu.Lock()
	if !c.ended {
		c.after = append(c.after, f)
		f = nil
	}
	c.mu.Unlock()
	if f != nil {
		f()
	}
}

// end runs what waits for the end and reports whether the call had been given up.
func (c *call) end() bool {
	c.mu.Lock()
	c.ended = true
	after, deaf := c.after, c.deaf
	c.mu.Unlock()
	for _, f := range after {
		f()
	}
	return deaf
}

// giveUp reports false where the call has ended after all.
func (c *call) giveUp() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaf = !c.ended
	return c.deaf
}

// onCPU runs stages of p with a CPU token.
func (c *chunk) onCPU(ctx context.Context, started func(), p *product, stages func(*product, context.Context) error) error {
	if err := c.w.cpu.acquire(ctx, c.age); err != nil {
		return err
	}
	started()
	return c.w.guards.run(ctx, c.w.cpu.release, func(ctx context.Context) (err error) {
		defer func() {
			if v := recover(); v != nil {
				f := p.panicked(v)
				c.w.log.Warn("a codec or reader panicked", "job", c.task.Job, "key", c.w.logKey(p.key),
					"stage", p.stage, "panic", v, "stack", string(debug.Stack()))
				err = f
			}
		}()
		return stages(p, ctx)
	})
}

// objectTimeout is the default of the longest time for one image.
const objectTimeout = 10 * time.Minute

// guards bounds the time of calls of codecs.
type guards struct {
	limit   time.Duration
	timeout *fault // of an image that took too long
	log     *slog.Logger
	stuck   atomic.Int64 // calls that ignore the end of their context
}

// newGuards returns guards whose calls take at most limit. log may be nil.
func newGuards(limit time.Duration, log *slog.Logger) *guards {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &guards{limit: limit, log: log,
		timeout: faultf(jobs.OutcomeFailed, jobs.ClassTimeout, "the codec did not end within %s", limit)}
}

// run runs work, which must not panic, for at most the limit. free is called when
// work has really ended, which may be long after run has returned a [*deafError].
func (g *guards) run(parent context.Context, free func(), work func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(parent, g.limit, g.timeout)
	running := &call{}
	done := make(chan error, 1)
	go func() {
		defer cancel()
		err := work(ctx)
		free()
		done <- err
		if running.end() {
			g.stuck.Add(-1)
		}
	}()
	// judge tells why a call failed whose context had ended.
	judge := func(err error) error {
		switch {
		case err == nil:
			return nil
		case parent.Err() != nil:
			return context.Cause(parent)
		case context.Cause(ctx) == error(g.timeout):
			return g.timeout
		}
		return err
	}
	select {
	case err := <-done:
		return judge(err)
	case <-ctx.Done():
	}
	patience := time.NewTimer(deafTime)
	defer patience.Stop()
	select {
	case err := <-done:
		return judge(err)
	case <-patience.C:
	}
	g.stuck.Add(1)
	if !running.giveUp() {
		g.stuck.Add(-1)
		return judge(<-done)
	}
	g.log.Error("a codec goes on after its context has ended", "stuck", g.stuck.Load())
	return &deafError{fault: judge(ctx.Err()), call: running}
}
