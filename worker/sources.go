package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

// SourceGuard keeps sources from being replaced: those of the work that it was
// made for, and those of other work that still has to read them. It is asked
// before anything that exists is replaced; creating an object harms no source.
type SourceGuard struct {
	buckets        *storage.Buckets // nil: other work is not looked for
	source, target *storage.Bucket
	job            string      // that writes, as it is announced
	registered     *otherSpecs // jobs of the queue; nil: there is none

	// unfinished gives the jobs of the target that have not ended; nil: they are not looked for.
	unfinished func(context.Context) ([]running, error)
}

// NewSourceGuard guards writes to target by work that reads source. job is the
// name under which that work is announced, see [queue.Announce].
func NewSourceGuard(buckets *storage.Buckets, source, target *storage.Bucket, job string) *SourceGuard {
	return &SourceGuard{buckets: buckets, source: source, target: target, job: job}
}

// guardSources makes the guard of a job.
func (w *Worker) guardSources(job string, source, target *storage.Bucket) *SourceGuard {
	g := NewSourceGuard(w.buckets, source, target, job)
	g.registered = w.others
	g.unfinished = func(ctx context.Context) ([]running, error) { return w.unfinished(ctx, target) }
	return g
}

// unfinished gives the jobs of a target that have not ended, also those that no
// queue knows, of other machines or interrupted.
func (w *Worker) unfinished(ctx context.Context, target *storage.Bucket) ([]running, error) {
	ids, err := w.owners.list(ctx, target)
	if err != nil {
		return nil, err
	}
	var all []running
	for _, id := range ids {
		st, err := w.states.of(ctx, target, id)
		if err != nil {
			return nil, err
		}
		if st.unfinished && st.spec.ID == id {
			all = append(all, running{What: "job", Job: id, Source: st.spec.Source, Target: st.spec.Target})
		}
	}
	return all, nil
}

// InSource reports whether what the target has under key lies in the source.
// Only an object that is proven to be a result of the same source object may be
// replaced there, whatever the user wants to overwrite. The error says that
// nothing may be replaced, because other work that runs reads the object.
func (g *SourceGuard) InSource(ctx context.Context, key string) (bool, error) {
	_, in, err := storage.InSource(ctx, g.source, g.target, key)
	if err != nil {
		return true, err
	}
	if g.buckets == nil {
		return in, nil
	}
	running := queue.RunningHere()
	if g.registered != nil {
		more, err := g.registered.jobs(ctx)
		if err != nil {
			return true, err
		}
		running = append(running, more...)
	}
	if g.unfinished != nil {
		more, err := g.unfinished(ctx)
		if err != nil {
			return true, err
		}
		running = append(running, more...)
	}
	for _, r := range running {
		if r.Job == g.job {
			continue
		}
		reads, proof, err := g.readBy(r, key)
		switch {
		case err != nil:
			return true, err
		case reads && !proof:
			return true, faultf(jobs.OutcomeFailed, class.Exists, "%q is a source of %s from %s, which has not ended: "+
				"nothing replaces it; wait for that, end it (pelmill cancel), or choose another target", key, nameOf(r), r.Source)
		}
		in = in || reads
	}
	return in, nil
}

// readBy reports whether the object under key lies in what other work reads.
// proof: it lies in the target of that work as well, which is this one; then it
// is no source if it is a result.
func (g *SourceGuard) readBy(r running, key string) (reads, proof bool, err error) {
	// What others read is not opened: its URL may come from whoever can write to the queue.
	if reads, err = storage.MayHold(r.Source, g.target, key); err != nil || !reads {
		return false, false, err
	}
	return true, r.Target == g.target.URL, nil
}

// nameOf is how people find what runs.
func nameOf(r running) string {
	switch {
	case r.PID == 0:
		return "job " + r.Job
	case jobs.ValidID(r.Job):
		return fmt.Sprintf("job %s of process %d", r.Job, r.PID)
	}
	return fmt.Sprintf("pelmill %s, process %d,", r.What, r.PID)
}

// refused is the fault where there is an object of the source that is no result of ours.
func (g *SourceGuard) refused(key string) *fault {
	return faultf(jobs.OutcomeFailed, class.Exists, "%q lies in the source and is not known as a result of this object: "+
		"it is not replaced, with --overwrite neither; choose another target", key)
}

// spareSources is mayReplace, but for an object of the source it does not matter
// whether the user wants to overwrite, and what other work reads stays.
func (c *chunk) spareSources(ctx context.Context, e *jobs.Entry, key string, there *storage.ExistsError) error {
	inSource, err := c.sources.InSource(ctx, key)
	switch {
	case err != nil:
		return err
	case !inSource:
		return c.mayReplace(ctx, e, key, there)
	}
	err = c.overwriting(false).mayReplace(ctx, e, key, there)
	var f *fault
	if errors.As(err, &f) && c.overwriting(true).mayReplace(ctx, e, key, there) == nil {
		return c.sources.refused(key)
	}
	return err
}

// overwriting is c as it decides about what exists where the user wants to overwrite,
// or does not.
func (c *chunk) overwriting(wanted bool) *chunk {
	k := *c.jobContext
	k.spec.Overwrite = wanted
	return &chunk{jobContext: &k, w: c.w, task: c.task}
}

// otherSpecs knows the jobs that are registered at the queue and have not ended.
type otherSpecs struct {
	conn    *queue.Conn
	buckets *storage.Buckets

	mu    sync.Mutex
	at    time.Time
	all   []running
	found map[string]running // by job
}

// running is work that reads a source.
type running = queue.Running

// registryTime is how long a look at the registered jobs serves.
const registryTime = 2 * time.Second

// jobs gives them. A job that is registered without a specification is none.
func (o *otherSpecs) jobs(ctx context.Context) ([]running, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.at) < registryTime {
		return o.all, nil
	}
	registered, err := o.conn.Jobs(ctx)
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	found := make(map[string]running, len(registered))
	var all []running
	for id, url := range registered {
		r, ok := o.found[id]
		if !ok {
			if r, ok, err = o.read(ctx, id, url); err != nil {
				return nil, err
			}
		}
		if ok {
			found[id] = r
			all = append(all, r)
		}
	}
	o.found, o.all, o.at = found, all, time.Now()
	return all, nil
}

func (o *otherSpecs) read(ctx context.Context, id, url string) (r running, ok bool, err error) {
	target, err := o.buckets.Open(ctx, url)
	if err != nil {
		return r, false, nil // no job that a worker like this one could do
	}
	got, err := storage.Get(ctx, target, jobs.Folder(id).Spec(), jobs.MaxSpec, nil)
	if err != nil {
		if storage.Temporary(err) {
			return r, false, fmt.Errorf("worker: job %s: %w", id, err)
		}
		return r, false, nil
	}
	var spec jobs.Spec
	if err := json.Unmarshal(got.Data, &spec); err != nil {
		return r, false, nil
	}
	return running{What: "job", Job: id, Source: spec.Source, Target: spec.Target}, true, nil
}
