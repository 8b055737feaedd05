package worker

import (
	"context"
	"slices"
	"sync"

	"github.com/pelmill/pelmill/jobs"
)

// runs lets a chunk run once at a time in this process, and keeps the records of
// chunks that ended without being committed. The queue delivers a chunk again whose
// lease was lost, perhaps while its first run has not ended; a second run goes on
// from the records of the first, also from those that no partial shard holds, so
// that every object is reported once.
type runs struct {
	mu     sync.Mutex
	chunks map[string]*chunkRun // by [jobs.Task.ID]
	left   []string             // ended and not committed, the oldest first
	kept   int                  // records of these
}

// chunkRun is one chunk that runs, or whose records are kept.
type chunkRun struct {
	turn    chan struct{} // holds a value while the chunk runs
	users   int           // that run or wait
	records map[string]*jobs.Result
}

// keptRecords bounds the records of chunks that are not committed, each about a
// kilobyte. Those of the oldest chunk go first: what they say is then reported
// again if the chunk comes back to this process.
const keptRecords = 20_000

func newRuns() *runs { return &runs{chunks: map[string]*chunkRun{}} }

// enter waits for the end of an earlier run of the chunk and gives the records that
// it left, by key. The caller calls leave at the end of its run.
func (r *runs) enter(ctx context.Context, id string) (map[string]*jobs.Result, error) {
	r.mu.Lock()
	c := r.chunks[id]
	if c == nil {
		c = &chunkRun{turn: make(chan struct{}, 1)}
		r.chunks[id] = c
	}
	c.users++
	r.mu.Unlock()
	err := take(ctx, c.turn)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.gone(id, c)
		return nil, err
	}
	if i := slices.Index(r.left, id); i >= 0 {
		r.left = slices.Delete(r.left, i, i+1)
		r.kept -= len(c.records)
	}
	return c.records, nil
}

// leave ends a run. records are those of all objects so far, nil where they are
// committed or not wanted any more.
func (r *runs) leave(id string, records map[string]*jobs.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.chunks[id]
	c.records = records
	if len(records) > 0 {
		r.left = append(r.left, id)
		r.kept += len(records)
	}
	<-c.turn
	r.gone(id, c)
	for r.kept > keptRecords {
		oldest := r.chunks[r.left[0]]
		r.kept -= len(oldest.records)
		oldest.records = nil
		id := r.left[0]
		r.left = r.left[1:]
		if oldest.users == 0 {
			delete(r.chunks, id)
		}
	}
}

// gone counts a user less and forgets a chunk of which nothing is kept.
func (r *runs) gone(id string, c *chunkRun) {
	if c.users--; c.users == 0 && len(c.records) == 0 {
		delete(r.chunks, id)
	}
}
