package scheduler

import (
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
)

// The memory of a scheduler does not grow with the jobs that have ended, each with a target of its own. What is kept within
// bounds is filled first: buckets, names of buckets, and connections to Redis, of which one takes as much as many jobs may.
func TestEndedJobsTakeNoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short: the memory of a scheduler after hundreds of jobs")
	}
	const first, more, most = 10, 60, 1 << 10 // jobs, jobs, bytes a job
	dir := t.TempDir()
	r := newRigOn(t, services.Redis(t).URL(), filepath.Join(dir, "source"), "")
	r.fill(5)
	r.worker.start(t, 2)
	r.run(r.scheduler(nil))
	job := func(n int) {
		r.target = filepath.Join(dir, strconv.Itoa(n))
		r.ended(r.submit(func(s *jobs.Spec) { s.ChunkObjects = 2 }).ID)
		r.worker.mu.Lock()
		clear(r.worker.specs) // of the worker that stands in for a real one
		r.worker.mu.Unlock()
	}
	inUse := func() int64 {
		runtime.GC() // what only weak pointers hold goes in the first, what they were held by in the second
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for n := range 200 {
		r.bucket(filepath.Join(dir, "none", strconv.Itoa(n)))
	}
	var pings sync.WaitGroup
	for range 64 {
		pings.Go(func() {
			for range 50 {
				r.conn.Ping(r.ctx)
			}
		})
	}
	pings.Wait()
	for n := range first {
		job(n)
	}
	before := inUse()
	for n := range more {
		job(first + n)
	}
	after := inUse()
	t.Logf("%d bytes in use after %d jobs, %d after %d", before, first, after, first+more)
	if grown := after - before; grown > more*most {
		t.Errorf("%d jobs left %d bytes, %d each, want at most %d", more, grown, grown/more, most)
	}
}
