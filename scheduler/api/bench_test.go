package api_test

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
)

// BenchmarkReaders measures what 200 readers and 50 streams of events cost a job, and how long the readers wait, where the
// scheduler, a worker and the readers are processes of their own that share the machine. Readers ask once a second, as pages
// and scripts do, in phases that take turns with phases without readers, so that what else the machine does falls on both:
// lost-% is the median over pairs of phases. Then each asks again as soon as it has its answer ("flood"), for which the times
// are printed only: that takes all the CPU that there is. All times are of GET /v1/jobs/{id}.
func BenchmarkReaders(b *testing.B) {
	const (
		pictures = 30_000
		pairs    = 7
		phase    = 4 * time.Second
	)
	program, err := faults.Build(b.TempDir(), "cmd/pelmill")
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		dir := b.TempDir()
		source, target := filepath.Join(dir, "in"), filepath.Join(dir, "out")
		for _, d := range []string{source, target} {
			if err := os.Mkdir(d, 0o777); err != nil {
				b.Fatal(err)
			}
		}
		first := filepath.Join(source, "00000.png")
		writeNoise(b, first)
		for i := 1; i < pictures; i++ {
			if err := os.Link(first, filepath.Join(source, fmt.Sprintf("%05d.png", i))); err != nil {
				b.Fatal(err)
			}
		}
		address := fmt.Sprintf("127.0.0.1:%d", services.FreePort(b))
		env := []string{"PELMILL_REDIS=" + services.Redis(b).URL()}
		scheduler := faults.Start(b, "scheduler", env, program, "scheduler", target, "--listen", address, "--allow", dir)
		worker := faults.Start(b, "worker", env, program, "worker", "--allow", dir, "--device", "cpu")
		out := faults.Run(b, 0, env, program, "submit", source, target, "--codec", "webp", "--yes", "--chunk-objects", "50")
		id := strings.TrimSpace(out)
		done := func() float64 {
			entries, err := os.ReadDir(target)
			if err != nil {
				b.Fatal(err)
			}
			return float64(len(entries))
		}
		faults.Until(b, time.Minute, "some objects", func() bool { return done() > 100 })
		rate := func() float64 {
			from, start := done(), time.Now()
			time.Sleep(phase)
			return (done() - from) / time.Since(start).Seconds()
		}
		var mu sync.Mutex
		read := func(pause time.Duration, times *[]time.Duration) float64 {
			stop := readersOf(b, "http://"+address, id, 200, 50, pause, func(d time.Duration) { mu.Lock(); *times = append(*times, d); mu.Unlock() })
			defer stop()
			return rate()
		}
		var paced, flood []time.Duration
		var lost, alone []float64
		for i := range pairs {
			var quiet, with float64
			if i%2 == 0 { // the order changes, as rates may fall or rise with time
				quiet, with = rate(), read(time.Second, &paced)
			} else {
				with = read(time.Second, &paced)
				quiet = rate()
			}
			lost, alone = append(lost, 100*(1-with/quiet)), append(alone, quiet)
		}
		flooded := read(0, &flood)
		if done() >= pictures {
			b.Error("the job ended too early")
		}
		worker.Kill()
		scheduler.Kill()
		slices.Sort(lost)
		slices.Sort(alone)
		b.ReportMetric(lost[pairs/2], "lost-%")
		b.ReportMetric(alone[pairs/2], "objects/s")
		report := func(name string, times []time.Duration) {
			slices.Sort(times)
			for _, p := range []int{50, 90, 99} {
				b.ReportMetric(float64(times[len(times)*p/100].Microseconds())/1000, fmt.Sprintf("%sp%d-ms", name, p))
			}
		}
		report("", paced)
		report("flood-", flood)
		b.ReportMetric(float64(len(flood))/phase.Seconds(), "flood-answers/s")
		b.ReportMetric(flooded, "flood-objects/s")
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
