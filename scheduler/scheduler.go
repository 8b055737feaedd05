package scheduler

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/internal/listener"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/scheduler/notify"
	"github.com/pelmill/pelmill/storage"
)

const (
	leaseTime    = 15 * time.Second // of a lead; a scheduler that dies is replaced after it
	scanEvery    = time.Minute      // for unfinished jobs in the targets given to Run
	reapEvery    = 5 * time.Second
	reapLead     = 8 * time.Second  // of the lead of who repairs the queues; short, as the tasks of lost workers wait for it
	workersEvery = 10 * time.Second // the number of slots is looked up
	heavyAtOnce  = 2                // jobs that are listed, planned or merged at once; bounds memory
	smallWindow  = 256              // of the embedded queue
	leastWindow  = 500
	mostWindow   = 20_000

	// aliveKey is in Redis while a scheduler runs, for the sentence of a status.
	aliveKey = "pelmill:scheduler"
)

// Options of [New].
type Options struct {
	Log           *slog.Logger     // nil: nothing is logged
	Holder        string           // name of this scheduler in locks; empty: host, process and a random part
	Tick          time.Duration    // between two looks at a job; 0: 1 s, embedded 100 ms
	Window        int              // tasks of a priority in the queue; 0: 4 a worker slot, 500 to 20,000, embedded 256
	Codecs        []codec.Codec    // nil: all of this build
	Memory        int64            // bytes that the process may take while it plans; 0: 1 GiB
	Now           func() time.Time // for the hours of a job; nil: time.Now
	HashKeys      bool             // report.html has hashes in place of object keys, whatever the sources are
	MetricsListen string           // host:port of health, metrics and pprof; empty: none; without a host: loopback
	Notify        *notify.Sender   // of notifications; nil: they wait for a scheduler that has one
	Ended         func(job string) // called when a job of this scheduler has its report, after an error again; nil: none
}

// Scheduler drives jobs. Any number of schedulers can run on one Redis.
type Scheduler struct {
	conn    *queue.Conn
	buckets *storage.Buckets
	opts    Options
	log     *slog.Logger
	heavy   chan struct{}
	running sync.WaitGroup

	lease  time.Duration
	part   int                    // entries of a part of a manifest
	before func(key string) error // see folder; nil but in tests

	registered map[string]string // jobs that were registered at the last look, with their targets; only Run's goroutine uses it

	looked  atomic.Int64 // when the queue last answered, in nanoseconds since 1970; 0: never
	address string       // of the listener

	mu       sync.Mutex
	driving  map[string]bool // jobs that this process leads
	views    map[string]view // of them
	ended    map[string]bool // jobs in the targets of Run that need nothing
	denials  map[string]denial
	slots    int // of all workers
	cutSlots int // of them, those that a small job is cut for

	sent notifications
	past *pastJobs
}

// New makes a scheduler; Run starts it.
func New(conn *queue.Conn, buckets *storage.Buckets, opts *Options) *Scheduler {
	s := &Scheduler{
		conn: conn, buckets: buckets, lease: leaseTime, part: partEntries,
		heavy:   make(chan struct{}, heavyAtOnce),
		driving: map[string]bool{}, views: map[string]view{}, registered: map[string]string{}, ended: map[string]bool{}, denials: map[string]denial{},
		past: newPastJobs(),
	}
	if opts != nil {
		s.opts = *opts
	}
	if s.log = s.opts.Log; s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.opts.Holder == "" {
		host, _ := os.Hostname()
		var b [4]byte
		rand.Read(b[:])
		s.opts.Holder = fmt.Sprintf("%s:%d:%s", host, os.Getpid(), hex.EncodeToString(b[:]))
	}
	if s.opts.Tick <= 0 {
		if s.opts.Tick = time.Second; conn.Embedded() {
			s.opts.Tick = 100 * time.Millisecond
		}
	}
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	return s
}

