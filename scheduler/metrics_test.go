package scheduler

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

func TestMetricsOfAJob(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.worker.delay = 200 * time.Millisecond
	r.worker.outcome = func(e jobs.Entry) jobs.Outcome {
		if e.Key == "d0/00000.png" {
			return jobs.OutcomeFailed
		}
		return jobs.OutcomeCompressed
	}
	r.fill(60)
	s := r.scheduler(&Options{MetricsListen: "127.0.0.1:0"})
	if got := s.unready(r.ctx); len(got) != 1 {
		t.Errorf("ready before the queue has answered: %q", got)
	}
	r.run(s)
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 3 })
	r.waitState(spec.ID, jobs.StateRunning)
	r.wait("the tasks", func() bool { d, err := r.conn.Tasks(0).Depth(r.ctx); return err == nil && d.Pending > 3 })
	r.worker.start(t, 1)
	get := func(path string) string {
		t.Helper()
		response, err := http.Get("http://" + s.address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s %v", path, response.Status, body, err)
		}
		return string(body)
	}
	for _, path := range []string{"/livez", "/readyz"} {
		if got := get(path); got != "ok\n" {
			t.Errorf("%s: %q", path, got)
		}
	}
	job := `job="` + spec.ID + `"`
	wanted := []string{
		`pelmill_queue_tasks\{priority="0",state="pending"\} [1-9]`,
		`pelmill_queue_tasks\{priority="0",state="active"\} 1`,
		`pelmill_queue_oldest_seconds\{priority="0"\} [0-9.]*[1-9]`,
		`pelmill_queue_window_tasks 256`,
		`pelmill_worker_slots 1`,
		`pelmill_jobs\{state="running"\} 1`,
		`pelmill_leader\{` + job + `\} 1`,
		`pelmill_job_objects\{` + job + `,outcome="compressed"\} [1-9]`,
		`pelmill_job_objects\{` + job + `,outcome="failed"\} 1`,
		`pelmill_job_objects_to_do\{` + job + `\} 60`,
		`pelmill_job_objects_per_second\{` + job + `\} [1-9]`,
		`pelmill_job_eta_seconds\{` + job + `\} [0-9]`,
		`pelmill_build_info\{commit="[^"]+",version="[^"]+"\} 1`,
	}
	// Each is true for a part of the job's time only.
	r.wait("all metrics to have been seen", func() bool {
		shown := get("/metrics")
		wanted = slices.DeleteFunc(wanted, func(want string) bool { return regexp.MustCompile("(?m)^" + want).MatchString(shown) })
		if _, err := r.client.Report(r.ctx, r.target, spec.ID); err == nil && len(wanted) > 0 {
			t.Fatalf("never seen while the job ran: %q", wanted)
		}
		return len(wanted) == 0
	})
	r.ended(spec.ID)
	r.wait("the job to be left", func() bool { return !regexp.MustCompile(spec.ID).MatchString(get("/metrics")) })
}
