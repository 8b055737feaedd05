package scheduler

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/scheduler/report"
	"github.com/pelmill/pelmill/storage"
)

// streamedAbove is how many bytes of failed.jsonl are not written from memory.
const streamedAbove = 32 << 20

// mergedFrame is how many records a frame of them holds: whoever looks for one key reads no more than that.
const mergedFrame = 256

// mergedBytes is how large a part of the merged records may become, compressed:
// those of series reach it before they are partEntries.
const mergedBytes = 64 << 20

// tally is what the report needs of some records.
type tally struct {
	counts  jobs.Counts
	classes map[string]int64
	dropped map[string]int64
	left    map[jobs.Outcome]int64 // objects with nothing in the target
	stages  map[string]float64
	devices map[string]bool
	second  jobs.SecondDecoder
	psnr    float64 // sum over differ
	ssim    float64 // sum over lossy
	lossy   int64
	differ  int64  // of lossy, those whose image is not identical: raster.Identical has no place in a mean
	lines   []byte // all records
	header  jobs.Shard
	records []jobs.Result // those of one shard, for report.html
	failed  []byte        // those that failed or were rejected
	uneven  bool          // the shard's header has other counts than its records
}

func newTally() *tally {
	return &tally{classes: map[string]int64{}, dropped: map[string]int64{}, left: map[jobs.Outcome]int64{}, stages: map[string]float64{}, devices: map[string]bool{}}
}

// add counts a record and keeps it. That of a medical image is kept as it is written: names opens it, or seals what an
// earlier version has left open.
func (t *tally) add(ctx context.Context, line []byte, names *names) error {
	opened, err := names.Line(line)
	if err != nil {
		return err
	}
	var r jobs.Result
	if err := json.Unmarshal(opened, &r); err != nil {
		return err
	}
	if line, err = names.line(ctx, &r, line); err != nil {
		return err
	}
	t.count(&r)
	t.lines = append(append(t.lines, line...), '\n')
	t.records = append(t.records, r)
	if r.Outcome == jobs.OutcomeFailed || r.Outcome == jobs.OutcomeRejected {
		t.failed = append(append(t.failed, line...), '\n')
	}
	return nil
}

func (t *tally) count(r *jobs.Result) {
	t.counts.Add(r)
	t.second.Add(r)
	if r.Class != "" {
		t.classes[r.Class]++
	}
	if r.Target == "" && r.Outcome != jobs.OutcomeSkipped {
		t.left[r.Outcome]++
	}
	for _, name := range r.Dropped {
		t.dropped[name]++
	}
	for stage, seconds := range r.Seconds {
		t.stages[stage] += seconds
	}
	if r.Device != "" {
		t.devices[r.Device] = true
	}
	if r.PSNR > 0 && r.Outcome == jobs.OutcomeCompressed {
		t.lossy++
		t.ssim += r.SSIM
		if r.PSNR < raster.Identical {
			t.differ++
			t.psnr += r.PSNR
		}
	}
}

// plus adds everything but the lines and what belongs to one shard.
func (t *tally) plus(o *tally) {
	t.counts.Plus(o.counts)
	t.second.Plus(o.second)
	for k, v := range o.classes {
		t.classes[k] += v
	}
	for k, v := range o.dropped {
		t.dropped[k] += v
	}
	for k, v := range o.left {
		t.left[k] += v
	}
	for k, v := range o.stages {
		t.stages[k] += v
	}
	for k := range o.devices {
		t.devices[k] = true
	}
	t.psnr, t.ssim, t.lossy, t.differ = t.psnr+o.psnr, t.ssim+o.ssim, t.lossy+o.lossy, t.differ+o.differ
}

