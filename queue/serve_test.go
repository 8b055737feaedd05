package queue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// serve starts a server that looks often, and shuts it down with the test.
func serve(t testing.TB, c *Conn, opts ServerOptions, handler Handler) *Server {
	t.Helper()
	if opts.Poll == 0 {
		opts.Poll = 20 * time.Millisecond
	}
	if opts.ShutdownTimeout == 0 {
		opts.ShutdownTimeout = 5 * time.Second
	}
	s, err := c.Serve(&opts, handler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

func empty(t testing.TB, c *Conn) {
	t.Helper()
	until(t, "queues are empty", func() bool {
		for p := range jobs.Priorities {
			if d, err := c.Tasks(p).Depth(context.Background()); err != nil || d != (Depth{}) {
				return false
			}
		}
		return true
	})
}

func testServe(t *testing.T, c *Conn) {
	for i := range 10 {
		for p := range jobs.Priorities {
			enqueue(t, c, p, task(100*p+i))
		}
	}
	var mu sync.Mutex
	var got []int
	s := serve(t, c, ServerOptions{}, func(ctx context.Context, got1 jobs.Task, attempt int) error {
		mu.Lock()
		defer mu.Unlock()
		if attempt != 1 || got1 != task(got1.Index) {
			t.Errorf("attempt %d of %+v", attempt, got1)
		}
		got = append(got, got1.Index)
		return nil
	})
	empty(t, c)
	s.Shutdown()
	s.Shutdown()
	var want []int
	for p := jobs.Priorities - 1; p >= 0; p-- {
		for i := range 10 {
			want = append(want, 100*p+i)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("order %v: want %v", got, want)
	}
	if left := keys(t, c, "asynq:{*}:t:*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func testRetry(t *testing.T, c *Conn) {
	enqueue(t, c, 0, task(0), task(1))
	var mu sync.Mutex
	attempts := map[int][]int{}
	serve(t, c, ServerOptions{Concurrency: 2, Priorities: []int{0}}, func(ctx context.Context, task jobs.Task, attempt int) error {
		mu.Lock()
		defer mu.Unlock()
		attempts[task.Index] = append(attempts[task.Index], attempt)
		if attempt == 1 && task.Index == 0 {
			panic("on purpose")
		}
		if attempt == 1 {
			return errors.New("on purpose")
		}
		return nil
	})
	empty(t, c)
	mu.Lock()
	defer mu.Unlock()
	for i := range 2 {
		if !slices.Equal(attempts[i], []int{1, 2}) {
			t.Errorf("attempts of task %d: %v", i, attempts[i])
		}
	}
}

func testHandBack(t *testing.T, c *Conn) {
	enqueue(t, c, 3, task(0))
	var runs atomic.Int64
	serve(t, c, ServerOptions{}, func(ctx context.Context, task jobs.Task, attempt int) error {
		if attempt != 1 {
			t.Errorf("attempt %d", attempt)
		}
		if runs.Add(1) <= 5 {
			return errors.Join(errors.New("going down"), ErrHandBack)
		}
		return nil
	})
	empty(t, c)
	if runs.Load() != 6 {
		t.Errorf("%d runs", runs.Load())
	}
}

// testSlots: asynq takes a task from a handler whose context has ended and gives
// its slot to the next one, whether or not the handler returns.
func testSlots(t *testing.T, c *Conn) {
	const slots = 2
	var running, most, ended atomic.Int64
	started := make(chan string, 100)
	release, over := make(chan struct{}), make(chan struct{})
	enqueue(t, c, 0, task(0), task(1), task(2), task(3))
	serve(t, c, ServerOptions{Concurrency: slots}, func(ctx context.Context, task jobs.Task, attempt int) error {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		defer running.Add(-1)
		started <- task.ID()
		select {
		case <-ctx.Done():
		case <-over:
		}
		ended.Add(1)
		<-release // what a codec does that does not look at its context
		return nil
	})
	cancelled := map[string]bool{}
	for range slots {
		id := <-started
		cancelled[id] = true
		// Until it is heard: the server subscribes to cancellations in its own time.
		before := ended.Load()
		until(t, "cancelled", func() bool {
			if err := c.inspect.CancelProcessing(id); err != nil {
				t.Fatal(err)
			}
			return ended.Load() > before
		})
	}
	// asynq sees its slots free now and takes the other two tasks, of which one may have come before a cancelled one.
	until(t, "asynq takes more tasks", func() bool {
		for i := range 2 * slots {
			if cancelled[task(i).ID()] {
				continue
			}
			if state, err := c.Tasks(0).State(t.Context(), task(i)); err != nil || state != "active" {
				return false
			}
		}
		return true
	})
	select {
	case id := <-started:
		t.Fatalf("task %s runs beside %d", id, slots)
	case <-time.After(300 * time.Millisecond):
	}
	close(release)
	for range slots {
		<-started
	}
	close(over)
	empty(t, c) // also of the cancelled ones, which are tried again
	if most.Load() > slots {
		t.Errorf("%d handlers at once", most.Load())
	}
}

func testShutdown(t *testing.T, c *Conn) {
	enqueue(t, c, 0, task(0), task(1))
	started := make(chan struct{}, 2)
	s := serve(t, c, ServerOptions{ShutdownTimeout: 100 * time.Millisecond}, func(ctx context.Context, task jobs.Task, attempt int) error {
		started <- struct{}{}
		<-ctx.Done()
		return ErrHandBack
	})
	<-started
	s.Drain()
	s.Drain()
	s.Shutdown()
	d, err := c.Tasks(0).Depth(t.Context())
	if err != nil || d.Active != 0 || d.Waiting() != 2 {
		t.Fatalf("depth %+v, %v: want two waiting", d, err)
	}
	// Nobody serves any more, and still the task is pending again.
	if _, err := c.Reap(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantDepth(t, c, 0, Depth{Pending: 2})
	serve(t, c, ServerOptions{}, func(ctx context.Context, task jobs.Task, attempt int) error {
		if attempt != 1 {
			t.Errorf("attempt %d", attempt)
		}
		return nil
	})
	empty(t, c)
}

func testWorkers(t *testing.T, c *Conn) {
	enqueue(t, c, 0, task(0))
	release := make(chan struct{})
	s := serve(t, c, ServerOptions{Concurrency: 3, Device: "cuda:0 H200"}, func(ctx context.Context, task jobs.Task, attempt int) error {
		<-release
		return nil
	})
	var w []WorkerInfo
	until(t, "the worker announces itself and its task", func() bool {
		var err error
		w, err = c.Workers(t.Context())
		return err == nil && len(w) == 1 && w[0].Device != "" && w[0].Active == 1
	})
	if w[0].Device != "cuda:0 H200" || w[0].Concurrency != 3 || w[0].PID == 0 || w[0].Host == "" || w[0].Stopping {
		t.Errorf("worker %+v", w[0])
	}
	close(release)
	s.Shutdown()
	if w, err := c.Workers(t.Context()); err != nil || len(w) != 0 {
		t.Errorf("workers after shutdown: %+v, %v", w, err)
	}
	if n := c.Redis().HLen(t.Context(), workersKey).Val(); n != 0 {
		t.Errorf("%d devices after shutdown", n)
	}
}

func TestServeRefusesPriorities(t *testing.T) {
	c := open(t, "")
	for _, p := range []int{-1, jobs.Priorities} {
		if s, err := c.Serve(&ServerOptions{Priorities: []int{p}}, nil); err == nil {
			s.Shutdown()
			t.Errorf("priority %d was taken", p)
		}
	}
}

func TestRetryDelay(t *testing.T) {
	for retried := range 100 {
		for range 20 {
			d := retryDelay(retried, errors.New("x"), nil)
			if most := min(time.Second<<min(retried, 6), time.Minute); d < time.Second || d > max(most, time.Second) {
				t.Fatalf("after %d failures %v: want 1s to %v", retried, d, most)
			}
		}
	}
	if d := retryDelay(3, ErrHandBack, nil); d != 0 {
		t.Errorf("handed back after %v", d)
	}
}
