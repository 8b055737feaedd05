package scheduler

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

// tiny is a codec that keeps the first tenth of the samples. Its option "book"
// can be trained.
type tiny struct{}

type tinyOptions struct{ book string }

func (o tinyOptions) String() string { return "book=" + o.book }
func (o tinyOptions) Want() codec.Want {
	switch {
	case o.book == "job":
		return codec.Want{Trained: true}
	case strings.HasPrefix(o.book, "sha256:"):
		return codec.Want{SHA256: o.book[7:]}
	case o.book != "none":
		return codec.Want{Path: o.book}
	}
	return codec.Want{}
}
func (o tinyOptions) WithAsset(data []byte) (codec.Options, error) {
	return tinyOptions{"sha256:" + sha(data)}, nil
}

func (tiny) Info() codec.Info {
	return codec.Info{Name: "tiny", Extension: ".tiny", Version: 1, Accepts: codec.Accepts{Channels: []int{1, 2, 3, 4}, MinBits: 1, MaxBits: 16}}
}
func (tiny) Options(pairs []string) (codec.Options, error) {
	o := tinyOptions{"none"}
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		if k != "book" {
			return nil, fmt.Errorf("tiny: option %q", p)
		}
		o.book = v
	}
	return o, nil
}
func (tiny) Encode(_ context.Context, _ codec.Run, items []codec.Item, _ codec.Options) []codec.Encoded {
	out := make([]codec.Encoded, len(items))
	for i, item := range items {
		out[i].Data = make([]byte, item.Image.Size()/10)
	}
	return out
}
func (tiny) Decode(_ context.Context, _ codec.Run, files [][]byte, _ codec.Assets) []codec.Decoded {
	return make([]codec.Decoded, len(files))
}
func (tiny) Train(_ context.Context, _ codec.Run, sample []*raster.Image, _ codec.Options) ([]byte, error) {
	return fmt.Appendf(nil, "trained on %d pictures of %d bytes", len(sample), sample[0].Size()), nil
}

var tinyCodecs = []codec.Codec{tiny{}}

// worker answers chunk tasks the way a real one does, but without images.
type worker struct {
	conn    *queue.Conn
	buckets *storage.Buckets
	outcome func(e jobs.Entry) jobs.Outcome // nil: compressed
	write   bool                            // targets too
	earlier bool                            // names them as earlier versions did
	same    bool                            // results of one key are the same, whatever the source
	exact   bool                            // records say that the source's own bytes come back
	delay   time.Duration                   // a chunk
	chunks  atomic.Int64                    // that were worked on to the end
	obeyed  atomic.Int64                    // that were left because of a signal
	telling atomic.Int64                    // nanoseconds in which progress was reported
	working atomic.Int64                    // chunks that are being worked on
	most    atomic.Int64                    // that were ever worked on at once
	held    atomic.Bool                     // chunks do not end
	upTo    atomic.Int64                    // so many chunks end, and each slot holds its next one; 0: all end

	atWork sync.Map // task to its counts

	mu    sync.Mutex
	specs map[string]jobs.Spec
}

func (w *worker) start(t testing.TB, slots int) *queue.Server {
	t.Helper()
	server, err := w.conn.Serve(&queue.ServerOptions{Concurrency: slots, ShutdownTimeout: 5 * time.Second, Poll: 20 * time.Millisecond}, w.chunk)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	return server
}

// report says every second how far the chunks at work are, as a real worker does.
func (w *worker) report(ctx context.Context) {
	for ; ctx.Err() == nil; sleep(ctx, time.Second) {
		all := map[string]map[int]jobs.Counts{}
		w.atWork.Range(func(t, counts any) bool {
			task := t.(jobs.Task)
			if all[task.Job] == nil {
				all[task.Job] = map[int]jobs.Counts{}
			}
			all[task.Job][task.Index] = counts.(jobs.Counts)
			return true
		})
		start := time.Now()
		for job, chunks := range all {
			w.conn.Job(job).Report(ctx, chunks)
		}
		w.telling.Add(int64(time.Since(start)))
	}
}

