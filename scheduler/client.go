package scheduler

import (
	"context"
	"errors"
	"fmt"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

// Client is what commands use. Its methods need the job's target only; with a
// connection they also register the job, so that a scheduler elsewhere finds it,
// and report what the queue knows. It is safe for concurrent use.
type Client struct {
	Buckets *storage.Buckets
	Conn    *queue.Conn   // nil: without a queue
	Codecs  []codec.Codec // nil: all of this build
	Working string        // id of the job that this process does itself; empty: none
	Memory  int64         // bytes that the process may take where it plans, in Submit, DryRun and Prune; 0: 1 GiB

	before func(key string) error // of the folders that Prune writes, in tests
}

// ErrNoJob: the target has no job of that id.
var ErrNoJob = errors.New("no such job")

// StateError means that a job cannot do what is wanted in the state that it is in.
type StateError struct {
	Job   string
	State jobs.State
}

func (e *StateError) Error() string {
	if e.State == jobs.StateCancelling {
		return fmt.Sprintf("scheduler: job %s is being cancelled", e.Job)
	}
	return fmt.Sprintf("scheduler: job %s is %s", e.Job, e.State)
}

// TokenError means that the token of a submission stands for another job.
type TokenError struct {
	Job     string
	Differs string // what the two do not have in common
}

func (e *TokenError) Error() string {
	return fmt.Sprintf("scheduler: the token was used for job %s, which has another %s: take another token", e.Job, e.Differs)
}

// job opens the target of a job and reads its specification.
func (c *Client) job(ctx context.Context, target, id string) (*storage.Bucket, jobs.Spec, error) {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return nil, jobs.Spec{}, err
	}
	if !jobs.ValidID(id) {
		return nil, jobs.Spec{}, fmt.Errorf("scheduler: %q in %s: %w", id, b.URL, ErrNoJob)
	}
	spec, ok, err := readSpec(ctx, b, id)
	switch {
	case err == nil && !ok:
		err = fmt.Errorf("scheduler: %s in %s: %w", id, b.URL, ErrNoJob)
	case err == nil && spec.ID != id:
		err = fmt.Errorf("scheduler: %s: the specification of job %s is that of %q: somebody has changed or copied it", b.URL, id, spec.ID)
	}
	return b, spec, err
}

// Spec reads the specification of a job.
func (c *Client) Spec(ctx context.Context, target, id string) (jobs.Spec, error) {
	_, spec, err := c.job(ctx, target, id)
	return spec, err
}

// Plan reads the plan of a job; one that is not planned yet is an error for
// which storage.IsNotExist holds.
func (c *Client) Plan(ctx context.Context, target, id string) (jobs.Plan, error) {
	return read[jobs.Plan](ctx, c, target, id, jobs.Folder(id).Plan())
}

// Report reads the report of a job; one that has not ended is an error for which
// storage.IsNotExist holds.
func (c *Client) Report(ctx context.Context, target, id string) (jobs.Report, error) {
	return read[jobs.Report](ctx, c, target, id, jobs.Folder(id).Report())
}

func read[T any](ctx context.Context, c *Client, target, id, key string) (v T, err error) {
	b, _, err := c.job(ctx, target, id)
	if err != nil {
		return v, err
	}
	v, ok, err := getJSON[T](ctx, b, key)
	if err == nil && !ok {
		_, _, err = storage.Stat(ctx, b, key)
	}
	return v, err
}
