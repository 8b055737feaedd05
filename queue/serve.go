package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/pelmill/pelmill/jobs"
)

// ServerOptions of [Conn.Serve].
type ServerOptions struct {
	Concurrency     int           // handlers at once; 0: 1
	ShutdownTimeout time.Duration // for handlers to end on their own; 0: 30 s
	Poll            time.Duration // between looks at empty queues; 0: 1 s, 50 ms embedded, where a task that this process adds is seen at once
	Log             *slog.Logger  // nil: none
	Priorities      []int         // to serve; empty: all
	Device          string        // shown by Workers
	Stats           func() Stats  // shown by Workers, as of a moment ago; nil: nothing is
	Attempts        int           // failures of a chunk after which its job is blocked; 0: 12

	// Passing tells whether what a chunk failed with may go away by itself,
	// see jobs.BlockStore; nil: nothing does.
	Passing func(err error) bool
}

// Handler works on one task. attempt counts from 1 and rises with each failure.
// ctx ends when the server gives up waiting at shutdown, and when the task was
// lost to another worker. nil: the task is done. An error: it is tried again
// after 1 to 60 seconds, and after Attempts of them the job is blocked, see
// [Job.Block]. [ErrHandBack]: somebody gets it at once, [ErrLater]: soon.
type Handler func(ctx context.Context, t jobs.Task, attempt int) error

// handBackTime is how long handlers have between the end of their context and
// the moment at which their tasks are taken from them.
const handBackTime = 10 * time.Second

// Server takes tasks and calls a handler for each.
type Server struct {
	conn    *Conn
	opts    ServerOptions
	handler Handler
	asynq   *asynq.Server
	rdb     redis.UniversalClient // the server's own, behind a guard
	slots   chan struct{}         // one for each handler that runs
	stop    context.Context       // ends when handlers must hand back
	end     context.CancelFunc
	hold    sync.WaitGroup // the announcer
	drain   sync.Once
	drained chan struct{} // closed when no more tasks are taken
	close   sync.Once
}

// Serve starts to take tasks, those of the highest priority first, and calls
// handler for each, at most Concurrency at a time: a handler that ignores the
// end of its context keeps its slot until it returns. A panic in a handler is an
// error. The caller must call Shutdown, and after it Close of the connection.
func (c *Conn) Serve(opts *ServerOptions, handler Handler) (*Server, error) {
	s := &Server{conn: c, handler: handler, drained: make(chan struct{})}
	if opts != nil {
		s.opts = *opts
	}
	if err := s.defaults(); err != nil {
		return nil, err
	}
	s.slots = make(chan struct{}, s.opts.Concurrency)
	s.stop, s.end = context.WithCancel(context.Background())
	s.rdb = c.address.client()
	queues := map[string]int{}
	for _, p := range s.opts.Priorities {
		queues[queueName(p)] = p + 1
	}
	check := s.opts.Poll
	if c.Embedded() {
		check = embeddedCheck
		s.rdb.AddHook(newDequeues(len(queues), s.opts.Poll, c.changes, s.drained))
	}
	s.rdb.AddHook(guard{wait: s.opts.Poll, stop: s.stop}) // within the hook above, whose waits have no limit
	s.asynq = asynq.NewServerFromRedisClient(s.rdb, asynq.Config{
		Concurrency:              s.opts.Concurrency,
		Queues:                   queues,
		StrictPriority:           true,
		TaskCheckInterval:        check,
		DelayedTaskCheckInterval: max(500*time.Millisecond, min(s.opts.Poll, time.Second)),
		ShutdownTimeout:          handBackTime, // Shutdown has waited already
		RetryDelayFunc:           retryDelay,
		IsFailure:                isFailure,
		Logger:                   asynqLog{s.clientLog()},
		LogLevel:                 asynq.InfoLevel,
	})
	if err := s.asynq.Start(asynq.HandlerFunc(s.process)); err != nil {
		s.end()
		return nil, errors.Join(fail("serve", err), s.rdb.Close())
	}
	s.hold.Go(s.announce)
	return s, nil
}

// clientLog is where asynq logs to.
func (s *Server) clientLog() *slog.Logger {
	if s.conn.Embedded() {
		return slog.New(slog.DiscardHandler)
	}
	return s.opts.Log
}

func (s *Server) defaults() error {
	o := &s.opts
	if o.Concurrency <= 0 {
		o.Concurrency = 1
	}
	if o.ShutdownTimeout <= 0 {
		o.ShutdownTimeout = 30 * time.Second
	}
	if o.Poll <= 0 {
		o.Poll = time.Second
		if s.conn.Embedded() {
			o.Poll = 50 * time.Millisecond
		}
	}
	if o.Attempts <= 0 {
		o.Attempts = maxAttempts
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if len(o.Priorities) == 0 { // asynq would serve a queue of its own
		for p := range jobs.Priorities {
			o.Priorities = append(o.Priorities, p)
		}
	}
	for _, p := range o.Priorities {
		if p < 0 || p >= jobs.Priorities {
			return fmt.Errorf("queue: serve: priority %d: want 0 to %d", p, jobs.Priorities-1)
		}
	}
	return nil
}

// process is what asynq calls. asynq gives the slot of a task away as soon as
// its context ends, while the handler may go on for long: slots are ours.
func (s *Server) process(ctx context.Context, at *asynq.Task) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return ErrHandBack
	case <-s.stop.Done():
		return ErrHandBack
	}
	t, err := parseTask(ctx, at)
	if err != nil {
		<-s.slots
		s.opts.Log.Warn("task dropped", "error", err)
		return nil
	}
	retried, _ := asynq.GetRetryCount(ctx)
	err = func() (err error) {
		defer func() { <-s.slots }()
		// Not asynq's own context: once that has ended, asynq no longer waits
		// for the answer.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.stop, cancel)()
		return s.call(ctx, t, retried+1)
	}()
	if isFailure(err) && retried+1 >= s.opts.Attempts {
		err = s.giveUp(ctx, t, retried+1, err)
	}
	s.settle(ctx)
	return err
}

