package api_test

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler/api"
	"github.com/pelmill/pelmill/worker"
)

// BenchmarkReaders measures what 200 readers, who ask once a second, and 50 streams of events cost a job whose worker shares
// the machine with them: phases with and without readers take turns, so that what else the machine does falls on both. The
// unit lost-% is the median over pairs of phases; p50-ms and p99-ms are of GET /v1/jobs/{id}.
func BenchmarkReaders(b *testing.B) {
	const (
		pictures = 12_000
		pairs    = 7
		phase    = 4 * time.Second
	)
	for range b.N {
		r := newRig(b, nil)
		var done atomic.Int64
		w, err := worker.New(r.conn, r.buckets, &worker.Options{Device: "cpu", OnResult: func(jobs.Result) { done.Add(1) }})
		if err != nil {
			b.Fatal(err)
		}
		if err := os.MkdirAll(r.source, 0o777); err != nil {
			b.Fatal(err)
		}
		first := filepath.Join(r.source, "00000.png")
		writeNoise(b, first)
		for i := 1; i < pictures; i++ {
			if err := os.Link(first, filepath.Join(r.source, fmt.Sprintf("%05d.png", i))); err != nil {
				b.Fatal(err)
			}
		}
		id := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 50 })
		ctx, cancel := context.WithCancel(r.ctx)
		var running sync.WaitGroup
		running.Go(func() { w.Run(ctx) })
		r.until(id, "some objects", func(api.Job) bool { return done.Load() > 100 })
		rate := func() float64 {
			from, start := done.Load(), time.Now()
			time.Sleep(phase)
			return float64(done.Load()-from) / time.Since(start).Seconds()
		}
		var mu sync.Mutex
		var times []time.Duration
		var lost, alone []float64
		for i := range pairs {
			var quiet, read float64
			with := func() {
				stop := r.readers(id, 200, 50, time.Second, func(d time.Duration) { mu.Lock(); times = append(times, d); mu.Unlock() })
				defer stop()
				read = rate()
			}
			if i%2 == 0 { // the order changes, as rates may fall or rise with time
				quiet = rate()
				with()
			} else {
				with()
				quiet = rate()
			}
			lost, alone = append(lost, 100*(1-read/quiet)), append(alone, quiet)
		}
		if done.Load() >= pictures {
			b.Error("the job ended too early")
		}
		cancel()
		running.Wait()
		slices.Sort(lost)
		slices.Sort(alone)
		slices.Sort(times)
		b.ReportMetric(lost[pairs/2], "lost-%")
		b.ReportMetric(alone[pairs/2], "objects/s")
		b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
		b.ReportMetric(0, "ns/op")
	}
}

// writeNoise writes a picture that takes some milliseconds.
func writeNoise(b *testing.B, name string) {
	b.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 96, 96))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 96 * 96 {
		m.Set(i%96, i/96, color.RGBA{uint8(i / 96 * 2), uint8(i%96 + random.IntN(8)), uint8(random.IntN(32)), 255})
	}
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, m); err != nil {
		b.Fatal(err)
	}
}
