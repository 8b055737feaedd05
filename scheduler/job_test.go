package scheduler

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/storage"
)

func sha(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func TestAJobGoesFromSubmitToReport(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(250)
	r.worker.start(t, 2)
	r.run(r.scheduler(nil))
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 20 })
	report := r.ended(spec.ID)
	if report.State != jobs.StateDone || report.Counts.Compressed != 250 || report.Counts.Objects != 250 || report.Attempted != report.Chunks {
		t.Errorf("report %+v", report)
	}
	if report.PSNR < 29.9 || report.Stages["encode"] < 124 || len(report.Devices) != 1 {
		t.Errorf("report %+v", report)
	}
	st, err := r.client.Status(r.ctx, r.target, spec.ID)
	if err != nil || st.State.State != jobs.StateDone || st.Why != "" || st.Counts != report.Counts {
		t.Errorf("status %+v (%v)", st, err)
	}
	n := 0
	err = r.client.Results(r.ctx, r.target, spec.ID, func(jobs.Result) error { n++; return nil })
	if err != nil || n != 250 {
		t.Errorf("%d results (%v)", n, err)
	}
	list, err := r.client.List(r.ctx, r.target)
	if err != nil || len(list) != 1 || list[0].ID != spec.ID || list[0].State != jobs.StateDone {
		t.Errorf("list %+v (%v)", list, err)
	}
	if err := r.client.Control(r.ctx, r.target, spec.ID, jobs.Control{Want: jobs.WantPause}); err == nil {
		t.Error("a done job can be paused")
	}
}

func TestASecondJobDoesWhatIsLeft(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"mem", "file"} {
		t.Run(kind, func(t *testing.T) {
			source, target := "mem://source", "mem://target"
			if kind == "file" {
				source, target = t.TempDir(), t.TempDir()
			}
			r := newRigOn(t, "", source, target)
			r.fill(100)
			r.worker.start(t, 2)
			r.run(r.scheduler(nil))
			first := r.ended(r.submit(nil).ID)
			if first.Counts.Compressed != 100 {
				t.Fatalf("first: %+v", first.Counts)
			}

			same := r.ended(r.submit(nil).ID)
			if c := same.Counts; same.Chunks != 0 || c.Skipped != 100 || c.Objects != 100 || same.State != jobs.StateDone {
				t.Errorf("same again: %+v", same)
			}

			// One result is gone, one is no longer what was recorded, so it may be anybody's, one source changed, one is new.
			src, dst := r.bucket(source), r.bucket(target)
			put := func(b *storage.Bucket, key, text string) {
				if _, err := storage.Put(r.ctx, b, key, []byte(text), &storage.PutOptions{Overwrite: true}); err != nil {
					t.Fatal(err)
				}
			}
			if err := storage.Delete(r.ctx, dst, "d3/00003.tiny"); err != nil {
				t.Fatal(err)
			}
			put(dst, "d4/00004.tiny", "short")
			put(src, "d5/00005.png", "another content and size")
			put(src, "new.png", "x")
			rest := r.ended(r.submit(nil).ID)
			if c := rest.Counts; c.Skipped != 97 || c.Compressed != 3 || c.Failed != 1 {
				t.Errorf("after changes: %+v", c)
			}
			over := r.ended(r.submit(func(s *jobs.Spec) { s.Overwrite = true }).ID)
			if c := over.Counts; c.Skipped != 100 || c.Compressed != 1 {
				t.Errorf("with overwrite: %+v", c)
			}
			if same := r.ended(r.submit(nil).ID); same.Counts.Skipped != 101 {
				t.Errorf("and again: %+v", same.Counts)
			}
			other := r.ended(r.submit(func(s *jobs.Spec) { s.Filter.Include = []string{"/d1/*"} }).ID)
			if c := other.Counts; c.Objects != c.Skipped || c.Skipped == 0 {
				t.Errorf("part of it: %+v", c)
			}
		})
	}
}

func TestAnUnfinishedJobCountsForALaterOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(100)
	stop := r.run(r.scheduler(&Options{Window: 2}))
	r.worker.upTo.Store(3)
	server := r.worker.start(t, 1)
	first := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 10 })
	r.wait("three chunks", func() bool { return r.worker.chunks.Load() >= 3 })
	stop()
	r.worker.upTo.Store(0) // what waits in the queue, two chunks, may still be done
	server.Shutdown()
	if err := r.conn.Redis().FlushAll(r.ctx).Err(); err != nil {
		t.Fatal(err)
	}
	// Records of a chunk that was interrupted.
	var lines storage.Lines
	done, err := shards(r.ctx, r.bucket(r.target), first.ID)
	if err != nil {
		t.Fatal(err)
	}

	plan, err := r.client.DryRun(r.ctx, jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny"}, nil, "")
	if err != nil || plan.Skipped != int64(10*len(done)) {
		t.Fatalf("skipped %d of %d chunks (%v)", plan.Skipped, len(done), err)
	}
	var results []jobs.Result
	for _, key := range []string{"d6/00097.png", "d6/00090.png"} { // in another order than the keys
		o, _, err := storage.Stat(r.ctx, r.bucket(r.source), key)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := r.client.Spec(r.ctx, r.target, first.ID)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r.worker.object(r.ctx, r.bucket(r.target), &spec, jobs.Entry{Key: key, Size: o.Size, ETag: o.ETag}))
	}
	if _, _, err := storage.Frame(&lines, results); err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Put(r.ctx, r.bucket(r.target), jobs.Folder(first.ID).Partial(9), lines.Bytes(), nil); err != nil {
		t.Fatal(err)
	}
	with, err := r.client.DryRun(r.ctx, jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny"}, nil, "")
	if err != nil || with.Skipped != plan.Skipped+2 {
		t.Errorf("with two partial records %d are skipped, want two more than %d (%v)", with.Skipped, plan.Skipped, err)
	}
	if id, ok, err := r.client.FindUnfinished(r.ctx, r.source, r.target, "tiny", "", jobs.Filter{}); err != nil || !ok || id != first.ID {
		t.Errorf("unfinished: %s %v (%v)", id, ok, err)
	}
	if id, ok, err := r.client.FindUnfinished(r.ctx, r.source, r.target, "tiny", "", jobs.Filter{Include: []string{"*"}}); err != nil || ok {
		t.Errorf("unfinished with another filter: %s (%v)", id, err)
	}

	r.worker.start(t, 2)
	r.run(r.scheduler(nil))
	r.submit(nil)
	second := r.ended(r.newest())
	if c := second.Counts; c.Skipped != with.Skipped || c.Objects != 100 || c.Failed != 0 {
		t.Errorf("second: %+v, want %d skipped", c, with.Skipped)
	}
	if err := r.client.Control(r.ctx, r.target, first.ID, jobs.Control{Want: jobs.WantRun}); err != nil {
		t.Fatal(err)
	}
	if c := r.ended(first.ID).Counts; c.Objects != 100 || c.Compressed != 100 {
		t.Errorf("first: %+v", c)
	}
}

func (r *rig) newest() string {
	r.t.Helper()
	id, err := r.client.Newest(r.ctx, r.target)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func TestTheLedgerReadsMoreJobsThanItOpens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.worker.start(t, 2)
	r.run(r.scheduler(nil))
	n := openAtOnce + 3
	for i := range n {
		r.put(r.source, fmt.Sprintf("%02d.png", i))
		id := jobs.NewID(time.Unix(int64(1_700_000_000+i), 0))
		spec := r.submit(func(s *jobs.Spec) { s.ID = id })
		if c := r.ended(spec.ID).Counts; c.Skipped != int64(i) || c.Compressed != 1 {
			t.Fatalf("job %d: %+v", i, c)
		}
	}
}

func TestSharedStemsBecomeTwoResults(t *testing.T) {
	r := newRig(t)
	r.put(r.source, "a.jpg", "b.jpg")
	r.worker.start(t, 1)
	r.run(r.scheduler(nil))
	r.ended(r.submit(nil).ID)
	r.put(r.source, "a.png")
	spec := r.submit(nil)
	if c := r.ended(spec.ID).Counts; c.Skipped != 2 || c.Compressed != 1 {
		t.Errorf("%+v", c)
	}
	plan, err := r.client.Plan(r.ctx, r.target, spec.ID)
	if err != nil || plan.Collisions != 2 {
		t.Errorf("%d collisions (%v)", plan.Collisions, err)
	}
	for _, key := range []string{"a.tiny", "a.png.tiny", "b.tiny"} {
		if ok, err := exists(r.ctx, r.bucket(r.target), key); !ok || err != nil {
			t.Errorf("no %s (%v)", key, err)
		}
	}
}

