package scheduler

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// deletion is a list of deleted results in a target.
type deletion struct {
	key string
	at  time.Time
}

// deletions gives the lists of deleted results of a target, newest first.
func deletions(ctx context.Context, b *storage.Bucket) ([]deletion, error) {
	return deletionLists(ctx, b, jobs.DeletedDir)
}

// deletionLists gives the lists in a folder of a target, newest first.
func deletionLists(ctx context.Context, b *storage.Bucket, dir string) (all []deletion, err error) {
	err = walk(ctx, b, dir, "", func(o storage.Object) error {
		all = append(all, deletion{key: o.Key})
		return nil
	})
	for i := range all {
		if err == nil {
			err = all[i].read(ctx, b, nil)
		}
	}
	slices.SortStableFunc(all, func(a, b deletion) int { return b.at.Compare(a.at) })
	return all, err
}

// read reads a list and calls fn, unless it is nil, with each result of it.
func (d *deletion) read(ctx context.Context, b *storage.Bucket, fn func(jobs.Deleted) error) error {
	first := true
	err := rawLines(ctx, b, d.key, func(line []byte) error {
		if first {
			first = false
			var head jobs.Deletion
			err := json.Unmarshal(line, &head)
			if d.at = head.At; fn == nil {
				err = cmp.Or(err, errEnough)
			}
			return err
		}
		var r jobs.Deleted
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		return fn(r)
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// writeDeletion writes a list before its results are deleted, so that no record tells of a
// result that is gone.
func (f folder) writeDeletion(ctx context.Context, at time.Time, results []jobs.Deleted) error {
	return f.writeDeletionList(ctx, jobs.DeletedList(deletionName(at)), at, results)
}

// deletionName is a name for a list, in the order of time.
func deletionName(at time.Time) string {
	return at.Format("20060102-150405") + "-" + strings.ToLower(rand.Text()[:8])
}

// writeDeletionList writes what results, which it changes, are in files: those of medical images are sealed.
func (f folder) writeDeletionList(ctx context.Context, key string, at time.Time, results []jobs.Deleted) error {
	var lines storage.Lines
	if _, _, err := storage.Frame(&lines, []jobs.Deletion{{At: at, Results: len(results)}}); err != nil {
		return err
	}
	names := sitekey.NewWriter(f.b)
	for i := range results {
		if results[i].KeyHash == "" {
			continue
		}
		key, err := names.Key(ctx)
		if err == nil {
			err = key.SealDeleted(&results[i])
		}
		if err != nil {
			return err
		}
	}
	if _, _, err := storage.Frame(&lines, results); err != nil {
		return err
	}
	return f.put(ctx, key, lines.Bytes(), false)
}

// expire removes the lists that no record is left for: all jobs that stay ended after them.
func (r *pruning) expire(ctx context.Context) error {
	f := folder{b: r.b, before: r.before}
	for _, d := range r.deleted {
		if slices.ContainsFunc(r.all, func(j pruneJob) bool { return !j.ends && !j.finished.IsZero() && j.finished.Before(d.at) }) {
			continue
		}
		if err := f.delete(ctx, d.key); err != nil {
			return fmt.Errorf("scheduler: prune: %w", err)
		}
	}
	return nil
}
