package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

// job is a job as the scheduler leaves it: planned, registered, not yet fed.
type job struct {
	t              testing.TB
	ctx            context.Context
	buckets        *storage.Buckets
	conn           *queue.Conn // nil: none
	source, target *storage.Bucket
	spec           jobs.Spec
	tasks          []jobs.Task
}

// newJob plans a job over everything in source, chunkObjects a chunk.
func newJob(t testing.TB, source, target string, c codec.Codec, change func(*jobs.Spec)) *job {
	t.Helper()
	buckets := storage.NewBuckets()
	t.Cleanup(func() { buckets.Close() })
	return newJobIn(t, buckets, source, target, c, change)
}

// newJobIn is newJob beside other jobs.
func newJobIn(t testing.TB, buckets *storage.Buckets, source, target string, c codec.Codec, change func(*jobs.Spec)) *job {
	t.Helper()
	j := &job{t: t, ctx: t.Context(), buckets: buckets}
	j.source, j.target = j.open(source), j.open(target)
	options, err := c.Options(nil)
	if err != nil {
		t.Fatal(err)
	}
	j.spec = jobs.Spec{ID: jobs.NewID(time.Now()), Source: j.source.URL, Target: j.target.URL,
		Codec: c.Info().Name, Version: c.Info().Version, Options: options.String()}
	if change != nil {
		change(&j.spec)
	}
	j.spec.Defaults()
	return j
}

func (j *job) open(url string) *storage.Bucket {
	j.t.Helper()
	b, err := j.buckets.Open(j.ctx, url)
	if err != nil {
		j.t.Fatal(err)
	}
	return b
}

// queued gives the job an embedded queue.
func (j *job) queued() *job {
	j.t.Helper()
	return j.queuedAt("")
}

// queuedInRedis gives the job a queue that is not lost with the process.
func (j *job) queuedInRedis() *job {
	j.t.Helper()
	return j.queuedAt(services.Redis(j.t).URL())
}

func (j *job) queuedAt(redis string) *job {
	j.t.Helper()
	conn, err := queue.Open(j.ctx, redis, nil)
	if err != nil {
		j.t.Fatal(err)
	}
	j.t.Cleanup(func() { conn.Close() })
	j.conn = conn
	return j
}

// put adds a source.
func (j *job) put(key string, data []byte) {
	j.t.Helper()
	if _, err := storage.Put(j.ctx, j.source, key, data, &storage.PutOptions{Overwrite: true}); err != nil {
		j.t.Fatal(err)
	}
}

// plan cuts entries, or the listing where there are none, into chunks.
func (j *job) plan(entries ...jobs.Entry) *job {
	j.t.Helper()
	if entries == nil {
		err := storage.Walk(j.ctx, j.source, nil, func(p storage.Page) error {
			for _, o := range p.Objects {
				entries = append(entries, jobs.Entry{Key: o.Key, Size: o.Size, ETag: o.ETag, ModTime: o.ModTime})
			}
			return nil
		})
		if err != nil {
			j.t.Fatal(err)
		}
	}
	var lines storage.Lines
	plan := jobs.Plan{Job: j.spec.ID}
	for i := 0; len(entries) > 0; i++ {
		n := min(len(entries), j.spec.ChunkObjects)
		offset, length, err := storage.Frame(&lines, entries[:n])
		if err != nil {
			j.t.Fatal(err)
		}
		j.tasks = append(j.tasks, jobs.Task{Job: j.spec.ID, Index: i})
		plan.Chunks = append(plan.Chunks, jobs.Chunk{Offset: offset, Length: length, Objects: n})
		entries = entries[n:]
	}
	j.write(jobs.Folder(j.spec.ID).Chunks(0), lines.Bytes())
	for key, v := range map[string]any{jobs.Folder(j.spec.ID).Spec(): j.spec, jobs.Folder(j.spec.ID).Plan(): plan} {
		data, err := json.Marshal(v)
		if err != nil {
			j.t.Fatal(err)
		}
		j.write(key, data)
	}
	if j.conn != nil {
		if err := j.conn.Job(j.spec.ID).Init(j.ctx, len(j.tasks), nil, jobs.Counts{}); err != nil {
			j.t.Fatal(err)
		}
		if err := j.conn.Job(j.spec.ID).Register(j.ctx, j.target.URL); err != nil {
			j.t.Fatal(err)
		}
	}
	return j
}

func (j *job) write(key string, data []byte) {
	j.t.Helper()
	if _, err := storage.Put(j.ctx, j.target, key, data, nil); err != nil {
		j.t.Fatal(err)
	}
}

// worker makes a worker for the job.
func (j *job) worker(opts Options, c ...codec.Codec) *Worker {
	j.t.Helper()
	opts.Codecs = c
	w, err := New(j.conn, j.buckets, &opts)
	if err != nil {
		j.t.Fatal(err)
	}
	return w
}

