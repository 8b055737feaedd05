package api_test

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"runtime"
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
// and scripts do.
//
// Most of what they cost is their own: they are clients that somebody else's machine would run. So three kinds of phases take
// turns, in an order that changes, so that what else the machine does falls on all: nobody reads; the readers read from the
// stand-in, which does the least that a server can: it sends the very bytes that the API has last sent, and an event with
// them each second; they read from the API. Of each turn raw-lost-% is what the third has lost of the first's rate, and lost-%
// what it has lost of the second's: the API's own share. Both are medians over the turns.
// CPU times, which are the same however busy the machine is, say it in another way, as shares of all cores, which the job
// would have: cpu-lost-% is what the scheduler uses more while it is read from, less what the stand-in uses, and raw-cpu-lost-%
// what scheduler and readers use more.
//
// At the end each asks again as soon as it has its answer ("flood"), for which the times are printed only: that takes all the
// CPU that there is. All times are of GET /v1/jobs/{id}.
func BenchmarkReaders(b *testing.B) {
	const (
		pictures = 50_000
		turns    = 9
		phase    = 4 * time.Second
		idle     = 12 * time.Second // after which the scheduler looks no more at a job that nobody asks for
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
		server := "http://" + address
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
		least, constant, tell := startStandIn(b, jobAnswer(b, server, id))
		time.Sleep(idle)

		spent := func(p *faults.Process) time.Duration {
			d, err := p.CPU()
			if err != nil {
				b.Log(err)
			}
			return d
		}
		// A measurement is of one phase: objects a second, and seconds of CPU a second.
		type measurement struct{ rate, scheduler, standIn, readers float64 }
		measure := func() measurement {
			from, start := done(), time.Now()
			s, l, r := spent(scheduler), spent(least), ownCPU(b)
			time.Sleep(phase)
			passed := time.Since(start).Seconds()
			s, l, r = spent(scheduler)-s, spent(least)-l, ownCPU(b)-r
			return measurement{(done() - from) / passed, s.Seconds() / passed, l.Seconds() / passed, r.Seconds() / passed}
		}
		var mu sync.Mutex
		read := func(from string, pause time.Duration, times *[]time.Duration) measurement {
			stop := readersOf(b, from, id, 200, 50, pause, func(d time.Duration) { mu.Lock(); *times = append(*times, d); mu.Unlock() })
			defer stop()
			time.Sleep(pause) // until all have connected
			m := measure()
			if from == server {
				tell(jobAnswer(b, server, id)) // asking at another time would make the scheduler look at the job
			}
			return m
		}
		var paced, ignored, flood []time.Duration
		var raw, lost, rawCPU, cpu, alone []float64
		cores := float64(runtime.NumCPU())
		for i := range turns {
			var quiet, standIn, api measurement
			kinds := []func(){
				func() { quiet = measure() },
				func() { standIn = read(constant, time.Second, &ignored) },
				func() { api = read(server, time.Second, &paced); time.Sleep(idle) },
			}
			for k := range kinds {
				if i%2 == 1 {
					k = len(kinds) - 1 - k
				}
				kinds[(k+i/2)%len(kinds)]()
			}
			raw = append(raw, 100*(1-api.rate/quiet.rate))
			lost = append(lost, 100*(1-api.rate/standIn.rate))
			rawCPU = append(rawCPU, 100*(api.scheduler-quiet.scheduler+api.readers-quiet.readers)/cores)
			cpu = append(cpu, 100*(api.scheduler-quiet.scheduler-standIn.standIn)/cores)
			alone = append(alone, quiet.rate)
			b.Logf("turn %d: alone %+.3v, stand-in %+.3v, API %+.3v", i, quiet, standIn, api)
		}
		flooded := read(server, 0, &flood)
		if done() >= pictures {
			b.Error("the job ended too early")
		}
		worker.Kill()
		scheduler.Kill()
		median := func(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }
		b.ReportMetric(median(raw), "raw-lost-%")
		b.ReportMetric(median(lost), "lost-%")
		b.ReportMetric(median(rawCPU), "raw-cpu-lost-%")
		b.ReportMetric(median(cpu), "cpu-lost-%")
		b.ReportMetric(median(alone), "objects/s")
		report := func(name string, times []time.Duration) {
			slices.Sort(times)
			for _, p := range []int{50, 90, 99} {
				b.ReportMetric(float64(times[len(times)*p/100].Microseconds())/1000, fmt.Sprintf("%sp%d-ms", name, p))
			}
		}
		report("", paced)
		report("flood-", flood)
		b.ReportMetric(float64(len(flood))/phase.Seconds(), "flood-answers/s")
		b.ReportMetric(flooded.rate, "flood-objects/s")
		b.ReportMetric(0, "ns/op")
	}
}

// jobAnswer is what the API answers to who asks for a job: the bytes of the response, with its header.
func jobAnswer(b *testing.B, server, id string) (text []byte) {
	b.Helper()
	faults.Until(b, time.Minute, "the job by the API", func() bool {
		res, err := http.Get(server + "/v1/jobs/" + id)
		if err != nil {
			return false
		}
		defer res.Body.Close()
		text, err = httputil.DumpResponse(res, true)
		return err == nil && res.StatusCode == http.StatusOK
	})
	return text
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
