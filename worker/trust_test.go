package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

// Whoever edits a chunk in the bucket cannot aim an object at anything but its
// own result: such an object fails, and its chunk goes on.
func TestEntriesThatAimElsewhere(t *testing.T) {
	c := &fake{}
	j := newJob(t, "mem://source", "mem://target", c, nil)
	data := png(t, photo(1, 20, 20, 3))
	size := int64(len(data))
	spec := jobs.Folder(j.spec.ID).Spec()
	for _, key := range []string{"good.png", "spec.png", "up.png", "name.png", spec, "a/../b.png"} {
		j.put(key, data)
	}
	j.plan(
		jobs.Entry{Key: "good.png", Size: size},
		jobs.Entry{Key: "spec.png", Size: size, PlannedTarget: spec},
		jobs.Entry{Key: "up.png", Size: size, PlannedTarget: "../x"},
		jobs.Entry{Key: "name.png", Size: size, PlannedTarget: "good.fake"},
		jobs.Entry{Key: spec, Size: size},
		jobs.Entry{Key: "a/../b.png", Size: size},
	)
	before, err := j.target.ReadAll(j.ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	j.compress(c)
	equalBytes(t, j.target, spec, before)
	for key, r := range j.results() {
		want := jobs.OutcomeFailed
		if key == spec || key == "a/../b.png" {
			want = jobs.OutcomeUnsupported // buckets of others have such keys
		}
		if key == "good.png" {
			if r.Outcome != jobs.OutcomeCompressed {
				t.Errorf("%s: %s (%s)", key, r.Outcome, r.Error)
			}
		} else if r.Outcome != want || r.Class != class.Key || r.Target != "" {
			t.Errorf("%s: %s, class %q, target %q (%s)", key, r.Outcome, r.Class, r.Target, r.Error)
		}
	}
	err = storage.Walk(j.ctx, j.target, nil, func(p storage.Page) error {
		for _, o := range p.Objects {
			if o.Key != "good.fake" && !strings.HasPrefix(o.Key, jobs.Folder(j.spec.ID).Dir()) {
				t.Errorf("%q was written", o.Key)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A task says which chunk, and nothing else: what earlier versions wrote behind is
// not looked at, and a chunk that the plan does not have is dropped at once.
func TestATaskNamesAChunkOfThePlan(t *testing.T) {
	c := &fake{}
	j := newJob(t, "mem://source", "mem://target", c, nil).queued().photos(3, 20).plan()
	w := j.worker(Options{}, c)
	payload := `{"j":"` + j.spec.ID + `","i":0,"c":{"p":7,"o":1000000,"l":4,"n":1}}`
	task, err := jobs.ParseTask([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.handle(j.ctx, jobs.Task{Job: j.spec.ID, Index: 1}, 1); err != nil {
		t.Errorf("a chunk that is not in the plan: %v", err)
	}
	if err := w.handle(j.ctx, task, 1); err != nil {
		t.Fatal(err)
	}
	if got := j.results(); len(got) != 3 {
		t.Errorf("%d records, want 3", len(got))
	}
}

// The plan is read once by all chunks of a job.
func TestPlansAreReadOnceAndBounded(t *testing.T) {
	c := &fake{}
	j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.ChunkObjects = 1 }).photos(3, 20).plan()
	w := j.worker(Options{}, c)
	if err := j.chunk(w, 0); err != nil {
		t.Fatal(err)
	}
	if err := storage.Delete(j.ctx, j.target, jobs.Folder(j.spec.ID).Plan()); err != nil {
		t.Fatal(err)
	}
	if err := j.chunk(w, 1); err != nil {
		t.Error(err)
	}
	other := j.worker(Options{}, c)
	if err := j.chunk(other, 2); !errors.Is(err, errNoJob) {
		t.Errorf("without a plan: %v", err)
	}
	for name, plan := range map[string]jobs.Plan{
		"of another job": {Job: "20260102-030405-abcd", Chunks: jobs.Chunks{{Length: 10, Objects: 1}}},
		"a huge frame":   {Job: j.spec.ID, Chunks: jobs.Chunks{{}, {}, {Length: 1 << 40, Objects: 1}}},
		"below zero":     {Job: j.spec.ID, Chunks: jobs.Chunks{{}, {}, {Offset: -1, Length: 10, Objects: 1}}},
		"many objects":   {Job: j.spec.ID, Chunks: jobs.Chunks{{}, {}, {Length: 10, Objects: 1 << 40}}},
	} {
		data, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := storage.Put(j.ctx, j.target, jobs.Folder(j.spec.ID).Plan(), data, &storage.PutOptions{Overwrite: true}); err != nil {
			t.Fatal(err)
		}
		if err := j.chunk(j.worker(Options{}, c), 2); err == nil {
			t.Errorf("a plan with %s is obeyed", name)
		}
	}
}

// endpoint is an S3 service that counts what is asked of it.
func endpoint(t *testing.T) (asked *atomic.Int64, bucket string) {
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	return asked, "s3://bucket?endpoint=" + server.URL + "&region=us-east-1&use_path_style=true"
}

// What Redis and a job's folder say is checked before anything is requested. The
// tasks of such a job are given back at first and then dropped, with one line in
// the log, and whoever asks for the job's status can read it.
func TestJobsThatAskForMoreThanIsAllowed(t *testing.T) {
	asked, evil := endpoint(t)
	for name, change := range map[string]func(j *job, register *string){
		"target with an endpoint":    func(_ *job, register *string) { *register = evil },
		"target is a folder":         func(_ *job, register *string) { *register = "file:///etc" },
		"target is no URL":           func(_ *job, register *string) { *register = "\x1b]0;x" },
		"source with an endpoint":    func(j *job, _ *string) { j.spec.Source = evil },
		"source is a folder":         func(j *job, _ *string) { j.spec.Source = "file:///etc" },
		"source is other memory":     func(j *job, _ *string) { j.spec.Source = "mem://other" },
		"spec of another job":        func(j *job, _ *string) { j.spec.ID = "20260102-030405-abcd" },
		"spec for another target":    func(j *job, _ *string) { j.spec.Target = "mem://source" },
		"spec for the target's URL?": func(j *job, _ *string) { j.spec.Target = "mem://target?x=y" },
		"spec that no job has":       func(j *job, _ *string) { j.spec.Verify = "sometimes" },
	} {
		t.Run(name, func(t *testing.T) {
			c := &fake{}
			j := newJob(t, "mem://source", "mem://target", c, nil).queued().photos(2, 20)
			id, register := j.spec.ID, j.target.URL
			change(j, &register)
			changed := j.spec
			j.spec.ID = id
			j.plan()
			data, err := json.Marshal(changed)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := storage.Put(j.ctx, j.target, jobs.Folder(id).Spec(), data, &storage.PutOptions{Overwrite: true}); err != nil {
				t.Fatal(err)
			}
			if err := j.conn.Job(id).Register(j.ctx, register); err != nil {
				t.Fatal(err)
			}
			if j.buckets.Allow, err = storage.Plain().Plus("mem://source", "mem://target"); err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			w := j.worker(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, c)
			var denied *deniedError
			for attempt := 1; attempt < strayAttempts; attempt++ {
				if err := w.handle(j.ctx, j.tasks[0], attempt); !errors.As(err, &denied) {
					t.Errorf("attempt %d: %v, want that it is refused", attempt, err)
				}
			}
			if err := w.handle(j.ctx, j.tasks[0], strayAttempts); err != nil {
				t.Errorf("last attempt: %v, want that it is dropped", err)
			}
			if n := strings.Count(log.String(), "level=WARN"); n != 1 {
				t.Errorf("%d warnings, want one:\n%s", n, log.String())
			}
			if reason, err := j.conn.Job(id).Denied(j.ctx, queue.Workers); err != nil || !strings.Contains(reason, w.name) || strings.ContainsRune(reason, 0x1b) {
				t.Errorf("reason %q, %v", reason, err)
			}
			if ok, err := j.target.Exists(j.ctx, jobs.Folder(id).Result(0)); ok || err != nil {
				t.Errorf("a shard was written: %v, %v", ok, err)
			}
			// Once it is put right, the job is done at the next look.
			if register != j.target.URL {
				if err := j.conn.Job(id).Register(j.ctx, j.target.URL); err != nil {
					t.Fatal(err)
				}
				if err := w.handle(j.ctx, j.tasks[0], 1); err != nil {
					t.Errorf("put right: %v", err)
				}
			}
		})
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests at an address that nobody allowed", n)
	}
}

// Hashes come from files and options; what is none never becomes a key.
func TestAssetsAreNamedByHashesOnly(t *testing.T) {
	j := newJob(t, "mem://source", "mem://target", &fake{}, nil)
	find := newAssets().from(j.target)
	for _, hash := range []string{"", "../jobs/x/spec.json", strings.Repeat("A", 64), strings.Repeat("a", 63), fmt.Sprintf("%064d/", 0)} {
		if _, err := find(j.ctx, hash); err == nil || storage.IsNotExist(err) {
			t.Errorf("%q: %v, want that it is refused", hash, err)
		}
	}
}

// A listing that cannot spell a name shows a substitute for it, under which there is nothing: the object is not gone.
func TestNamesThatAListingCannotSpell(t *testing.T) {
	c := &fake{}
	j := newJob(t, "mem://source", "mem://target", c, nil)
	j.plan(jobs.Entry{Key: "a\ufffd.png", Size: 10}, jobs.Entry{Key: "b.png", Size: 10})
	j.compress(c)
	results := j.results()
	if r := results["a\ufffd.png"]; r.Outcome != jobs.OutcomeUnsupported || r.Class != class.Key {
		t.Errorf("a name with a substitute: %s, class %q (%s)", r.Outcome, r.Class, r.Error)
	}
	if r := results["b.png"]; r.Outcome != jobs.OutcomeFailed || r.Class != class.Missing {
		t.Errorf("an object that is gone: %s, class %q (%s)", r.Outcome, r.Class, r.Error)
	}
}
