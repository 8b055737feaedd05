package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/pelmill/pelmill/jobs"
)

const (
	// taskTimeout is longer than any chunk. Objects have their own limit in
	// the worker; this one only ends what the worker has lost.
	taskTimeout = 24 * time.Hour

	// withdrawBatch bounds how long one script keeps Redis busy.
	withdrawBatch = 200

	// snapshotAge is how long what was seen of a queue is believed by Enqueue.
	snapshotAge = 2 * time.Second
)

// asynqKey is a key of a queue in asynq v0.26: internal/base/base.go.
func asynqKey(priority int, part string) string {
	return "asynq:{" + queueName(priority) + "}:" + part
}

// snapshot is the ids of a queue's tasks at a moment.
type snapshot struct {
	at  time.Time
	ids map[string]struct{}
}

// Enqueue adds a task to the queue of a priority, 0 to [jobs.Priorities]-1.
// [ErrQueued]: a task of that id is there, in some state, see [Tasks.State].
// [ErrFull]: there is no room. The id of a task that Redis has half lost, a hash
// in no list, does not stand in the way.
func (q Tasks) Enqueue(ctx context.Context, t jobs.Task) error {
	err := q.enqueue(ctx, t)
	if !errors.Is(err, ErrQueued) {
		return err
	}
	known, lookErr := q.knows(ctx, t.ID())
	if lookErr != nil {
		return lookErr
	}
	if known {
		return err
	}
	state, lookErr := q.State(ctx, t)
	if lookErr != nil {
		return lookErr
	}
	if state != "" {
		return err
	}
	return q.enqueue(ctx, t)
}

func (q Tasks) enqueue(ctx context.Context, t jobs.Task) error {
	what := "enqueue " + t.ID()
	if q.priority < 0 || q.priority >= jobs.Priorities {
		return fmt.Errorf("queue: %s: priority %d: want 0 to %d", what, q.priority, jobs.Priorities-1)
	}
	if strings.ContainsAny(t.Job, "{}") {
		return fmt.Errorf("queue: %s: a job's id holds no braces", what)
	}
	payload, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("queue: %s: %w", what, err)
	}
	_, err = q.conn.feed.EnqueueContext(ctx, asynq.NewTask(taskType, payload),
		asynq.Queue(queueName(q.priority)), asynq.TaskID(t.ID()),
		asynq.MaxRetry(maxRetry), asynq.Timeout(taskTimeout))
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		return fmt.Errorf("queue: %s: %w", what, ErrQueued)
	}
	if err == nil && q.conn.changes != nil {
		q.conn.changes.touch(queueName(q.priority))
		tell(q.conn.changes.fed)
	}
	return fail(what, err)
}

// knows reports whether a task is in one of the queue's lists, as of at most
// snapshotAge ago. A scheduler that checks thousands of tasks reads them once.
func (q Tasks) knows(ctx context.Context, id string) (bool, error) {
	q.conn.mu.Lock()
	defer q.conn.mu.Unlock()
	s := &q.conn.seen[q.priority]
	if time.Since(s.at) > snapshotAge {
		at := time.Now()
		pipe := q.conn.rdb.Pipeline()
		lists := []*redis.StringSliceCmd{
			pipe.LRange(ctx, asynqKey(q.priority, "pending"), 0, -1),
			pipe.LRange(ctx, asynqKey(q.priority, "active"), 0, -1),
			pipe.ZRange(ctx, asynqKey(q.priority, "scheduled"), 0, -1),
			pipe.ZRange(ctx, asynqKey(q.priority, "retry"), 0, -1),
			pipe.ZRange(ctx, asynqKey(q.priority, "archived"), 0, -1),
			pipe.ZRange(ctx, asynqKey(q.priority, "completed"), 0, -1),
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return false, fail("list tasks of q.priority "+fmt.Sprint(q.priority), err)
		}
		ids := map[string]struct{}{}
		for _, l := range lists {
			for _, id := range l.Val() {
				ids[id] = struct{}{}
			}
		}
		*s = snapshot{at, ids}
	}
	_, ok := s.ids[id]
	return ok, nil
}

// TaskState is where a task is: pending, active, scheduled, retry, archived or
// completed; empty where there is none. The remains of a task that is in no
// list are removed.
func (q Tasks) State(ctx context.Context, t jobs.Task) (string, error) {
	keys := []string{asynqKey(q.priority, "t:"+t.ID())}
	for _, part := range []string{"pending", "active", "scheduled", "retry", "archived", "completed"} {
		keys = append(keys, asynqKey(q.priority, part))
	}
	state, err := locateScript.Run(ctx, q.conn.rdb, keys, t.ID()).Text()
	return state, fail("find task "+t.ID(), err)
}

