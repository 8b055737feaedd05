package scheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

const (
	headerBytes   = 1024     // of a shard, which hold its first frame
	streamedAbove = 32 << 20 // bytes of failed.jsonl that are not written from memory
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
	err = walk(ctx, f.b, jobs.ResultsDir(f.id), "", func(o storage.Object) error {
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
		if err == nil || length >= o.Size {
			if err != nil {
				err = fmt.Errorf("scheduler: header of %s: %w", o.Key, err)
			}
			return h, err
		}
	}
}

// firstLine inflates as far as the first line end; what follows may be cut off.
func firstLine(data []byte) ([]byte, error) {
	z, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	var line []byte
	buf := make([]byte, 4096)
	for {
		n, err := z.Read(buf)
		line = append(line, buf[:n]...)
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			return line[:end], nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// tally is what the report needs of some records.
type tally struct {
	counts  jobs.Counts
	classes map[string]int64
	stages  map[string]float64
	devices map[string]bool
	psnr    float64 // sum over differ
	ssim    float64 // sum over lossy
	lossy   int64
	differ  int64  // of lossy, those whose picture is not identical: raster.Identical has no place in a mean
	lines   []byte // all records
	failed  []byte // those that failed or were rejected
	uneven  bool   // the shard's header has other counts than its records
}

func newTally() *tally {
	return &tally{classes: map[string]int64{}, stages: map[string]float64{}, devices: map[string]bool{}}
}

func (t *tally) add(line []byte) error {
	var r jobs.Result
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	t.counts.Add(&r)
	if r.Class != "" {
		t.classes[r.Class]++
	}
	for stage, seconds := range r.Seconds {
		t.stages[stage] += seconds
	}
	if r.Device != "" {
		t.devices[r.Device] = true
	}
	if r.PSNR > 0 {
		t.lossy++
		t.ssim += r.SSIM
		if r.PSNR < raster.Identical {
			t.differ++
			t.psnr += r.PSNR
		}
	}
	t.lines = append(append(t.lines, line...), '\n')
	if r.Outcome == jobs.FailedOut || r.Outcome == jobs.Rejected {
		t.failed = append(append(t.failed, line...), '\n')
	}
	return nil
}

// plus adds everything but the lines.
func (t *tally) plus(o *tally) {
	t.counts.Plus(o.counts)
	for k, v := range o.classes {
		t.classes[k] += v
	}
	for k, v := range o.stages {
		t.stages[k] += v
	}
	for k := range o.devices {
		t.devices[k] = true
	}
	t.psnr, t.ssim, t.lossy, t.differ = t.psnr+o.psnr, t.ssim+o.ssim, t.lossy+o.lossy, t.differ+o.differ
}

// finish merges the shards, writes the report and takes the job out of Redis.
// A killed process leaves files that the next one writes again; report.json is
// the last, and a job that has it has ended.
func (d *drive) finish(ctx context.Context, end ending) error {
	if end.state == jobs.Done {
		if err := d.set(ctx, jobs.Finishing, ""); err != nil {
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
	report := jobs.Report{
		Job: d.f.id, State: end.state, Reason: end.reason, Source: d.spec.Source, Target: d.spec.Target,
		Codec: d.spec.Codec, Version: d.spec.Version, Options: d.spec.Options, Started: d.state.Started,
	}
	if end.plan != nil {
		report.Chunks = len(end.plan.Chunks)
		for len(found) > 0 && found[len(found)-1] >= report.Chunks {
			found = found[:len(found)-1]
		}
		if end.state == jobs.Done && len(found) < report.Chunks {
			w := &work{drive: d, plan: end.plan}
			if _, _, err := w.rebuild(ctx); err != nil {
				return err
			}
			return errAgain
		}
	}
	sum, err := d.merge(ctx, found, &report)
	if err != nil {
		return err
	}
	report.Attempted, report.Counts = len(found), sum.counts
	if end.plan != nil {
		report.Counts.Objects += end.plan.Skipped
		report.Counts.Skipped += end.plan.Skipped
	}
	report.Classes, report.Stages = sum.classes, sum.stages
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
	if end.state == jobs.Done {
		if err := d.f.remove(ctx, jobs.Dir(d.f.id)+"partial/", ""); err != nil {
			return err
		}
	}
	next := d.state
	next.State, next.Reason, next.Limit, next.Finished = end.state, end.reason, end.limit, report.Finished
	if end.state == jobs.Failed {
		// The record says which control this answers, so it comes before the
		// report: a control that is newer starts the job again.
		if err := d.write(ctx, next); err != nil {
			return err
		}
	}
	if err := d.f.putJSON(ctx, jobs.ReportKey(d.f.id), report, true); err != nil {
		return err
	}
	if end.state != jobs.Failed {
		if err := d.write(ctx, next); err != nil {
			return err
		}
	}
	d.log.Info("report is written", "counts", report.Counts, "seconds", report.Seconds)
	return d.leave(ctx, report)
}

// merge writes results-*.jsonl.zst and failed.jsonl from the shards of the given
// chunks, and sets their keys in report.
func (d *drive) merge(ctx context.Context, chunks []int, report *jobs.Report) (*tally, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(largest))
	if err != nil {
		return nil, fmt.Errorf("scheduler: zstd decoder: %w", err)
	}
	defer dec.Close()
	failed, err := os.CreateTemp("", "pelmill-failed-*")
	if err != nil {
		return nil, fmt.Errorf("scheduler: list of failures: %w", err)
	}
	os.Remove(failed.Name())
	defer failed.Close()
	out := &merging{put: func(n int, data []byte) error {
		key := jobs.MergedKey(d.f.id, n)
		report.Results = append(report.Results, key)
		return d.f.put(ctx, key, data, true)
	}}
	sum := newTally()
	err = inOrder(ctx, len(chunks), func(ctx context.Context, i int) (*tally, error) {
		return readShard(ctx, d.f, chunks[i], dec)
	}, func(i int, t *tally) error {
		if t.uneven {
			d.log.Error("the header of a result shard does not count its records, the report does", "chunk", chunks[i])
		}
		sum.plus(t)
		if _, err := failed.Write(t.failed); err != nil {
			return fmt.Errorf("scheduler: list of failures: %w", err)
		}
		return out.add(t.lines)
	})
	if err == nil {
		err = out.end()
	}
	if err != nil {
		return nil, err
	}
	size, err := failed.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, fmt.Errorf("scheduler: list of failures: %w", err)
	}
	if size == 0 {
		return sum, storage.Delete(ctx, d.f.b, jobs.FailedKey(d.f.id))
	}
	report.FailedList = jobs.FailedKey(d.f.id)
	return sum, d.putFile(ctx, report.FailedList, failed, size)
}

// readShard reads the records of a chunk.
func readShard(ctx context.Context, f folder, chunk int, dec *zstd.Decoder) (*tally, error) {
	key := jobs.ResultKey(f.id, chunk)
	got, err := storage.Get(ctx, f.b, key, largest, nil)
	if err != nil {
		return nil, err
	}
	raw, err := dec.DecodeAll(got.Data, nil)
	if err != nil {
		return nil, fmt.Errorf("scheduler: %s: %w", key, err)
	}
	t := newTally()
	var h jobs.Shard
	for n := 0; len(raw) > 0; n++ {
		var line []byte
		line, raw, _ = bytes.Cut(raw, []byte{'\n'})
		if n == 0 {
			err = json.Unmarshal(line, &h)
		} else if len(line) > 0 {
			err = t.add(line)
		}
		if err != nil {
			return nil, fmt.Errorf("scheduler: %s line %d: %w", key, n+1, err)
		}
	}
	t.uneven = h.Counts != t.counts
	return t, nil
}

// putFile writes a local file as an object.
func (d *drive) putFile(ctx context.Context, key string, file *os.File, size int64) error {
	// Writers of azblob panic when an upload fails (gocloud.dev v0.47.0), so
	// there everything goes through memory.
	if size <= streamedAbove || d.f.b.Kind() == "azblob" {
		data := make([]byte, size)
		if _, err := file.ReadAt(data, 0); err != nil {
			return fmt.Errorf("scheduler: %s: %w", key, err)
		}
		return d.f.put(ctx, key, data, true)
	}
	wctx, cancel := context.WithCancel(ctx)
	defer cancel() // before Close it leaves nothing behind
	w, err := d.f.b.NewWriter(wctx, key, nil)
	if err != nil {
		return fmt.Errorf("scheduler: write %s: %w", key, err)
	}
	if _, err := io.Copy(w, io.NewSectionReader(file, 0, size)); err != nil {
		cancel()
		return fmt.Errorf("scheduler: write %s: %w", key, errors.Join(err, w.Close()))
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("scheduler: write %s: %w", key, err)
	}
	o, _, err := storage.Stat(ctx, d.f.b, key)
	if err == nil && o.Size != size {
		err = fmt.Errorf("scheduler: write %s: %d bytes are stored, want %d", key, o.Size, size)
	}
	return err
}

// merging cuts lines into frames and parts.
type merging struct {
	put     func(part int, data []byte) error
	enc     *zstd.Encoder
	raw     []byte // lines of the next frame
	lines   int    // of them
	data    []byte // frames of the part
	entries int    // in them
	parts   int
}

func (m *merging) add(lines []byte) error {
	for len(lines) > 0 {
		end := bytes.IndexByte(lines, '\n') + 1
		m.raw = append(m.raw, lines[:end]...)
		lines = lines[end:]
		if m.lines++; m.lines < frameEntries {
			continue
		}
		if err := m.endFrame(); err != nil {
			return err
		}
		if m.entries >= partEntries {
			if err := m.endPart(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *merging) endFrame() error {
	if m.enc == nil {
		var err error
		if m.enc, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err != nil {
			return fmt.Errorf("scheduler: zstd encoder: %w", err)
		}
	}
	m.data = m.enc.EncodeAll(m.raw, m.data)
	m.entries += m.lines
	m.raw, m.lines = m.raw[:0], 0
	return nil
}

func (m *merging) endPart() error {
	err := m.put(m.parts, m.data)
	m.parts++
	m.data, m.entries = m.data[:0], 0
	return err
}

// end writes what is left.
func (m *merging) end() error {
	if m.lines > 0 {
		if err := m.endFrame(); err != nil {
			return err
		}
	}
	if m.entries == 0 {
		return nil
	}
	return m.endPart()
}
