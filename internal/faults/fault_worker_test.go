package faults_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs"
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

// slowerResults lets so many results pass and then makes each take wait: what a job has left then takes minutes, however
// long the test itself is kept waiting.
func slowerResults(after int, wait time.Duration) faults.Rule {
	r := slowResults(wait)
	r.After = after
	return r
}

// expired finds in a scheduler's log how many chunks it took back from workers that no longer hold them.
var expired = regexp.MustCompile(`gave back tasks of lost workers" report="\{Expired:(\d+)`)

func killWorkers(t *testing.T, gw *services.Store) {
	const kills = 20
	tr := inBuckets(t, gw, faults.Images(1, 1000, 96)).withRedis()
	tr.extra = []string{"--chunk-objects", "10"}
	tr.proxy.Set(slowResults(2*time.Second), slowerResults(500, 20*time.Second))
	id := tr.submit()
	scheduler := tr.scheduler()
	rng := seed.Rand(t)
	workers := []*faults.Process{tr.worker(), tr.worker()}
	for i := range kills {
		w := rng.IntN(2)
		faults.Until(t, limit, "the worker serves", func() bool { return strings.Contains(workers[w].Stderr(), "worker serves") })
		time.Sleep(time.Duration(rng.Int64N(int64(4 * time.Second)))) // which moment the kill hits is the test
		if n := tr.count(jobs.Folder(id).Report()); n != 0 {
			t.Fatalf("the job ended before kill %d; it is too small", i+1)
		}
		workers[w].Kill()
		workers[w] = tr.worker()
	}
	tr.proxy.Set()
	tr.ended(id)
	lost := 0
	for _, m := range expired.FindAllStringSubmatch(scheduler.Stderr(), -1) {
		n, _ := strconv.Atoi(m[1])
		lost += n
	}
	if lost < kills/2 {
		t.Errorf("%d chunks were taken back from killed workers; %d kills were meant to hit work", lost, kills)
	}
}

// killAutoWorkers kills the only worker of a job with codec auto, twice, while it stores results of several codecs.
func killAutoWorkers(t *testing.T) {
	tr := inFolders(t, faults.Mixed(21, 240, 96)).withRedis()
	tr.codec = codecs.Auto
	tr.extra = []string{"--chunk-objects", "10", "--tpslimit", "30"}
	id := tr.submit()
	tr.scheduler()
	w := tr.worker()
	before := 0
	for i := range 2 {
		faults.Until(t, limit, "results", func() bool { return !w.Running() || tr.results() > before })
		if n := tr.count(jobs.Folder(id).Report()); n != 0 {
			t.Fatalf("the job ended before kill %d; it is too small", i+1)
		}
		w.Kill()
		before = faults.Whole(t, tr.to, nil)
		if before == 0 || before == len(tr.sources) {
			t.Errorf("%d of %d results at kill %d", before, len(tr.sources), i+1)
		}
		w = tr.worker()
	}
	faults.Run(t, 0, tr.env, program(t, "cmd/pelmill"), "set", tr.target, id, "tpslimit=0", "--redis", tr.redis.URL())
	by := map[string]int{}
	for _, r := range tr.ended(id).Results {
		by[r.Codec]++
	}
	if by["jpegxl"] != 80 || by["webp"] != 160 {
		t.Errorf("results by codec %v, want 80 by jpegxl and 160 by webp", by)
	}
}
