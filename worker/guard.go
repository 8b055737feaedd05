package worker

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

// responseTime is how long a call may go on after its context has ended before it is
// given up.
const responseTime = 2 * time.Second

// objectTimeout is the default of the longest time for one image.
const objectTimeout = 10 * time.Minute

// guards bounds the time of calls of codecs.
type guards struct {
	limit   time.Duration
	timeout *fault // of an image that took too long
	log     *slog.Logger
	stuck   atomic.Int64 // calls that go on after the end of their context
}

func newGuards(limit time.Duration, log *slog.Logger) *guards {
	return &guards{limit: limit, log: log,
		timeout: faultf(jobs.OutcomeFailed, class.Timeout, "the codec did not end within %s", limit)}
}

// unresponsiveError says that a call goes on although its context has ended.
type unresponsiveError struct {
	fault error // what becomes of the object; the cause of the end of the caller's context where that ended
	call  *call
}

func (e *unresponsiveError) Error() string { return e.fault.Error() }
func (e *unresponsiveError) Unwrap() error { return e.fault }

// run runs work, which must not panic, for at most the limit. free is called when
// work has really ended, which may be long after run has returned an
// [*unresponsiveError].
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
	// reason is why a call failed: its own error, unless its context had ended.
	reason := func(err error) error {
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
		return reason(err)
	case <-ctx.Done():
	}
	patience := time.NewTimer(responseTime)
	defer patience.Stop()
	select {
	case err := <-done:
		return reason(err)
	case <-patience.C:
	}
	g.stuck.Add(1)
	if !running.giveUp() {
		g.stuck.Add(-1)
		return reason(<-done)
	}
	g.log.Error("a codec goes on after its context has ended", "stuck", g.stuck.Load())
	return &unresponsiveError{fault: reason(ctx.Err()), call: running}
}

// call is one guarded call.
type call struct {
	mu      sync.Mutex
	ended   bool
	givenUp bool
	after   []func()
}

// then runs f when the call ends.
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
	after, givenUp := c.after, c.givenUp
	c.mu.Unlock()
	for _, f := range after {
		f()
	}
	return givenUp
}

// giveUp reports false where the call has ended after all.
func (c *call) giveUp() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.givenUp = !c.ended
	return c.givenUp
}
