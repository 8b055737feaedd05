package scheduler

import (
	"context"
	"sync"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// pastJobs remembers what planning reads of jobs that are done, which never changes: their specifications, which files
// their records are in, and which keys these hold. So the plan of a batch asks the store only for what is new since the
// last one. It is safe for concurrent use; nil remembers nothing.
type pastJobs struct {
	mu      sync.Mutex
	jobs    map[string]*pastJob // by target and id
	indexes map[string]*recordIndex
	size    int // about the bytes of both
}

// pastJob is a job that is done.
type pastJob struct {
	spec   *jobs.Spec
	report *jobs.Report // of which only what recordsWithin looks at is kept
}

// mostPast bounds the memory of pastJobs in bytes. Beyond it everything is forgotten and read again.
const mostPast = 32 << 20

// pastJobSize is about the bytes that a job takes besides its texts.
const pastJobSize = 2048

func newPastJobs() *pastJobs {
	return &pastJobs{jobs: map[string]*pastJob{}, indexes: map[string]*recordIndex{}}
}

// grow makes room for so many bytes. The lock is held.
func (p *pastJobs) grow(n int) {
	if p.size += n; p.size > mostPast {
		clear(p.jobs)
		clear(p.indexes)
		p.size = n
	}
}

// job gives what is remembered of a job, which may be nothing.
func (p *pastJobs) job(b *storage.Bucket, id string) pastJob {
	if p == nil {
		return pastJob{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if j := p.jobs[b.URL+"\n"+id]; j != nil {
		return *j
	}
	return pastJob{}
}

// keep remembers more of a job.
func (p *pastJobs) keep(b *storage.Bucket, id string, set func(*pastJob)) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := b.URL + "\n" + id
	if p.jobs[key] == nil {
		p.grow(pastJobSize)
		p.jobs[key] = &pastJob{}
	}
	set(p.jobs[key])
}

// forget drops what is remembered of a job, which has been pruned.
func (p *pastJobs) forget(b *storage.Bucket, id string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.jobs, b.URL+"\n"+id)
}

// spec reads the specification of a job, nil where it has none. That of a job whose report is remembered does not
// change any more.
func (p *pastJobs) spec(ctx context.Context, b *storage.Bucket, id string) (*jobs.Spec, error) {
	if j := p.job(b, id); j.spec != nil {
		return j.spec, nil
	}
	s, ok, err := readSpec(ctx, b, id)
	if err != nil || !ok {
		return nil, err
	}
	s.ID = id // whatever it says
	if p.job(b, id).report != nil {
		p.keep(b, id, func(j *pastJob) { j.spec = &s })
	}
	return &s, nil
}

// report reads the report of a job; ok is false where it has none. Only that of a job that is done is remembered, as
// others may go on.
func (p *pastJobs) report(ctx context.Context, b *storage.Bucket, id string) (r jobs.Report, ok bool, err error) {
	if j := p.job(b, id); j.report != nil {
		return *j.report, true, nil
	}
	r, ok, err = getJSON[jobs.Report](ctx, b, jobs.Folder(id).Report())
	if err == nil && ok && r.State == jobs.StateDone {
		p.keep(b, id, func(j *pastJob) {
			j.report = &jobs.Report{Job: r.Job, State: r.State, Attempted: r.Attempted, Results: r.Results}
			for _, key := range r.Results {
				p.grow(len(key))
			}
		})
	}
	return r, ok, err
}

// lines gives the lines of a file of merged records whose keys are in the ranges.
func (p *pastJobs) lines(ctx context.Context, b *storage.Bucket, key string, want *keyRanges, fn func(line []byte) error) error {
	if want == nil {
		return rawLines(ctx, b, key, fn)
	}
	at := b.URL + "\n" + key
	var x *recordIndex
	if p != nil {
		p.mu.Lock()
		x = p.indexes[at]
		p.mu.Unlock()
	}
	if x == nil {
		var err error
		if x, err = readIndex(ctx, b, key); err != nil {
			return err
		}
		if p != nil {
			p.mu.Lock()
			p.grow(x.bytes())
			p.indexes[at] = x
			p.mu.Unlock()
		}
	}
	return linesWithin(ctx, b, key, x, want, fn)
}
