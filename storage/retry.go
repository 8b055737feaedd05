package storage

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Retry bounds how often and how long a temporary error is tried again. Zero fields mean the defaults. Waits grow by
// factor two and are drawn evenly from zero to twice the current one (full jitter), so that many workers that were
// throttled together do not come back together. The vendors' clients try up to three times inside each attempt.
type Retry struct {
	Attempts int           // calls in all; default 6, 1 means none again
	Initial  time.Duration // mean of the first wait; default 100 ms
	Max      time.Duration // largest mean wait; default 10 s
	Elapsed  time.Duration // no new attempt after this; default 2 min
}

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
		r.Elapsed = 2 * time.Minute
	}
	return r
}

// do calls f until it succeeds, fails for good, or the bounds are reached, and returns its last error.
func (r Retry) do(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var last error
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		last = f()
		if last != nil && (ctx.Err() != nil || !Temporary(last)) {
			return struct{}{}, backoff.Permanent(last)
		}
		return struct{}{}, last
	},
		backoff.WithBackOff(&backoff.ExponentialBackOff{InitialInterval: r.Initial, RandomizationFactor: 1, Multiplier: 2, MaxInterval: r.Max}),
		backoff.WithMaxTries(uint(r.Attempts)),
		backoff.WithMaxElapsedTime(r.Elapsed))
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	return last
}
