package faults_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/seed"
	"github.com/pelmill/pelmill/internal/services"
)

// sample is what a process has taken after a job.
type sample struct {
	at    time.Duration
	bytes int64
	files int
	cpu   time.Duration // since its start
}

// rates are those of one job after the other. How long a job takes says little on a machine that others use too, so that the CPU
// time is measured beside it.
type rates struct {
	images []float64 // a second
	cpu    []float64 // seconds an image, of all processes together
}

// Bounds of a soak: by how much the memory of a process may rise from the first quarter to the end, by the line through its
// samples, beside a tenth of what it takes; and by how much the CPU time of an image, which other programs on the machine change too.
const (
	mostRise    = 8 << 20
	mostCPURise = 1.25

	soakParts = 12 // whose mean memory a line is laid through
)

// soak does job after job with the same processes, for size minutes.
func soak(t *testing.T, size int, l *ledger) {
	rate, memory := soaking(t, time.Duration(size)*time.Minute, 0, l)
	l.add(countFaults, int64(size))
	for _, name := range slices.Sorted(maps.Keys(memory)) {
		samples := memory[name]
		late := samples[len(samples)/4:]
		slope, off := slopeOf(means(late, soakParts))
		over := late[len(late)-1].at - late[0].at
		fmt.Printf("soak: %s: %.1f MB after the first quarter, %.1f MB at the end, slope %.2f MB an hour, standard error %.2f, %d files, %.1f s of CPU\n", name,
			float64(late[0].bytes)/1e6, float64(late[len(late)-1].bytes)/1e6, slope*3600/1e6, off*3600/1e6, late[len(late)-1].files, late[len(late)-1].cpu.Seconds())
		quarter := func(i int) int64 {
			var part []int64
			for _, s := range samples[i*len(samples)/4 : (i+1)*len(samples)/4] {
				part = append(part, s.bytes)
			}
			slices.Sort(part)
			return part[len(part)/2]
		}
		if a, b := quarter(1), quarter(3); b > a+a/4+16<<20 {
			t.Errorf("%s takes %d bytes in the last quarter, %d in the second", name, b, a)
		}
		if rise, most := slope*over.Seconds(), float64(mostRise+quarter(1)/10); rise > most {
			t.Errorf("%s: memory rises by %.1f MB in %v, want at most %.1f MB", name, rise/1e6, over, most/1e6)
		}
	}
	second := func(all []float64) float64 { return middle(all[len(all)/4 : len(all)/2]) }
	last := func(all []float64) float64 { return middle(all[3*len(all)/4:]) }
	fmt.Printf("soak: %d jobs; %.1f images a second in the second quarter, %.1f in the last; %.2f ms of CPU an image in the second quarter, %.2f in the last\n",
		len(rate.images), second(rate.images), last(rate.images), 1e3*second(rate.cpu), 1e3*last(rate.cpu))
	if a, b := second(rate.cpu), last(rate.cpu); b > mostCPURise*a {
		t.Errorf("an image takes %.2f ms of CPU in the last quarter, %.2f in the second", 1e3*b, 1e3*a)
	}
}

// lastingKeys counts the keys that do not expire. A job leaves the fence of its lock for a week.
const lastingKeys = `local n = 0 for _, key in ipairs(redis.call("KEYS", "*")) do if redis.call("TTL", key) == -1 then n = n + 1 end end return n`

// smallSoak does a few jobs with the same processes. What they leave in Redis and what files they have open must not grow.
func smallSoak(t *testing.T) { soaking(t, 0, 4, newLedger()) }