// merge writes results-*.jsonl.zst and failed.jsonl from the shards of the given
// chunks, and sets their keys in report. page takes the records on their way.
func (d *drive) merge(ctx context.Context, chunks []int, totals *jobs.Report, page *report.Page) (*tally, error) {
	failed, err := openTemp("failed")
	if err != nil {
		return nil, fmt.Errorf("scheduler: list of failures: %w", temporary(err))
	}
	defer failed.Close()
	names := newNames(ctx, d.f.b)
	out := &merging{names: names.Reader, put: func(n int, data []byte) error {
		key := jobs.Folder(d.f.id).Merged(n)
		totals.Results = append(totals.Results, key)
		page.File(key, int64(len(data)), hexSum(sha256.Sum256(data)))
		return d.f.put(ctx, key, data, true)
	}}
	defer out.wait()
	sum, failedSum := newTally(), sha256.New()
	toFailed := io.MultiWriter(failed, failedSum)
	err = inOrder(ctx, len(chunks), func(ctx context.Context, i int) (*tally, error) {
		return readShard(ctx, d.f, chunks[i], names)
	}, func(i int, t *tally) error {
		if t.uneven {
			d.log.Error("the header of a result shard does not count its records, the report does", "chunk", chunks[i])
		}
		sum.plus(t)
		page.Chunk(&t.header)
		for i := range t.records {
			page.Record(&t.records[i])
		}
		if _, err := toFailed.Write(t.failed); err != nil {
			return fmt.Errorf("scheduler: list of failures: %w", temporary(err))
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
		return sum, storage.RefusedWrite(storage.Delete(ctx, d.f.b, jobs.Folder(d.f.id).Failed()), 0)
	}
	totals.FailedList = jobs.Folder(d.f.id).Failed()
	page.File(totals.FailedList, size, hexSum([sha256.Size]byte(failedSum.Sum(nil))))
	return sum, d.putFile(ctx, totals.FailedList, failed, size)
}

// readShard reads the records of a chunk.
func readShard(ctx context.Context, f folder, chunk int, names *names) (*tally, error) {
	key := jobs.Folder(f.id).Result(chunk)
	got, err := storage.Get(ctx, f.b, key, largest, nil)
	if err != nil {
		return nil, err
	}
	t, err := tallyShard(ctx, got.Data, names)
	if err != nil {
		return nil, fmt.Errorf("scheduler: %s: %w", key, err)
	}
	return t, nil
}

// tallyShard reads a header and its records, which are no more than a chunk has
// objects.
func tallyShard(ctx context.Context, data []byte, names *names) (*tally, error) {
	t := newTally()
	h := &t.header
	n := 0
	err := storage.EachLine(bytes.NewReader(data), func(line []byte) (err error) {
		switch n++; {
		case n == 1:
			err = json.Unmarshal(line, h)
		case n > 1+jobs.MaxChunkObjects:
			err = fmt.Errorf("more than %d records", jobs.MaxChunkObjects)
		default:
			err = t.add(ctx, line, names)
		}
		if err != nil {
			err = fmt.Errorf("line %d: %w", n, err)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if h.Counts.BytesAttempted == 0 {
		h.Counts.BytesAttempted = t.counts.BytesAttempted // written by a version that did not count it
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
		return fmt.Errorf("scheduler: write %s: %w", key, storage.RefusedWrite(err, size))
	}
	if _, err := io.Copy(w, io.NewSectionReader(file, 0, size)); err != nil {
		cancel()
		return fmt.Errorf("scheduler: write %s: %w", key, storage.RefusedWrite(errors.Join(err, w.Close()), size))
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("scheduler: write %s: %w", key, storage.RefusedWrite(err, size))
	}
	o, _, err := storage.Stat(ctx, d.f.b, key)
	if err == nil && o.Size != size {
		err = fmt.Errorf("scheduler: write %s: %d bytes are stored, want %d", key, o.Size, size)
	}
	return err
}

// framesAtOnce is how many frames of merged records are compressed while later ones are filled.
const framesAtOnce = 4

// merging writes lines in parts, each of several frames. Who does not end it waits for what is being compressed.
type merging struct {
	names   *sitekey.Reader
	put     func(part int, data []byte) error
	raw     []byte         // lines of the next frame
	lines   int            // of them
	packing []*packedFrame // the oldest first
	data    []byte         // frames of the part
	entries int            // in them
	parts   int
	index   recordIndex
}

// packedFrame is a frame that is compressed beside others.
type packedFrame struct {
	raw   []byte
	lines int
	done  chan struct{} // closed when data or err is there
	data  []byte
	err   error
}

func (m *merging) add(lines []byte) error {
	for len(lines) > 0 {
		end := bytes.IndexByte(lines, '\n') + 1
		m.raw = append(m.raw, lines[:end]...)
		lines = lines[end:]
		if m.lines++; m.lines < mergedFrame && len(m.raw) < frameText/framesAtOnce {
			continue
		}
		if err := m.endFrame(); err != nil {
			return err
		}
	}
	return nil
}

// endFrame has the frame compressed that was filled.
func (m *merging) endFrame() error {
	f := &packedFrame{raw: m.raw, lines: m.lines, done: make(chan struct{})}
	m.raw, m.lines = make([]byte, 0, len(m.raw)), 0
	m.packing = append(m.packing, f)
	go func() {
		defer close(f.done)
		f.data, f.err = storage.AppendFrame(nil, f.raw)
	}()
	if len(m.packing) < framesAtOnce {
		return nil
	}
	return m.takeFrame()
}

// takeFrame adds the oldest frame to the part, which ends when it is large enough.
func (m *merging) takeFrame() error {
	f := m.packing[0]
	<-f.done
	m.packing = m.packing[1:]
	if f.err != nil {
		return f.err
	}
	if err := m.index.add(f.raw, int64(len(m.data)), int64(len(f.data)), m.names); err != nil {
		return err
	}
	m.data = append(m.data, f.data...)
	m.entries += f.lines
	if m.entries < partEntries && len(m.data) < mergedBytes {
		return nil
	}
	return m.endPart()
}

func (m *merging) endPart() error {
	file, err := m.index.appendTo(m.data, m.names)
	if err != nil {
		return err
	}
	m.data = file
	err = m.put(m.parts, m.data)
	m.parts++
	m.data, m.entries, m.index = m.data[:0], 0, recordIndex{}
	return err
}

// end writes what is left.
func (m *merging) end() error {
	if m.lines > 0 {
		if err := m.endFrame(); err != nil {
			return err
		}
	}
	for len(m.packing) > 0 {
		if err := m.takeFrame(); err != nil {
			return err
		}
	}
	if m.entries == 0 {
		return nil
	}
	return m.endPart()
}

// wait waits for frames that nobody needs any more, after an error.
func (m *merging) wait() {
	for _, f := range m.packing {
		<-f.done
	}
	m.packing = nil
}