func TestResultsOfAnEarlierJobAreNotReplacedByAnotherSource(t *testing.T) {
	r := newRig(t)
	r.put(r.source, "a.jpg")
	r.worker.start(t, 1)
	r.run(r.scheduler(nil))
	r.ended(r.submit(nil).ID)
	if err := storage.Delete(r.ctx, r.bucket(r.source), "a.jpg"); err != nil {
		t.Fatal(err)
	}
	r.put(r.source, "a.png")
	if c := r.ended(r.submit(nil).ID).Counts; c.Compressed != 1 {
		t.Errorf("%+v", c)
	}
	if ok, err := exists(r.ctx, r.bucket(r.target), "a.png.tiny"); !ok || err != nil {
		t.Errorf("a.png went elsewhere (%v)", err)
	}
}

func TestSourceAndTargetMayBeTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, target := range []string{dir, filepath.Join(dir, "out")} {
		r := newRigOn(t, "", dir, target)
		r.put(r.source, filepath.Base(target)+"-1.png", filepath.Base(target)+"-2.png")
		r.worker.start(t, 1)
		r.run(r.scheduler(nil))
		r.ended(r.submit(func(s *jobs.Spec) { s.Filter.Exclude = []string{"*.tiny"} }).ID)
		if c := r.ended(r.submit(func(s *jobs.Spec) { s.Filter.Exclude = []string{"*.tiny"} }).ID).Counts; c.Objects != c.Skipped {
			t.Errorf("%s: %+v", target, c)
		}
	}
}

func TestAGivenManifestIsSortedAndCompleted(t *testing.T) {
	t.Parallel()
	for _, lacking := range []int{3, statAtMost + 5} {
		r := newRig(t)
		r.fill(lacking)
		var list []string
		for i := range lacking {
			list = append(list, fmt.Sprintf("d%d/%05d.png", i%7, i))
		}
		list = append(list, "nowhere.png", "d0/00000.png", "zzz.png")
		slices.Reverse(list)
		r.worker.start(t, 2)
		r.run(r.scheduler(nil))
		spec, err := r.client.Submit(r.ctx, jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny", AutoStart: true},
			strings.NewReader(strings.Join(list, "\n")), FilesFrom)
		if err != nil {
			t.Fatal(err)
		}
		report := r.ended(spec.ID)
		if c := report.Counts; c.Objects != int64(lacking)+2 || c.Compressed != int64(lacking) || c.Failed != 2 || report.Classes[class.Missing] != 2 {
			t.Errorf("%d lacking: %+v %v", lacking, c, report.Classes)
		}
		plan, err := r.client.DryRun(r.ctx, jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny"}, strings.NewReader(strings.Join(list, "\n")), FilesFrom)
		if err != nil || plan.Objects != int64(lacking)+2 || plan.Skipped != int64(lacking) {
			t.Errorf("dry run: %+v (%v)", plan, err)
		}
	}
}

func TestRetryDoesWhatFailed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(50)
	bad := true
	r.worker.outcome = func(e jobs.Entry) jobs.Outcome {
		switch {
		case bad && strings.HasSuffix(e.Key, "0.png"):
			return jobs.OutcomeFailed
		case bad && strings.HasSuffix(e.Key, "1.png"):
			return jobs.OutcomeRejected
		case strings.HasSuffix(e.Key, "2.png"):
			return jobs.OutcomeUnsupported
		}
		return jobs.OutcomeCompressed
	}
	r.worker.start(t, 1)
	r.run(r.scheduler(nil))
	first := r.ended(r.submit(nil).ID)
	if c := first.Counts; c.Failed != 5 || c.Rejected != 5 || c.Unsupported != 5 || first.FailedList == "" {
		t.Fatalf("first: %+v", first)
	}
	bad = false
	spec, err := r.client.Retry(r.ctx, r.target, first.Job, nil, func(s *jobs.Spec) { s.Priority = 2 })
	if err != nil {
		t.Fatal(err)
	}
	second := r.ended(spec.ID)
	if c := second.Counts; c.Objects != 10 || c.Compressed != 10 || spec.Parent != first.Job || spec.Priority != 2 {
		t.Errorf("retry: %+v of %+v", c, spec)
	}
	if _, err := r.client.Retry(r.ctx, r.target, second.Job, nil, nil); !errors.Is(err, ErrNothing) {
		t.Errorf("retry of a job without failures: %v", err)
	}
}

