package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
)

func (w *work) task(chunk int) jobs.Task {
	return jobs.Task{Job: w.f.id, Index: chunk}
}

// fed gives the chunks that were fed and are not done.
func (w *work) fed() []int {
	var out []int
	for i := range w.cursor {
		if !queue.Bit(w.done, i) {
			out = append(out, i)
		}
	}
	return out
}

// feed fills the window.
func (w *work) feed(ctx context.Context) error {
	now := w.now()
	if !now.OpenAt(w.s.opts.Now()) {
		if err := w.withdraw(ctx); err != nil {
			return err
		}
		return w.set(ctx, jobs.StateRunning, "outside the hours "+*now.Hours)
	}
	if p := w.priority(); p != w.fedTo {
		if err := w.move(ctx, p); err != nil {
			return err
		}
	}
	if w.state.State != jobs.StateRunning || w.state.Started.IsZero() {
		next := w.state
		next.State, next.Reason = jobs.StateRunning, ""
		if next.Started.IsZero() {
			next.Started = time.Now().UTC()
		}
		if err := w.write(ctx, next); err != nil {
			return err
		}
		if err := w.s.conn.Job(w.f.id).SetSignal(ctx, jobs.StateRunning); err != nil {
			return err
		}
	}
	w.held, w.short = false, false
	if err := w.limit(ctx); err != nil {
		return err
	}
	if err := w.memory(ctx); err != nil {
		return err
	}
	why := w.full
	if why == "" {
		err := w.fill(ctx)
		if err == nil {
			err = w.reconcile(ctx)
		}
		if errors.Is(err, queue.ErrFull) {
			why, err = "Redis is full", nil
		}
		if err != nil {
			return err
		}
	}
	return w.set(ctx, jobs.StateRunning, why)
}

// fill enqueues chunks from the cursor on.
func (w *work) fill(ctx context.Context) error {
	room := w.s.window() - w.depth.Waiting()
	places, err := w.places(ctx)
	if err != nil {
		return err
	}
	queued, err := w.queued(ctx)
	if err != nil {
		return err
	}
	now, used := w.now(), w.used()
	for _, chunk := range queued {
		used.Objects += int64(w.plan.Chunks[chunk].Objects)
		used.Bytes += w.plan.Chunks[chunk].Bytes
	}
	for ; room > 0 && places > 0 && w.cursor < len(w.plan.Chunks); w.cursor++ {
		if queue.Bit(w.done, w.cursor) || w.isElsewhere(w.cursor) {
			continue
		}
		chunk := w.plan.Chunks[w.cursor]
		more := jobs.Work{Objects: int64(chunk.Objects), Bytes: chunk.Bytes}
		known := slices.Contains(w.withdrawn, w.cursor)
		if !known && !now.Fits(used, more) {
			w.short, w.shortAt = true, w.control.At
			break
		}
		err := w.s.conn.Tasks(w.fedTo).Enqueue(ctx, w.task(w.cursor))
		switch {
		case err == nil:
			room--
		case !errors.Is(err, queue.ErrQueued):
			return err
		}
		if !known {
			places--
			used.Objects += more.Objects
			used.Bytes += more.Bytes
		}
	}
	return nil
}

// memory sets why Redis has no room for more.
func (w *work) memory(ctx context.Context) error {
	if time.Since(w.measured) < memoryEvery {
		return nil
	}
	used, limit, err := w.s.conn.Memory(ctx)
	if err != nil {
		return err
	}
	w.measured, w.full = time.Now(), fullness(used, limit)
	return nil
}

// fullness says why Redis is too full to feed, or is empty.
func fullness(used, limit int64) string {
	if limit <= 0 || float64(used) <= fullAt*float64(limit) {
		return ""
	}
	return fmt.Sprintf("Redis uses %d %% of its memory, feeding waits until it is %d %%", 100*used/limit, int(100*fullAt))
}
