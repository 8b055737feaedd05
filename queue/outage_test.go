package queue

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
)

func TestOpenUnreachable(t *testing.T) {
	t.Parallel()
	nobody := "127.0.0.1:" + strconv.Itoa(services.FreePort(t))
	for _, url := range []string{
		"redis://:hunter2@" + nobody, "rediss://:hunter2@" + nobody, "unix://:hunter2@/none",
		"redis-sentinel://:hunter2@" + nobody + "/m?sentinel_password=hunter2", "redis-cluster://:hunter2@" + nobody,
	} {
		_, err := Open(t.Context(), url, &Options{Timeout: time.Second})
		wantErr(t, err, ErrUnreachable)
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func TestOpenSilentServer(t *testing.T) {
	t.Parallel()
	r := services.Redis(t)
	r.Pause()
	defer r.Resume()
	_, err := Open(t.Context(), r.URL(), &Options{Timeout: time.Second})
	wantErr(t, err, ErrUnreachable)
}

func TestOpenWrongPassword(t *testing.T) {
	r := services.Redis(t, "--requirepass", "right")
	for _, url := range []string{"redis://:hunter2@" + r.Addr(), "redis://user:hunter2@" + r.Addr(), r.URL()} {
		_, err := Open(t.Context(), url, nil)
		if err == nil || errors.Is(err, ErrUnreachable) {
			t.Errorf("opened with a wrong password: %v", err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func TestErrorsNameTheOutage(t *testing.T) {
	t.Parallel()
	r := services.Redis(t)
	c := open(t, r.URL())
	r.Stop()
	ctx := t.Context()
	var calls sync.WaitGroup
	for what, call := range map[string]func() error{
		"ping":     func() error { return c.Ping(ctx) },
		"enqueue":  func() error { return c.Tasks(0).Enqueue(ctx, task(0)) },
		"withdraw": func() error { _, err := c.Tasks(0).Withdraw(ctx, []jobs.Task{task(0)}); return err },
		"state":    func() error { _, err := c.Tasks(0).State(ctx, task(0)); return err },
		"depth":    func() error { _, err := c.Tasks(0).Depth(ctx); return err },
		"init":     func() error { return c.Job("j").Init(ctx, 1, nil, jobs.Counts{}) },
		"commit":   func() error { _, err := c.Job("j").commit(ctx, 0, jobs.Counts{}); return err },
		"progress": func() error { _, _, err := c.Job("j").Progress(ctx); return err },
		"lead":     func() error { _, _, err := c.Lead(ctx, "j", "a", time.Second); return err },
		"workers":  func() error { _, err := c.Workers(ctx); return err },
		"memory":   func() error { _, _, err := c.Memory(ctx); return err },
		"reap":     func() error { _, err := c.Reap(ctx); return err },
		"begin":    func() error { return c.Job("j").Begin(ctx, 0, []int{1}) },
	} {
		calls.Go(func() {
			if err := call(); !errors.Is(err, ErrUnreachable) {
				t.Errorf("%s: %v: want %v", what, err, ErrUnreachable)
			}
		})
	}
	calls.Wait()
	r.Start()
	until(t, "Redis is back", func() bool { return c.Ping(ctx) == nil })
	enqueue(t, c, 0, task(0))
}

// persevere repeats a call over an outage, as workers do.
func persevere(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// TestOutageAtCompletion: Redis is away for five seconds while a chunk is
// completed. It is counted once, and asynq does not run it again.
func TestOutageAtCompletion(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: stops Redis for five seconds: not with -short")
	}
	t.Parallel()
	for _, when := range []string{"before the commit", "after the commit"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			r := services.Redis(t, "--appendonly", "yes", "--appendfsync", "always")
			c := open(t, r.URL())
			ctx := t.Context()
			if err := c.Job("j").Init(ctx, 1, nil, jobs.Counts{}); err != nil {
				t.Fatal(err)
			}
			enqueue(t, c, 0, task(0))
			var runs, first atomic.Int64
			reached, stopped := make(chan struct{}, 10), make(chan struct{})
			serve(t, c, ServerOptions{}, func(ctx context.Context, task jobs.Task, attempt int) error {
				runs.Add(1)
				if when == "before the commit" {
					reached <- struct{}{}
					<-stopped
				}
				err := persevere(ctx, func() error {
					got, err := c.Job("j").commit(ctx, task.Index, counts(7))
					if got == newlyCounted {
						first.Add(1)
					}
					return err
				})
				if when == "after the commit" {
					reached <- struct{}{}
					<-stopped
				}
				return err
			})
			<-reached
			r.Kill()
			close(stopped)
			time.Sleep(5 * time.Second)
			r.Start()
			for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) {
				c.Reap(ctx)
				if d, err := c.Tasks(0).Depth(ctx); err == nil && d == (Depth{}) {
					break
				}
				if time.Now().After(end) {
					t.Fatal("the task never left the queue")
				}
			}
			wantProgress(t, c, "j", []byte{0x80}, counts(7))
			t.Logf("%d runs, %d first commits", runs.Load(), first.Load())
			if runs.Load() != 1 {
				t.Errorf("%d runs of a task that was completed in an outage shorter than its lease", runs.Load())
			}
		})
	}
}

// TestDataLossInService: everything in Redis goes while a task runs; what can be
// fed again is delivered again.
func TestDataLossInService(t *testing.T) {
	t.Parallel()
	r := services.Redis(t)
	c := open(t, r.URL())
	ctx := t.Context()
	enqueue(t, c, 0, task(0))
	var runs atomic.Int64
	running, release := make(chan struct{}, 10), make(chan struct{})
	serve(t, c, ServerOptions{}, func(ctx context.Context, task jobs.Task, attempt int) error {
		runs.Add(1)
		running <- struct{}{}
		<-release
		got, err := c.Job("j").commit(ctx, task.Index, counts(1))
		if runs.Load() == 1 && got != jobLost {
			t.Errorf("commit after the loss: %v, %v", got, err)
		}
		return err
	})
	<-running
	r.CLI("flushall")
	close(release)
	until(t, "loss is seen", func() bool { _, ok, err := c.Job("j").Progress(ctx); return err == nil && !ok })
	until(t, "first run has ended", func() bool { return len(keys(t, c, "asynq:{*}:t:*")) == 0 })
	if err := persevere(ctx, func() error { return c.Tasks(0).Enqueue(ctx, task(0)) }); err != nil {
		t.Fatal(err)
	}
	<-running
	empty(t, c)
}

func TestFullRedis(t *testing.T) {
	t.Parallel()
	r := services.Redis(t)
	c := open(t, r.URL())
	ctx := t.Context()
	if err := c.Job("j").Init(ctx, 100, nil, jobs.Counts{}); err != nil {
		t.Fatal(err)
	}
	enqueue(t, c, 0, task(0), task(1))
	activate(t, c, 0, time.Now().Add(-2*time.Hour))
	if _, ok, err := c.Lead(ctx, "job:i", "a", time.Minute); err != nil || !ok {
		t.Fatal(ok, err)
	}
	// A foreign writer takes more than there is.
	if err := c.Redis().Set(ctx, "junk", strings.Repeat("x", 16<<20), 0).Err(); err != nil {
		t.Fatal(err)
	}
	r.CLI("config", "set", "maxmemory", "8mb")
	used, max, err := c.Memory(ctx)
	if err != nil || max != 8<<20 || used < max {
		t.Errorf("memory %d of %d, %v", used, max, err)
	}
	wantErr(t, c.Tasks(0).Enqueue(ctx, task(2)), ErrFull)
	_, err = c.Job("j").commit(ctx, 99, counts(1))
	wantErr(t, err, ErrFull)
	wantErr(t, c.Job("j").Begin(ctx, 1, []int{2}), ErrFull)
	_, _, err = c.Lead(ctx, "job:j", "b", time.Minute)
	wantErr(t, err, ErrFull)
	// Looking works, and so does staying leader.
	wantDepth(t, c, 0, Depth{Pending: 1, Active: 1})
	wantProgress(t, c, "j", NewBitmap(100), jobs.Counts{})
	wantErr(t, c.Tasks(0).Enqueue(ctx, task(1)), ErrQueued)
	if _, ok, err := c.Lead(ctx, "job:i", "a", time.Minute); err != nil || !ok {
		t.Errorf("renewal: %v, %v", ok, err)
	}
	if _, err := c.Workers(ctx); err != nil {
		t.Error(err)
	}
	// Taking away is possible: repair and withdrawal.
	if got, err := c.reap(ctx, hasty); err != nil || got.Expired != 1 {
		t.Errorf("reaped %+v, %v", got, err)
	}
	if n, err := c.Tasks(0).Withdraw(ctx, []jobs.Task{task(0)}); err != nil || n != 1 {
		t.Errorf("withdrew %d, %v", n, err)
	}

	// Workers cannot take tasks; they wait without hammering, and go on later.
	var runs atomic.Int64
	serve(t, c, ServerOptions{Poll: 200 * time.Millisecond}, func(ctx context.Context, task jobs.Task, attempt int) error {
		runs.Add(1)
		return nil
	})
	before, begun := evals(t, c), time.Now()
	time.Sleep(2 * time.Second)
	if n, took := evals(t, c)-before, time.Since(begun); float64(n) > 100*took.Seconds() {
		t.Errorf("%d scripts in %v on a full Redis", n, took)
	}
	r.CLI("del", "junk")
	enqueue(t, c, 0, task(2))
	empty(t, c)
	if runs.Load() != 2 {
		t.Errorf("%d runs", runs.Load())
	}
	commit(t, c, "j", 99, 1, newlyCounted)
}

// TestShutdownWithoutRedis: a program ends although Redis is gone or hangs, and
// hands back what it can once Redis is there.
func TestShutdownWithoutRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: waits for a Redis that does not answer: not with -short")
	}
	t.Parallel()
	for _, how := range []string{"gone", "hangs"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r := services.Redis(t)
			c := open(t, r.URL())
			enqueue(t, c, 0, task(0))
			started := make(chan struct{})
			s := serve(t, c, ServerOptions{ShutdownTimeout: 100 * time.Millisecond}, func(ctx context.Context, task jobs.Task, attempt int) error {
				close(started)
				<-ctx.Done()
				return ErrHandBack
			})
			<-started
			if how == "gone" {
				r.Kill()
			} else {
				r.Pause()
				defer r.Resume()
			}
			begun, done := time.Now(), make(chan struct{})
			go func() {
				s.Shutdown()
				close(done)
			}()
			select {
			case <-done:
				t.Logf("ended after %v", time.Since(begun).Round(time.Second))
			case <-time.After(3 * time.Minute): // far above what it promises, to tell a hang from a busy machine
				t.Fatal("shutdown hangs")
			}
		})
	}
}