// image puts a grey image of w x h into the source.
func (r *rig) image(key string, w, h int) {
	r.t.Helper()
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		r.t.Fatal(err)
	}
	if _, err := storage.Put(r.ctx, r.bucket(r.source), key, buf.Bytes(), nil); err != nil {
		r.t.Fatal(err)
	}
}

func TestTheSampleGivesAnEstimate(t *testing.T) {
	r := newRig(t)
	for i := range 20 {
		r.image(fmt.Sprintf("%02d.png", i), 40, 40)
	}
	r.put(r.source, "10a.png")
	r.run(r.scheduler(nil))
	spec := r.submit(func(s *jobs.Spec) { s.Sample, s.AutoStart = 21, false })
	r.waitState(spec.ID, jobs.StatePlanned)
	plan, err := r.client.Plan(r.ctx, r.target, spec.ID)
	if err != nil {
		t.Fatal(err)
	}
	if e := plan.Estimate; e == nil || e.Objects != 21 || e.Failed != 1 || e.BytesIn == 0 {
		t.Errorf("estimate %+v", e)
	}
}

func TestATrainedOptionIsKeptByLaterJobs(t *testing.T) {
	r := newRig(t)
	for i := range 5 {
		r.image(fmt.Sprintf("%02d.png", i), 10, 10)
	}
	r.worker.start(t, 1)
	r.run(r.scheduler(nil))
	book := func(s *jobs.Spec) { s.Options = "book=job" }
	first := r.ended(r.submit(book).ID)
	if want := "book=sha256:" + sha([]byte("trained on 5 pictures of 100 bytes")); first.Options != want || first.Counts.Compressed != 5 {
		t.Fatalf("first: %+v, want options %s", first, want)
	}
	spec, err := r.client.Spec(r.ctx, r.target, first.Job)
	if err != nil || spec.Requested != "book=job" || spec.Options != first.Options {
		t.Errorf("specification %+v (%v)", spec, err)
	}
	r.image("05.png", 10, 10)
	second := r.ended(r.submit(book).ID)
	if second.Options != first.Options || second.Counts.Skipped != 5 || second.Counts.Compressed != 1 {
		t.Errorf("second: %+v", second)
	}
	plan, err := r.client.DryRun(r.ctx, jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny", Options: "book=job", Sample: 2}, nil, "")
	if err != nil || plan.Skipped != 6 {
		t.Errorf("dry run: %+v (%v)", plan, err)
	}
	path := filepath.Join(t.TempDir(), "my book")
	if err := os.WriteFile(path, []byte("book"), 0o600); err != nil {
		t.Fatal(err)
	}
	third := r.ended(r.submit(func(s *jobs.Spec) { s.Options = codec.JoinPairs([]string{"book=" + path}) }).ID)
	if third.Options != "book=sha256:"+sha([]byte("book")) || third.Counts.Compressed != 6 {
		t.Errorf("third: %+v", third)
	}
	if ok, err := exists(r.ctx, r.bucket(r.target), jobs.AssetKey(sha([]byte("book")))); !ok || err != nil {
		t.Errorf("asset is not stored (%v)", err)
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	r := newRig(t)
	r.fill(30)
	plan, err := r.client.DryRun(r.ctx, jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny", Sample: 3, Filter: jobs.Filter{Exclude: []string{"d0/**"}}}, nil, "")
	if err != nil || plan.Objects != 25 || plan.Filtered != 5 || len(plan.Chunks) == 0 || plan.Estimate == nil || plan.Estimate.Failed != 3 {
		t.Errorf("plan %+v (%v)", plan, err)
	}
	n := 0
	if err := walk(r.ctx, r.bucket(r.target), "", "", func(storage.Object) error { n++; return nil }); err != nil || n != 0 {
		t.Errorf("%d objects were written (%v)", n, err)
	}
	if err := walk(r.ctx, r.bucket(r.target), jobs.Root, "", func(storage.Object) error { n++; return nil }); err != nil || n != 0 {
		t.Errorf("%d records were written (%v)", n, err)
	}
}

func TestAnEmptySourceIsDone(t *testing.T) {
	r := newRig(t)
	r.run(r.scheduler(nil))
	report := r.ended(r.submit(func(s *jobs.Spec) { s.AutoStart = false }).ID)
	if report.State != jobs.StateDone || report.Chunks != 0 || report.Counts.Objects != 0 {
		t.Errorf("report %+v", report)
	}
}