func (w *worker) spec(ctx context.Context, job string) (jobs.Spec, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s, ok := w.specs[job]; ok {
		return s, nil
	}
	url, err := w.conn.Job(job).Target(ctx)
	if err != nil || url == "" {
		return jobs.Spec{}, errors.Join(err, errors.New("job is not registered"))
	}
	b, err := w.buckets.Open(ctx, url)
	if err != nil {
		return jobs.Spec{}, err
	}
	s, ok, err := getJSON[jobs.Spec](ctx, b, jobs.Folder(job).Spec())
	if err == nil && !ok {
		err = errors.New("no specification")
	}
	if err == nil {
		if w.specs == nil {
			w.specs = map[string]jobs.Spec{}
		}
		w.specs[job] = s
	}
	return s, err
}

func (w *worker) chunk(ctx context.Context, task jobs.Task, attempt int) error {
	spec, err := w.spec(ctx, task.Job)
	if err != nil {
		return err
	}
	b, err := w.buckets.Open(ctx, spec.Target)
	if err != nil {
		return err
	}
	if done, err := w.conn.Job(task.Job).IsDone(ctx, task.Index); err != nil || done {
		return err
	}
	if h, ok := shardOf(ctx, b, task); ok {
		err = w.conn.Job(task.Job).Commit(ctx, task.Index, h.Counts)
		return err
	}
	plan, _, err := getJSON[jobs.Plan](ctx, b, jobs.Folder(task.Job).Plan())
	if err != nil {
		return err
	}
	now := w.working.Add(1)
	for most := w.most.Load(); now > most && !w.most.CompareAndSwap(most, now); most = w.most.Load() {
	}
	left := sync.OnceFunc(func() { w.working.Add(-1) })
	defer left()
	at := plan.Chunks[task.Index]
	data, err := storage.GetRange(ctx, b, jobs.Folder(task.Job).Chunks(at.Part), at.Offset, at.Length)
	if err != nil {
		return err
	}
	header := jobs.Shard{Job: task.Job, Chunk: task.Index, Worker: "fake", Attempt: attempt, At: time.Now()}
	if task.Index%2 == 0 { // the others are as earlier versions write them
		header.Sums = &jobs.Sums{}
	}
	var results []jobs.Result
	err = storage.DecodeLines(data, func(e jobs.Entry) error {
		r := w.object(ctx, b, &spec, e)
		header.Counts.Add(&r)
		if header.Sums != nil {
			header.Sums.Add(&r)
		}
		results = append(results, r)
		return nil
	})
	w.atWork.Store(task, header.Counts)
	defer w.atWork.Delete(task)
	if err != nil {
		return err
	}
	for until := time.Now().Add(w.delay); (time.Now().Before(until) || w.holds()) && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		if s, err := w.conn.Job(task.Job).Signal(ctx); err == nil && s == jobs.StateCancelled {
			w.obeyed.Add(1)
			return nil
		}
	}
	var lines storage.Lines
	if _, _, err := storage.Frame(&lines, []jobs.Shard{header}); err != nil {
		return err
	}
	names := sitekey.NewWriter(b)
	for i := range results {
		if err := names.Result(ctx, &results[i]); err != nil {
			return err
		}
		results[i] = results[i].Written()
	}
	if _, _, err := storage.Frame(&lines, results); err != nil {
		return err
	}
	_, err = storage.Put(ctx, b, jobs.Folder(task.Job).Result(task.Index), lines.Bytes(), nil)
	var exists *storage.ExistsError
	if errors.As(err, &exists) {
		h, _ := shardOf(ctx, b, task)
		header, err = h, nil
	}
	if err != nil {
		return err
	}
	w.chunks.Add(1)
	left() // once it is committed another one may be fed, before the queue has heard of this one's end
	err = w.conn.Job(task.Job).Commit(ctx, task.Index, header.Counts)
	return err
}

// holds reports whether a chunk must not end now.
func (w *worker) holds() bool {
	most := w.upTo.Load()
	return w.held.Load() || most > 0 && w.chunks.Load() >= most
}

// someChunks lets n more chunks end and waits for them.
func (r *rig) someChunks(n int64) {
	r.t.Helper()
	before := r.worker.chunks.Load()
	r.worker.upTo.Store(before + n)
	r.wait("more chunks", func() bool { return r.worker.chunks.Load() >= before+n })
}

