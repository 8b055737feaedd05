package scheduler

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
)

// resident gives the most memory that the process had since the last reset, in
// bytes, and starts again; 0 where the system does not say.
func resident() int64 {
	var peak int64
	data, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64)
			peak = kib << 10
		}
	}
	os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	return peak
}

// emptyFiles makes n files, 1,000 a folder.
func emptyFiles(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	for i := range n {
		sub := filepath.Join(dir, fmt.Sprintf("d%04d", i/1000))
		if i%1000 == 0 {
			if err := os.Mkdir(sub, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		f, err := os.Create(filepath.Join(sub, fmt.Sprintf("picture-%07d.png", i)))
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// BenchmarkMillion runs a job of 1,000,000 objects with a worker that does
// nothing but write the records. The memory is that of scheduler, worker and
// benchmark in one process, and, embedded, of the queue too. The share of the time that
// progress takes is that of the reports of the worker and of the pace, both every second.
func BenchmarkMillion(b *testing.B) {
	const n = 1_000_000
	source := emptyFiles(b, n)
	for _, kind := range []string{"redis", "embedded"} {
		b.Run(kind, func(b *testing.B) {
			for range b.N {
				address := ""
				var server *services.RedisServer
				if kind == "redis" {
					server = services.Redis(b)
					address = server.URL()
				}
				r := newRigOn(b, address, source, b.TempDir())
				r.worker.write = false
				r.worker.start(b, 2)
				var window, peak atomic.Int64
				ctx, cancel := context.WithCancel(r.ctx)
				go r.worker.report(ctx)
				watched := make(chan struct{})
				go func() {
					defer close(watched)
					for ; ctx.Err() == nil; sleep(ctx, 20*time.Millisecond) {
						if d, err := r.conn.Tasks(0).Depth(ctx); err == nil {
							window.Store(max(window.Load(), d.Waiting()))
						}
						if used, _, err := r.conn.Memory(ctx); err == nil {
							peak.Store(max(peak.Load(), used))
						}
					}
				}()
				resident()
				s := New(r.conn, r.buckets, &Options{Codecs: tinyCodecs})
				stop := r.run(s)
				start := time.Now()
				spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 500 })
				r.waitState(spec.ID, jobs.StateRunning)
				prepared := time.Since(start)
				report := r.endedAfter(spec.ID, 10*time.Minute)
				elapsed := time.Since(start)
				memory := resident()
				told := time.Now()
				if err := r.conn.Job(spec.ID).SetPace(ctx, fullPace()); err != nil {
					b.Fatal(err)
				}
				telling := time.Duration(r.worker.telling.Load()).Seconds() + time.Since(told).Seconds()*elapsed.Seconds()
				cancel()
				<-watched
				stop()
				if report.Counts.Compressed != n {
					b.Fatalf("report %+v", report)
				}
				b.ReportMetric(n/elapsed.Seconds(), "objects/s")
				b.ReportMetric(prepared.Seconds(), "s-to-first-chunk")
				b.ReportMetric(float64(memory)/1e6, "MB-resident")
				b.ReportMetric(float64(peak.Load())/1e6, "MB-redis")
				b.ReportMetric(float64(window.Load()), "window")
				b.ReportMetric(float64(s.window()), "window-limit")
				b.ReportMetric(float64(report.Chunks), "chunks")
				share := 100 * telling / elapsed.Seconds()
				b.ReportMetric(share, "%-progress-reports")
				fmt.Printf("\n%s: progress reports take %.3f %% of the time of a million objects, required under 1 %%\n", kind, share)
				if share >= 1 {
					b.Errorf("progress reports take %.2f %% of the time, required under 1 %%", share)
				}
			}
		})
	}
}

// fullPace is one with as many points as it can have.
func fullPace() (p jobs.Pace) {
	for i := range 10_000 {
		p.Look(time.Unix(int64(i), 0), true, jobs.Work{Objects: int64(i) << 20, Bytes: int64(i) << 30}, jobs.Work{Objects: 1 << 40, Bytes: 1 << 50})
	}
	return p
}

// BenchmarkSecondRun100k runs a job over 100,000 objects whose results are all
// there.
func BenchmarkSecondRun100k(b *testing.B) {
	const n = 100_000
	b.Run("file", func(b *testing.B) { secondRun(b, emptyFiles(b, n), b.TempDir(), n, func() int64 { return -1 }) })
	b.Run("s3", func(b *testing.B) {
		store := services.VersityGW(b)
		store.NewBucket("target")
		store.NewBucket("source")
		// The source's objects are made as files, which the server shows.
		for i := range n {
			path := filepath.Join(store.Root, "source", fmt.Sprintf("d%03d", i/1000), fmt.Sprintf("picture-%06d.png", i))
			if i%1000 == 0 {
				if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
					b.Fatal(err)
				}
			}
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
		end, err := url.Parse(store.Endpoint)
		if err != nil {
			b.Fatal(err)
		}
		var requests atomic.Int64
		proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(end)
			r.Out.Host = r.In.Host // which is signed
		}}
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			proxy.ServeHTTP(w, r)
		}))
		defer front.Close()
		secondRun(b, services.S3URL(front.URL, "source"), services.S3URL(front.URL, "target"), n, requests.Load)
	})
}

