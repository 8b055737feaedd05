package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pelmill/pelmill/jobs"
)

// look is asynq's request for a task of a priority, as it goes to the hooks of a client.
func look(priority int) redis.Cmder {
	return redis.NewCmd(context.Background(), "evalsha", "a0b1", 4, asynqKey(priority, "pending"), asynqKey(priority, "paused"),
		asynqKey(priority, "active"), asynqKey(priority, "lease"), 1, asynqKey(priority, "t:"))
}

// After a turn over empty queues the next one waits for a task of this process, for the time of a poll or for the end of
// the server, by a clock that only waiting moves. Nothing else waits.
func TestRequestsForTasksWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const poll = 50 * time.Second
		c, drain := newChanges(), make(chan struct{})
		d := newDequeues(2, poll, c, drain)
		answer := error(redis.Nil)
		process := d.ProcessHook(func(context.Context, redis.Cmder) error { return answer })
		took := func(cmd redis.Cmder) time.Duration {
			start := time.Now()
			if err := process(t.Context(), cmd); err != answer {
				t.Errorf("the answer is %v, want %v", err, answer)
			}
			return time.Since(start)
		}
		steps := []struct {
			what   string
			before func()
			first  time.Duration // the turn's first request waits
		}{
			{"the first turn", func() {}, 0},
			{"the turn after an empty one", func() {}, poll},
			{"a task that is added", func() { time.AfterFunc(time.Second, func() { tell(c.fed); tell(c.fed) }) }, time.Second},
			{"tasks that were added meanwhile", func() { tell(c.fed) }, 0},
			{"the turn after them", func() {}, poll},
			{"the end of the server", func() { time.AfterFunc(2*time.Second, func() { close(drain) }) }, 2 * time.Second},
			{"a turn after the end", func() {}, 0},
		}
		for _, s := range steps {
			s.before()
			if got := took(look(1)); got != s.first {
				t.Errorf("%s: the request waits for %v, want %v", s.what, got, s.first)
			}
			if got := took(redis.NewCmd(t.Context(), "evalsha", "a0b1", 2, "asynq:{x}:pending", "asynq:{x}:active")); got != 0 {
				t.Errorf("%s: another script waits for %v", s.what, got)
			}
			if got := took(look(0)); got != 0 {
				t.Errorf("%s: the second queue is looked at after %v", s.what, got)
			}
		}

		d = newDequeues(2, poll, newChanges(), make(chan struct{})) // of a server whose queues are not empty
		process = d.ProcessHook(func(context.Context, redis.Cmder) error { return answer })
		took(look(1))
		answer = nil
		d.changes.touch(queueName(1))
		for range 5 {
			if got := took(look(1)); got != 0 {
				t.Errorf("a queue that had a task is looked at after %v", got)
			}
		}
	})
}

// For each task asynq asks all queues before the task's. Those that had none are asked again when somebody has touched
// them, and after the time of a poll.
func TestQueuesWithoutTasksAreNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const poll = 50 * time.Millisecond
		tasks := map[string]int{queueName(0): 4}
		requests := map[string]int{}
		var meanwhile func()
		d := newDequeues(2, poll, newChanges(), nil)
		process := d.ProcessHook(func(_ context.Context, cmd redis.Cmder) error {
			queue := queueOf(cmd)
			if !looksForTask(cmd) {
				return nil
			}
			requests[queue]++
			if meanwhile != nil {
				meanwhile()
			}
			if tasks[queue] == 0 {
				return redis.Nil
			}
			tasks[queue]--
			return nil
		})
		turn := func() (priority int) {
			for _, priority := range []int{1, 0} {
				if process(t.Context(), look(priority)) == nil {
					return priority
				}
			}
			return -1
		}
		check := func(what string, got, priority, asked1, asked0 int) {
			t.Helper()
			if got != priority || requests[queueName(1)] != asked1 || requests[queueName(0)] != asked0 {
				t.Errorf("%s: a task of priority %d, the queues were asked %v, want %d and %d, %d", what, got, requests, priority, asked1, asked0)
			}
			clear(requests)
		}
		check("the first task", turn(), 0, 1, 1)
		check("the second", turn(), 0, 0, 1)

		tasks[queueName(1)] = 1
		d.changes.touch(queueName(1))
		check("one of a higher priority", turn(), 1, 1, 0)
		check("and none", turn(), 0, 1, 1)

		tasks[queueName(1)] = 1
		process(t.Context(), redis.NewCmd(t.Context(), "evalsha", "a0b1", 2, asynqKey(1, "active"), asynqKey(1, "pending")))
		check("one that asynq has moved", turn(), 1, 1, 0)

		meanwhile = func() {
			meanwhile = nil
			d.changes.touch(queueName(1))
		}
		check("one that is added while its queue is asked", turn(), 0, 1, 1)
		tasks[queueName(1)] = 1
		check("and seen at once", turn(), 1, 1, 0)

		check("no task", turn(), -1, 1, 1)
		tasks[queueName(1)] = 1 // by another process, if there were one
		time.Sleep(poll)
		check("after a poll", turn(), 1, 1, 0)
	})
}

// A server on the embedded Redis takes tasks although the next look at idle queues is an hour away, and ends before it.
func TestEmbeddedServerNeedsNoPoll(t *testing.T) {
	c := open(t, "")
	got := make(chan int)
	s := serve(t, c, ServerOptions{Poll: time.Hour, Concurrency: 2}, func(ctx context.Context, task jobs.Task, attempt int) error {
		got <- task.Index
		return nil
	})
	for i := range 5 {
		enqueue(t, c, i%jobs.Priorities, task(i))
		if n := <-got; n != i {
			t.Errorf("task %d, want %d", n, i)
		}
	}
	empty(t, c)
	s.Shutdown()
}

// Who waits for the commits of a job is told once for all of them, until the job is unregistered. Of another process's
// Redis nobody is told anything.
func TestCommittedTells(t *testing.T) {
	c := open(t, "")
	job := c.Job("job")
	if err := job.Init(t.Context(), 3, nil, jobs.Counts{}); err != nil {
		t.Fatal(err)
	}
	told := func(job Job) bool {
		select {
		case <-job.Committed():
			return true
		default:
			return false
		}
	}
	if told(job) {
		t.Error("told before a commit")
	}
	for i := range 2 {
		if err := job.Commit(t.Context(), i, jobs.Counts{}); err != nil {
			t.Fatal(err)
		}
	}
	if told(c.Job("other")) || !told(job) || told(job) {
		t.Error("want the job told once, and no other one")
	}
	if err := job.Unregister(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := job.Commit(t.Context(), 2, jobs.Counts{}); err != nil { // by a worker that was late
		t.Fatal(err)
	}
	if n := len(c.changes.committed); n != 1 {
		t.Errorf("%d jobs are kept, want that which was not unregistered", n)
	}
	if (&Conn{}).Job("job").Committed() != nil {
		t.Error("commits are told of a Redis that is another process")
	}
}
