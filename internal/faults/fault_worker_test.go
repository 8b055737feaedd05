package faults_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/seed"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
)

// own reports whether an S3 call is for an object of pelmill's own.
func own(c faults.Call) bool { return strings.HasPrefix(c.Key, jobs.Root) }

// slowResults makes storing a result take time, so that a small job offers many moments to break it.
func slowResults(wait time.Duration) faults.Rule {
	return faults.Rule{Fault: faults.Delay, Share: 1, Wait: wait, Match: func(c faults.Call) bool { return faults.Writes(c) && !own(c) }}
}

func killWorkers(t *testing.T, gw *services.Store) {
	const kills = 20
	tr := inBuckets(t, gw, faults.Images(1, 1000, 96)).withRedis()
	tr.extra = []string{"--chunk-objects", "10"}
	tr.proxy.Set(slowResults(2 * time.Second))
	id := tr.submit()
	tr.scheduler()
	rng := seed.Rand(t)
	workers := []*faults.Process{tr.worker(), tr.worker()}
	for i := range kills {
		time.Sleep(300*time.Millisecond + time.Duration(rng.Int64N(int64(4*time.Second)))) // which moment the kill hits is the test
		if n := tr.count(jobs.Folder(id).Report()); n != 0 {
			t.Fatalf("the job ended before kill %d; it is too small", i+1)
		}
		w := rng.IntN(2)
		workers[w].Kill()
		workers[w] = tr.worker()
	}
	tr.proxy.Set()
	if f := tr.ended(id); f.Workers < kills/2 {
		t.Errorf("%d worker processes finished chunks; %d kills were meant to hit work", f.Workers, kills)
	}
}
