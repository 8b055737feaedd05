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
func (j Job) Register(ctx context.Context, target string) error {
	return fail("register "+j.id, j.conn.rdb.HSet(ctx, registry, j.id, target).Err())
}

// Unregister forgets a job's target. It is idempotent.
func (j Job) Unregister(ctx context.Context) error {
	if j.conn.changes != nil {
		j.conn.changes.forget(j.id)
	}
	return fail("unregister "+j.id, j.conn.rdb.HDel(ctx, registry, j.id).Err())
}

// Jobs gives the registered jobs with their targets.
func (c *Conn) Jobs(ctx context.Context) (map[string]string, error) {
	all, err := c.rdb.HGetAll(ctx, registry).Result()
	return all, fail("list jobs", err)
}

// Target is where a job's target is; empty where the job is not registered.
func (j Job) Target(ctx context.Context) (string, error) {
	target, err := j.conn.rdb.HGet(ctx, registry, j.id).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return target, fail("find the target of "+j.id, err)
}

// Job is what Redis holds of one job: its registration, its progress, what its
// workers must obey, what stands in its way, and which of its objects are in work.
type Job struct {
	conn *Conn
	id   string
}

// Job gives the job with that id, which need not be registered.
func (c *Conn) Job(id string) Job { return Job{c, id} }
