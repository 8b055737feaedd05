package api_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler/api"
)

func TestAJobIsReadFromPlanToReport(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.fill(20, "d1/bad.png", "d2/none.png")
	id := r.submit(func(s *jobs.Spec) { s.AutoStart, s.ChunkObjects = false, 5 })
	planned := r.untilState(id, "planned")
	if planned.Total != 22 || planned.Why != "waits for start" || !slices.Contains(planned.Actions, api.Start) || planned.Codec != "webp" {
		t.Errorf("planned: %+v", planned)
	}
	var plan api.Plan
	r.want(200, &plan, "GET", "/v1/jobs/"+id+"/plan", nil)
	if plan.Objects != 22 || plan.Chunks < 5 || plan.Expect == nil || plan.Job != id {
		t.Errorf("plan: %+v", plan)
	}
	var problem api.Problem
	r.want(409, &problem, "GET", "/v1/jobs/"+id+"/report", nil)
	if problem.State != "planned" || problem.Code != api.CodeNoReport {
		t.Errorf("report of a planned job: %+v", problem)
	}
	stop := r.work()
	defer stop()
	if err := r.client.Control(r.ctx, r.target, id, jobs.Control{Want: jobs.WantRun}); err != nil {
		t.Fatal(err)
	}
	done := r.untilState(id, "done")
	if done.Compressed+done.Kept != 20 || done.Rejected+done.Unsupported+done.Failed != 2 || done.ChunksDone != plan.Chunks || len(done.Stages) == 0 || len(done.Classes) == 0 || done.Partial || done.Ended == nil {
		t.Errorf("done: %+v", done)
	}
	var report jobs.Report
	r.want(200, &report, "GET", "/v1/jobs/"+id+"/report", nil)
	if report.Counts != done.Counts || report.Job != id {
		t.Errorf("report: %+v", report)
	}

	// Records in pages, all and by outcome, class and prefix.
	read := func(path, query string) (keys []string) {
		for cursor, pages := "", 0; ; pages++ {
			var page api.ResultPage
			r.want(200, &page, "GET", "/v1/jobs/"+id+path+"?limit=7&"+query+"&cursor="+cursor, nil)
			for _, o := range page.Results {
				keys = append(keys, o.Key)
			}
			if cursor = page.Next; cursor == "" || pages > 30 {
				return keys
			}
		}
	}
	if all := read("/results", "prefix="); len(all) != 22 || !slices.IsSorted(all) {
		t.Errorf("results: %q", all)
	}
	if some := read("/results", "outcome=compressed,kept&prefix=d1/"); len(some) != 7 || some[0] != "d1/0001.png" {
		t.Errorf("results of d1: %q", some)
	}
	bad := read("/failures", "prefix=")
	if want := int(done.Rejected + done.Failed); len(bad) != want {
		t.Errorf("failures: %q, want %d", bad, want)
	}
	for class := range done.Classes {
		if got := read("/results", "class="+class); len(got) != int(done.Classes[class]) {
			t.Errorf("class %s: %q, want %d", class, got, done.Classes[class])
		}
	}
	r.want(422, &problem, "GET", "/v1/jobs/"+id+"/results?cursor=nonsense", nil)
	r.want(422, &problem, "GET", "/v1/jobs/"+id+"/results?unknown=1", nil)
	r.want(404, &problem, "GET", "/v1/jobs/20200101-000000-aaaa", nil)
	if problem.Code != api.CodeNoJob {
		t.Errorf("no job: %+v", problem)
	}
	r.want(422, &problem, "GET", "/v1/jobs/nonsense", nil)
	r.want(404, &problem, "GET", "/v1/nonsense", nil)
	r.want(405, &problem, "DELETE", "/v1/jobs", nil)
}

