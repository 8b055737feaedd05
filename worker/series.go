package worker

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/storage"
)

// partsAtOnce is how many parts of a series are looked up at once.
const partsAtOnce = 16

// refuseSeries is the fault of a series: no codec and reader of this build makes a
// volume of several objects. The record says of each part what the source has now,
// so that a part that has changed since it was listed makes another fingerprint.
func (c *chunk) refuseSeries(ctx context.Context, e *jobs.Entry, r *jobs.Result) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.w.opts.ObjectTimeout,
		faultf(jobs.OutcomeFailed, class.Storage, "the parts of the series were not looked up within %s", c.w.opts.ObjectTimeout))
	defer cancel()
	now := make([]jobs.Part, len(e.Parts))
	lookUps, ctx := errgroup.WithContext(ctx)
	lookUps.SetLimit(partsAtOnce)
	for i, p := range e.Parts {
		lookUps.Go(func() error {
			if p.Missing {
				return faultf(jobs.OutcomeFailed, class.Missing, "the manifest names the part %q of %q and the source does not have it", p.Key, e.Key)
			}
			o, _, err := storage.Stat(ctx, c.source, p.Key)
			if err != nil {
				return c.missing(ctx, &jobs.Entry{Key: p.Key}, err)
			}
			if other := p.Pin.Mismatch(o.Size, o.ETag); other != "" {
				return faultf(jobs.OutcomeFailed, class.Changed, "the part %q of %q: %s", p.Key, e.Key, other)
			}
			now[i] = jobs.Part{Key: p.Key, Size: o.Size, ETag: o.ETag, ModTime: o.ModTime, Pin: p.Pin}
			return nil
		})
	}
	if err := lookUps.Wait(); err != nil {
		return err
	}
	if !slices.Equal(now, e.Parts) {
		e.Parts = now
		e.Sum()
		r.Parts, r.Size = e.Parts, e.Size
	}
	return faultf(jobs.OutcomeUnsupported, class.Format, "a series needs a codec and reader that takes volumes")
}