// parseTask reads a task, which must be the one that its id says. What makes no
// sense now never will, as nobody changes a task.
func parseTask(ctx context.Context, at *asynq.Task) (jobs.Task, error) {
	t, err := jobs.ParseTask(at.Payload())
	if err != nil {
		return t, fmt.Errorf("queue: %w", err)
	}
	if id, ok := asynq.GetTaskID(ctx); ok && id != t.ID() {
		return t, fmt.Errorf("queue: task %q is called %q", t.ID(), id)
	}
	return t, nil
}

func (s *Server) call(ctx context.Context, t jobs.Task, attempt int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.opts.Log.Error("handler panicked", "task", t.ID(), "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("queue: task %s: handler panicked: %v", t.ID(), p)
		}
	}()
	return s.handler(ctx, t, attempt)
}

// settle waits until Redis answers, as long as the task is still ours. asynq
// v0.26 cannot repeat a report that failed, because it repeats it with a
// context that has ended; the task would run again when its lease is over. The
// request goes through asynq's client, whose pool takes a second longer than Redis to
// come back from an outage.
func (s *Server) settle(ctx context.Context) {
	for s.rdb.Ping(ctx).Err() != nil {
		select {
		case <-ctx.Done():
			return
		case <-s.stop.Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Drain stops taking tasks. Handlers go on.
func (s *Server) Drain() {
	s.drain.Do(func() {
		close(s.drained)
		s.asynq.Stop()
	})
}

// Shutdown stops taking tasks, waits up to ShutdownTimeout for handlers to
// return, then ends their context and waits 10 seconds more for them to hand
// their tasks back. What still runs then loses its task, and runs on. A Redis
// that does not answer adds up to 20 seconds. Shutdown may be called more than
// once.
func (s *Server) Shutdown() {
	s.close.Do(func() {
		s.Drain()
		timeout := time.After(s.opts.ShutdownTimeout)
		for held := 0; held < cap(s.slots); {
			select {
			case s.slots <- struct{}{}:
				held++
			case <-timeout:
				held = cap(s.slots)
			}
		}
		s.end()
		s.hold.Wait()
		done := make(chan struct{})
		go func() {
			s.asynq.Shutdown()
			s.rdb.Close()
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(handBackTime + 20*time.Second):
			// asynq waits without end for the answer to a subscription, and
			// panics when its client is closed under it.
			s.opts.Log.Warn("redis does not answer; its connection is left behind")
		}
	})
}

const (
	// announceEvery is how old what Workers says of a process may be.
	announceEvery = 2 * time.Second

	// farewellTime is how long a server that ends tries to take back what it announced.
	farewellTime = 5 * time.Second
)

// announce keeps the device and the work of this process known, also after Redis has lost it.
func (s *Server) announce() {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host" // as asynq names it
	}
	name := processName(host, os.Getpid())
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	s.conn.forgetWorkers(s.stop)
	for {
		if s.opts.Stats != nil {
			if err := s.conn.announceStats(s.stop, name, s.opts.Stats()); err != nil && s.stop.Err() == nil {
				s.opts.Log.Debug("cannot announce the worker", "error", err)
			}
		}
		if s.opts.Device != "" {
			if err := s.conn.rdb.HSet(s.stop, workersKey, name, s.opts.Device).Err(); err != nil && s.stop.Err() == nil {
				s.opts.Log.Debug("cannot announce the device", "error", err)
			}
		}
		select {
		case <-tick.C:
		case <-s.stop.Done():
			ctx, cancel := context.WithTimeout(context.Background(), farewellTime)
			defer cancel()
			s.conn.rdb.HDel(ctx, workersKey, name)
			s.conn.rdb.HDel(ctx, statsKey, name)
			return
		}
	}
}

// retryDelay is 1 s, 2 s, 4 s up to 60 s, half of it random, so that chunks
// that failed together do not come back together.
func retryDelay(retried int, err error, _ *asynq.Task) time.Duration {
	switch {
	case errors.Is(err, ErrLater):
		return laterTime
	case !isFailure(err):
		return 0
	}
	d := min(time.Second<<min(retried, 6), time.Minute)
	return max(time.Second, d/2+rand.N(d/2+1))
}

// isFailure says what counts as an attempt: not what was handed back or put off,
// and not the death of a worker.
func isFailure(err error) bool {
	return err != nil && !errors.Is(err, ErrHandBack) && !errors.Is(err, ErrLater) && !errors.Is(err, asynq.ErrLeaseExpired)
}
