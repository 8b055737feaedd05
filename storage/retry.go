package storage

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Retry bounds how often and how long a temporary error is tried again. Zero fields mean the defaults. Waits grow by
// factor two and are drawn evenly from zero to twice the current one (full jitter), so that many workers that were
// throttled together do not come back together. A read that a broken connection ended is taken up where it broke, so
// that only attempts count that came no further. The clients of AWS and Azure try each request up to three times inside
// an attempt.
type Retry struct {
	Attempts int           // calls in all, or since the last one that came further; default 6, 1 means none again
	Initial  time.Duration // mean of the first wait; default 100 ms
	Max      time.Duration // largest mean wait; default 10 s
	Elapsed  time.Duration // no new attempt after this; default 5 min
	Timeout  time.Duration // of one attempt, besides a second for each MB to transfer; default 1 min

	again *atomic.Int64 // counts attempts after the first; nil: nobody does
}

// slowest is the rate in bytes per second below which a transfer counts as stalled.
const slowest = 1 << 20

// errStalled means that an attempt got no answer in time. It is temporary.
var errStalled = errors.New("store did not answer in time")

func (r Retry) withDefaults() Retry {
	if r.Attempts <= 0 {
		r.Attempts = 6
	}
	if r.Initial <= 0 {
		r.Initial = 100 * time.Millisecond
	}
	if r.Max <= 0 {
		r.Max = 10 * time.Second
	}
	if r.Elapsed <= 0 {
		r.Elapsed = 5 * time.Minute
	}
	if r.Timeout <= 0 {
		r.Timeout = time.Minute
	}
	return r
}

// attempt is the context of one try of an operation. The vendors' clients wait without end for a server that keeps
// the connection open but says nothing.
type attempt struct {
	context.Context
	timer    *time.Timer
	timeout  time.Duration
	advanced bool
}

// advance says that the operation has come further than in any attempt before.
func (a *attempt) advance() { a.advanced = true }

// expect gives the attempt the time to transfer that many bytes from now on.
func (a *attempt) expect(bytes int64) {
	a.timer.Reset(a.timeout + time.Duration(float64(bytes)/slowest*float64(time.Second)))
}

// do calls f until it succeeds, fails for good, or the bounds are reached, and returns its last error.
func (r Retry) do(ctx context.Context, f func(a *attempt) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	began := time.Now()
	advanced, last := r.once(ctx, f)
	if last == nil { // as nearly always: what follows is not prepared in vain
		return nil
	}
	left := r.Elapsed - time.Since(began)
	first, tries := true, 0 // tries since the last advance
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		if !first {
			if r.again != nil {
				r.again.Add(1)
			}
			advanced, last = r.once(ctx, f)
		}
		first = false
		if tries++; advanced && r.Attempts > 1 {
			tries = 0
		}
		if last != nil && (ctx.Err() != nil || !Temporary(last) || tries >= r.Attempts) {
			return struct{}{}, backoff.Permanent(last)
		}
		return struct{}{}, last
	},
		backoff.WithBackOff(&backoff.ExponentialBackOff{InitialInterval: r.Initial, RandomizationFactor: 1, Multiplier: 2, MaxInterval: r.Max}),
		backoff.WithMaxElapsedTime(max(left, 1))) // 0 is no bound
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	return last
}

func (r Retry) once(ctx context.Context, f func(a *attempt) error) (advanced bool, err error) {
	tryCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(r.Timeout, func() { cancel(errStalled) })
	defer timer.Stop()
	a := &attempt{Context: tryCtx, timer: timer, timeout: r.Timeout}
	err = f(a)
	if err != nil && ctx.Err() == nil && context.Cause(tryCtx) == errStalled {
		err = fmt.Errorf("%w: %v", errStalled, err)
	}
	return a.advanced, err
}