// Run drives all registered jobs, and the unfinished ones that it finds in
// targets, until ctx ends. It survives outages of Redis and of storage. Its
// error is about targets that are no bucket URLs, or an address that cannot be listened at; after ctx ended it is nil, and
// everything that it started has ended.
func (s *Scheduler) Run(ctx context.Context, targets ...string) error {
	for i, t := range targets {
		canonical, err := storage.Canonical(t)
		if err != nil {
			return err
		}
		targets[i] = canonical
	}
	address, stop, err := listener.Serve(s.opts.MetricsListen, s.Handler(), s.log)
	if err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	defer stop()
	s.address = address
	s.log.Info("scheduler starts", "holder", s.opts.Holder, "queue", s.conn.String())
	defer s.log.Info("scheduler has ended", "holder", s.opts.Holder)
	defer s.running.Wait()
	s.running.Go(func() { s.reap(ctx) })
	s.running.Go(func() { s.lookAtWorkers(ctx) })
	var scanned time.Time
	offline := false
	for ; ctx.Err() == nil; sleep(ctx, s.opts.Tick) {
		err := s.look(ctx)
		if err == nil {
			s.looked.Store(time.Now().UnixNano())
		}
		if err == nil && time.Since(scanned) > scanEvery {
			scanned = time.Now()
			for _, t := range targets {
				if err := s.scan(ctx, t); err != nil && ctx.Err() == nil {
					s.log.Warn("cannot look for jobs", "target", t, "error", err)
				}
			}
		}
		if ctx.Err() == nil && offline != (err != nil) {
			if offline = err != nil; offline {
				s.log.Warn("queue does not answer, waiting", "error", err)
			} else {
				s.log.Info("queue answers again")
			}
		}
	}
	return nil
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// look shows that this scheduler lives and takes up registered jobs.
func (s *Scheduler) look(ctx context.Context) error {
	if err := s.conn.Redis().Set(ctx, aliveKey, s.opts.Holder, s.lease).Err(); err != nil {
		return err
	}
	registered, err := s.conn.Jobs(ctx)
	if err != nil {
		return err
	}
	s.forgetDenials(registered)
	for id, target := range registered {
		if !jobs.ValidID(id) || s.denied(id, target) {
			continue // nothing of it is looked at
		}
		s.registered[id] = target
		if err := s.take(ctx, id, target); err != nil {
			return err
		}
	}
	for id, target := range s.registered {
		if _, ok := registered[id]; ok {
			continue
		}
		s.mu.Lock()
		mine := s.driving[id]
		s.mu.Unlock()
		if mine {
			continue // it is registered again, or taken out, where it is driven
		}
		if err := s.vanished(ctx, id, target); err != nil {
			s.log.Debug("cannot look at a job that is no longer registered", "job", id, "error", err)
		}
	}
	return nil
}

// vanished registers a job again that was registered before, unless it has
// ended: Redis has lost it.
func (s *Scheduler) vanished(ctx context.Context, id, target string) error {
	ctx, cancel := context.WithTimeout(ctx, s.lease)
	defer cancel()
	b, err := s.open(ctx, target)
	var denied *deniedError
	if errors.As(err, &denied) {
		delete(s.registered, id)
		return nil
	}
	if err != nil {
		return err
	}
	_, there, err := readSpec(ctx, b, id)
	if err != nil {
		return err
	}
	report, ended, err := getJSON[jobs.Report](ctx, b, jobs.Folder(id).Report())
	if err != nil {
		return err
	}
	if ended {
		left, err := unnoticed(ctx, b, &report)
		if err != nil {
			return err
		}
		ended = !left
	}
	if there && !ended {
		s.log.Info("queue has lost a job, registering it again", "job", id)
		return s.conn.Job(id).Register(ctx, target)
	}
	delete(s.registered, id)
	return nil
}

// scan registers the unfinished jobs of a target.
func (s *Scheduler) scan(ctx context.Context, target string) error {
	b, err := s.buckets.Open(ctx, target)
	if err != nil {
		return err
	}
	ids, err := jobIDs(ctx, b)
	if err != nil {
		return err
	}
	for _, id := range ids {
		s.mu.Lock()
		seen := s.driving[id] || s.ended[id]
		s.mu.Unlock()
		if seen {
			continue
		}
		report, done, err := getJSON[jobs.Report](ctx, b, jobs.Folder(id).Report())
		if err != nil {
			return err
		}
		if done {
			left, err := unnoticed(ctx, b, &report)
			if err != nil {
				return err
			}
			done = !left
		}
		if done {
			s.mu.Lock()
			s.ended[id] = true
			s.mu.Unlock()
			continue
		}
		if err := s.conn.Job(id).Register(ctx, target); err != nil {
			return err
		}
	}
	return nil
}

// take drives a job if no other scheduler does.
func (s *Scheduler) take(ctx context.Context, id, target string) error {
	s.mu.Lock()
	mine := s.driving[id]
	s.mu.Unlock()
	if mine {
		return nil
	}
	fence, ok, err := s.conn.Lead(ctx, leadName(id), s.opts.Holder, s.lease)
	if err != nil || !ok {
		return err
	}
	s.mu.Lock()
	s.driving[id] = true
	s.mu.Unlock()
	s.running.Go(func() {
		defer func() {
			s.mu.Lock()
			delete(s.driving, id)
			delete(s.views, id)
			s.mu.Unlock()
		}()
		s.lead(ctx, id, target, fence)
	})
	return nil
}

// leadName is the lock of a job.
func leadName(job string) string { return "job:" + job }

var errLostLead = errors.New("scheduler: another scheduler may lead the job")

// lead drives a job while this scheduler holds its lock.
func (s *Scheduler) lead(ctx context.Context, id, target string, fence int64) {
	log := s.log.With("job", id)
	log.Debug("leads", "fence", fence)
	lctx, cancel := context.WithCancelCause(ctx)
	var renew sync.WaitGroup
	renew.Go(func() {
		for held := time.Now(); ; {
			sleep(lctx, s.lease/4)
			if lctx.Err() != nil {
				return
			}
			now, ok, err := s.conn.Lead(lctx, leadName(id), s.opts.Holder, s.lease)
			switch {
			case err == nil && ok && now == fence:
				held = time.Now()
			case err == nil && ok:
				// The lock was free for a while; whoever had it has left.
				fence, held = now, time.Now()
			case err == nil, time.Since(held) > s.lease:
				cancel(errLostLead)
				return
			}
		}
	})
	err := s.drive(lctx, log, id, target)
	cancel(nil)
	renew.Wait()
	var denied *deniedError
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.As(err, &denied):
		s.deny(ctx, log, id, target, denied)
	default:
		log.Warn("stops leading", "error", err)
	}
	rctx, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer done()
	if err := s.conn.Resign(rctx, leadName(id), s.opts.Holder); err != nil {
		log.Debug("cannot give up the lead", "error", err)
	}
}

