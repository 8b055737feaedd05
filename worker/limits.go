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
// meanwhile. Where Redis does not answer it waits until it does: a limit protects somebody else's
// link or store.
func (c *chunk) throttle(ctx context.Context, requests int, down, up int64) error {
	if c.w.conn == nil || c.limited.Load() == 0 {
		return nil
	}
	for {
		wait, since, err := c.w.conn.Job(c.task.Job).Take(ctx, requests, down, up)
		if err != nil {
			c.w.metrics.redis.Inc()
			wait = signalTime
		}
		for until := time.Now().Add(wait); wait > 0 && !c.limitedAnew(since, err); wait = time.Until(until) {
			select {
			case <-time.After(min(wait, signalTime)):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if err == nil && !c.limitedAnew(since, nil) {
			return nil
		}
	}
}

// limitedAnew reports whether other limits hold than those of which something was taken without an error.
func (c *chunk) limitedAnew(since int64, err error) bool {
	now := c.limited.Load()
	return err == nil && since != 0 && (now == 0 || now > since)
}

// lookAtLimits finds out since when the limits hold.
func (c *chunk) lookAtLimits(ctx context.Context) {
	if since, err := c.w.conn.Job(c.task.Job).LimitedSince(ctx); err == nil {
		c.limited.Store(since)
	}
}
