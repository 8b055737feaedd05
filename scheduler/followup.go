package scheduler

import (
	"context"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// mostFollowUp is the most bytes of what says that a job was followed up: a time.
const mostFollowUp = 64

// FollowUps gives the jobs of a target that are to be followed up (see [jobs.Spec]), have ended, and were not since,
// oldest first. One that failed and was resumed comes again.
func (c *Client) FollowUps(ctx context.Context, target string) (due []jobs.Spec, err error) {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return nil, err
	}
	ids, err := jobIDs(ctx, b)
	if err != nil {
		return nil, err
	}
	err = inOrder(ctx, len(ids), func(ctx context.Context, i int) (s jobs.Spec, err error) {
		spec, ok, err := readSpec(ctx, b, ids[i])
		if err != nil || !ok || !spec.FollowUp || spec.CheckAt(ids[i], b.URL) != nil {
			return s, err
		}
		report, ended, err := getJSON[jobs.Report](ctx, b, jobs.Folder(ids[i]).Report())
		if err != nil || !ended {
			return s, err
		}
		if done, err := followedUp(ctx, b, ids[i], report.Finished); err != nil || done {
			return s, err
		}
		return spec, nil
	}, func(_ int, s jobs.Spec) error {
		if s.ID != "" {
			due = append(due, s)
		}
		return nil
	})
	return due, err
}

// FollowedUp notes that a job whose report has this end was followed up, so that it may be pruned.
func (c *Client) FollowedUp(ctx context.Context, target, id string, finished time.Time) error {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return err
	}
	_, err = storage.Put(ctx, b, jobs.Folder(id).FollowedUp(), []byte(finished.UTC().Format(time.RFC3339Nano)), &storage.PutOptions{Overwrite: true})
	return err
}

// followedUp reports whether a job that ended at a time was followed up since.
func followedUp(ctx context.Context, b *storage.Bucket, id string, finished time.Time) (bool, error) {
	got, err := storage.Get(ctx, b, jobs.Folder(id).FollowedUp(), mostFollowUp, nil)
	if storage.IsNotExist(err) {
		return false, nil
	}
	return err == nil && string(got.Data) == finished.UTC().Format(time.RFC3339Nano), err
}