// deviceWorker makes a worker with a device on which only fake codecs run.
func (j *job) deviceWorker(opts Options, c ...codec.Codec) *Worker {
	j.t.Helper()
	opts.Codecs = c
	if err := opts.defaults(); err != nil {
		j.t.Fatal(err)
	}
	return newWorker(j.conn, j.buckets, opts, &gpu.Device{})
}

// chunk runs chunk i in the test's goroutine.
func (j *job) chunk(w *Worker, i int) error {
	return w.Chunk(j.ctx, j.spec, j.source, j.target, j.tasks[i], 1)
}

// compress runs chunk 0 with a worker of its own.
func (j *job) compress(c codec.Codec) {
	j.t.Helper()
	if err := j.chunk(j.worker(Options{}, c), 0); err != nil {
		j.t.Fatal(err)
	}
}

// run serves the job until every chunk is committed.
func (j *job) run(w *Worker) jobs.Counts {
	j.t.Helper()
	counts, _ := j.timed(w)
	return counts
}

// timed is run, with the time from the worker's start to the last commit.
func (j *job) timed(w *Worker) (jobs.Counts, time.Duration) {
	j.t.Helper()
	start := time.Now()
	ctx, cancel := context.WithCancel(j.ctx)
	var serving sync.WaitGroup
	var err error
	serving.Go(func() { err = w.Run(ctx) })
	defer func() {
		cancel()
		serving.Wait()
		if err != nil {
			j.t.Error(err)
		}
	}()
	for _, t := range j.tasks {
		if err := j.conn.Tasks(j.spec.Priority).Enqueue(j.ctx, t); err != nil && !errors.Is(err, queue.ErrQueued) {
			j.t.Fatal(err)
		}
	}
	counts := j.wait()
	took := time.Since(start)
	until(j.t, "the end of the self-test, which may take longer than what is left of the job", w.tested.Load)
	return counts, took
}

// wait waits for all bits.
func (j *job) wait() jobs.Counts {
	j.t.Helper()
	for end := time.Now().Add(4 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		p, ok, err := j.conn.Job(j.spec.ID).Progress(j.ctx)
		done, counts := p.Done, p.Counts
		if err != nil || !ok {
			j.t.Fatal(ok, err)
		}
		n := 0
		for i := range j.tasks {
			if queue.Bit(done, i) {
				n++
			}
		}
		if n == len(j.tasks) {
			return counts
		}
	}
	j.t.Fatal("the job does not end")
	return jobs.Counts{}
}

// until waits for a condition.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited three minutes for %s", what)
		}
	}
}

// results reads all shards and checks that their headers count their records.
func (j *job) results() map[string]jobs.Result {
	j.t.Helper()
	all := map[string]jobs.Result{}
	for i := range j.tasks {
		got, err := storage.Get(j.ctx, j.target, jobs.Folder(j.spec.ID).Result(i), -1, nil)
		if err != nil {
			j.t.Fatal(err)
		}
		var counts jobs.Counts
		head, err := parseShard(got.Data, sitekey.NewReader(j.ctx, j.target), func(r *jobs.Result) {
			if _, twice := all[r.Key]; twice {
				j.t.Errorf("%s has two records", r.Key)
			}
			all[r.Key] = *r
			counts.Add(r)
		})
		if err != nil {
			j.t.Fatal(err)
		}
		if counts != head.Counts {
			j.t.Errorf("shard %d: header counts %+v, its records are %+v", i, head.Counts, counts)
		}
	}
	return all
}

// photo is an image with slopes, edges and grain, the same for the same seed.
func photo(seed uint64, width, height, channels int) *raster.Image {
	m := raster.New(width, height, 1, channels, 8)
	r := rand.New(rand.NewPCG(seed, 7))
	var ax, ay, base [4]int
	for c := range channels {
		ax[c], ay[c], base[c] = r.IntN(7)-3, r.IntN(7)-3, 60+r.IntN(120)
	}
	cx, cy, rad := r.IntN(width), r.IntN(height), 1+r.IntN(max(width, height)/2+1)
	for y := range height {
		for x := range width {
			inside := (x-cx)*(x-cx)+(y-cy)*(y-cy) < rad*rad
			for c := range channels {
				v := base[c] + ax[c]*x*32/width + ay[c]*y*32/height + r.IntN(9) - 4
				if inside {
					v = 255 - v/2
				}
				m.Pix[(y*width+x)*channels+c] = byte(min(max(v, 0), 255))
			}
		}
	}
	return m
}

func png(t testing.TB, m *raster.Image) []byte {
	t.Helper()
	data, err := imageio.Encode(m, "png")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// photos adds n images.
func (j *job) photos(n, side int) *job {
	j.t.Helper()
	for i := range n {
		j.put(fmt.Sprintf("p/%04d.png", i), png(j.t, photo(uint64(i), side, side, 3)))
	}
	return j
}

func equalBytes(t testing.TB, b *storage.Bucket, key string, want []byte) {
	t.Helper()
	got, err := b.ReadAll(t.Context(), key)
	if err != nil {
		t.Error(err)
	} else if !bytes.Equal(got, want) {
		t.Errorf("%s holds %d other bytes", key, len(got))
	}
}
