package intake

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pelmill/pelmill/internal/build"
	"github.com/pelmill/pelmill/internal/listener"
)

// What became of a hint, as pelmill_intake_hints_total has it.
const (
	hintTaken      = "taken"      // it is in a batch
	hintKnown      = "known"      // this version of the object was done a moment ago
	hintMissing    = "missing"    // the store has no such object
	hintUnreadable = "unreadable" // the store does not say
	hintFiltered   = "filtered"   // the filter leaves it out
	hintOwn        = "own"        // it is of the target, or of pelmill's own
	hintBadKey     = "bad_key"    // no object can have that key
	hintForeign    = "foreign"    // of another bucket, or outside of the source's prefix
	hintOther      = "other"      // of something else than a new object
	hintMalformed  = "malformed"  // the message is none that is known
	hintFull       = "full"       // refused: the spool is full
)

// metrics counts what an intake does.
type metrics struct {
	registry                         *prometheus.Registry
	hints, batches, objects          *prometheus.CounterVec
	wait, fly, messages, lastListing prometheus.Gauge
	found, prunedJobs                prometheus.Counter
	listSeconds, resultSeconds       prometheus.Histogram
	mu                               sync.Mutex
	troubles                         map[string]error
}

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pelmill_intake_" + name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "pelmill_intake_" + name, Help: help})
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: "pelmill_intake_" + name, Help: help, Buckets: buckets})
	}
	m := &metrics{
		registry:      prometheus.NewRegistry(),
		hints:         counter("hints_total", "Keys that events and listings named, by what became of them.", "result"),
		batches:       counter("batches_total", "Batches that have ended, by state.", "state"),
		objects:       counter("objects_total", "Objects of batches that have ended, by outcome.", "outcome"),
		wait:          gauge("waiting_objects", "Objects that wait for a batch."),
		fly:           gauge("batches", "Batches that have not ended."),
		messages:      gauge("unacknowledged_messages", "Messages of a queue that are not acknowledged yet."),
		lastListing:   gauge("last_listing_timestamp_seconds", "When the last whole listing ended."),
		found:         prometheus.NewCounter(prometheus.CounterOpts{Name: "pelmill_intake_listed_objects_total", Help: "Objects that listings found to be done."}),
		prunedJobs:    prometheus.NewCounter(prometheus.CounterOpts{Name: "pelmill_intake_pruned_jobs_total", Help: "Old batches that were taken away."}),
		listSeconds:   histogram("listing_seconds", "Time of a listing, with the waits for room.", prometheus.ExponentialBuckets(0.1, 4, 10)),
		resultSeconds: histogram("result_seconds", "From the time of an object in the source to the end of its batch.", prometheus.ExponentialBuckets(0.5, 2, 16)),
		troubles:      map[string]error{},
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "pelmill_build_info", Help: "1; the labels say what runs.", ConstLabels: prometheus.Labels{"version": build.Version(), "commit": build.Commit()}})
	info.Set(1)
	ready := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "pelmill_ready", Help: "1: the process does what it is for; 0: /readyz says why not.",
		ConstLabels: prometheus.Labels{"process": "intake"}}, func() float64 {
		if len(m.unready(context.Background())) > 0 {
			return 0
		}
		return 1
	})
	m.registry.MustRegister(ready, m.hints, m.batches, m.objects, m.wait, m.fly, m.messages, m.lastListing, m.found, m.prunedJobs, m.listSeconds, m.resultSeconds, info,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, result := range []string{hintTaken, hintKnown, hintMissing, hintUnreadable, hintFiltered, hintOwn, hintBadKey, hintForeign, hintOther, hintMalformed, hintFull} {
		m.hints.WithLabelValues(result)
	}
	return m
}

func (m *metrics) hint(result string) { m.hints.WithLabelValues(result).Inc() }
func (m *metrics) batch(state string) { m.batches.WithLabelValues(state).Inc() }
func (m *metrics) outcome(outcome string, n int64) {
	m.objects.WithLabelValues(outcome).Add(float64(n))
}
func (m *metrics) waiting(n int)           { m.wait.Set(float64(n)) }
func (m *metrics) flying(n int)            { m.fly.Add(float64(n)) }
func (m *metrics) unacknowledged(n int)    { m.messages.Add(float64(n)) }
func (m *metrics) latency(d time.Duration) { m.resultSeconds.Observe(d.Seconds()) }
func (m *metrics) pruned(n int)            { m.prunedJobs.Add(float64(n)) }

func (m *metrics) listed(d time.Duration, n int) {
	m.listSeconds.Observe(d.Seconds())
	m.found.Add(float64(n))
	m.lastListing.SetToCurrentTime()
}

// trouble notes why something does not go on; nil: it does.
func (m *metrics) trouble(what string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.troubles, what); err != nil {
		m.troubles[what] = err
	}
}

// unready gives the reasons for which nothing is taken in.
func (m *metrics) unready(context.Context) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for what, err := range m.troubles {
		out = append(out, fmt.Sprintf("cannot %s: %v", what, err))
	}
	slices.Sort(out)
	return out
}

// serve serves health and metrics until stop is called.
func (in *Intake) serve() (stop func(), err error) {
	_, stop, err = listener.Serve(in.opts.Metrics, listener.Handler(in.metrics.registry, in.metrics.unready), in.log)
	if err != nil {
		return nil, fmt.Errorf("intake: %w", err)
	}
	return stop, nil
}
