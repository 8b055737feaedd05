package scheduler

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pelmill/pelmill/internal/build"
	"github.com/pelmill/pelmill/internal/listener"
	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
)

// scrapeTime bounds what a scrape asks Redis.
const scrapeTime = 2 * time.Second

// view is what metrics say of a job that this scheduler leads.
type view struct {
	state  jobs.State
	counts jobs.Counts // with those of chunks at work
	pace   jobs.Pace
	left   time.Duration // of the time that the job may work; 0: none is left
	timed  bool          // the job may work for some time only
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
	descReady   = describe("ready", "1: the process does what it is for; 0: /readyz says why not.", "process")
	descTasks   = describe("queue_tasks", "Chunks in the queue, by queue, one for each priority, and state.", "queue", "state")
	descOldest  = describe("queue_oldest_seconds", "For how long the chunk waits that waits longest, by queue.", "queue")
	descWindow  = describe("queue_window_tasks", "Most chunks of a priority that are put into the queue.")
	descMemory  = describe("redis_memory_ratio", "Memory of Redis over what it may have; absent without a limit.")
	descWorkers = describe("workers", "Workers that are connected, by device.", "device")
	descSlots   = describe("worker_slots", "Chunks that they can have at work at once.")
	descWanted  = describe("workers_wanted", "Workers that the chunks in the queue can keep at work, at least 2 chunks each; 0 where nothing is to be done.")
	descJobs    = describe("jobs", "Jobs that this scheduler leads, by state.", "state")
	descLeader  = describe("leader", "1: this scheduler leads the running job.", "job")
	descObjects = describe("job_objects", "Objects of a running job that were attempted, by outcome.", "job", "outcome")
	descTotal   = describe("job_objects_to_do", "Objects that a running job has to do in all.", "job")
	descRate    = describe("job_objects_per_second", "Objects of a running job a second; 0 where nothing runs.", "job")
	descLeft    = describe("job_eta_seconds", "Expected time to the end of a running job; absent where it is not known.", "job")
	descTime    = describe("job_time_left_seconds", "Time for which a running job may still work by its limit; absent without one.", "job")
	descSent    = describe("notifications_total", "Attempts to deliver a notification, by what came of them.", "result")
	descBuild   = describe("build_info", "1; the labels say what runs.", "version", "commit")
)

// Bounds of labels. The ids of jobs and the names of devices come from Redis and from storage.
const (
	mostJobsShown    = 100 // running jobs with metrics of their own, the newest; [descJobs] counts all
	mostDevicesShown = 50  // the workers of others are counted together
	longestDevice    = 64  // bytes of a name
)

// fewestChunks are what a worker should have to do before another one is worth its start.
const fewestChunks = 2

// Describe makes s a prometheus.Collector.
func (s *Scheduler) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descReady, descTasks, descOldest, descWindow, descMemory, descWorkers, descSlots, descWanted, descJobs,
		descLeader, descObjects, descTotal, descRate, descLeft, descTime, descSent, descBuild} {
		ch <- d
	}
}

// Collect makes s a prometheus.Collector. What Redis does not say is left out.
func (s *Scheduler) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(descBuild, 1, build.Version(), build.Commit())
	ready := 1.0
	if len(s.unready(context.Background())) > 0 {
		ready = 0
	}
	gauge(descReady, ready, "scheduler")
	gauge(descWindow, float64(s.window()))
	s.collectQueue(gauge)
	s.collectJobs(gauge)
	for result, n := range map[string]*atomic.Int64{"delivered": &s.sent.delivered, "failed": &s.sent.failed, "given_up": &s.sent.ended} {
		ch <- prometheus.MustNewConstMetric(descSent, prometheus.CounterValue, float64(n.Load()), result)
	}
}

func (s *Scheduler) collectQueue(gauge func(*prometheus.Desc, float64, ...string)) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	tasks, counted := int64(0), true
	for p := range jobs.Priorities {
		name := queue.Name(p)
		if d, err := s.conn.Tasks(p).Depth(ctx); err == nil {
			gauge(descTasks, float64(d.Pending), name, "pending")
			gauge(descTasks, float64(d.Active), name, "active")
			gauge(descTasks, float64(d.Retry), name, "retry")
			gauge(descTasks, float64(d.Archived), name, "archived")
			tasks += d.Pending + d.Active + d.Retry
		} else {
			counted = false
		}
		if oldest, err := s.conn.Tasks(p).Oldest(ctx); err == nil {
			gauge(descOldest, oldest.Seconds(), name)
		}
	}
	if used, most, err := s.conn.Memory(ctx); err == nil && most > 0 {
		gauge(descMemory, float64(used)/float64(most))
	}
	workers, err := s.conn.Workers(ctx)
	if err != nil {
		return
	}
	devices, slots := map[string]int{}, 0
	for _, w := range workers {
		device := deviceLabel(w.Device)
		if _, shown := devices[device]; !shown && len(devices) >= mostDevicesShown {
			device = "other"
		}
		devices[device]++
		slots += w.Concurrency
	}
	for device, n := range devices {
		gauge(descWorkers, float64(n), device)
	}
	gauge(descSlots, float64(slots))
	if counted {
		gauge(descWanted, float64(wanted(tasks, len(workers), slots)))
	}
}

// wanted is how many workers so many tasks can keep at work. A worker has the slots that those have on average
// that are connected.
func wanted(tasks int64, workers, slots int) int64 {
	each := int64(fewestChunks)
	if workers > 0 {
		each = max(each, int64(slots/workers))
	}
	return (tasks + each - 1) / each
}

// deviceLabel is the name of a device as a label.
func deviceLabel(name string) string {
	name = plain.Line(strings.ToValidUTF8(name, "?"))
	if len(name) > longestDevice {
		name = strings.ToValidUTF8(name[:longestDevice], "")
	}
	return name
}

func (s *Scheduler) collectJobs(gauge func(*prometheus.Desc, float64, ...string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	states := map[jobs.State]int{}
	var running []string
	for id := range s.driving {
		v := s.views[id]
		if v.state == "" {
			v.state = jobs.StateNew
		}
		states[v.state]++
		if v.state == jobs.StateRunning {
			running = append(running, id)
		}
	}
	for state, n := range states {
		gauge(descJobs, float64(n), string(state))
	}
	slices.Sort(running) // the oldest first
	for _, id := range running[max(0, len(running)-mostJobsShown):] {
		s.views[id].collect(id, gauge)
	}
}

// collect gives the metrics of a running job.
func (v view) collect(id string, gauge func(*prometheus.Desc, float64, ...string)) {
	gauge(descLeader, 1, id)
	if v.timed {
		gauge(descTime, v.left.Seconds(), id)
	}
	if v.pace.At.IsZero() {
		return
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
