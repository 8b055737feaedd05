package queue

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

func TestServeEmbedded(t *testing.T) {
	ctx := context.Background()
	c, err := Open(ctx, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got := make(chan jobs.Task, 10)
	s, err := c.Serve(&ServerOptions{Concurrency: 2}, func(ctx context.Context, task jobs.Task, attempt int) error {
		if attempt == 1 && task.Index == 0 {
			return errors.New("once more")
		}
		got <- task
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	for i := range 3 {
		if err := c.Enqueue(ctx, i, jobs.Task{Job: "j", Index: i}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		select {
		case task := <-got:
			t.Log(task)
		case <-time.After(10 * time.Second):
			t.Fatal("no task")
		}
	}
	if _, err := c.Reap(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Init(ctx, "j", 9, nil, jobs.Counts{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []Committed{First, Again} {
		if n, err := c.Commit(ctx, "j", 8, jobs.Counts{Objects: 3}); err != nil || n != want {
			t.Fatal(n, err)
		}
	}
	t.Log(c.Progress(ctx, "j"))
	if n, err := c.Commit(ctx, "k", 8, jobs.Counts{Objects: 3}); err != nil || n != Lost {
		t.Fatal(n, err)
	}
	t.Log(c.Lead(ctx, "x", "a", time.Second))
	t.Log(c.Lead(ctx, "x", "b", time.Second))
	t.Log(c.Workers(ctx))
	t.Log(c.Clock(ctx))
	t.Log(c.Depth(ctx, 0))
	t.Log(c.TaskState(ctx, 0, jobs.Task{Job: "j"}))
	t.Log(c.Withdraw(ctx, 0, []jobs.Task{{Job: "j"}}))
	t.Log(c.Begin(ctx, "j", 0, []int{1, 2, 3}), c.End(ctx, "j", 0, []int{1}))
	t.Log(c.Flights(ctx, "j", 0))
	t.Log(c.Forget(ctx, "j"))
}
