package faults_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
)

// killScheduler ends the scheduler with SIGKILL at one moment of each phase. The proxy holds up the call that makes
// the moment until the kill.
func killScheduler(t *testing.T, gw *services.Store) {
	tr := inBuckets(t, gw, faults.Images(3, 200, 96)).withRedis()
	tr.extra = []string{"--chunk-objects", "10"}
	id := tr.submit()
	tr.worker()
	for _, moment := range []struct {
		name  string
		match func(faults.Call) bool
	}{
		{"listing", func(c faults.Call) bool {
			return c.Method == "GET" && strings.HasSuffix(c.Bucket, "-src") && c.Key == ""
		}},
		{"writing the manifest", writing(jobs.Folder(id).Manifest(0))},
		{"writing the plan", writing(jobs.Folder(id).Plan())},
	} {
		tr.killAt(moment.name, moment.match)
	}

	tr.proxy.Set(slowerResults(70, 10*time.Second))
	s := tr.scheduler()
	tr.shards(id, 2) // feeding
	s.Kill()
	// What was fed goes on; the rest needs a scheduler.
	s = tr.scheduler()
	tr.shards(id, 5)
	s.Kill()

	tr.killAt("merging", writing(jobs.Folder(id).Merged(0)))
	tr.killAt("writing the report", writing(jobs.Folder(id).Report()))
	tr.scheduler()
	tr.ended(id)
}

func writing(key string) func(faults.Call) bool {
	return func(c faults.Call) bool { return faults.Writes(c) && c.Key == key }
}

// killAt starts a scheduler and kills it while a call that match names is held up.
func (tr *trial) killAt(name string, match func(faults.Call) bool) {
	tr.t.Helper()
	before := tr.proxy.Done(faults.Delay)
	tr.proxy.Set(faults.Rule{Fault: faults.Delay, Share: 1, Wait: time.Minute, Match: match})
	s := tr.scheduler()
	faults.Until(tr.t, limit, "the scheduler to be "+name, func() bool { return tr.proxy.Done(faults.Delay) > before })
	s.Kill()
	tr.proxy.Set()
}

// twoSchedulers runs two at once and kills first one, then the other, so that at least one of them was the leader.
func twoSchedulers(t *testing.T, gw *services.Store) {
	tr := inBuckets(t, gw, faults.Images(4, 300, 96)).withRedis()
	tr.extra = []string{"--chunk-objects", "5"}
	tr.proxy.Set(slowResults(200 * time.Millisecond))
	id := tr.submit()
	a, b := tr.scheduler(), tr.scheduler()
	tr.worker()
	tr.shards(id, 5)
	a.Kill()
	c := tr.scheduler()
	tr.shards(id, 15)
	b.Kill()
	tr.scheduler()
	tr.ended(id)
	if !c.Running() {
		t.Error("a scheduler ended by itself")
	}
}