func secondRun(b *testing.B, source, target string, n int, requests func() int64) {
	r := newRigOn(b, "", source, target)
	r.worker.start(b, 8)
	r.run(New(r.conn, r.buckets, &Options{Codecs: tinyCodecs}))
	if report := r.endedAfter(r.submit(nil).ID, 10*time.Minute); report.Counts.Compressed != int64(n) {
		b.Fatalf("first run: %+v", report)
	}
	for b.Loop() {
		before := requests()
		resident()
		start := time.Now()
		report := r.endedAfter(r.submit(nil).ID, 10*time.Minute)
		elapsed := time.Since(start)
		if report.Counts.Skipped != int64(n) || report.Chunks != 0 {
			b.Fatalf("second run: %+v", report)
		}
		b.ReportMetric(float64(n)/elapsed.Seconds(), "objects/s")
		b.ReportMetric(float64(resident())/1e6, "MB-resident")
		if before >= 0 {
			b.ReportMetric(float64(requests()-before), "requests")
		}
	}
}

// BenchmarkIdleNights measures what the folders of jobs take after 30 nightly runs over
// 100,000 objects that found nothing to do, pruned after each week and at the end, in bytes of one run's.
func BenchmarkIdleNights(b *testing.B) {
	const (
		n        = 100_000
		nights   = 30
		required = 1.2
	)
	r := newRig(b)
	r.ctx = b.Context() // which has no limit
	source := r.bucket(r.source)
	for i := range n {
		if err := source.WriteAll(b.Context(), fmt.Sprintf("d%03d/picture-%06d.png", i/1000, i), []byte{byte(i)}, nil); err != nil {
			b.Fatal(err)
		}
	}
	r.worker.start(b, 4)
	r.run(New(r.conn, r.buckets, &Options{Codecs: tinyCodecs}))
	for b.Loop() {
		if report := r.endedAfter(r.submit(nil).ID, 10*time.Minute); report.Counts.Compressed != n {
			b.Fatalf("first run: %+v", report)
		}
		one := r.folderSize()
		start := time.Now()
		for night := range nights {
			if report := r.endedAfter(r.submit(nil).ID, 10*time.Minute); report.Counts.Skipped != n {
				b.Fatalf("night %d: %+v", night, report)
			}
			if (night+1)%7 == 0 || night == nights-1 {
				if _, err := r.client.Prune(b.Context(), r.target, PruneRule{KeepLast: 3}, false); err != nil {
					b.Fatal(err)
				}
			}
		}
		share := float64(r.folderSize()) / float64(one)
		fmt.Printf("\n%d idle runs over %d objects with prune: %.3f of one run's %.1f MB, required at most %.1f; %.1f s a run\n",
			nights, n, share, float64(one)/1e6, required, time.Since(start).Seconds()/nights)
		b.ReportMetric(share, "folders/one-run")
		if share > required {
			b.Errorf("%.3f times the folder of one run, required at most %.1f", share, required)
		}
	}
}

// endedAfter waits for a report without checking every record, and without a
// request to storage until it is there.
func (r *rig) endedAfter(id string, most time.Duration) jobs.Report {
	r.t.Helper()
	for until := time.Now().Add(most); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		registered, err := r.conn.Jobs(r.ctx)
		if err != nil {
			r.t.Fatal(err)
		}
		if _, runs := registered[id]; runs {
			continue
		}
		report, err := r.client.Report(r.ctx, r.target, id)
		if err != nil {
			r.t.Fatal(err)
		}
		return report
	}
	r.t.Fatalf("job %s has no report after %v", id, most)
	return jobs.Report{}
}