func TestJobsAreListed(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.fill(2)
	var ids []string
	for range 5 {
		ids = append(ids, r.submit(func(s *jobs.Spec) { s.AutoStart = false }))
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	r.untilState(ids[0], "planned")
	var found []string
	for cursor := ""; ; {
		var page api.JobList
		r.want(200, &page, "GET", "/v1/jobs?limit=2&cursor="+cursor, nil)
		for _, j := range page.Jobs {
			found = append(found, j.Job)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if !slices.Equal(found, ids) {
		t.Errorf("listed %q, want %q", found, ids)
	}
	for query, want := range map[string]int{"state=done": 0, "state=planned,new,preparing": 5, "target=" + r.target: 5, "target=" + r.target + "/none": 0} {
		var page api.JobList
		r.want(200, &page, "GET", "/v1/jobs?"+query, nil)
		if len(page.Jobs) != want || page.Next != "" {
			t.Errorf("%s: %d jobs, want %d", query, len(page.Jobs), want)
		}
	}
	r.want(403, nil, "GET", "/v1/jobs?target=/etc", nil)
	r.want(422, nil, "GET", "/v1/jobs?target=http://nonsense", nil)
	r.want(422, nil, "GET", "/v1/jobs?state=none", nil)
	r.want(422, nil, "GET", "/v1/jobs?limit=0", nil)
}

func TestSurroundings(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	var codecs api.Codecs
	r.want(200, &codecs, "GET", "/v1/codecs", nil)
	if i := slices.IndexFunc(codecs.Codecs, func(c api.Codec) bool { return c.Name == "webp" }); i < 0 || len(codecs.Codecs[i].Options) == 0 {
		t.Errorf("codecs: %+v", codecs)
	}
	var targets api.Targets
	r.want(200, &targets, "GET", "/v1/targets", nil)
	if len(targets.Targets) != 1 || targets.Targets[0] != (api.Target{Target: "file://" + r.target, Named: true}) || !slices.Equal(targets.Allowed, []string{"file://" + r.dir}) {
		t.Errorf("targets: %+v", targets)
	}
	var workers api.Workers
	if r.want(200, &workers, "GET", "/v1/workers", nil); len(workers.Workers) != 0 {
		t.Errorf("workers: %+v", workers)
	}
}

// event is a server-sent event.
type event struct{ name, id, data string }

// nextEvent reads up to the end of an event; comments are left out.
func nextEvent(lines *bufio.Reader) (e event, err error) {
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return e, err
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			if line == "" && e != (event{}) {
				return e, nil
			}
		}
	}
}

func (r *rig) events(id, last string) *bufio.Reader {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.ctx, "GET", r.server.URL+"/v1/jobs/"+id+"/events", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := r.server.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		r.t.Fatalf("events: %d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	return bufio.NewReader(res.Body)
}

func TestEventsFollowAJobToItsEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.fill(10)
	id := r.submit(nil)
	stream := r.events(id, "")
	first, err := nextEvent(stream)
	if err != nil || first.name != "status" || first.id == "" {
		t.Fatalf("first event %+v (%v)", first, err)
	}
	r.work()
	last := first
	for {
		e, err := nextEvent(stream)
		if err != nil {
			t.Fatal(err)
		}
		if e.name == "end" {
			break
		}
		if e.id == last.id || e.name != "status" {
			t.Errorf("event %+v after %+v", e, last)
		}
		last = e
	}
	var j api.Job
	if err := json.Unmarshal([]byte(last.data), &j); err != nil || j.State != "done" || j.Objects != 10 {
		t.Errorf("last event %+v (%v)", j, err)
	}

	// Who has the newest event is told the end only, who has another one the newest first.
	if e, err := nextEvent(r.events(id, last.id)); err != nil || e.name != "end" {
		t.Errorf("after the last event: %+v (%v)", e, err)
	}
	if e, err := nextEvent(r.events(id, first.id)); err != nil || e.name != "status" || e.id != last.id {
		t.Errorf("after the first event: %+v (%v)", e, err)
	}
	r.want(404, nil, "GET", "/v1/jobs/20200101-000000-aaaa/events", nil)
}
