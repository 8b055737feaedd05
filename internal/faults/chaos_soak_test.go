package faults_test

import (
	"fmt"
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

// sample is what a process takes after a job.
type sample struct {
	at    time.Duration
	bytes int64
	files int
}

// soak does job after job with the same processes, for size minutes.
func soak(t *testing.T, size int, l *ledger) {
	rate, memory := soaking(t, time.Duration(size)*time.Minute, 0, l)
	l.add(countFaults, int64(size))
	for name, samples := range memory {
		slope := slopeOf(samples[len(samples)/4:])
		fmt.Printf("soak: %s: %.1f MB after the first quarter, %.1f MB at the end, slope %.2f MB an hour\n", name,
			float64(samples[len(samples)/4].bytes)/1e6, float64(samples[len(samples)-1].bytes)/1e6, slope*3600/1e6)
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
	}
	fmt.Printf("soak: %.1f images a second in the second quarter, %.1f in the last\n", middle(rate[len(rate)/4:len(rate)/2]), middle(rate[3*len(rate)/4:]))
}

// smallSoak does a few jobs with the same processes. What they leave in Redis and what files they have open must not grow.
func smallSoak(t *testing.T) { soaking(t, 0, 4, newLedger()) }

// soaking does jobs for a time, at least so many, and gives the rate of each and what each process took after it.
func soaking(t *testing.T, length time.Duration, least int, l *ledger) (rate []float64, memory map[string][]sample) {
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
	keys := map[int]int{} // of Redis, after so many jobs
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
		rate = append(rate, float64(len(images))/time.Since(start).Seconds())
		l.add(countImages, int64(len(images)))
		if err := os.RemoveAll(tr.target); err != nil {
			t.Fatal(err)
		}
		for name, p := range procs {
			if !p.Running() {
				t.Fatalf("%s ended after %d jobs", name, i)
			}
			bytes, files, err := p.Takes()
			if err != nil {
				t.Fatal(err)
			}
			memory[name] = append(memory[name], sample{time.Since(began), bytes, files})
		}
		n, err := strconv.Atoi(redis.CLI("dbsize"))
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = n
	}
	last := len(rate) - 1
	// A task's result or a worker's announcement may come or go; a key for each job may not.
	if keys[last] > keys[1]+last/2+3 {
		t.Errorf("redis has %d keys after %d jobs, %d after two: %s", keys[last], last+1, keys[1], redis.CLI("--scan"))
	}
	for name, s := range memory {
		if s[last].files > s[1].files+last/2+8 {
			t.Errorf("%s has %d open files after %d jobs, %d after two", name, s[last].files, last+1, s[1].files)
		}
	}
	return rate, memory
}

// slopeOf is by how many bytes a second a line through samples rises.
func slopeOf(samples []sample) float64 {
	var x, y, xx, xy float64
	for _, s := range samples {
		at, b := s.at.Seconds(), float64(s.bytes)
		x, y, xx, xy = x+at, y+b, xx+at*at, xy+at*b
	}
	n := float64(len(samples))
	if d := n*xx - x*x; d != 0 {
		return (n*xy - x*y) / d
	}
	return 0
}

func middle(rates []float64) float64 {
	if len(rates) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(rates))
	return sorted[len(sorted)/2]
}
