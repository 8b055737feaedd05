package worker

import (
	"context"
	"time"
)

// Requests of an object, as limits count them.
const (
	fetchRequests = 1 // GET
	storeRequests = 2 // PUT, and the look at what is stored
)

// throttle waits for a share of the job's limits, and for one of the new limits where they change
// meanwhile. A share is taken once of the same limits: each is time for which all objects of the job
// wait. Where Redis does not answer it waits until it does: a limit protects somebody else's link or
// store.
func (c *chunk) throttle(ctx context.Context, requests int, down, up int64) error {
	if c.w.conn == nil || c.limited.Load() == 0 {
		return nil
	}
	defer c.delivery.isHeld()()
	for {
		wait, since, err := c.w.conn.Job(c.task.Job).Take(ctx, requests, down, up)
		if err != nil {
			c.w.metrics.redis.Inc()
			if err := pause(ctx, signalTime); err != nil {
				return err
			}
			continue
		}
		anew := c.limitedAnew(ctx, since)
		for until := time.Now().Add(wait); !anew && time.Now().Before(until); anew = c.limitedAnew(ctx, since) {
			if err := pause(ctx, min(time.Until(until), signalTime)); err != nil {
				return err
			}
		}
		if !anew {
			return nil
		}
	}
}

// pause waits for d; its error is the cause of the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// limitedAnew reports whether other limits hold than those of which something was taken. What the chunk saw last may
// be from before that, as the limits may have been lost with Redis and set again: so Redis has the last word.
func (c *chunk) limitedAnew(ctx context.Context, taken int64) bool {
	if taken == 0 || c.limited.Load() == taken {
		return false
	}
	since, err := c.lookAtLimits(ctx)
	return err == nil && since != taken
}

// lookAtLimits finds out since when the limits hold; 0: none does.
func (c *chunk) lookAtLimits(ctx context.Context) (since int64, err error) {
	if since, err = c.w.conn.Job(c.task.Job).LimitedSince(ctx); err == nil {
		c.limited.Store(since)
	}
	return since, err
}
