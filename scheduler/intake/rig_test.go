package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker"
)

func TestMain(m *testing.M) {
	if source := os.Getenv("PELMILL_TEST_INTAKE_SOURCE"); source != "" {
		child(source, os.Getenv("PELMILL_TEST_INTAKE_TARGET"))
	}
	os.Exit(m.Run())
}

// child is an intake in a process of its own, which a test kills.
func child(source, target string) {
	buckets := storage.NewBuckets()
	opts := &Options{Every: 300 * time.Millisecond, BatchWait: 50 * time.Millisecond, BatchObjects: 7, Lease: true}
	if err := here(context.Background(), buckets, source, target, opts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// here runs an intake with a queue, a scheduler and a worker in this process until ctx ends.
func here(ctx context.Context, buckets *storage.Buckets, source, target string, opts *Options, sources ...Source) error {
	conn, err := queue.Open(ctx, "", nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	client := &scheduler.Client{Buckets: buckets, Conn: conn}
	opts.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	in, err := New(ctx, client, jobs.Spec{Source: source, Target: target, Codec: "vq", Device: "cpu"}, opts, sources...)
	if err != nil {
		return err
	}
	wk, err := worker.New(conn, buckets, &worker.Options{Device: "cpu", Grace: time.Second, Memory: 1 << 30, Log: opts.Log})
	if err != nil {
		return err
	}
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, part := range []func(context.Context) error{
		func(ctx context.Context) error {
			return scheduler.New(conn, buckets, &scheduler.Options{Log: opts.Log}).Run(ctx)
		},
		wk.Run, in.Run,
	} {
		running.Go(func() { cancel(part(run)) })
	}
	running.Wait()
	if err := context.Cause(run); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// rig is a source and a target.
type rig struct {
	t              *testing.T
	buckets        *storage.Buckets
	source, target string
	keys           []string // that were put
}

func newRig(t *testing.T, source, target string) *rig {
	t.Helper()
	r := &rig{t: t, buckets: storage.NewBuckets(), source: source, target: target}
	t.Cleanup(func() { r.buckets.Close() })
	return r
}

func (r *rig) open(url string) *storage.Bucket {
	r.t.Helper()
	b, err := r.buckets.Open(context.Background(), url)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// put stores object n and gives its key.
func (r *rig) put(n int) string {
	r.t.Helper()
	s := faults.Image(uint64(n), fmt.Sprintf("d%d/picture %03d+.png", n%3, n), 9, 9)
	if _, err := storage.Put(context.Background(), r.open(r.source), s.Key, s.Data, nil); err != nil {
		r.t.Fatal(err)
	}
	r.keys = append(r.keys, s.Key)
	return s.Key
}

// start runs an intake until stop is called.
func (r *rig) start(opts *Options, sources ...Source) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- here(ctx, r.buckets, r.source, r.target, opts, sources...) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-over; err != nil {
				r.t.Errorf("intake: %v", err)
			}
		})
	}
	r.t.Cleanup(stop)
	return stop
}

// outcomes are the results of all jobs that were worked on: by key, how often each was compressed.
func (r *rig) outcomes() (compressed map[string]int, other map[string]int) {
	r.t.Helper()
	client := &scheduler.Client{Buckets: r.buckets}
	compressed, other = map[string]int{}, map[string]int{}
	seen := map[string]bool{} // records: those in the list of a prune that was killed are also in the jobs'
	all, err := client.List(context.Background(), r.target)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, job := range all {
		err := client.Results(context.Background(), r.target, job.ID, func(res jobs.Result) error {
			line, _ := json.Marshal(res)
			if seen[string(line)] {
				return nil
			}
			if seen[string(line)] = true; res.Outcome == jobs.OutcomeCompressed {
				compressed[res.Key]++
			} else {
				other[res.Key+": "+string(res.Outcome)+" "+res.Error]++
			}
			return nil
		})
		if err != nil && !storage.IsNotExist(err) {
			r.t.Fatal(err)
		}
	}
	return compressed, other
}

// done waits until all keys have a result.
func (r *rig) done() {
	r.t.Helper()
	faults.Until(r.t, 3*time.Minute, fmt.Sprintf("results of %d objects", len(r.keys)), func() bool { return r.results() >= len(r.keys) })
}

// results is the number of objects in the target.
func (r *rig) results() (n int) {
	r.t.Helper()
	time.Sleep(20 * time.Millisecond)
	err := storage.Walk(context.Background(), r.open(r.target), nil, func(p storage.Page) error { n += len(p.Objects); return nil })
	if err != nil && !storage.IsNotExist(err) {
		return -1 // not known
	}
	return n
}

// settled waits until no batch is unfinished.
func (r *rig) settled() {
	r.t.Helper()
	client := &scheduler.Client{Buckets: r.buckets}
	faults.Until(r.t, 3*time.Minute, "the end of all batches", func() bool {
		open, _, err := client.Unfinished(context.Background(), r.target, jobs.IntakeToken)
		if len(open) > 0 {
			time.Sleep(50 * time.Millisecond)
		}
		return err == nil && len(open) == 0
	})
}

// exactlyOnce checks that each key was compressed once and nothing else happened.
func (r *rig) exactlyOnce() {
	r.t.Helper()
	compressed, other := r.outcomes()
	for _, key := range r.keys {
		if compressed[key] != 1 {
			r.t.Errorf("%q was compressed %d times", key, compressed[key])
		}
		delete(compressed, key)
	}
	if len(compressed)+len(other) > 0 {
		r.t.Errorf("beside the objects: %v, %v", compressed, other)
	}
}
