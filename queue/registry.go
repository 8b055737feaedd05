package queue

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// registry maps a job to its target.
const registry = "pelmill:jobs"

// claimTime is how long an id is claimed, unless its job leaves the queue before: longer than clocks of two machines differ, which is
// what lets them make the same id at different times.
const claimTime = time.Hour

// Claim takes the id for a submission that is about to store a job, and reports whether no other one has it. Two machines may
// make the same id at the same time, and the job that is registered second would take the place of the first.
func (j Job) Claim(ctx context.Context) (bool, error) {
	err := j.conn.rdb.SetArgs(ctx, j.claim(), 1, redis.SetArgs{Mode: "NX", TTL: claimTime}).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, fail("claim "+j.id, err)
}

// claim is the key that says that a submission has the id.
func (j Job) claim() string { return "pelmill:claim:" + j.id }

// Register makes a job known, with the bucket URL of its target. It is
// idempotent.
func (j Job) Register(ctx context.Context, target string) error {
	return fail("register "+j.id, j.conn.rdb.HSet(ctx, registry, j.id, target).Err())
}

// Unregister forgets a job's target, and that its id was claimed. It is idempotent.
func (j Job) Unregister(ctx context.Context) error {
	if j.conn.changes != nil {
		j.conn.changes.forget(j.id)
	}
	// The registration goes last: who finds none finds nothing of the job.
	if err := j.conn.rdb.Del(ctx, j.claim()).Err(); err != nil {
		return fail("unregister "+j.id, err)
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