// reap repairs the queues. One scheduler at a time does it.
func (s *Scheduler) reap(ctx context.Context) {
	for ; ctx.Err() == nil; sleep(ctx, reapEvery) {
		_, ok, err := s.conn.Lead(ctx, "reaper", s.opts.Holder, min(reapLead, s.lease))
		if err != nil || !ok {
			continue
		}
		report, err := s.conn.Reap(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.Debug("cannot repair the queues", "error", err)
		case report.Total() > 0:
			s.log.Info("gave back tasks of lost workers", "report", report)
		}
	}
	rctx, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer done()
	s.conn.Resign(rctx, "reaper", s.opts.Holder)
}

// lookAtWorkers keeps the number of slots.
func (s *Scheduler) lookAtWorkers(ctx context.Context) {
	for ; ctx.Err() == nil; sleep(ctx, workersEvery) {
		s.countSlots(ctx)
	}
}

func (s *Scheduler) countSlots(ctx context.Context) {
	workers, err := s.conn.Workers(ctx)
	if err != nil {
		return
	}
	n, cut := 0, 0
	for _, w := range workers {
		n += w.Concurrency
		if w.Device == "" || w.Device == "cpu" {
			cut += w.Concurrency
		} else {
			cut += (w.Concurrency + cardSlots - 1) / cardSlots
		}
	}
	s.mu.Lock()
	s.slots, s.cutSlots = n, cut
	s.mu.Unlock()
}

// window is how many tasks a priority may have in the queue.
func (s *Scheduler) window() int64 {
	if s.opts.Window > 0 {
		return int64(s.opts.Window)
	}
	if s.conn.Embedded() {
		return smallWindow
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(min(max(4*s.slots, leastWindow), mostWindow))
}

// machines gives the number of workers and the cores of their machines, each machine once.
func machines(ctx context.Context, conn *queue.Conn) (workers, cores int) {
	if conn == nil {
		return 0, 0
	}
	all, err := conn.Workers(ctx)
	if err != nil {
		return 0, 0
	}
	used, have := map[string]int{}, map[string]int{}
	for _, w := range all {
		workers++
		used[w.Host] += max(1, w.CPU)
		have[w.Host] = max(have[w.Host], w.Cores, 1)
	}
	for host, n := range used {
		cores += min(n, have[host])
	}
	return workers, cores
}

// cardSlots is how many slots a worker with a card has for each chunk that makes it work: it takes so many that even the smallest
// chunks fill its batches. A sixteenth of them are some twenty photographs each, which do so too, with fewer requests.
const cardSlots = 16

// planSlots is how many chunks a small job should be cut into, at least, for those that work at once.
func (s *Scheduler) planSlots(ctx context.Context) int {
	s.countSlots(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.cutSlots, pool.Cores())
}
