package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/storage"
)

// maxFile is the default limit of imageio, in bytes.
const maxFile = 1 << 30

// changes is how often a source may have changed before it is given up, and
// changeWait how long the first wait between is; it doubles.
const (
	changes    = 4
	changeWait = 50 * time.Millisecond
)

// fetch reads the source and takes the memory for it. Where the source is no longer
// what the entry says, it reads what is there now and changes the entry. The SHA-256 is
// left to [object.sumSource].
func (c *chunk) fetch(ctx context.Context, o *object, whole bool) error {
	e := &o.entry
	if e.Missing {
		return faultf(jobs.OutcomeFailed, class.Missing, "the manifest names %q and the source does not have it", e.Key)
	}
	limit := int64(maxFile)
	if n := c.spec.Limits.Bytes; n > 0 {
		limit = min(limit, n)
	}
	if err := c.throttle(ctx, fetchRequests, max(e.Size, 0), 0); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.w.opts.ObjectTimeout,
		faultf(jobs.OutcomeFailed, class.Storage, "the source was not read within %s", c.w.opts.ObjectTimeout))
	defer cancel()
	wait := changeWait
	for try := range changes {
		if try > 0 {
			select {
			case <-time.After(wait):
				wait *= 2
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if try > 0 || e.Size < 0 {
			now, _, err := storage.Stat(ctx, c.source, e.Key)
			if err != nil {
				return c.missing(ctx, e, err)
			}
			e.Size, e.ETag, e.ModTime = now.Size, now.ETag, now.ModTime
		}
		if other := e.Pin.Mismatch(e.Size, e.ETag); other != "" {
			return faultf(jobs.OutcomeFailed, class.Changed, "%s", other)
		}
		if e.Size > limit {
			return faultf(jobs.OutcomeRejected, class.Limit, "the file has %d bytes and the limit is %d", e.Size, limit)
		}
		err := c.w.get(ctx, o, whole, e.Size, func(ctx context.Context) (storage.GetResult, error) {
			want := &storage.Object{Key: e.Key, Size: e.Size, ETag: e.ETag, ModTime: e.ModTime}
			return storage.GetInto(ctx, c.source, e.Key, limit, want, func(n int64) []byte { return c.allocData(o, n) })
		})
		var f *fault
		switch {
		case err == nil && int64(len(o.data)) == e.Size:
			o.record.ETag, o.record.Size, o.record.ModTime = e.ETag, e.Size, e.ModTime
			return nil
		case err == nil:
			o.release() // an empty object that has grown
		case errors.As(err, &f):
			return err
		case !errors.Is(err, storage.ErrChanged):
			return c.missing(ctx, e, err)
		}
	}
	return faultf(jobs.OutcomeFailed, class.Changed, "%q changed %d times while it was read", e.Key, changes)
}

// missing classifies an error of the reading of a source.
func (c *chunk) missing(ctx context.Context, e *jobs.Entry, err error) error {
	if storage.IsNotExist(err) && strings.ContainsRune(e.Key, utf8.RuneError) {
		return faultf(jobs.OutcomeUnsupported, class.Key, "the store lists the name %q with a substitute for characters that it does not spell, so it cannot be asked for; copy the object under another name", e.Key)
	}
	if storage.IsNotExist(err) {
		return &fault{outcome: jobs.OutcomeFailed, class: class.Missing, err: fmt.Errorf("the source is gone: %w", err)}
	}
	return storageFault(ctx, err)
}
