package queue

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hibiken/asynq"

	"github.com/pelmill/pelmill/jobs"
)

func testBlocked(t *testing.T, c *Conn) {
	ctx := t.Context()
	job := task(0).Job
	if b, ok, err := c.Job(job).Blocked(ctx); ok || err != nil {
		t.Fatalf("a job that nobody has blocked: %+v, %v, %v", b, ok, err)
	}
	for _, reason := range []string{"first", "second"} {
		if err := c.Job(job).Block(ctx, jobs.Block{Cause: jobs.BlockTarget, Reason: reason, Bytes: 77}); err != nil {
			t.Fatal(err)
		}
	}
	b, ok, err := c.Job(job).Blocked(ctx)
	if err != nil || !ok || b.Reason != "first" || b.Cause != jobs.BlockTarget || b.Bytes != 77 || b.Since.IsZero() {
		t.Errorf("%+v, %v, %v: want the first reason", b, ok, err)
	}
	for range 2 {
		if err := c.Job(job).Unblock(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if b, ok, err := c.Job(job).Blocked(ctx); ok || err != nil {
		t.Errorf("after Unblock: %+v, %v, %v", b, ok, err)
	}
}

// testAttempts: a chunk that always fails is not tried on and on; its job is
// blocked with the last error, and the chunk is still there.
func testAttempts(t *testing.T, c *Conn) {
	for name, passing := range map[string]bool{"for good": false, "that passes": true} {
		flush(t, c)
		enqueue(t, c, 0, task(3))
		var runs atomic.Int64
		s := serve(t, c, ServerOptions{Attempts: 2, Passing: func(error) bool { return passing }}, func(ctx context.Context, task jobs.Task, attempt int) error {
			if _, ok, err := c.Job(task.Job).Blocked(ctx); ok || err != nil {
				return errors.Join(ErrLater, err)
			}
			runs.Add(1)
			return errors.New("no  way\nat all")
		})
		var b jobs.Block
		until(t, "the job to be blocked", func() (ok bool) {
			b, ok, _ = c.Job(task(3).Job).Blocked(t.Context())
			return ok
		})
		want := map[bool]jobs.Cause{false: jobs.BlockChunk, true: jobs.BlockStore}[passing]
		if b.Reason != "chunk 3 failed 2 times, the last time with: no way at all" || b.Cause != want {
			t.Errorf("error %s: %+v, want cause %s", name, b, want)
		}
		until(t, "the chunk to be put off", func() bool {
			state, err := c.Tasks(0).State(t.Context(), task(3))
			return err == nil && state == "retry"
		})
		if n := runs.Load(); n != 2 {
			t.Errorf("error %s: %d runs, want 2", name, n)
		}
		s.Shutdown()
	}
}

// testLater: a task that is put off comes back after a while, as the same attempt.
func testLater(t *testing.T, c *Conn) {
	enqueue(t, c, 0, task(0))
	var runs atomic.Int64
	serve(t, c, ServerOptions{}, func(ctx context.Context, task jobs.Task, attempt int) error {
		if attempt != 1 {
			t.Errorf("attempt %d", attempt)
		}
		if runs.Add(1) == 1 {
			return ErrLater
		}
		return nil
	})
	empty(t, c)
	if runs.Load() != 2 {
		t.Errorf("%d runs", runs.Load())
	}
	if d := retryDelay(0, ErrLater, nil); d != laterTime {
		t.Errorf("put off for %v", d)
	}
}

// testJunk: what is no chunk never will be one, and does not stay in the queue.
func testJunk(t *testing.T, c *Conn) {
	for _, task := range []*asynq.Task{
		asynq.NewTask(taskType, []byte("no json")),
		asynq.NewTask(taskType, []byte(`{"j":"../../x","i":0}`)),
		asynq.NewTask(taskType, []byte(`{"j":"20260102-030405-abcd","i":-1}`)),
		asynq.NewTask("of somebody else", []byte(`{"j":"20260102-030405-abcd","i":0}`)),
	} {
		if _, err := c.feed.Enqueue(task, asynq.Queue(queueName(0)), asynq.MaxRetry(1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	serve(t, c, ServerOptions{}, func(ctx context.Context, task jobs.Task, attempt int) error {
		t.Errorf("chunk %+v", task)
		return nil
	})
	empty(t, c)
}

func TestReasonsAreShort(t *testing.T) {
	if got := GivenUp(1, strings.Repeat("ä", maxReason)); len(got) > maxReason+100 || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
