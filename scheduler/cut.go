package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

const (
	fewestObjects = 16       // of a chunk, unless objects are slow
	chunksPerSlot = 4        // so that the last chunks keep everybody busy
	chunkSeconds  = 60       // of one core that a chunk should take, where known
	partChunks    = 1000     // of a part of chunks
	partBytes     = 16 << 20 // of a part of chunks, compressed; bounds memory

	// chunkText bounds the lines of a chunk, in bytes before JSON escapes some of
	// them, six bytes for one at most: only series come near. jobs.MaxFrameText
	// is what a worker reads.
	chunkText = 8 << 20
)

// chunkObjects is the most objects of a chunk: what the specification says,
// fewer where the job is small for so many slots or where objects are slow.
func chunkObjects(spec *jobs.Spec, todo int64, slots int, estimate *jobs.Estimate) int {
	n := int64(spec.ChunkObjects)
	if slots > 0 {
		n = min(n, max(fewestObjects, (todo+int64(slots*chunksPerSlot)-1)/int64(slots*chunksPerSlot)))
	}
	if estimate != nil && estimate.CoreSeconds > 0 && todo > 0 {
		n = min(n, max(1, int64(chunkSeconds*float64(todo)/estimate.CoreSeconds)))
	}
	return int(n)
}

// cutter cuts entries into chunks and writes them in parts, a frame a chunk.
type cutter struct {
	objects int   // of a chunk, at most
	bytes   int64 // of a chunk, at most, unless one object has more
	put     func(part int, data []byte) error

	chunks []jobs.Chunk
	lines  storage.Lines
	frame  []jobs.Entry
	weight int64 // bytes of the frame's objects
	text   int   // about the bytes of its lines
	part   int
	inPart int
}

func (c *cutter) add(e jobs.Entry) error {
	size, text := max(e.Size, 0), e.Text()
	if len(c.frame) > 0 && (len(c.frame) == c.objects || c.weight+size > c.bytes || c.text+text > chunkText) {
		if err := c.end(); err != nil {
			return err
		}
	}
	c.frame = append(c.frame, e)
	c.weight += size
	c.text += text
	return nil
}

// end closes the chunk.
func (c *cutter) end() error {
	if len(c.frame) == 0 {
		return nil
	}
	at, length, err := storage.Frame(&c.lines, c.frame)
	if err != nil {
		return err
	}
	if len(c.chunks) == jobs.MaxChunks {
		return fmt.Errorf("scheduler: the plan would have more than %d chunks; allow more objects or bytes a chunk", jobs.MaxChunks)
	}
	c.chunks = append(c.chunks, jobs.Chunk{Part: c.part, Offset: at, Length: length, Objects: len(c.frame), Bytes: c.weight})
	c.frame, c.weight, c.text = c.frame[:0], 0, 0
	if c.inPart++; c.inPart < partChunks && c.lines.Len() < partBytes {
		return nil
	}
	return c.endPart()
}

func (c *cutter) endPart() error {
	if c.inPart == 0 {
		return nil
	}
	if err := c.put(c.part, c.lines.Bytes()); err != nil {
		return err
	}
	c.part, c.inPart = c.part+1, 0
	c.lines.Reset()
	return nil
}

// planning makes a plan of a manifest. Without a folder it writes nothing.
type planning struct {
	folder   *folder
	spec     *jobs.Spec
	resolved codecs.Resolved
	source   *storage.Bucket
	target   *storage.Bucket
	at       listing
	all      entries
	slots    int // chunks that can run at once, as far as known
	memory   memory
}

// plan goes through the manifest two to four times: to train a codebook where
// the options ask for one, to find what is done, to take a sample, and to cut.
func (p *planning) plan(ctx context.Context) (jobs.Plan, error) {
	specs, err := earlier(ctx, p.target, p.spec)
	if err != nil {
		return jobs.Plan{}, err
	}
	if err := p.train(ctx, specs); err != nil {
		return jobs.Plan{}, err
	}
	found, err := find(ctx, p.spec, p.resolved.Info().Extension, p.target, p.all, specs, p.at.InPlace, p.memory)
	if err != nil {
		return jobs.Plan{}, err
	}
	defer found.close()
	plan := jobs.Plan{
		Job: p.spec.ID, Objects: p.at.Objects, Bytes: p.at.Bytes, Filtered: p.at.Filtered,
		Skipped: found.doneObjects, SkippedBytes: found.doneBytes, Collisions: found.collisions,
		Chunks: []jobs.Chunk{},
	}
	if p.spec.Sample > 0 && plan.Objects > plan.Skipped {
		if plan.Estimate, err = p.estimate(ctx, found, plan.Objects-plan.Skipped, plan.Bytes-plan.SkippedBytes); err != nil {
			return jobs.Plan{}, err
		}
	}
	if p.folder != nil {
		// Parts of a plan that was not finished; the look at plan.json keeps a
		// scheduler that lost its lead from removing those of a finished one.
		if done, err := exists(ctx, p.target, jobs.PlanKey(p.spec.ID)); err != nil || done {
			return jobs.Plan{}, errors.Join(err, errPlanned)
		}
		if err := p.folder.remove(ctx, jobs.Dir(p.spec.ID)+"chunks/", ""); err != nil {
			return jobs.Plan{}, err
		}
	}
	c := &cutter{objects: chunkObjects(p.spec, plan.Objects-plan.Skipped, p.slots, plan.Estimate), bytes: p.spec.ChunkBytes}
	c.put = func(part int, data []byte) error {
		if p.folder == nil {
			return nil
		}
		return p.folder.put(ctx, jobs.ChunksKey(p.spec.ID, part), data, false)
	}
	line := int64(-1)
	err = p.rest(ctx, plan, func(e jobs.Entry) error {
		if line++; found.done.has(line) {
			return nil
		}
		if err := found.target(&e, line, p.resolved.Info().Extension, p.target); err != nil {
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
	plan.At = time.Now().UTC()
	if p.folder == nil {
		return plan, nil
	}
	err = p.folder.putJSON(ctx, jobs.PlanKey(p.spec.ID), plan, false)
	var other *storage.ExistsError
	if errors.As(err, &other) {
		err = errPlanned
	}
	return plan, err
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
