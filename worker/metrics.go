package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pelmill/pelmill/internal/build"
	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

// metrics are the worker's, in a registry of its own. No label has more values
// than there are codecs, outcomes, classes, stages or directions.
type metrics struct {
	registry *prometheus.Registry
	objects  *prometheus.CounterVec // codec, mode, device, outcome, class
	failures *prometheus.CounterVec // class
	bytes    *prometheus.CounterVec // direction: in, raw, out
	stages   map[string]prometheus.Observer
	ratio    prometheus.Histogram
	chunks   prometheus.Histogram
	inflight prometheus.Gauge
	redis    prometheus.Counter

	noProgress prometheus.Counter // chunks that the watchdog ended
	putOff     prometheus.Counter // chunks that were put off as the queue did not answer
}

func newMetrics(w *Worker) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		objects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pelmill_objects_total", Help: "Objects that got a record, by codec, mode, device, outcome and class of error."},
			[]string{"codec", "mode", "device", "outcome", "class"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pelmill_failures_total", Help: "Objects that failed or were rejected, by class of error."}, []string{"class"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pelmill_bytes_total", Help: "Bytes of compressed and kept objects: of sources (in), samples (raw) and targets (out)."},
			[]string{"direction"}),
		ratio: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pelmill_compression_ratio", Help: "Bytes of the source over bytes of the target.",
			Buckets: []float64{1, 1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64}}),
		chunks: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pelmill_chunk_seconds", Help: "Time for a chunk.", Buckets: prometheus.ExponentialBuckets(0.1, 2, 13)}),
		inflight:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "pelmill_chunk_inflight", Help: "Chunks in work."}),
		noProgress: prometheus.NewCounter(prometheus.CounterOpts{Name: "pelmill_chunks_without_progress_total", Help: "Chunks that were given back because nothing of them moved."}),
		putOff:     prometheus.NewCounter(prometheus.CounterOpts{Name: "pelmill_chunks_put_off_total", Help: "Chunks that were put off because the queue did not answer."}),
		redis:      prometheus.NewCounter(prometheus.CounterOpts{Name: "pelmill_redis_errors_total", Help: "Calls to Redis that failed."}),
		stages:     map[string]prometheus.Observer{},
	}
	stages := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "pelmill_stage_seconds", Help: "Time of one object in a stage.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 18)},
		[]string{"stage"})
	for _, s := range []string{stageFetch, stageRead, stageEncode, stageVerify, stageStore} {
		m.stages[s] = stages.WithLabelValues(s)
	}
	for _, name := range class.All() { // so that the first one of a class is a change
		m.failures.WithLabelValues(name)
	}
	info := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "pelmill_build_info", Help: "1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": build.Version(), "commit": build.Commit(), "device": w.device.Name()}}, func() float64 { return 1 })
	stuck := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "pelmill_stuck_encoders", Help: "Encoders held by a codec that does not end."}, func() float64 { return float64(w.guards.stuck.Load() + w.laneGuards.stuck.Load()) })
	m.registry.MustRegister(m.objects, m.failures, m.bytes, stages, m.ratio, m.chunks, m.inflight, m.redis, m.noProgress, m.putOff, info, stuck,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "pelmill_ready", Help: "1: the process does what it is for; 0: /readyz says why not.",
			ConstLabels: prometheus.Labels{"process": "worker"}}, func() float64 {
			if len(w.unready(context.Background())) > 0 {
				return 0
			}
			return 1
		}),
		counter("pelmill_verify_mismatches_total", "Attempts whose result did not decode to the image, also where a later attempt was right.",
			func() float64 { return float64(w.mismatches.Load()) }),
		counter("pelmill_storage_retries_total", "Operations of storage that were tried again after a temporary error.",
			func() float64 { return float64(w.buckets.Retries()) }),
		counter("pelmill_gpu_batches_total", "Batches of pictures that were formed for the device.", func() float64 { return float64(w.formed.Load()) }),
		counter("pelmill_gpu_pictures_total", "Pictures in these batches.", func() float64 { return float64(w.batched.Load()) }),
		counter("pelmill_gpu_sources_total", "Pictures whose source file was read by the device.", func() float64 { return float64(w.reading.read()) }),
		counter("pelmill_gpu_compared_total", "Results that the device has compared with their pictures.", func() float64 { return float64(w.comparing.count()) }),
		counter("pelmill_gpu_digests_total", "SHA-256 of sources, pictures and decoded results that were made by the device.", func() float64 { return float64(w.summing.count()) }),
		counter("pelmill_gpu_busy_seconds_total", "Time in which cards had work.", func() float64 { return w.stats().Busy.Seconds() }),
		counter("pelmill_gpu_out_of_memory_total", "Parts of batches that did not fit into the memory of a card.", func() float64 {
			s := w.stats()
			return float64(s.Halved + s.Left)
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "pelmill_gpu_memory_bytes", Help: "Memory held on cards."},
			func() float64 { return float64(w.stats().Memory) }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func counter(name, help string, value func() float64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value)
}

func (m *metrics) stage(name string) prometheus.Observer { return m.stages[name] }

// result counts a record.
func (m *metrics) result(r *jobs.Result) {
	device := r.Device
	if device == "" {
		device = "none" // it did not come so far
	}
	m.objects.WithLabelValues(r.Codec, "encode", device, string(r.Outcome), r.Class).Inc()
	if r.Outcome == jobs.OutcomeFailed || r.Outcome == jobs.OutcomeRejected {
		m.failures.WithLabelValues(r.Class).Inc()
	}
	var c jobs.Counts
	c.Add(r)
	m.bytes.WithLabelValues("in").Add(float64(c.BytesIn))
	m.bytes.WithLabelValues("raw").Add(float64(c.BytesRaw))
	m.bytes.WithLabelValues("out").Add(float64(c.BytesOut))
	if r.Outcome == jobs.OutcomeCompressed && r.TargetSize > 0 {
		m.ratio.Observe(float64(r.Size) / float64(r.TargetSize))
	}
}

// logKey is how a key appears in the log. format is that of the source, where it is known.
func (w *Worker) logKey(key, format string) string {
	switch {
	case w.opts.LogKey != nil:
		return w.opts.LogKey(key)
	case (&jobs.Result{Key: key, SourceFormat: format}).Medical():
		return HashKey(key)
	case w.opts.HashKeys:
		sum := sha256.Sum256([]byte(key))
		return "sha256:" + hex.EncodeToString(sum[:8])
	}
	return key
}

// HashKey is a keyed hash in place of an object's key. It is the same as long as the process lives, and the one that its
// log has for a medical image. Names of patients could be guessed from plain hashes.
func HashKey(key string) string { return sitekey.OfProcess().Name(key) }