// soaking does jobs for a time, at least so many, and gives the rates of each and what each process took after it.
func soaking(t *testing.T, length time.Duration, least int, l *ledger) (rate rates, memory map[string][]sample) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: what a process takes is read on Linux only")
	}
	rng := seed.Rand(t)
	base := t.TempDir()
	memory = map[string][]sample{}
	redis := services.Redis(t)
	images := faults.Images(rng.Uint64(), 60, 64)
	if length > 0 {
		images = faults.Images(rng.Uint64(), 600, 96)
	}
	procs := map[string]*faults.Process{}
	keys := map[int]int{} // of Redis that do not expire, after so many jobs
	began := time.Now()
	for i := 0; i < max(least, 8) || time.Since(began) < length; i++ {
		if least > 0 && i == least {
			break
		}
		tr := &trial{t: t, sources: images, redis: redis, source: filepath.Join(base, "src"), target: filepath.Join(base, "dst-"+strconv.Itoa(i))}
		tr.disk, tr.env = tr.target, []string{"PELMILL_ALLOW=" + base}
		tr.extra = []string{"--chunk-objects", "20"}
		if i == 0 {
			if err := os.Mkdir(tr.source, 0o777); err != nil {
				t.Fatal(err)
			}
			tr.fill()
			for _, name := range []string{"worker 1", "worker 2"} {
				procs[name] = tr.worker()
			}
			procs["scheduler"] = tr.scheduler()
		}
		tr.from, tr.to = openBucket(t, tr.source), openBucket(t, tr.target)
		start := time.Now()
		id := tr.submit()
		tr.ended(id)
		rate.images = append(rate.images, float64(len(images))/time.Since(start).Seconds())
		l.add(countImages, int64(len(images)))
		if err := os.RemoveAll(tr.target); err != nil {
			t.Fatal(err)
		}
		var cpu time.Duration // of this job
		for name, p := range procs {
			if !p.Running() {
				t.Fatalf("%s ended after %d jobs", name, i)
			}
			bytes, files, err := p.Takes()
			if err != nil {
				t.Fatal(err)
			}
			used, err := p.CPU()
			if err != nil {
				t.Fatal(err)
			}
			cpu += used
			if before := memory[name]; len(before) > 0 {
				cpu -= before[len(before)-1].cpu
			}
			memory[name] = append(memory[name], sample{time.Since(began), bytes, files, used})
		}
		rate.cpu = append(rate.cpu, cpu.Seconds()/float64(len(images)))
		n, err := strconv.Atoi(redis.CLI("eval", lastingKeys, "0"))
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = n
	}
	last := len(rate.images) - 1
	// A task's result or a worker's announcement may come or go; a key for each job may not.
	if keys[last] > keys[1]+last/2+3 {
		t.Errorf("redis has %d keys that do not expire after %d jobs, %d after two: %s", keys[last], last+1, keys[1], redis.CLI("--scan"))
	}
	for name, s := range memory {
		if s[last].files > s[1].files+last/2+8 {
			t.Errorf("%s has %d open files after %d jobs, %d after two", name, s[last].files, last+1, s[1].files)
		}
	}
	return rate, memory
}

// slopeOf is by how many bytes a second a line through samples rises, and the standard error of that.
func slopeOf(samples []sample) (slope, off float64) {
	var x, y float64
	n := float64(len(samples))
	for _, s := range samples {
		x, y = x+s.at.Seconds()/n, y+float64(s.bytes)/n
	}
	var xx, xy, yy float64
	for _, s := range samples {
		dx, dy := s.at.Seconds()-x, float64(s.bytes)-y
		xx, xy, yy = xx+dx*dx, xy+dx*dy, yy+dy*dy
	}
	if n < 3 || xx == 0 {
		return 0, 0
	}
	slope = xy / xx
	return slope, math.Sqrt(max(0, yy-slope*xy) / (n - 2) / xx)
}

// means are the mean samples of n parts of equal length. The memory after one job depends on that after the one before, so that a
// line through single samples seems surer than it is.
func means(samples []sample, n int) []sample {
	if len(samples) < 2*n {
		return samples
	}
	parts := make([]sample, n)
	for i := range parts {
		part := samples[i*len(samples)/n : (i+1)*len(samples)/n]
		for _, s := range part {
			parts[i].at += s.at / time.Duration(len(part))
			parts[i].bytes += s.bytes / int64(len(part))
		}
	}
	return parts
}

func middle(rates []float64) float64 {
	if len(rates) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(rates))
	return sorted[len(sorted)/2]
}