// evals is how many scripts Redis was asked to run.
func evals(t *testing.T, c *Conn) int64 {
	t.Helper()
	info, err := c.Redis().Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for name, stats := range infoFields(info) {
		if strings.HasPrefix(name, "cmdstat_eval") {
			for field := range strings.SplitSeq(stats, ",") {
				if v, ok := strings.CutPrefix(field, "calls="); ok {
					calls, err := strconv.ParseInt(v, 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					n += calls
				}
			}
		}
	}
	return n
}

func TestSentinelFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: waits for a failover: not with -short")
	}
	t.Parallel()
	s := services.RedisSentinel(t)
	c := open(t, s.URL())
	ctx := t.Context()
	if err := c.Job("j").Init(ctx, 40, nil, jobs.Counts{}); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		enqueue(t, c, i%jobs.Priorities, task(i))
	}
	fence, _, err := c.Lead(ctx, "job:j", "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	handler := func(ctx context.Context, task jobs.Task, attempt int) error {
		return persevere(ctx, func() error { _, err := c.Job("j").commit(ctx, task.Index, counts(1)); return err })
	}
	master := c.Redis().(*redis.Client)
	until(t, "replica has it all", func() bool { n, err := master.Wait(ctx, 1, time.Second).Result(); return err == nil && n == 1 })
	old := s.MasterAddr()
	s.Master.Kill()
	serve(t, c, ServerOptions{Concurrency: 4}, handler)
	until(t, "another master", func() bool { return s.MasterAddr() != old })
	for i := 20; i < 40; i++ {
		if err := persevere(ctx, func() error {
			err := c.Tasks(i%jobs.Priorities).Enqueue(ctx, task(i))
			if errors.Is(err, ErrQueued) {
				return nil
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	empty(t, c)
	var want jobs.Counts
	for range 40 {
		want.Plus(counts(1))
	}
	wantProgress(t, c, "j", []byte{255, 255, 255, 255, 255}, want)
	if again, ok, err := c.Lead(ctx, "job:j", "a", time.Hour); err != nil || !ok || again != fence {
		t.Errorf("fence %d, %v, %v after the failover: want %d", again, ok, err, fence)
	}
}

const workerEnv = "PELMILL_QUEUE_TEST_WORKER"

// TestMain lets the test program be the worker that is killed.
func TestMain(m *testing.M) {
	Log(nil) // every outage would be reported to standard error
	services.SideBySide(12)
	if url := os.Getenv(workerEnv); url != "" {
		c, err := Open(context.Background(), url, nil)
		if err != nil {
			panic(err)
		}
		if _, err := c.Serve(&ServerOptions{Poll: 50 * time.Millisecond}, func(ctx context.Context, t jobs.Task, attempt int) error {
			if err := c.Job(t.Job).Begin(ctx, t.Index, []int{3}); err != nil {
				panic(err)
			}
			os.Stdout.WriteString("holds\n")
			select {}
		}); err != nil {
			panic(err)
		}
		select {}
	}
	os.Exit(m.Run())
}

// TestKilledWorker: a worker dies with SIGKILL and a task in its hands.
func TestKilledWorker(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: waits for a lease to end: not with -short")
	}
	t.Parallel()
	r := services.Redis(t)
	c := open(t, r.URL())
	ctx := t.Context()
	enqueue(t, c, 2, task(5))
	worker := exec.Command(os.Args[0])
	worker.Env = append(os.Environ(), workerEnv+"="+r.URL())
	out, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	defer worker.Process.Kill()
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, 2, task(5), "active")
	worker.Process.Kill()
	worker.Wait()
	killed := time.Now()

	back := make(chan int, 1)
	serve(t, c, ServerOptions{}, func(ctx context.Context, task jobs.Task, attempt int) error {
		back <- attempt
		return nil
	})
	reap := time.NewTicker(5 * time.Second)
	defer reap.Stop()
	end := time.After(4 * time.Minute)
	for {
		select {
		case <-reap.C:
			if _, err := c.Reap(ctx); err != nil {
				t.Fatal(err)
			}
		case attempt := <-back:
			t.Logf("back after %v", time.Since(killed).Round(time.Second))
			if attempt != 1 {
				t.Errorf("the death of a worker counted as a failure: attempt %d", attempt)
			}
			flights, err := c.Job(task(5).Job).Flights(ctx, 5)
			if err != nil || len(flights) != 1 || flights[3] != 1 {
				t.Errorf("flights %v, %v: want object 3 once", flights, err)
			}
			return
		case <-end:
			t.Fatal("the task did not come back within four minutes")
		}
	}
}
