package queue

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// registry maps a job to its target.
const registry = "pelmill:jobs"

// Register makes a job known, with the bucket URL of its target. It is
// idempotent.
func (c *Conn) Register(ctx context.Context, job, target string) error {
	return fail("register "+job, c.rdb.HSet(ctx, registry, job, target).Err())
}

// Unregister forgets a job's target. It is idempotent.
func (c *Conn) Unregister(ctx context.Context, job string) error {
	return fail("unregister "+job, c.rdb.HDel(ctx, registry, job).Err())
}

// Jobs gives the registered jobs with their targets.
func (c *Conn) Jobs(ctx context.Context) (map[string]string, error) {
	all, err := c.rdb.HGetAll(ctx, registry).Result()
	return all, fail("list jobs", err)
}

// Target is where a job's target is; empty where the job is not registered.
func (c *Conn) Target(ctx context.Context, job string) (string, error) {
	target, err := c.rdb.HGet(ctx, registry, job).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return target, fail("find the target of "+job, err)
}
