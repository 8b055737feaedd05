package scheduler

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

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
	r.fill(3000)
	s := r.scheduler(&Options{MetricsListen: "127.0.0.1:0"})
	if got := s.unready(r.ctx); len(got) != 1 {
		t.Errorf("ready before the queue has answered: %q", got)
	}
	r.run(s)
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects, s.Settings.MaxDuration = 3, pointer(time.Hour) })
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
		`pelmill_queue_tasks\{queue="pelmill-p0",state="pending"\} [1-9]`,
		`pelmill_queue_tasks\{queue="pelmill-p0",state="active"\} 1`,
		`pelmill_queue_oldest_seconds\{queue="pelmill-p0"\} [0-9.]*[1-9]`,
		`pelmill_queue_window_tasks 256`,
		`pelmill_worker_slots 1`,
		`pelmill_workers_wanted [1-9]`,
		`pelmill_ready\{process="scheduler"\} 1`,
		`pelmill_jobs\{state="running"\} 1`,
		`pelmill_leader\{` + job + `\} 1`,
		`pelmill_job_objects\{` + job + `,outcome="compressed"\} [1-9]`,
		`pelmill_job_objects\{` + job + `,outcome="failed"\} 1`,
		`pelmill_job_objects_to_do\{` + job + `\} 3000`,
		`pelmill_job_objects_per_second\{` + job + `\} [1-9]`,
		`pelmill_job_time_left_seconds\{` + job + `\} 3[2-5][0-9][0-9]`,
		`pelmill_job_eta_seconds\{` + job + `\} [0-9]`,
		`pelmill_build_info\{commit="[^"]+",version="[^"]+"\} 1`,
	}
	// Each is true for a part of the job's time only, which is three minutes or more.
	r.wait("all metrics to have been seen", func() bool {
		shown := get("/metrics")
		wanted = slices.DeleteFunc(wanted, func(want string) bool { return regexp.MustCompile("(?m)^" + want).MatchString(shown) })
		if _, err := r.client.Report(r.ctx, r.target, spec.ID); err == nil && len(wanted) > 0 {
			t.Fatalf("never seen while the job ran: %q", wanted)
		}
		return len(wanted) == 0
	})
	r.control(spec.ID, jobs.Control{Want: jobs.WantCancel})
	r.ended(spec.ID)
	r.wait("the job to be left", func() bool { return !regexp.MustCompile(spec.ID).MatchString(get("/metrics")) })
}

// Whatever others write into Redis, labels stay text and few.
func TestLabelsAreBounded(t *testing.T) {
	for _, name := range []string{"NVIDIA H200", "cpu", "", "\xff\xfe\nline", strings.Repeat("ä", 1000)} {
		got := deviceLabel(name)
		if len(got) > longestDevice || !utf8.ValidString(got) || strings.Contains(got, "\n") {
			t.Errorf("%q: %q", name, got)
		}
	}
	s := &Scheduler{driving: map[string]bool{}, views: map[string]view{}}
	now := time.Now()
	for i := range 3 * mostJobsShown {
		id, state := jobs.NewID(now.Add(time.Duration(i)*time.Second)), jobs.StateRunning
		if i%3 == 0 {
			state = jobs.StatePaused
		}
		s.driving[id], s.views[id] = true, view{state: state, pace: jobs.Pace{At: now}}
	}
	seen := map[string]bool{}
	states := map[string]float64{}
	s.collectJobs(func(d *prometheus.Desc, value float64, labels ...string) {
		if d == descJobs {
			states[labels[0]] = value
			return
		}
		seen[labels[0]] = true
		if s.views[labels[0]].state != jobs.StateRunning {
			t.Errorf("%s, which does not run, is shown", labels[0])
		}
	})
	if len(seen) != mostJobsShown || states["running"] != 2*mostJobsShown || states["paused"] != mostJobsShown {
		t.Errorf("%d jobs with metrics of their own, counts %v", len(seen), states)
	}
}

func TestWorkersWanted(t *testing.T) {
	for _, c := range []struct {
		tasks          int64
		workers, slots int
		want           int64
	}{{0, 0, 0, 0}, {0, 3, 6, 0}, {1, 0, 0, 1}, {500, 0, 0, 250}, {5, 1, 1, 3}, {8, 2, 16, 1}, {9, 2, 16, 2}} {
		if got := wanted(c.tasks, c.workers, c.slots); got != c.want {
			t.Errorf("%d tasks, %d workers with %d slots: %d wanted, want %d", c.tasks, c.workers, c.slots, got, c.want)
		}
	}
}
