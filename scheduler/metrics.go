package scheduler

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pelmill/pelmill/internal/build"
	"github.com/pelmill/pelmill/internal/listener"
	"github.com/pelmill/pelmill/jobs"
)

// scrapeTime bounds what a scrape asks Redis.
const scrapeTime = 2 * time.Second

// view is what metrics say of a job that this scheduler leads.
type view struct {
	state  jobs.State
	counts jobs.Counts // with those of chunks at work
	pace   jobs.Pace
}

// show keeps what change makes of the view of a job.
func (s *Scheduler) show(id string, change func(*view)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[id]
	change(&v)
	s.views[id] = v
}

// Handler serves health, metrics and profiles, see package listener. The metrics about
// jobs are of those that this scheduler leads: summed over the schedulers they are all.
func (s *Scheduler) Handler() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(s, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return listener.Handler(r, s.unready)
}

// unready gives the reasons for which this scheduler drives no jobs.
func (s *Scheduler) unready(context.Context) []string {
	looked := s.looked.Load()
	switch {
	case looked == 0:
		return []string{"the queue has not answered yet"}
	case time.Since(time.Unix(0, looked)) > s.lease:
		return []string{fmt.Sprintf("the queue has not answered for %.0f s", time.Since(time.Unix(0, looked)).Seconds())}
	}
	return nil
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("pelmill_"+name, help, labels, nil)
}

var (
	descTasks   = describe("queue_tasks", "Chunks in the queue, by priority and state.", "priority", "state")
	descOldest  = describe("queue_oldest_seconds", "For how long the chunk waits that waits longest, by priority.", "priority")
	descWindow  = describe("queue_window_tasks", "Most chunks of a priority that are put into the queue.")
	descMemory  = describe("redis_memory_ratio", "Memory of Redis over what it may have; absent without a limit.")
	descWorkers = describe("workers", "Workers that are connected, by device.", "device")
	descSlots   = describe("worker_slots", "Chunks that they can have at work at once.")
	descJobs    = describe("jobs", "Jobs that this scheduler leads, by state.", "state")
	descLeader  = describe("leader", "1: this scheduler leads the job.", "job")
	descObjects = describe("job_objects", "Objects of a job that were attempted, by outcome.", "job", "outcome")
	descTotal   = describe("job_objects_to_do", "Objects that a job has to do in all.", "job")
	descRate    = describe("job_objects_per_second", "Objects of a job a second; 0 where nothing runs.", "job")
	descLeft    = describe("job_eta_seconds", "Expected time to the end of a job; absent where it is not known.", "job")
	descBuild   = describe("build_info", "1; the labels say what runs.", "version", "commit")
)

// Describe makes s a prometheus.Collector.
func (s *Scheduler) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descTasks, descOldest, descWindow, descMemory, descWorkers, descSlots, descJobs,
		descLeader, descObjects, descTotal, descRate, descLeft, descBuild} {
		ch <- d
	}
}

// Collect makes s a prometheus.Collector. What Redis does not say is left out.
func (s *Scheduler) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(descBuild, 1, build.Version(), build.Commit())
	gauge(descWindow, float64(s.window()))
	s.collectQueue(gauge)
	s.collectJobs(gauge)
}

func (s *Scheduler) collectQueue(gauge func(*prometheus.Desc, float64, ...string)) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	for p := range jobs.Priorities {
		priority := strconv.Itoa(p)
		if d, err := s.conn.Tasks(p).Depth(ctx); err == nil {
			gauge(descTasks, float64(d.Pending), priority, "pending")
			gauge(descTasks, float64(d.Active), priority, "active")
			gauge(descTasks, float64(d.Retry), priority, "retry")
			gauge(descTasks, float64(d.Archived), priority, "archived")
		}
		if oldest, err := s.conn.Tasks(p).Oldest(ctx); err == nil {
			gauge(descOldest, oldest.Seconds(), priority)
		}
	}
	if used, most, err := s.conn.Memory(ctx); err == nil && most > 0 {
		gauge(descMemory, float64(used)/float64(most))
	}
	if workers, err := s.conn.Workers(ctx); err == nil {
		devices, slots := map[string]int{}, 0
		for _, w := range workers {
			devices[w.Device]++
			slots += w.Concurrency
		}
		for device, n := range devices {
			gauge(descWorkers, float64(n), device)
		}
		gauge(descSlots, float64(slots))
	}
}

func (s *Scheduler) collectJobs(gauge func(*prometheus.Desc, float64, ...string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	states := map[jobs.State]int{}
	for id := range s.driving {
		v := s.views[id]
		states[v.state]++
		gauge(descLeader, 1, id)
		if v.pace.At.IsZero() {
			continue
		}
		for outcome, n := range v.counts.Outcomes() {
			gauge(descObjects, float64(n), id, string(outcome))
		}
		gauge(descTotal, float64(v.pace.Total.Objects), id)
		rate, now := 0.0, time.Now()
		if v.pace.Fresh(now) {
			rate, _ = v.pace.Rate()
			if left, ok := v.pace.Left(now); ok {
				gauge(descLeft, left.Seconds(), id)
			}
		}
		gauge(descRate, rate, id)
	}
	for state, n := range states {
		gauge(descJobs, float64(n), string(state))
	}
}
