package scheduler

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/scheduler/report"
	"github.com/pelmill/pelmill/storage"
)

const (
	headerBytes   = 1024    // of a shard hold its first frame
	largestHeader = 1 << 20 // bytes of a shard in which its first line must end
)

// ending says how a job ends. plan is nil where it has none.
type ending struct {
	state  jobs.State // done, cancelled or failed
	reason string
	limit  bool
	plan   *jobs.Plan
}

// headers makes the bitmap and the counters from the first lines of all shards.
func headers(ctx context.Context, f folder, chunks int) (done []byte, counts jobs.Counts, err error) {
	var found []storage.Object
	err = walk(ctx, f.b, jobs.Folder(f.id).Results(), "", func(o storage.Object) error {
		if n, ok := jobs.ParseResultKey(o.Key); ok && n < chunks {
			found = append(found, o)
		}
		return nil
	})
	if err != nil {
		return nil, counts, err
	}
	done = queue.NewBitmap(chunks)
	err = inOrder(ctx, len(found), func(ctx context.Context, i int) (jobs.Shard, error) {
		return header(ctx, f.b, found[i])
	}, func(i int, h jobs.Shard) error {
		n, _ := jobs.ParseResultKey(found[i].Key)
		queue.SetBit(done, n)
		counts.Plus(h.Counts)
		return nil
	})
	return done, counts, err
}

// header reads the first line of a shard.
func header(ctx context.Context, b *storage.Bucket, o storage.Object) (h jobs.Shard, err error) {
	for length := int64(headerBytes); ; length *= 64 {
		data, err := storage.GetRange(ctx, b, o.Key, 0, min(length, o.Size))
		if err != nil {
			return h, err
		}
		line, err := firstLine(data)
		if err == nil {
			err = json.Unmarshal(line, &h)
		}
		if err == nil {
			err = h.Check()
		}
		if err == nil && jobs.Folder(h.Job).Result(h.Chunk) != o.Key {
			err = fmt.Errorf("it is of chunk %d of job %q", h.Chunk, h.Job)
		}
		if err == nil || length >= min(o.Size, largestHeader) {
			if err != nil {
				err = fmt.Errorf("scheduler: header of %s: %w", o.Key, err)
			}
			return h, err
		}
	}
}

// firstLine inflates as far as the first line end; what follows may be cut off.
func firstLine(data []byte) (line []byte, err error) {
	err = storage.EachLine(bytes.NewReader(data), func(first []byte) error {
		line = bytes.Clone(first)
		return errEnough
	})
	if errors.Is(err, errEnough) {
		return line, nil
	}
	return nil, cmp.Or(err, io.ErrUnexpectedEOF)
}

// finish merges the shards, writes the report and takes the job out of Redis.
// A killed process leaves files that the next one writes again; report.json is
// the last, and a job that has it has ended.
func (d *drive) finish(ctx context.Context, end ending) error {
	if end.state == jobs.StateDone {
		if err := d.set(ctx, jobs.StateFinishing, ""); err != nil {
			return err
		}
	}
	release, err := d.s.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	found, err := shards(ctx, d.f.b, d.f.id)
	if err != nil {
		return err
	}
	page := report.New()
	report := jobs.Report{
		Job: d.f.id, State: end.state, Reason: end.reason, Strict: d.spec.Strict, Source: d.spec.Source, Target: d.spec.Target,
		Codec: d.spec.Codec, Version: d.spec.Version, Options: d.spec.Options, Started: d.state.Started,
	}
	if end.plan != nil {
		report.Chunks = len(end.plan.Chunks)
		for len(found) > 0 && found[len(found)-1] >= report.Chunks {
			found = found[:len(found)-1]
		}
		if end.state == jobs.StateDone && len(found) < report.Chunks {
			w := &work{drive: d, plan: end.plan}
			if _, _, err := w.rebuild(ctx); err != nil {
				return err
			}
			return errAgain
		}
	}
	sum, err := d.merge(ctx, found, &report, page)
	if err != nil {
		return err
	}
	report.Attempted, report.Counts = len(found), sum.counts
	if end.plan != nil {
		report.Counts.Objects += end.plan.Skipped
		report.Counts.Skipped += end.plan.Skipped
	}
	report.Classes, report.Dropped, report.Stages, report.Left, report.Second = sum.classes, sum.dropped, sum.stages, sum.left, sum.second
	if end.plan != nil {
		report.Known, report.Links = end.plan.Known, end.plan.Links
		for outcome, n := range end.plan.Known {
			report.Left[outcome] += n
		}
	}
	report.Devices = slices.Sorted(maps.Keys(sum.devices))
	if sum.lossy > 0 {
		report.PSNR, report.SSIM = raster.Identical, sum.ssim/float64(sum.lossy)
	}
	if sum.differ > 0 {
		report.PSNR = sum.psnr / float64(sum.differ)
	}
	report.Finished = time.Now().UTC()
	if !report.Started.IsZero() {
		report.Seconds = report.Finished.Sub(report.Started).Seconds()
	}
	if end.state == jobs.StateDone {
		if err := d.f.remove(ctx, jobs.Folder(d.f.id).Dir()+"partial/", ""); err != nil {
			return err
		}
	}
	if end.state == jobs.StateDone && end.plan != nil && len(end.plan.Chunks) == 0 {
		// An idle run leaves no copy of what it listed.
		for _, dir := range []string{"manifest/", jobs.Given} {
			if err := d.f.remove(ctx, jobs.Folder(d.f.id).Dir()+dir, ""); err != nil {
				return err
			}
		}
	}
	next := d.state
	next.State, next.Reason, next.Limit, next.Finished = end.state, end.reason, end.limit, report.Finished
	if end.state == jobs.StateFailed {
		// The record says which control this answers, so it comes before the
		// report: a control that is newer starts the job again.
		if err := d.write(ctx, next); err != nil {
			return err
		}
	}
	if err := d.notifyEnd(ctx, &report, end.limit); err != nil {
		return err
	}
	// A process that has seen the report may end, which ends ctx, also before the report is read back. It tells of the end of its job
	// all the same.
	if err := d.putReport(ctx, report, page); err != nil {
		if ctx.Err() != nil && d.reported(ctx) {
			d.notices.release()
		}
		return err
	}
	d.notices.release()
	if end.state != jobs.StateFailed {
		if err := d.write(ctx, next); err != nil {
			return err
		}
	}
	d.log.Info("report is written", "counts", report.Counts, "seconds", report.Seconds)
	return d.leave(ctx, report)
}

// reported looks whether the job has a report, also when ctx has ended.
func (d *drive) reported(ctx context.Context) bool {
	looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	there, err := exists(looking, d.f.b, jobs.Folder(d.f.id).Report())
	return err == nil && there
}