// Revive adds a task anew whose id stands in the archive. [ErrQueued]: it is
// queued in some other state.
func (q Tasks) Revive(ctx context.Context, t jobs.Task) error {
	if _, err := q.withdraw(ctx, "archived", []jobs.Task{t}); err != nil {
		return err
	}
	return q.Enqueue(ctx, t)
}

// LastError is what a task failed with the last time; empty where it did not,
// or is not queued.
func (q Tasks) LastError(ctx context.Context, t jobs.Task) (string, error) {
	info, err := q.conn.inspect.GetTaskInfo(queueName(q.priority), t.ID())
	switch {
	case errors.Is(err, asynq.ErrTaskNotFound), errors.Is(err, asynq.ErrQueueNotFound):
		return "", nil
	case err != nil:
		return "", fail("look up task "+t.ID(), err)
	}
	return info.LastErr, nil
}

// Withdraw removes tasks that no worker has: pending, scheduled, to be retried
// or archived. Active ones stay. It gives how many were removed, and works on a
// full Redis. It is fastest with the tasks in the order in which they were fed.
func (q Tasks) Withdraw(ctx context.Context, tasks []jobs.Task) (n int, err error) {
	return q.withdraw(ctx, "", tasks)
}

func (q Tasks) withdraw(ctx context.Context, state string, tasks []jobs.Task) (n int, err error) {
	var keys []string
	for _, part := range []string{"pending", "scheduled", "retry", "archived", "completed"} {
		keys = append(keys, asynqKey(q.priority, part))
	}
	for len(tasks) > 0 {
		batch := tasks[:min(len(tasks), withdrawBatch)]
		tasks = tasks[len(batch):]
		args := []any{asynqKey(q.priority, "t:"), state}
		for _, t := range batch {
			args = append(args, t.ID())
		}
		removed, err := withdrawScript.Run(ctx, q.conn.rdb, keys, args...).Int()
		n += removed
		if err != nil {
			return n, fail(fmt.Sprintf("withdraw %d tasks", len(batch)), err)
		}
	}
	return n, nil
}

// Depth is how many tasks a queue holds, by state.
type Depth struct {
	Pending, Active, Retry, Scheduled, Archived int64
}

// Waiting is what a window counts: tasks that will be, or are being, worked on.
func (d Depth) Waiting() int64 { return d.Pending + d.Active + d.Retry + d.Scheduled }

// Depth counts the tasks of a priority at one moment, in constant time.
func (q Tasks) Depth(ctx context.Context) (Depth, error) {
	var keys []string
	for _, part := range []string{"pending", "active", "retry", "scheduled", "archived"} {
		keys = append(keys, asynqKey(q.priority, part))
	}
	n, err := depthScript.Run(ctx, q.conn.rdb, keys).Int64Slice()
	if err == nil && len(n) != len(keys) {
		err = fmt.Errorf("%d numbers: want %d", len(n), len(keys))
	}
	if err != nil {
		return Depth{}, fail(fmt.Sprintf("count tasks of priority %d", q.priority), err)
	}
	return Depth{Pending: n[0], Active: n[1], Retry: n[2], Scheduled: n[3], Archived: n[4]}, nil
}

// Oldest is for how long the task waits that waits longest for a worker; 0 where none does.
func (q Tasks) Oldest(ctx context.Context) (time.Duration, error) {
	what := fmt.Sprintf("look for the oldest task of priority %d", q.priority)
	id, err := q.conn.rdb.LIndex(ctx, asynqKey(q.priority, "pending"), -1).Result() // tasks leave at the end
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, fail(what, err)
	}
	since, err := q.conn.rdb.HGet(ctx, asynqKey(q.priority, "t:"+id), "pending_since").Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil // a worker has just taken it
	}
	if err != nil {
		return 0, fail(what, err)
	}
	return max(0, time.Since(time.Unix(0, since))), nil
}

// Tasks is the queue of one priority, 0 to [jobs.Priorities]-1.
type Tasks struct {
	conn     *Conn
	priority int
}

// Tasks gives the queue of a priority.
func (c *Conn) Tasks(priority int) Tasks { return Tasks{c, priority} }
