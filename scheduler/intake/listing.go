package intake

import (
	"context"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// listing finds what no event told of: at the start and then at regular times.
type listing struct{ in *Intake }

// Run waits until the batches of an earlier process are known.
func (l *listing) Run(ctx context.Context, to *Spool) error {
	in := l.in
	select {
	case <-in.begun:
	case <-ctx.Done():
		return nil
	}
	for ctx.Err() == nil {
		began := time.Now()
		n := 0
		err := in.insist(ctx, "list the source", func() error {
			n = 0
			began = time.Now()
			return in.arrivals.List(ctx, func(e jobs.Entry) error {
				if e.Bad != "" || e.ETag == "" {
					return nil // no object that can be asked for
				}
				n++
				_, err := to.Add(ctx, Arrival{Key: e.Key, Entry: e, Listed: began, At: l.arrived(&e)}, true)
				return err
			})
		})
		if err == nil {
			in.metrics.listed(time.Since(began), n)
			in.log.Info("source is listed", "new", n, "seconds", time.Since(began).Seconds())
		}
		select {
		case <-ctx.Done():
		case <-in.relist: // messages were lost; what came meanwhile came to the queue again or is listed now
		case <-time.After(in.opts.Every):
		}
	}
	return nil
}

// arrived is when an object that a listing found came, by its own time where that is recent, so that a quiet period
// counts from it.
func (l *listing) arrived(e *jobs.Entry) time.Time {
	now := time.Now()
	if e.ModTime.After(now) || e.ModTime.IsZero() {
		return now
	}
	return e.ModTime
}
