package intake

import (
	"context"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler/intake/instances"
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
		n, unsettled := 0, 0
		err := in.insist(ctx, "list the source", func() error {
			n, unsettled = 0, 0
			began = time.Now()
			return in.arrivals.List(ctx, func(e jobs.Entry) error {
				if e.Bad != "" {
					return nil // no object that can be asked for
				}
				if l.unsettled(&e, began) {
					unsettled++
					return nil
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
		next := in.opts.Every
		if unsettled > 0 {
			next = min(next, in.opts.Settle)
		}
		select {
		case <-ctx.Done():
		case <-in.relist: // messages were lost; what came meanwhile came to the queue again or is listed now
		case <-time.After(next):
		}
	}
	return nil
}

// unsettled reports whether a file was changed so lately that somebody may still write it. Objects of buckets appear as a
// whole, and so do received instances. A time in the future says nothing.
func (l *listing) unsettled(e *jobs.Entry, began time.Time) bool {
	settle := l.in.opts.Settle
	if settle == 0 || l.in.arrivals.Source().Dir() == "" || e.ModTime.After(began.Add(settle)) {
		return false
	}
	if _, received := instances.Series(e.Key); received {
		return false
	}
	return began.Sub(e.ModTime) < settle
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
