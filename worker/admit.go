package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

// deniedAgain is how often a job is looked at again that asked for a bucket which
// this worker may not open.
const deniedAgain = time.Minute

// deniedError means that a job asks for what this worker does not do on the word
// of Redis or of a job's folder.
type deniedError struct{ err error }

func (e *deniedError) Error() string { return e.err.Error() }
func (e *deniedError) Unwrap() error { return e.err }

// admit opens the buckets of a job and reads its specification. What Redis says
// of the target, and the specification of the source, is checked before anything
// is requested from either.
func (w *Worker) admit(ctx context.Context, id, url string) (spec jobs.Spec, source, target *storage.Bucket, err error) {
	if !jobs.ValidID(id) {
		return spec, nil, nil, w.tasks.denied.add(id, url, fmt.Errorf("%q is no job's id", id))
	}
	open := func(url string) (*storage.Bucket, error) {
		b, err := w.buckets.Open(ctx, url)
		var not *storage.NotAllowedError
		if errors.As(err, &not) {
			err = w.tasks.denied.add(id, url, err)
		}
		return b, err
	}
	if target, err = open(url); err != nil {
		return spec, nil, nil, err
	}
	got, err := storage.Get(ctx, target, jobs.Folder(id).Spec(), jobs.MaxSpec, nil)
	if storage.IsNotExist(err) {
		err = fmt.Errorf("%w: %w", errNoJob, err)
	}
	if err != nil {
		return spec, nil, nil, err
	}
	if err := json.Unmarshal(got.Data, &spec); err != nil {
		return spec, nil, nil, fmt.Errorf("specification: %w", err)
	}
	if err := spec.CheckAt(id, target.URL); err != nil {
		return spec, nil, nil, w.tasks.denied.add(id, url, err)
	}
	source, err = open(spec.Source)
	return spec, source, target, err
}

// denials keeps the jobs that a worker does not do, so that their tasks cost no
// look at a bucket, and one line of the log.
type denials struct {
	mu   sync.Mutex // guards the values
	jobs *lru.Cache[string, *denial]
}

// keptDenials bounds what is kept against many registrations.
const keptDenials = 1000

func newDenials() *denials {
	kept, err := lru.New[string, *denial](keptDenials)
	if err != nil {
		panic(err) // the bound is not below 1
	}
	return &denials{jobs: kept}
}

// denial is what was last found of a job.
type denial struct {
	url    string // of the target, as it was registered
	err    *deniedError
	until  time.Time // the job is not looked at before
	logged bool
	noted  time.Time // in Redis
}

// last is why a job was denied a moment ago; nil where it was not.
func (d *denials) last(id, url string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last, ok := d.jobs.Get(id); ok && last.url == url && time.Now().Before(last.until) {
		return last.err
	}
	return nil
}

// add remembers why a job is denied, and gives the error that says so.
func (d *denials) add(id, url string, err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := &denial{url: url, err: &deniedError{err}, until: time.Now().Add(deniedAgain)}
	if old, ok := d.jobs.Get(id); ok && old.err.Error() == err.Error() {
		found.logged, found.noted = old.logged, old.noted
	}
	d.jobs.Add(id, found)
	return found.err
}

// news reports whether a denial is to be written to the log and to Redis now.
func (d *denials) news(id string) (log, redis bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	last, ok := d.jobs.Get(id)
	if !ok {
		return false, false
	}
	log, redis = !last.logged, time.Since(last.noted) > deniedAgain/2
	last.logged = true
	if redis {
		last.noted = time.Now()
	}
	return log, redis
}

// deny gives back a task of a job that this worker does not do: at first so that
// the queue offers it again later, as another worker may do it, then for good.
func (w *Worker) deny(ctx context.Context, t jobs.Task, attempt int, why *deniedError) error {
	log, redis := w.tasks.denied.news(t.Job)
	if log {
		w.log.Warn("job is refused, its chunks are dropped", "job", t.Job, "error", why)
	}
	if redis {
		if err := w.conn.Job(t.Job).Deny(ctx, queue.Workers, w.name+": "+why.Error()); err != nil && ctx.Err() == nil {
			w.log.Debug("cannot say that the job is refused", "job", t.Job, "error", err)
		}
	}
	if attempt >= strayAttempts {
		return nil
	}
	return why
}
