package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

// deniedAgain is how long a job is left alone that wants a bucket which this
// scheduler may not open. Then somebody may have put its folder right.
const deniedAgain = time.Minute

// deniedError means that a job wants what this scheduler does not do only because
// Redis or a job's folder says so.
type deniedError struct{ err error }

func (e *deniedError) Error() string { return e.err.Error() }
func (e *deniedError) Unwrap() error { return e.err }

// denial is what was last found of a job.
type denial struct {
	target string
	reason string
	until  time.Time // it is not looked at before
}

// open opens a bucket that Redis or a job's folder names.
func (s *Scheduler) open(ctx context.Context, url string) (*storage.Bucket, error) {
	b, err := s.buckets.Open(ctx, url)
	var not *storage.NotAllowedError
	if errors.As(err, &not) {
		err = &deniedError{err}
	}
	return b, err
}

// admit reads the specification of a job and checks it before anything else of it
// is looked at. ok is false where there is none.
func (d *drive) admit(ctx context.Context) (spec jobs.Spec, ok bool, err error) {
	if spec, ok, err = readSpec(ctx, d.f.b, d.f.id); err != nil || !ok {
		return spec, ok, err
	}
	if err := spec.CheckAt(d.f.id, d.f.b.URL); err != nil {
		return spec, true, &deniedError{err}
	}
	if _, err := d.s.open(ctx, spec.Source); err != nil {
		return spec, true, err
	}
	return spec, true, d.s.conn.Job(d.f.id).Admit(ctx, queue.Schedulers)
}

// readSpec reads a stored specification, which may be one that somebody has
// changed.
func readSpec(ctx context.Context, b *storage.Bucket, id string) (jobs.Spec, bool, error) {
	return getJSONWithin[jobs.Spec](ctx, b, jobs.Folder(id).Spec(), jobs.MaxSpec)
}

// denied reports whether a job was denied a moment ago.
func (s *Scheduler) denied(id, target string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.denials[id]
	return ok && d.target == target && time.Now().Before(d.until)
}

// deny leaves a job alone for a while, and says why: once in the log, and in the
// job's status.
func (s *Scheduler) deny(ctx context.Context, log *slog.Logger, id, target string, why *deniedError) {
	reason := why.Error()
	s.mu.Lock()
	said := s.denials[id].reason == reason
	s.denials[id] = denial{target, reason, time.Now().Add(deniedAgain)}
	s.mu.Unlock()
	if !said {
		log.Warn("job is refused", "error", why)
	}
	if err := s.conn.Job(id).Deny(ctx, queue.Schedulers, reason); err != nil && ctx.Err() == nil {
		log.Debug("cannot say that the job is refused", "error", err)
	}
}

// forgetDenials drops what is known of jobs that are no longer registered.
func (s *Scheduler) forgetDenials(registered map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.denials {
		if _, ok := registered[id]; !ok {
			delete(s.denials, id)
		}
	}
}

// storedOptions reports an error where options from a job's folder name a file or
// URL: only a command line may.
func storedOptions(list []codec.Codec, spec *jobs.Spec) error {
	r, err := resolveStored(list, spec)
	if err != nil {
		return err
	}
	if r.Want().Path != "" {
		return errors.New("scheduler: the stored options of job " + spec.ID + " name a file or URL, which only a command line may")
	}
	return nil
}
