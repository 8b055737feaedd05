// Package intake turns what arrives in a bucket or folder into jobs, for months: each new object is compressed
// once, as if somebody ran "pelmill compress" at the right moment, but without listing the source for every object.
//
// # Hints and the truth
//
// Events of a store, from a queue or by HTTP, are hints: each names a key that may be worth a look. They may be
// lost, doubled, out of order or forged. The store is asked for every key before anything is made of it, and a
// listing of the source at the start and then at regular times finds what no event told of.
//
// # One spool
//
// Whatever finds objects is a [Source] and adds them to one spool in memory. The spool gives batches: objects wait
// until there are enough of them, or until the first has waited long enough. A batch is an ordinary job with its
// keys as manifest and a token that is the hash of the batch. Only when its specification and manifest are stored in
// the target are its objects acknowledged. So the spool may be lost at any moment: what it held comes again, from
// the queue or from the listing.
//
// # Exactly once
//
// An object is in one unfinished batch at a time, and a job leaves out what earlier jobs have done. The batches of
// a process that was killed are followed by the next one before it makes new ones. One process serves a source
// and target at a time; two give the same results, but may do work twice.
//
// # Bounds
//
// The spool holds a few times the objects of a batch and a bounded number of messages. When it is full, sources
// wait, so that queues keep what they have, and the webhook says 503. Old batches are pruned.
package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

// Defaults of [Options].
const (
	DefaultBatchObjects = 10_000
	DefaultBatchWait    = 2 * time.Second
	DefaultEvery        = time.Hour   // where events come as well
	DefaultEveryAlone   = time.Minute // where the listing is all there is
	DefaultKeepLast     = 20
	DefaultSettle       = 5 * time.Second // of the program
)

// MaxBatchObjects is the most objects that a batch can have: its keys are in memory.
const MaxBatchObjects = 100_000

// batchesAtOnce is how many jobs of an intake may be unfinished: one is listed and planned while others are worked on.
const batchesAtOnce = 4

// Options of [New]. The zero value of a field is its default.
type Options struct {
	Log *slog.Logger // nil: nothing is logged

	Events  string   // URL of a subscription, see [Schemes]; empty: none
	Webhook *Webhook // nil: none

	Every        time.Duration // between the end of a listing and the next one
	BatchObjects int           // most objects of a batch
	BatchWait    time.Duration // longest time that an object waits for others
	Quiet        time.Duration // objects of a folder wait until nothing new came there for so long; 0: not at all
	Settle       time.Duration // a file of a folder is left to a later listing until its time is so long ago: somebody may still write it; 0: none is
	KeepLast     int           // ended batches that are not pruned; below 0: none is pruned

	// Ended, where it is not nil, is called with each job of this source and target that has ended: with batches before
	// their objects may be in another one, and with what retries them. Its error is tried again. A job that ended while no
	// process ran is followed up by the next one, and none is pruned before. After a kill it may be called twice.
	Ended func(ctx context.Context, job string) error

	Collectors []prometheus.Collector // more metrics to serve
	Private    bool                   // no key of an object is logged, and none is in the reasons of /readyz
	Metrics    string                 // host:port of health and metrics; empty: none
	Lease      bool                   // this process does the jobs itself, so that it holds their leases
}

// Source finds objects and adds them to a spool until ctx ends.
type Source interface {
	Run(ctx context.Context, to *Spool) error
}

// Intake is one run of an intake.
type Intake struct {
	client   *scheduler.Client
	arrivals *scheduler.Arrivals
	spec     jobs.Spec
	opts     Options
	log      *slog.Logger
	spool    *Spool
	sources  []Source
	metrics  *metrics
	recent   *recent
	slots    chan struct{} // a token for each batch that is being made or followed

	look         time.Duration // between two looks whether a batch has ended
	begun        chan struct{} // closed when the batches of an earlier process are known
	endedBatches atomic.Int64  // that were not pruned
	due          chan struct{} // of length 1: a prune is
	relist       chan struct{} // of length 1: the source should be listed now

	following sync.Mutex           // held while a job is followed up
	followed  map[string]time.Time // ends of jobs that were followed up lately, by id
}