func shardOf(ctx context.Context, b *storage.Bucket, task jobs.Task) (jobs.Shard, bool) {
	key := jobs.Folder(task.Job).Result(task.Index)
	o, _, err := storage.Stat(ctx, b, key)
	if err != nil {
		return jobs.Shard{}, false
	}
	o.Key = key
	h, err := header(ctx, b, o)
	return h, err == nil
}

func (w *worker) object(ctx context.Context, b *storage.Bucket, spec *jobs.Spec, e jobs.Entry) jobs.Result {
	r := jobs.Result{Key: e.Key, ETag: e.ETag, Size: e.Size, Parts: e.Parts, Outcome: jobs.OutcomeCompressed, Codec: spec.Codec, Version: spec.Version,
		Options: spec.Options, Fingerprint: spec.Fingerprint(e), Attempts: 1, Device: "cpu", RawBytes: 10, PSNR: 30, SSIM: 0.9,
		Seconds: map[string]float64{"encode": 0.5}}
	if w.outcome != nil {
		r.Outcome = w.outcome(e)
	}
	switch {
	case e.Missing:
		r.Outcome, r.Class, r.Error = jobs.OutcomeFailed, class.Missing, "the source no longer exists"
	case e.Bad != "":
		r.Outcome, r.Class, r.Error = jobs.OutcomeFailed, class.Key, e.Bad
	case r.Outcome == jobs.OutcomeCompressed:
		if r.Target = e.TargetKey(".tiny"); w.earlier {
			r.Target = e.EarlierTargetKey(".tiny")
		}
		data := []byte("tiny " + r.Fingerprint)
		if w.same {
			data = []byte("tiny " + e.Key)
		}
		if w.exact {
			r.SHA256, r.Exact = sha([]byte("content of "+e.Key)), "jpeg"
		}
		r.TargetSize = int64(len(data))
		sum := md5.Sum(data)
		r.TargetMD5, r.TargetSHA256 = hex.EncodeToString(sum[:]), sha(data)
		if w.write {
			if _, err := storage.Put(ctx, b, r.Target, data, &storage.PutOptions{Overwrite: len(e.Old) > 0 || spec.Overwrite}); err != nil {
				r.Outcome, r.Class, r.Error = jobs.OutcomeFailed, class.Exists, err.Error()
			}
		}
	case r.Outcome == jobs.OutcomeFailed:
		r.Class, r.Error = class.Codec, "it failed"
	}
	return r
}

// rig is a place for jobs: buckets, a queue, a client.
type rig struct {
	t       testing.TB
	ctx     context.Context
	buckets *storage.Buckets
	conn    *queue.Conn
	client  *Client
	worker  *worker
	source  string
	target  string
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return newRigOn(t, "", "mem://source", "mem://target")
}

func newRigOn(t testing.TB, redis, source, target string) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	conn, err := queue.Open(ctx, redis, &queue.Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	buckets := storage.NewBuckets()
	t.Cleanup(func() { buckets.Close() })
	r := &rig{t: t, ctx: ctx, buckets: buckets, conn: conn, source: source, target: target}
	r.client = &Client{Buckets: buckets, Conn: conn, Codecs: tinyCodecs}
	r.worker = &worker{conn: conn, buckets: buckets, write: true}
	return r
}

func (r *rig) bucket(url string) *storage.Bucket {
	r.t.Helper()
	b, err := r.buckets.Open(r.ctx, url)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

func (r *rig) put(url string, keys ...string) {
	r.t.Helper()
	for _, key := range keys {
		if _, err := storage.Put(r.ctx, r.bucket(url), key, []byte("content of "+key), nil); err != nil {
			r.t.Fatal(err)
		}
	}
}

// fill puts n objects into the source.
func (r *rig) fill(n int) {
	r.t.Helper()
	for i := range n {
		r.put(r.source, fmt.Sprintf("d%d/%05d.png", i%7, i))
	}
}

func (r *rig) submit(mutate func(*jobs.Spec)) jobs.Spec {
	r.t.Helper()
	spec := jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny", AutoStart: true}
	if mutate != nil {
		mutate(&spec)
	}
	spec, err := r.client.Submit(r.ctx, spec, nil, "")
	if err != nil {
		r.t.Fatal(err)
	}
	return spec
}

// scheduler makes one with short times.
func (r *rig) scheduler(opts *Options) *Scheduler {
	o := Options{Codecs: tinyCodecs, Tick: 20 * time.Millisecond}
	if opts != nil {
		o = *opts
		o.Codecs = tinyCodecs
		if o.Tick == 0 {
			o.Tick = 20 * time.Millisecond
		}
	}
	s := New(r.conn, r.buckets, &o)
	s.lease = time.Second
	return s
}

// run runs a scheduler until the returned function is called.
func (r *rig) run(s *Scheduler) (stop func()) {
	ctx, cancel := context.WithCancel(r.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Run(ctx); err != nil {
			r.t.Error(err)
		}
	}()
	stop = func() { cancel(); <-ended }
	r.t.Cleanup(stop)
	return stop
}

// wait waits for something that must come to be. Its limit is far above what it takes, to tell a hang from a busy machine.
func (r *rig) wait(what string, ok func() bool) {
	r.t.Helper()
	for until := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			r.t.Fatalf("waited three minutes for: %s%s", what, r.jobsNow())
		}
	}
}

