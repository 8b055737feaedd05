package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pelmill/pelmill/jobs"
)

// Block stops a job: workers hand its chunks back and its scheduler pauses it, until Unblock. The first reason stays. It
// is kept in Redis because the target, where the state of a job is, may be what takes no more.
func (j Job) Block(ctx context.Context, b jobs.Block) error {
	if b.Since.IsZero() {
		b.Since = time.Now().UTC()
	}
	data, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("queue: block %s: %w", j.id, err)
	}
	err = j.conn.rdb.SetArgs(ctx, jobKey(j.id, "blocked"), data, redis.SetArgs{Mode: "NX"}).Err()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return fail("block "+j.id, err)
}

// Unblock lets a job go on. It is idempotent.
func (j Job) Unblock(ctx context.Context) error {
	return fail("unblock "+j.id, j.conn.rdb.Del(ctx, jobKey(j.id, "blocked")).Err())
}

// Blocked says whether a job is stopped, and why.
func (j Job) Blocked(ctx context.Context) (b jobs.Block, ok bool, err error) {
	data, err := j.conn.rdb.Get(ctx, jobKey(j.id, "blocked")).Bytes()
	if errors.Is(err, redis.Nil) {
		return b, false, nil
	}
	if err != nil {
		return b, false, fail("look up what blocks "+j.id, err)
	}
	if err := json.Unmarshal(data, &b); err != nil {
		// Whatever wrote this meant that the job must not go on.
		return jobs.Block{Cause: jobs.BlockChunk, Reason: "what blocks the job cannot be read"}, true, nil
	}
	return b, true, nil
}
