package api_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/scheduler/api"
)

func TestAJobIsSubmittedAndOrdered(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.fill(12, "bad.png")
	body := map[string]any{"source": r.source, "target": r.target, "codec": "webp", "options": map[string]string{"effort": "3"}, "sample": 2, "priority": 1, "max_workers": 2, "chunk_objects": 3, "notify": []string{"https://93.184.216.34/hook"}}
	var job api.Job
	res := r.want(201, &job, "POST", "/v1/jobs", body, "Idempotency-Key", "a")
	id := job.Job
	if res.Header.Get("Location") != "/v1/jobs/"+id || job.Source != "file://"+r.source || job.Priority != 1 || *job.Wanted.MaxWorkers != 2 || !strings.Contains(job.Options, "effort=3") {
		t.Errorf("submitted: %+v", job)
	}

	// The same again is the same job, anything else an error.
	r.want(200, &job, "POST", "/v1/jobs", body, "Idempotency-Key", "a")
	if job.Job != id {
		t.Errorf("submitted again: %s, want %s", job.Job, id)
	}
	body["codec"], body["options"] = "jpeg2000", map[string]string{}
	var problem api.Problem
	r.want(422, &problem, "POST", "/v1/jobs", body, "Idempotency-Key", "a")
	if !strings.Contains(problem.Detail, id) {
		t.Errorf("another job with the same key: %+v", problem)
	}

	if spec, err := r.client.Spec(r.ctx, r.target, id); err != nil || len(spec.Notify) != 1 || spec.Verify != "full" || spec.ChunkObjects != 3 {
		t.Errorf("stored: %+v (%v)", spec, err)
	}
	r.want(422, nil, "POST", "/v1/jobs", map[string]any{"source": r.source, "target": r.target, "codec": "webp", "notify": []string{"file:///etc/passwd"}})

	planned := r.untilState(id, "planned")
	var plan api.Plan
	if r.want(200, &plan, "GET", "/v1/jobs/"+id+"/plan", nil); plan.Estimate == nil || plan.Estimate.Objects != 2 {
		t.Errorf("plan: %+v", plan)
	}

	// Orders hold for a version.
	r.want(412, &problem, "POST", "/v1/jobs/"+id+"/start", nil, "If-Match", `"nonsense"`)
	if problem.State != "planned" {
		t.Errorf("another version: %+v", problem)
	}
	res = r.want(202, &job, "PATCH", "/v1/jobs/"+id, map[string]any{"priority": 3, "bwlimit": "off", "max_duration": "6h"}, "If-Match", `"`+planned.Version+`"`)
	if job.Priority != 3 || *job.Wanted.MaxDuration != "6h0m0s" || job.Version == planned.Version || res.Header.Get("ETag") != `"`+job.Version+`"` {
		t.Errorf("set: %+v", job)
	}
	r.want(412, nil, "PATCH", "/v1/jobs/"+id, map[string]any{"priority": 2}, "If-Match", `"`+planned.Version+`"`)
	r.want(422, nil, "PATCH", "/v1/jobs/"+id, map[string]any{"hours": "25:00-26:00"})
	r.want(422, nil, "PATCH", "/v1/jobs/"+id, map[string]any{"priority": 4})
	r.want(422, nil, "PATCH", "/v1/jobs/"+id, map[string]any{"max_duration": "soon"})
	r.want(422, nil, "PATCH", "/v1/jobs/"+id, map[string]any{"nonsense": 1})

	r.want(202, nil, "POST", "/v1/jobs/"+id+"/start", nil, "If-Match", `"none", "`+job.Version+`"`)
	r.until(id, "no worker", func(j api.Job) bool { return j.State == "running" && j.Why == "no worker is connected" })
	r.want(202, nil, "POST", "/v1/jobs/"+id+"/pause", nil)
	if j := r.untilState(id, "paused"); !slices.Contains(j.Actions, api.Resume) || slices.Contains(j.Actions, api.Pause) {
		t.Errorf("paused: %+v", j)
	}
	r.want(202, nil, "POST", "/v1/jobs/"+id+"/resume", map[string]any{"priority": 0})
	r.untilState(id, "running")
	r.want(409, &problem, "POST", "/v1/jobs/"+id+"/retry", nil)
	if problem.State != "running" {
		t.Errorf("retried while it runs: %+v", problem)
	}
	r.work()
	done := r.untilState(id, "done")
	if done.Rejected+done.Unsupported+done.Failed != 1 || !slices.Contains(done.Actions, api.Retry) == (done.Rejected+done.Failed > 0) {
		t.Errorf("done: %+v", done)
	}
	r.want(409, &problem, "POST", "/v1/jobs/"+id+"/pause", nil)
	if problem.State != "done" {
		t.Errorf("paused when done: %+v", problem)
	}
	r.want(404, nil, "POST", "/v1/jobs/20200101-000000-aaaa/pause", nil)

	// What failed is tried again in a new job.
	if done.Rejected+done.Failed > 0 {
		var again api.Job
		r.want(201, &again, "POST", "/v1/jobs/"+id+"/retry", map[string]any{"start": true})
		if again.Parent != id || again.Job == id {
			t.Errorf("retry: %+v", again)
		}
		if again = r.untilState(again.Job, "done"); again.Objects != 1 {
			t.Errorf("retried: %+v", again)
		}
	}

	// A job is cancelled before it was planned or after.
	r.want(201, &job, "POST", "/v1/jobs", map[string]any{"source": r.source, "target": r.target, "codec": "jpeg2000"})
	r.want(202, nil, "POST", "/v1/jobs/"+job.Job+"/cancel", nil)
	r.untilState(job.Job, "cancelled")
	r.want(409, nil, "POST", "/v1/jobs/"+job.Job+"/start", nil)
}