// jobsNow says how the registered jobs stand, for a failure.
func (r *rig) jobsNow() string {
	registered, err := r.conn.Jobs(r.ctx)
	if err != nil {
		return fmt.Sprintf("; the registered jobs: %v", err)
	}
	var text strings.Builder
	for id, target := range registered {
		st, err := r.client.Status(r.ctx, target, id)
		fmt.Fprintf(&text, "\n%s: %s, why %q, blocked by %q, %d of %d chunks, queue %+v, %v", id, st.State.State, st.Why, st.Blocked, st.Done, st.Chunks, st.Depth, err)
	}
	return text.String()
}

func (r *rig) state(id string) jobs.State {
	r.t.Helper()
	st, err := r.client.Status(r.ctx, r.target, id)
	if err != nil {
		r.t.Fatal(err)
	}
	return st.State.State
}

func (r *rig) waitState(id string, want jobs.State) {
	r.t.Helper()
	r.wait(fmt.Sprintf("state %s of %s", want, id), func() bool { return r.state(id) == want })
}

// ended waits for the end of a job and checks what holds for every one: its
// report is the sum of its shards and its merged records are theirs, in order.
func (r *rig) ended(id string) jobs.Report {
	r.t.Helper()
	r.wait("the end of "+id, func() bool {
		jobs, err := r.conn.Jobs(r.ctx)
		_, there := jobs[id]
		_, rerr := r.client.Report(r.ctx, r.target, id)
		return err == nil && !there && rerr == nil
	})
	report, err := r.client.Report(r.ctx, r.target, id)
	if err != nil {
		r.t.Fatal(err)
	}
	b := r.bucket(r.target)
	found, err := shards(r.ctx, b, id)
	if err != nil {
		r.t.Fatal(err)
	}
	var sum jobs.Counts
	var fromShards [][]byte
	for _, n := range found {
		if h, ok := shardOf(r.ctx, b, jobs.Task{Job: id, Index: n}); ok {
			sum.Plus(h.Counts)
		}
	}
	err = shardLines(r.ctx, b, id, false, func(line []byte) error {
		fromShards = append(fromShards, bytes.Clone(line))
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if plan, err := r.client.Plan(r.ctx, r.target, id); err == nil {
		sum.Objects += plan.Skipped
		sum.Skipped += plan.Skipped
	}
	if report.Counts != sum {
		r.t.Errorf("report counts %+v, shards and plan %+v", report.Counts, sum)
	}
	var merged [][]byte
	for line, err := range records(r.ctx, b, id, false) {
		if err != nil {
			r.t.Fatal(err)
		}
		merged = append(merged, bytes.Clone(line))
	}
	if report.State == jobs.StateDone && !slices.EqualFunc(merged, fromShards, bytes.Equal) {
		r.t.Errorf("%d merged records differ from %d records of the shards", len(merged), len(fromShards))
	}
	keyOf := func(line []byte) string {
		var v struct{ Key string }
		json.Unmarshal(line, &v)
		return v.Key
	}
	if !slices.IsSortedFunc(merged, func(a, b []byte) int { return strings.Compare(keyOf(a), keyOf(b)) }) {
		r.t.Error("merged records are not in key order")
	}
	return report
}

func (tiny) Header([]byte) (codec.Header, error)                            { return codec.Header{}, nil }
func (tiny) Memory(raster.Shape, *raster.Image, codec.Options) codec.Memory { return codec.Memory{} }
