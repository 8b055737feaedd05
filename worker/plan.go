package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// plans keeps where the chunks of jobs lie, as their plans say. A plan does not
// change once it is written.
type plans struct{ read *cache[jobs.Chunks] }

// keptChunks bounds the chunks of all plans that are kept, 40 bytes each. A plan
// that is larger is kept alone.
const keptChunks = jobs.MaxChunks

func newPlans() plans {
	return plans{newCache[jobs.Chunks](keptJobs).weighing(keptChunks, func(c jobs.Chunks) int { return len(c) })}
}

// errNoChunk means that the plan of a job has no chunk of that number.
var errNoChunk = errors.New("there is no such chunk")

// chunk finds the place of a task's entries among all of its job.
func (p plans) chunk(ctx context.Context, target *storage.Bucket, t jobs.Task) (at jobs.Chunk, all jobs.Chunks, err error) {
	if all, err = p.of(ctx, target, t.Job); err != nil {
		return at, nil, fmt.Errorf("worker: plan of job %s: %w", t.Job, err)
	}
	if t.Index < 0 || t.Index >= len(all) {
		return at, nil, fmt.Errorf("worker: chunk %s: %w: the plan has %d", t.ID(), errNoChunk, len(all))
	}
	if err := all[t.Index].Check(); err != nil {
		return at, nil, fmt.Errorf("worker: chunk %s: %w", t.ID(), err)
	}
	return all[t.Index], all, nil
}

// of gives the chunks of a job.
func (p plans) of(ctx context.Context, target *storage.Bucket, id string) (jobs.Chunks, error) {
	return p.read.get(ctx, jobKey(target, id), func(ctx context.Context) (jobs.Chunks, error) { return readPlan(ctx, target, id) })
}

// readPlan reads the chunks of a job's plan; they are never nil.
func readPlan(ctx context.Context, target *storage.Bucket, id string) (jobs.Chunks, error) {
	got, err := storage.Get(ctx, target, jobs.Folder(id).Plan(), jobs.MaxPlan, nil)
	if storage.IsNotExist(err) {
		return nil, fmt.Errorf("%w that is planned: %w", errNoJob, err)
	}
	if err != nil {
		return nil, err
	}
	var plan struct {
		Job    string      `json:"job"`
		Chunks jobs.Chunks `json:"chunks"`
	}
	if err := json.Unmarshal(got.Data, &plan); err != nil {
		return nil, err
	}
	if plan.Job != id {
		return nil, fmt.Errorf("it is the plan of job %q", plan.Job)
	}
	if plan.Chunks == nil {
		return jobs.Chunks{}, nil
	}
	return plan.Chunks, nil
}

// readEntries reads the entries of a chunk, which must be as many as the plan says.
func readEntries(ctx context.Context, target *storage.Bucket, id string, at jobs.Chunk) ([]jobs.Entry, error) {
	frame, err := storage.GetRange(ctx, target, jobs.Folder(id).Chunks(at.Part), at.Offset, at.Length)
	if err != nil {
		return nil, err
	}
	entries := make([]jobs.Entry, 0, at.Objects)
	err = storage.DecodeLinesWithin(frame, jobs.MaxFrameText, func(e jobs.Entry) error {
		if len(entries) == at.Objects {
			return fmt.Errorf("more entries than the %d of the plan", at.Objects)
		}
		entries = append(entries, e)
		return nil
	})
	if err == nil && len(entries) != at.Objects {
		err = fmt.Errorf("%d entries, the plan has %d", len(entries), at.Objects)
	}
	return entries, err
}
