package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// planning makes a plan of a manifest. Without a folder it writes nothing.
type planning struct {
	folder   *folder
	spec     *jobs.Spec
	resolved codecs.Resolved
	source   *storage.Bucket
	target   *storage.Bucket
	at       listing
	all      entries
	slots    int    // chunks that can run at once, as far as known
	endpoint string // of S3, where the URL of a bucket does not say
	workers  int    // that are connected
	cores    int    // of their machines
	memory   memory
	past     *pastJobs // may be nil
}

// plan goes through the manifest two to four times: to train a codebook where
// the options want one, to find what is done, to take a sample, and to form chunks.
func (p *planning) plan(ctx context.Context) (jobs.Plan, error) {
	specs, err := earlier(ctx, p.target, p.spec, p.past)
	if err != nil {
		return jobs.Plan{}, err
	}
	if err := p.train(ctx, specs); err != nil {
		return jobs.Plan{}, err
	}
	var putKnown func(part int, data []byte) error
	if p.folder != nil {
		if err := p.unplanned(ctx); err != nil {
			return jobs.Plan{}, err
		}
		if err := p.folder.remove(ctx, jobs.Folder(p.spec.ID).Dir()+"known-", ""); err != nil {
			return jobs.Plan{}, err
		}
		putKnown = func(n int, data []byte) error { return p.folder.put(ctx, jobs.Folder(p.spec.ID).Known(n), data, false) }
	}
	h := history{specs: specs, past: p.past}
	if p.spec.Manifest != "" {
		if h.want, err = rangesOf(ctx, p.all, p.at.Objects, p.resolved.Extensions()); err != nil {
			return jobs.Plan{}, err
		}
	}
	found, err := findStatus(ctx, p.spec, p.resolved.Extensions(), p.target, p.all, h, p.at.InPlace, p.memory, putKnown)
	if err != nil {
		return jobs.Plan{}, err
	}
	defer found.close()
	plan := jobs.Plan{
		Job: p.spec.ID, Objects: p.at.Objects, Bytes: p.at.Bytes, Filtered: p.at.Filtered,
		Links: p.at.Links, Skipped: found.doneObjects, SkippedBytes: found.doneBytes, Collisions: found.collisions,
		KnownParts: found.knownLines.parts, Chunks: []jobs.Chunk{},
	}
	if len(found.known) > 0 {
		plan.Known = found.known
	}
	if p.spec.Sample > 0 && plan.Objects > plan.Skipped {
		if plan.Estimate, err = p.estimate(ctx, found, plan.Objects-plan.Skipped, plan.Bytes-plan.SkippedBytes); err != nil {
			return jobs.Plan{}, err
		}
	}
	if p.folder != nil {
		if err := p.unplanned(ctx); err != nil {
			return jobs.Plan{}, err
		}
		if err := p.folder.remove(ctx, jobs.Folder(p.spec.ID).Dir()+"chunks/", ""); err != nil {
			return jobs.Plan{}, err
		}
	}
	todo := jobs.Work{Objects: plan.Objects - plan.Skipped, Bytes: plan.Bytes - plan.SkippedBytes}
	c := &chunkWriter{objects: chunkObjects(p.spec, todo, p.slots, plan.Estimate), bytes: p.spec.ChunkBytes, todo: todo}
	if most := p.spec.Settings.MaxObjects; most != nil {
		c.every = *most
	}
	if most := p.spec.Settings.MaxBytes; most != nil && *most > 0 {
		c.bytes = min(c.bytes, *most)
	}
	c.put = func(part int, data []byte) error {
		if p.folder == nil {
			return nil
		}
		return p.folder.put(ctx, jobs.Folder(p.spec.ID).Chunks(part), data, false)
	}
	line := int64(-1)
	err = p.rest(ctx, plan, func(e jobs.Entry) error {
		if line++; found.done.has(line) {
			return nil
		}
		if err := found.target(&e, line, p.resolved.Extensions(), p.target); err != nil {
			return err
		}
		return c.add(e)
	})
	if err == nil {
		err = c.end()
	}
	if err == nil {
		err = c.endPart()
	}
	if err != nil {
		return jobs.Plan{}, err
	}
	if line+1 != plan.Objects && plan.Objects > plan.Skipped {
		return jobs.Plan{}, fmt.Errorf("scheduler: the manifest of job %s has %d entries, want %d", p.spec.ID, line+1, plan.Objects)
	}
	plan.Collisions, plan.Unfit = found.collisions, found.unfit
	plan.Chunks = append(plan.Chunks, c.chunks...)
	expect := plan.Expected()
	expect.Time(plan.Estimate, p.workers, p.cores, pool.Cores())
	plan.Expect = &expect
	plan.At = time.Now().UTC()
	if p.folder == nil {
		return plan, nil
	}
	err = p.folder.putJSON(ctx, jobs.Folder(p.spec.ID).Plan(), plan, false)
	var other *storage.ExistsError
	if errors.As(err, &other) {
		err = errPlanned
	}
	return plan, err
}

// unplanned is an error where the job has a plan. It comes before the parts of a plan
// that was not finished are removed, and keeps a scheduler that lost its lead from
// removing those of a finished one.
func (p *planning) unplanned(ctx context.Context) error {
	done, err := exists(ctx, p.target, jobs.Folder(p.spec.ID).Plan())
	if err == nil && done {
		err = errPlanned
	}
	return err
}

// rest gives all entries, unless none of them is to do.
func (p *planning) rest(ctx context.Context, plan jobs.Plan, fn func(jobs.Entry) error) error {
	if plan.Objects == plan.Skipped {
		return nil
	}
	return p.all(ctx, fn)
}

// errPlanned ends a plan whose job has one already.
var errPlanned = errors.New("scheduler: another scheduler has planned the job")
