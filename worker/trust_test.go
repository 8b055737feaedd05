package worker

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// Whoever edits a chunk in the bucket cannot aim an object at anything but its
// own result: such an object fails, and its chunk goes on.
func TestEntriesThatAimElsewhere(t *testing.T) {
	c := &fake{}
	j := newJob(t, "mem://source", "mem://target", c, nil)
	data := png(t, photo(1, 20, 20, 3))
	size := int64(len(data))
	spec := jobs.SpecKey(j.spec.ID)
	for _, key := range []string{"good.png", "spec.png", "up.png", "name.png", spec, "a/../b.png"} {
		j.put(key, data)
	}
	j.plan(
		jobs.Entry{Key: "good.png", Size: size},
		jobs.Entry{Key: "spec.png", Size: size, Told: spec, Replace: true},
		jobs.Entry{Key: "up.png", Size: size, Told: "../x", Replace: true},
		jobs.Entry{Key: "name.png", Size: size, Told: "good.fake", Replace: true},
		jobs.Entry{Key: spec, Size: size},
		jobs.Entry{Key: "a/../b.png", Size: size},
	)
	before, err := j.target.ReadAll(j.ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.chunk(j.worker(Options{}, c), 0); err != nil {
		t.Fatal(err)
	}
	equalBytes(t, j.target, spec, before)
	for key, r := range j.results() {
		if key == "good.png" {
			if r.Outcome != jobs.Compressed {
				t.Errorf("%s: %s (%s)", key, r.Outcome, r.Error)
			}
		} else if r.Outcome != jobs.FailedOut || r.Class != jobs.ClassKey || r.Target != "" {
			t.Errorf("%s: %s, class %q, target %q (%s)", key, r.Outcome, r.Class, r.Target, r.Error)
		}
	}
	err = storage.Walk(j.ctx, j.target, nil, func(p storage.Page) error {
		for _, o := range p.Objects {
			if o.Key != "good.fake" && !strings.HasPrefix(o.Key, jobs.Dir(j.spec.ID)) {
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
	if err := storage.Delete(j.ctx, j.target, jobs.PlanKey(j.spec.ID)); err != nil {
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
		if _, err := storage.Put(j.ctx, j.target, jobs.PlanKey(j.spec.ID), data, &storage.PutOptions{Overwrite: true}); err != nil {
			t.Fatal(err)
		}
		if err := j.chunk(j.worker(Options{}, c), 2); err == nil {
			t.Errorf("a plan with %s is obeyed", name)
		}
	}
}
