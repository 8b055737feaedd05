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

// throttle waits for a share of the job's limits. Where Redis does not answer it waits until it does:
// a limit protects somebody else's link or store.
func (c *chunk) throttle(ctx context.Context, requests int, down, up int64) error {
	if c.w.conn == nil || !c.limited.Load() {
		return nil
	}
	for {
		wait, err := c.w.conn.Job(c.task.Job).Take(ctx, requests, down, up)
		if err != nil {
			c.w.metrics.redis.Inc()
			wait = signalTime
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err == nil {
			return nil
		}
	}
}

// lookAtLimits finds out whether limits hold.
func (c *chunk) lookAtLimits(ctx context.Context) {
	if limited, err := c.w.conn.Job(c.task.Job).Limited(ctx); err == nil {
		c.limited.Store(limited)
	}
}
