package worker

import (
	"context"
	"errors"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/storage"
)

// copyOther copies the source of an object without a result to the target, under its
// own key, so that the target can stand for the source. What cannot be copied because
// no object can have its key, or because it is a series, stays left out.
func (c *chunk) copyOther(ctx context.Context, o *object) error {
	e, r := &o.entry, &o.record
	if len(e.Parts) > 0 || e.Missing || jobs.CheckKey(e.Key) != nil || c.source.CheckKey(e.Key) != nil || c.target.CheckKey(e.Key) != nil {
		return nil
	}
	return o.in(stageStore, func() error {
		if int64(len(o.data)) == e.Size && r.SHA256 != "" {
			if err := c.throttle(ctx, storeRequests, 0, int64(len(o.data))); err != nil {
				return err
			}
			o.held.keepSource()
			put, err := c.put(ctx, o, e.Key, o.data, c.putOptions(o, ""))
			if err == nil {
				stored(r, e.Key, put)
			}
			return err
		}
		return c.copyLarge(ctx, o)
	})
}

// copyLarge copies a source that was not read into memory.
func (c *chunk) copyLarge(ctx context.Context, o *object) error {
	e, r := &o.entry, &o.record
	if err := c.throttle(ctx, fetchRequests+storeRequests, max(e.Size, 0), max(e.Size, 0)); err != nil {
		return err
	}
	o.delivery.expects(e.Size) // a manifest may not have said it
	waited := o.delivery.waits()
	err := take(ctx, c.w.stores)
	if waited(); err != nil {
		return err
	}
	defer c.w.storing()()
	opts := c.putOptions(o, "")
	if c.intends() {
		opts.BeforeStore = func(sum string, size int64) error { return c.intend(ctx, o, e.Key, size, sum) }
	}
	want := &storage.Object{Key: e.Key, Size: e.Size, ETag: e.ETag, ModTime: e.ModTime}
	for range replaceTries {
		put, err := storage.Copy(ctx, c.source, e.Key, c.target, e.Key, want, opts)
		var there *storage.ExistsError
		switch {
		case err == nil && put.Existed && c.anothers(e, put.Metadata):
			there = &storage.ExistsError{URL: c.target.URL, Key: e.Key, Metadata: put.Metadata,
				Object: storage.Object{Key: e.Key, Size: put.Size, ETag: put.ETag}}
		case err == nil:
			stored(r, e.Key, put)
			r.SHA256 = r.TargetSHA256
			return nil
		case storage.IsNotExist(err), errors.Is(err, storage.ErrChanged):
			return c.missing(ctx, e, err)
		case !errors.As(err, &there):
			return c.writeFault(ctx, err, int(min(e.Size, 1<<30)))
		}
		err = c.spareSources(ctx, e, e.Key, there)
		var f *fault
		switch {
		case err == nil:
			opts.IfMatch = there.Object.ETag
		case errors.Is(err, storage.ErrChanged):
			opts.IfMatch = ""
		case errors.As(err, &f):
			return f
		default:
			return storageFault(ctx, err)
		}
	}
	return faultf(jobs.OutcomeFailed, class.Exists, "%q changed %d times while it was to be replaced: end what else writes to %s, and retry",
		e.Key, replaceTries, c.target.URL)
}
