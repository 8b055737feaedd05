package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/jobs"
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

// fetch reads the source that e names. Where the source is no longer what e says,
// it reads what is there now and changes e. The caller releases the share of the
// budget, or the whole of it where whole says so, when it no longer needs the bytes.
func (c *chunk) fetch(ctx context.Context, e *jobs.Entry, whole bool) (data []byte, held *share, err error) {
	if e.Missing {
		return nil, nil, faultf(jobs.OutcomeFailed, jobs.ClassMissing, "the manifest names %q and the source does not have it", e.Key)
	}
	limit := int64(maxFile)
	if n := c.spec.Limits.Bytes; n > 0 {
		limit = min(limit, n)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.w.opts.ObjectTimeout,
		faultf(jobs.OutcomeFailed, jobs.ClassStorage, "the source was not read within %s", c.w.opts.ObjectTimeout))
	defer cancel()
	wait := changeWait
	for try := range changes {
		if try > 0 {
			select {
			case <-time.After(wait):
				wait *= 2
			case <-ctx.Done():
				return nil, nil, context.Cause(ctx)
			}
		}
		if try > 0 || e.Size < 0 {
			now, _, err := storage.Stat(ctx, c.source, e.Key)
			if err != nil {
				return nil, nil, c.missing(ctx, e, err)
			}
			e.Size, e.ETag, e.ModTime = now.Size, now.ETag, now.ModTime
		}
		if e.Size > limit {
			return nil, nil, faultf(jobs.OutcomeRejected, jobs.ClassLimit, "the file has %d bytes and the limit is %d", e.Size, limit)
		}
		data, held, err = c.get(ctx, e, limit, whole)
		var f *fault
		switch {
		case err == nil && int64(len(data)) == e.Size:
			return data, held, nil
		case err == nil:
			held.release() // an empty object that has grown
		case errors.As(err, &f):
			return nil, nil, err
		case !errors.Is(err, storage.ErrChanged):
			return nil, nil, c.missing(ctx, e, err)
		}
	}
	return nil, nil, faultf(jobs.OutcomeFailed, jobs.ClassChanged, "%q changed %d times while it was read", e.Key, changes)
}

func (c *chunk) get(ctx context.Context, e *jobs.Entry, limit int64, whole bool) ([]byte, *share, error) {
	held, err := c.w.budget.take(ctx, e.Size, whole)
	if err != nil {
		return nil, nil, err
	}
	if err := take(ctx, c.w.fetches); err != nil {
		held.release()
		return nil, nil, err
	}
	got, err := storage.Get(ctx, c.source, e.Key, limit, &storage.Object{Key: e.Key, Size: e.Size, ETag: e.ETag, ModTime: e.ModTime})
	<-c.w.fetches
	if err != nil {
		held.release()
		return nil, nil, err
	}
	return got.Data, held, nil
}

func (c *chunk) missing(ctx context.Context, e *jobs.Entry, err error) error {
	if storage.IsNotExist(err) && strings.ContainsRune(e.Key, utf8.RuneError) {
		return faultf(jobs.OutcomeUnsupported, jobs.ClassKey, "the store lists the name %q with a substitute for characters that it does not spell, so it cannot be asked for; copy the object under another name", e.Key)
	}
	if storage.IsNotExist(err) {
		return &fault{outcome: jobs.OutcomeFailed, class: jobs.ClassMissing, err: fmt.Errorf("the source is gone: %w", err)}
	}
	return storageFault(ctx, err)
}

func (c *chunk) limits() *imageio.Limits {
	l := c.spec.Limits
	return &imageio.Limits{Bytes: l.Bytes, Side: l.Side, Samples: l.Samples, Frames: l.Frames, Ratio: l.Ratio}
}

// accepts refuses by the header what the codec does not take in any case, before
// memory is taken. An alpha channel may turn out to be opaque.
func (c *chunk) accepts(h *imageio.Header) error {
	err := c.info.Check(h.Shape)
	if opaque := h.Shape; err != nil && h.Alpha() {
		opaque.Channels--
		if c.info.Check(opaque) == nil {
			return nil
		}
	}
	if err != nil {
		return codecFault(err)
	}
	return nil
}