// New makes an intake of batches like spec, whose id, token and manifest are empty. Sources besides those that
// options name may be given.
func New(ctx context.Context, client *scheduler.Client, spec jobs.Spec, opts *Options, sources ...Source) (*Intake, error) {
	in := &Intake{client: client, sources: sources, slots: make(chan struct{}, batchesAtOnce), due: make(chan struct{}, 1), relist: make(chan struct{}, 1), begun: make(chan struct{}), recent: newRecent(), followed: map[string]time.Time{}}
	if opts != nil {
		in.opts = *opts
	}
	o := &in.opts
	if in.log = o.Log; in.log == nil {
		in.log = slog.New(slog.DiscardHandler)
	}
	if o.BatchObjects == 0 {
		o.BatchObjects = DefaultBatchObjects
	}
	if o.BatchWait == 0 {
		o.BatchWait = DefaultBatchWait
	}
	if o.KeepLast == 0 {
		o.KeepLast = DefaultKeepLast
	}
	if o.Every == 0 {
		if o.Every = DefaultEvery; o.Events == "" && o.Webhook == nil {
			o.Every = DefaultEveryAlone
		}
	}
	switch {
	case o.BatchObjects < 1 || o.BatchObjects > MaxBatchObjects:
		return nil, fmt.Errorf("intake: %d objects a batch: want 1 to %d", o.BatchObjects, MaxBatchObjects)
	case o.BatchWait < 0 || o.Every < 0 || o.Quiet < 0 || o.Settle < 0:
		return nil, fmt.Errorf("intake: waits of %v, %v, %v and %v: want nothing below 0", o.BatchWait, o.Every, o.Quiet, o.Settle)
	}
	spec.AutoStart, spec.Sample = true, 0
	var err error
	if in.arrivals, err = client.Arrivals(ctx, spec); err != nil {
		return nil, err
	}
	in.spec = in.arrivals.Spec()
	in.spec.FollowUp = o.Ended != nil
	in.look = time.Second
	if client.Conn != nil && client.Conn.Embedded() {
		in.look = 100 * time.Millisecond
	}
	in.metrics = newMetrics()
	for _, c := range o.Collectors {
		if err := in.metrics.registry.Register(c); err != nil {
			return nil, fmt.Errorf("intake: metrics: %w", err)
		}
	}
	in.spool = newSpool(in.arrivals, o, in.metrics)
	in.sources = append(in.sources, &listing{in})
	if o.Events != "" {
		s, err := newSubscription(o.Events, in.log)
		if err != nil {
			return nil, err
		}
		s.lost = in.List
		in.sources = append(in.sources, s)
	}
	if o.Webhook != nil {
		o.Webhook.log = in.log
		if err := o.Webhook.Check(); err != nil {
			return nil, err
		}
		in.sources = append(in.sources, o.Webhook)
	}
	return in, nil
}

// Run takes in what arrives until ctx ends; then its error is nil. It survives outages of the store and of the
// queues. Other errors are those of addresses and URLs.
func (in *Intake) Run(ctx context.Context) error {
	stop, err := in.serve()
	if err != nil {
		return err
	}
	defer stop()
	in.log.Info("intake starts", "source", in.spec.Source, "target", in.spec.Target, "every", in.opts.Every.String())
	defer in.log.Info("intake has ended")
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	defer running.Wait()
	for _, s := range in.sources {
		running.Go(func() {
			if err := s.Run(run, in.spool); err != nil && run.Err() == nil {
				cancel(err)
			}
		})
	}
	running.Go(func() { in.prune(run) })
	running.Go(func() { in.followUps(run) })
	if err := in.recover(run, &running); err == nil {
		in.dispatch(run, &running)
	}
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(run)
}

// List has the source listed soon, without waiting for its time.
func (in *Intake) List() {
	select {
	case in.relist <- struct{}{}:
	default:
	}
}

// recover follows the batches of an earlier process. It tries until it knows them.
func (in *Intake) recover(ctx context.Context, running *sync.WaitGroup) error {
	var open []jobs.Spec
	err := in.insist(ctx, "look for earlier batches", func() (err error) {
		var ended int
		open, ended, err = in.client.Unfinished(ctx, in.spec.Target, jobs.IntakeToken)
		if ended > 0 {
			in.pruneSoon(ended)
		}
		return err
	})
	for _, spec := range open {
		if err != nil || !jobs.SameSource(spec.Source, in.spec.Source) {
			continue
		}
		b := &batch{in: in, id: spec.ID}
		err = in.insist(ctx, "read an earlier batch", func() error {
			b.items = nil
			return in.client.Given(ctx, in.spec.Target, spec.ID, func(e jobs.Entry) error {
				b.items = append(b.items, &item{key: e.Key, entry: e})
				return nil
			})
		})
		if err == nil {
			in.log.Info("goes on with a batch of an earlier process", "job", spec.ID, "objects", len(b.items))
			in.spool.hold(b.items)
			running.Go(func() {
				defer in.spool.release(b.items)
				b.follow(ctx)
			})
		}
	}
	if err == nil {
		close(in.begun)
	}
	return err
}

// dispatch makes batches of what the spool has until ctx ends.
func (in *Intake) dispatch(ctx context.Context, running *sync.WaitGroup) {
	for {
		select {
		case in.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		items, err := in.spool.take(ctx)
		if err != nil {
			return
		}
		b := &batch{in: in, held: items}
		running.Go(func() {
			defer func() { <-in.slots }()
			b.run(ctx)
		})
	}
}

// insist calls do until it succeeds or ctx ends, and says once why it does not.
func (in *Intake) insist(ctx context.Context, what string, do func() error) error {
	said := false
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		err := do()
		if err == nil || ctx.Err() != nil {
			in.metrics.trouble(what, nil)
			return errors.Join(err, ctx.Err())
		}
		err = in.public(err)
		in.metrics.trouble(what, err)
		if !said {
			said = true
			in.log.Warn("cannot "+what+", trying again", "error", err)
		}
		sleep(ctx, wait)
	}
}

// public is an error as logs may have it: texts of stores name objects.
func (in *Intake) public(err error) error {
	switch {
	case err == nil || !in.opts.Private:
		return err
	case storage.Unreachable(err):
		return errors.New("the store cannot be reached")
	case storage.IsNotExist(err):
		return errors.New("an object is gone")
	case storage.Temporary(err):
		return errors.New("the store has failed, perhaps for a moment")
	}
	return errors.New("the store has failed: pelmill doctor says more")
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
