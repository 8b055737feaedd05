package scheduler

import (
	"context"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
)

// track reads what is done, and makes it again from storage where Redis has
// lost it.
func (w *work) track(ctx context.Context) error {
	// The depth first: a chunk that is committed in between is then in the
	// queue's number and not among those that should be there.
	var err error
	if w.depth, err = w.s.conn.Tasks(w.fedTo).Depth(ctx); err != nil {
		return err
	}
	p, ok, err := w.s.conn.Job(w.f.id).Progress(ctx)
	if err != nil {
		return err
	}
	if ok && len(p.Done) != len(queue.NewBitmap(len(w.plan.Chunks))) {
		ok = false
	}
	if !ok {
		p = queue.Progress{}
		if p.Done, p.Counts, err = w.rebuild(ctx); err != nil {
			return err
		}
	}
	w.done, w.counts = p.Done, p.Counts
	return w.keepPace(ctx, p)
}

// keepPace looks how far the job is and tells everybody.
func (w *work) keepPace(ctx context.Context, p queue.Progress) error {
	if w.pace.At.IsZero() {
		var err error
		if w.pace, err = w.s.conn.Job(w.f.id).Pace(ctx); err != nil { // of the leader before
			return err
		}
	}
	counts := p.Counts
	counts.Plus(p.AtWork)
	running := w.control.Want == jobs.WantRun && w.depth.Active > 0 && w.now().OpenAt(w.s.opts.Now())
	changed := running != w.pace.Running
	w.pace.Saved(counts)
	w.pace.Look(time.Now(), running, counts.Attempted(), w.total)
	w.s.show(w.f.id, func(v *view) {
		v.counts, v.pace = counts, w.pace.Clone()
		if d := w.now().MaxDuration; d != nil && *d > 0 {
			v.timed, v.left = true, max(0, *d-time.Duration(w.used().Seconds*float64(time.Second)))
		} else {
			v.timed = false
		}
	})
	if !changed && time.Since(w.paced) < min(paceEvery, 2*w.s.opts.Tick) {
		return nil
	}
	w.paced = time.Now()
	return w.s.conn.Job(w.f.id).SetPace(ctx, w.pace)
}

// rebuild makes the job's keys in Redis from its result shards.
func (w *work) rebuild(ctx context.Context) ([]byte, jobs.Counts, error) {
	done, counts, err := headers(ctx, w.f, len(w.plan.Chunks))
	if err != nil {
		return nil, counts, err
	}
	if err := w.s.conn.Job(w.f.id).Register(ctx, w.f.b.URL); err != nil {
		return nil, counts, err
	}
	if err := w.s.conn.Job(w.f.id).Init(ctx, len(w.plan.Chunks), done, counts); err != nil {
		return nil, counts, err
	}
	if !w.state.Started.IsZero() {
		w.log.Info("progress was made again from storage", "chunks", countDone(done), "of", len(w.plan.Chunks))
	}
	w.cursor, w.held, w.counted, w.rated = 0, false, false, time.Time{}
	return done, counts, nil
}
