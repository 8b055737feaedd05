package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
)

// reconcile enqueues fed chunks again that are neither done nor in the queue:
// all of them where the numbers show that some are missing, else a few, because
// another job's tasks can hide it.
func (w *work) reconcile(ctx context.Context) error {
	if time.Since(w.compared) < reconcileEvery {
		return nil
	}
	w.compared = time.Now()
	fed := w.fed()
	first, n := 0, len(fed)
	if w.depth.Waiting() >= int64(len(fed)) && w.depth.Archived == 0 {
		first, n = w.checkFrom, min(checkedAtOnce, len(fed))
		w.checkFrom += n
	}
	for i := range n {
		chunk := fed[(first+i)%len(fed)]
		if w.isElsewhere(chunk) {
			continue
		}
		err := w.s.conn.Tasks(w.fedTo).Enqueue(ctx, w.task(chunk))
		switch {
		case err == nil:
			if err := w.fedAgain(ctx, chunk); err != nil {
				return err
			}
		case !errors.Is(err, queue.ErrQueued):
			return err
		case w.depth.Archived > 0:
			if err := w.archived(ctx, chunk); err != nil {
				return err
			}
		}
	}
	for chunk, priority := range w.left {
		state, err := w.s.conn.Tasks(priority).State(ctx, w.task(chunk))
		if err != nil {
			return err
		}
		if state == "" {
			delete(w.left, chunk)
		}
	}
	return nil
}

// fedAgain takes a chunk back that was done when it was fed again. A worker commits it before the queue hears of its end, so that
// this look is later than both; the task would wait in the queue of a job that is paused.
func (w *work) fedAgain(ctx context.Context, chunk int) error {
	done, err := w.s.conn.Job(w.f.id).IsDone(ctx, chunk)
	if err != nil {
		return err
	}
	if !done {
		w.log.Debug("chunk was not in the queue, fed again", "chunk", chunk)
		return nil
	}
	_, err = w.s.conn.Tasks(w.fedTo).Withdraw(ctx, []jobs.Task{w.task(chunk)})
	return err
}

// archived blocks the job where the queue has given one of its chunks up: no
// worker could. A chunk that failed for no reason is fed again.
func (w *work) archived(ctx context.Context, chunk int) error {
	t := w.task(chunk)
	state, err := w.s.conn.Tasks(w.fedTo).State(ctx, t)
	if err != nil || state != "archived" {
		return err
	}
	text, err := w.s.conn.Tasks(w.fedTo).LastError(ctx, t)
	if err != nil {
		return err
	}
	if text != "" {
		return &blockedError{jobs.Block{Cause: jobs.BlockChunk, Reason: queue.GivenUp(chunk, text)}}
	}
	err = w.s.conn.Tasks(w.fedTo).Revive(ctx, t)
	if errors.Is(err, queue.ErrQueued) {
		err = nil
	}
	return err
}

func (w *work) isElsewhere(chunk int) bool {
	_, ok := w.left[chunk]
	return ok
}

// withdraw takes the job's waiting tasks out of the queue, once until the next
// feeding.
func (w *work) withdraw(ctx context.Context) error {
	if w.held {
		return nil
	}
	if err := w.takeBack(ctx); err != nil {
		return err
	}
	w.held = true
	return nil
}

// takeBack takes the job's waiting tasks out of the queue, and begins to feed anew.
func (w *work) takeBack(ctx context.Context) error {
	chunks := append(w.fed(), w.beyond()...)
	if w.cursor == 0 {
		// After a restart tasks may wait that another process fed.
		w.cursor = len(w.plan.Chunks)
		chunks = w.fed()
	}
	var tasks []jobs.Task
	for _, chunk := range chunks {
		tasks = append(tasks, w.task(chunk))
	}
	if _, err := w.s.conn.Tasks(w.fedTo).Withdraw(ctx, tasks); err != nil {
		return err
	}
	w.cursor, w.withdrawn, w.counted = 0, chunks, true
	return nil
}

// move puts the waiting tasks into another priority's queue. Chunks that a
// worker has are not fed there until it is through with them.
func (w *work) move(ctx context.Context, priority int) error {
	fed := append(w.fed(), w.beyond()...)
	if err := w.withdraw(ctx); err != nil {
		return err
	}
	for _, chunk := range fed {
		state, err := w.s.conn.Tasks(w.fedTo).State(ctx, w.task(chunk))
		if err != nil {
			return err
		}
		if state != "" {
			w.left[chunk] = w.fedTo
		}
	}
	w.log.Info("priority changed", "from", w.fedTo, "to", priority)
	w.fedTo = priority
	var err error
	w.depth, err = w.s.conn.Tasks(priority).Depth(ctx)
	return err
}