// A manifest in the submission names the objects.
func TestASubmissionNamesItsObjects(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.fill(5)
	var job api.Job
	r.want(201, &job, "POST", "/v1/jobs", map[string]any{"source": r.source, "target": r.target, "codec": "webp", "manifest": "d0/0000.png\nd1/0001.png\n", "manifest_format": "files-from"})
	if j := r.untilState(job.Job, "planned"); j.Total != 2 {
		t.Errorf("planned: %+v", j)
	}
	r.want(422, nil, "POST", "/v1/jobs", map[string]any{"source": r.source, "target": r.target, "codec": "webp", "manifest": "x"})
}

// Failures of one class are tried again without those of others.
func TestFailuresAreRetriedByClass(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.fill(3, "bad.png")
	id := r.submit(func(s *jobs.Spec) { s.Limits.Side = 7; s.FailRatio = 1 })
	r.work()
	done := r.untilState(id, "done")
	if done.Classes[class.Limit] != 3 || done.Classes[class.Format]+done.Classes[class.Malformed] != 1 {
		t.Fatalf("classes: %+v", done.Classes)
	}
	var problem api.Problem
	r.want(409, &problem, "POST", "/v1/jobs/"+id+"/retry", map[string]any{"classes": []string{class.Storage}})
	if problem.Code != api.CodeNothing {
		t.Errorf("a class that nothing failed with: %+v", problem)
	}
	var again api.Job
	r.want(201, &again, "POST", "/v1/jobs/"+id+"/retry", map[string]any{"start": true, "classes": []string{class.Limit}})
	if again = r.untilState(again.Job, "done"); again.Objects != 3 || again.Classes[class.Limit] != 3 {
		t.Errorf("retried: %d objects, %+v", again.Objects, again.Classes)
	}
}

// A plan that is asked for without a job writes nothing.
func TestAPlanWithoutAJob(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.fill(6)
	var plan api.Plan
	r.want(200, &plan, "POST", "/v1/plans", map[string]any{"source": r.source, "target": r.target, "codec": "webp", "sample": 2})
	if plan.Job != "" || plan.Objects != 6 || plan.Estimate == nil || plan.Estimate.Objects != 2 || plan.Codec != "webp" {
		t.Errorf("plan: %+v", plan)
	}
	if _, err := os.Stat(r.target); !os.IsNotExist(err) {
		t.Errorf("the target was written to (%v)", err)
	}
	r.want(403, nil, "POST", "/v1/plans", map[string]any{"source": "/etc", "target": r.target, "codec": "webp"})
	r.want(422, nil, "POST", "/v1/plans", map[string]any{"source": r.source, "target": r.target, "codec": "none"})
}

// What a verification listed as damaged is made anew.
func TestDamagedResultsAreMadeAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.fill(3)
	r.work()
	id := r.submit(nil)
	r.untilState(id, "done")
	repair := map[string]any{"target": r.target, "start": true}
	var problem api.Problem
	if r.want(409, &problem, "POST", "/v1/repairs", repair); problem.Code != api.CodeNothing {
		t.Errorf("without damage: %+v", problem)
	}
	lost := filepath.Join(r.target, "d0", "0000.webp")
	if err := os.Remove(lost); err != nil {
		t.Fatal(err)
	}
	if err := r.client.KeepDamage(r.ctx, r.target, []jobs.Damage{
		{Key: "d0/0000.png", Job: id, Target: "d0/0000.webp", Problem: "missing"}, {Key: "d1/0001.png", Job: id, Target: "d1/0001.webp", Problem: jobs.ProblemReplaced},
	}); err != nil {
		t.Fatal(err)
	}
	var made api.JobList
	if r.want(201, &made, "POST", "/v1/repairs", repair); len(made.Jobs) != 1 {
		t.Fatalf("%+v", made)
	}
	if j := r.untilState(made.Jobs[0].Job, "done"); j.Objects != 1 || j.Compressed != 1 {
		t.Errorf("repaired: %+v", j)
	}
	if _, err := os.Stat(lost); err != nil {
		t.Error(err)
	}
	r.want(403, nil, "POST", "/v1/repairs", map[string]any{"target": "/etc"})
}
