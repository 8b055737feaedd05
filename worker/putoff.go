package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// Bounds of chunks that are put off because the queue does not answer.
const (
	mostPutOffs = 30               // of a chunk in a row, after which its job is blocked; each takes two seconds and the time of a request
	keptPutOffs = 1000             // chunks that are counted
	blockTime   = 10 * time.Second // longest request that blocks a job
)

// putOffs counts how often in a row chunks were put off in this process because the queue did not answer. Its methods are
// safe for concurrent use.
type putOffs struct {
	mu     sync.Mutex
	chunks map[string]int // by [jobs.Task.ID]
}

// add counts one more and returns how many there were.
func (p *putOffs) add(t jobs.Task) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.chunks == nil || len(p.chunks) >= keptPutOffs && p.chunks[t.ID()] == 0 {
		p.chunks = map[string]int{}
	}
	p.chunks[t.ID()]++
	return p.chunks[t.ID()]
}

// done forgets a chunk.
func (p *putOffs) done(t jobs.Task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.chunks, t.ID())
}

// unanswered notes that a chunk is put off as the queue did not answer. Not the chunk has failed: as one that has, it would wait for
// up to a minute. Where the queue answers to others and only what this chunk asks takes too long, again and again, the status of
// its job must say so: the job is blocked until its scheduler has seen that its stores answer, and then goes on.
func (w *Worker) unanswered(ctx context.Context, t jobs.Task, err error) {
	n := w.putOffs.add(t)
	w.metrics.putOff.Inc()
	text := fmt.Sprintf("chunk %s was put off %d times in a row, the queue does not answer: %v", t.ID(), n, err)
	w.trouble.Store(&text)
	w.log.Info("chunk put off, the queue does not answer", "job", t.Job, "chunk", t.Index, "times", n, "error", err)
	if n%mostPutOffs != 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), blockTime)
	defer cancel()
	reason := fmt.Sprintf("chunk %d was put off %d times by worker %s, the last time as the queue did not answer: %v", t.Index, n, w.name, err)
	if berr := w.conn.Job(t.Job).Block(ctx, jobs.Block{Cause: jobs.BlockStore, Reason: reason}); berr != nil {
		w.log.Warn("cannot stop a job whose chunk is put off again and again", "job", t.Job, "chunk", t.Index, "times", n, "error", berr)
	}
}
