package worker

import (
	"context"
	"sync"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// Time between two reports of how far chunks are. What people see of a job is at
// most that old.
const (
	reportEvery = time.Second
	reportLocal = 200 * time.Millisecond // with an embedded queue
	reportCall  = 2 * time.Second        // longest round trip
)

// atWork are the chunks that this process has at work.
type atWork struct {
	mu     sync.Mutex
	chunks map[*chunk]bool
}

// enter adds a chunk until what it returns is called.
func (a *atWork) enter(c *chunk) (leave func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.chunks == nil {
		a.chunks = map[*chunk]bool{}
	}
	a.chunks[c] = true
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.chunks, c)
	}
}

// counts gives how far the chunks are, by job and index.
func (a *atWork) counts() map[string]map[int]jobs.Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[string]map[int]jobs.Counts{}
	for c := range a.chunks {
		if all[c.task.Job] == nil {
			all[c.task.Job] = map[int]jobs.Counts{}
		}
		c.mu.Lock()
		all[c.task.Job][c.task.Index] = c.counts
		c.mu.Unlock()
	}
	return all
}

// reportProgress says how far chunks are, one request a job, until ctx ends. Where Redis
// does not answer nothing is lost: the next report has it all.
func (w *Worker) reportProgress(ctx context.Context) {
	every := reportEvery
	if w.conn.Embedded() {
		every = reportLocal
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for job, chunks := range w.atWork.counts() {
			call, cancel := context.WithTimeout(ctx, reportCall)
			if err := w.conn.Job(job).Report(call, chunks); err != nil && ctx.Err() == nil {
				w.metrics.redis.Inc()
				w.log.Debug("cannot report progress", "job", job, "error", err)
			}
			cancel()
		}
	}
}
