package faults_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/seed"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
)

// stores are the kinds that drivers draw from; nil is a folder.
var stores = []struct {
	name  string
	start func(t testing.TB) *services.Store
}{
	{"file", nil}, {"s3", services.VersityGW}, {"gs", services.FakeGCS}, {"azblob", services.Azurite},
}

// anywhere prepares a trial on a store of a drawn kind.
func anywhere(t *testing.T, rng *rand.Rand, l *ledger, sources []faults.Source) *trial {
	t.Helper()
	s := stores[rng.IntN(len(stores))]
	l.say("on %s, %d images", s.name, len(sources))
	l.add(countImages, int64(len(sources)))
	if s.start == nil {
		return inFolders(t, sources)
	}
	return inBuckets(t, s.start(t), sources)
}

// recovery measures how long chunks take that workers had when something was killed.
type recovery struct {
	tr    *trial
	id    string
	since map[int]time.Time // the last fault that hit a chunk
	stop  chan struct{}
	hit   chan []int
	done  chan struct{}
}

// watchRecovery begins to measure, until the end of the test. It needs a store whose objects are files.
func watchRecovery(tr *trial, id string, l *ledger) *recovery {
	r := &recovery{tr: tr, id: id, since: map[int]time.Time{}, stop: make(chan struct{}), hit: make(chan []int), done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for {
			select {
			case <-r.stop:
				return
			case chunks := <-r.hit:
				for _, chunk := range chunks {
					r.since[chunk] = time.Now()
				}
			case <-time.After(100 * time.Millisecond):
			}
			for chunk, at := range r.since {
				if info, err := os.Stat(filepath.Join(tr.disk, filepath.FromSlash(jobs.Folder(id).Result(chunk)))); err == nil {
					delete(r.since, chunk)
					l.recovered(max(0, info.ModTime().Sub(at)))
				}
			}
		}
	}()
	return r
}

// faulted says that something was killed now.
func (r *recovery) faulted() {
	r.tr.t.Helper()
	if r.tr.disk == "" || !r.tr.redis.Running() {
		return
	}
	var chunks []int
	for _, id := range strings.Fields(r.tr.redis.CLI("lrange", activeTasks, "0", "-1")) {
		if n, err := strconv.Atoi(id[strings.LastIndexByte(id, ':')+1:]); err == nil && strings.Contains(id, r.id) {
			chunks = append(chunks, n)
		}
	}
	select {
	case r.hit <- chunks:
	case <-r.done:
	}
}

func (r *recovery) end() {
	close(r.stop)
	<-r.done
}

// Keys of asynq for the queue of ordinary priority.
const (
	activeTasks = "asynq:{pelmill-p0}:active"
	leases      = "asynq:{pelmill-p0}:lease"
)

// kills has two schedulers, three workers and a Redis, with or without a file, and kills one of them after the other while
// a job runs.
func kills(t *testing.T, size int, l *ledger) {
	rng := seed.Rand(t)
	w := drawWork(t, rng, l)
	tr := w.of(anywhere(t, rng, l, w.sources(rng.Uint64(), 22*size, 64)))
	var redis []string
	if rng.IntN(2) == 0 {
		redis = []string{"--appendonly", "yes"}
	}
	tr.withRedis(redis...)
	tr.extra = []string{"--chunk-objects", "10", "--tpslimit", "50"}
	id := tr.submit()
	watch := watchRecovery(tr, id, l)
	defer watch.end()
	// Where Redis keeps nothing, only the target tells schedulers of the job that were all killed before they had looked.
	scheduler := func() *faults.Process { return tr.scheduler(tr.target) }
	worker := func() *faults.Process { return tr.worker() }
	start := []func() *faults.Process{scheduler, scheduler, worker, worker, worker}
	var all []*faults.Process
	for _, s := range start {
		all = append(all, s())
	}
	over := func() bool { return tr.count(jobs.Folder(id).Report()) == 1 }
	faults.Until(t, limit, "work", func() bool { return tr.count(jobs.Folder(id).Results()) > 0 || over() })
	for i := 0; i < size && !over(); i++ {
		time.Sleep(time.Duration(rng.Int64N(int64(2 * time.Second)))) // which moment the kill hits is the test
		victim := rng.IntN(len(all) + 1)
		watch.faulted()
		if victim == len(all) {
			l.fault("SIGKILL redis %v", redis)
			l.add("kills of redis", 1)
			tr.redis.Kill()
			time.Sleep(time.Duration(rng.Int64N(int64(time.Second))))
			tr.redis.Start()
			continue
		}
		name := [...]string{"scheduler", "scheduler", "worker", "worker", "worker"}[victim]
		l.fault("SIGKILL %s %d", name, victim)
		l.add("kills of "+name+"s", 1)
		all[victim].Kill()
		all[victim] = start[victim]()
	}
	tr.ended(id)
}

// over reports whether the target has a job that has its report. That is its end, also where the process was killed before it
// ended: a next run would find everything done and be a job of its own.
func (tr *trial) over() bool {
	tr.t.Helper()
	return slices.ContainsFunc(tr.jobs(), func(id string) bool { return tr.count(jobs.Folder(id).Report()) == 1 })
}

// killedRuns kills compress without --redis again and again; all runs together are one job.
func killedRuns(t *testing.T, size int, l *ledger) {
	rng := seed.Rand(t)
	w := drawWork(t, rng, l)
	tr := w.of(anywhere(t, rng, l, w.sources(rng.Uint64(), 20*size, 64)))
	tr.extra = []string{"--chunk-objects", "10"}
	for i := range size {
		p := tr.pelmill("compress", append(tr.flags("compress"), long...)...)
		wait := time.After(time.Duration(rng.Int64N(int64(3 * time.Second)))) // which moment the kill hits is the test
		for waiting := true; waiting && p.Running(); {
			select {
			case <-wait:
				waiting = false
			case <-time.After(5 * time.Millisecond):
			}
		}
		if !p.Running() {
			if code := p.Wait(t, limit); code != 0 {
				t.Errorf("run %d ended by itself with code %d, want 0", i, code)
			}
			tr.check(tr.job())
			return
		}
		l.fault("SIGKILL compress, run %d", i)
		p.Kill()
		tr.whole()
		if tr.over() {
			tr.check(tr.job())
			return
		}
	}
	if code := tr.pelmill("compress", append(tr.flags("compress"), rest...)...).Wait(t, limit); code != 0 {
		t.Errorf("last run: exit code %d, want 0", code)
	}
	tr.check(tr.job())
}

// stops stops workers until their chunks are another's, and lets one continue while the job still runs and the others
// after its end: what they still write must change nothing.
func stops(t *testing.T, size int, l *ledger) { stopsOn(t, services.VersityGW(t), size, l) }

func stopsOn(t *testing.T, gw *services.Store, size int, l *ledger) {
	rng := seed.Rand(t)
	tr := inBuckets(t, gw, faults.Images(rng.Uint64(), 150, 64)).withRedis()
	l.add(countImages, int64(len(tr.sources)))
	tr.extra = []string{"--chunk-objects", "10"}
	tr.proxy.Set(slowResults(time.Second))
	id := tr.submit()
	scheduler := tr.scheduler()
	stopped := make([]*faults.Process, max(2, size))
	for i := range stopped {
		stopped[i] = tr.worker()
	}
	for _, w := range stopped {
		faults.Until(t, limit, "the worker serves", func() bool { return strings.Contains(w.Stderr(), "worker serves") })
	}
	tr.shards(id, 2)
	for i, w := range stopped {
		w.Signal(syscall.SIGSTOP)
		l.fault("SIGSTOP worker %d", i)
	}
	faults.Until(t, limit, "the chunks to be taken back", func() bool { return expiredTasks(scheduler) >= len(stopped) })
	other := tr.worker()
	faults.Until(t, limit, "the other worker to be at work", func() bool { return strings.Contains(other.Stderr(), "chunk done") })
	l.say("SIGCONT worker 0 while the job runs")
	stopped[0].Signal(syscall.SIGCONT)
	tr.proxy.Set()
	tr.ended(id)
	before := tr.digests()
	for i, w := range stopped[1:] {
		l.say("SIGCONT worker %d after the end of the job", i+1)
		w.Signal(syscall.SIGCONT)
	}
	for _, w := range stopped {
		w.Signal(syscall.SIGTERM)
		w.Wait(t, limit)
	}
	after := tr.digests()
	for key, sum := range before {
		if after[key] != sum && !strings.HasPrefix(key, jobs.Root) {
			t.Errorf("%s was %s when the job ended and is %s after a late worker", key, sum, after[key])
		}
	}
	tr.ended(id)
}

// expiredTasks is how many tasks a scheduler says that it has taken back.
func expiredTasks(scheduler *faults.Process) (n int) {
	for _, m := range expired.FindAllStringSubmatch(scheduler.Stderr(), -1) {
		c, _ := strconv.Atoi(m[1])
		n += c
	}
	return n
}

// digests is everything in the target.
func (tr *trial) digests() map[string]string {
	tr.t.Helper()
	sums := map[string]string{}
	for _, key := range faults.Keys(tr.t, tr.to) {
		if data, err := tr.to.ReadAll(tr.t.Context(), key); err == nil {
			sum := sha256.Sum256(data)
			sums[key] = hex.EncodeToString(sum[:])
		}
	}
	return sums
}

// unleased finds in a scheduler's log how many tasks without a lease it found.
var unleased = regexp.MustCompile(`gave back tasks of lost workers" report="\{Expired:\d+ Unleased:(\d+)`)

// orphans deletes the leases of all tasks that workers have, and kills the workers.
func orphans(t *testing.T, size int, l *ledger) { orphansOn(t, services.VersityGW(t), size, l) }

func orphansOn(t *testing.T, gw *services.Store, size int, l *ledger) {
	rng := seed.Rand(t)
	tr := inBuckets(t, gw, faults.Images(rng.Uint64(), 100+20*size, 64)).withRedis()
	l.add(countImages, int64(len(tr.sources)))
	tr.extra = []string{"--chunk-objects", "10"}
	tr.proxy.Set(slowResults(time.Second))
	id := tr.submit()
	scheduler := tr.scheduler()
	n := 0
	for n < size {
		w := tr.worker()
		faults.Until(t, limit, "tasks at work", func() bool { return tr.redis.CLI("llen", activeTasks) != "0" })
		if tr.count(jobs.Folder(id).Report()) != 0 {
			break
		}
		w.Kill()
		tr.redis.CLI("del", leases)
		left, _ := strconv.Atoi(tr.redis.CLI("llen", activeTasks))
		for range left {
			l.fault("a task without lease and worker")
		}
		n += left
		faults.Until(t, limit, "no task to be with nobody", func() bool { return tr.redis.CLI("llen", activeTasks) == "0" })
	}
	tr.proxy.Set()
	tr.worker()
	tr.ended(id)
	found := 0
	for _, m := range unleased.FindAllStringSubmatch(scheduler.Stderr(), -1) {
		c, _ := strconv.Atoi(m[1])
		found += c
	}
	if found == 0 {
		t.Errorf("the scheduler says nothing of %d tasks without a lease", n)
	}
}

// A run that is killed after it has written its report, and before it ends, leaves a job that is whole.
func TestKilledAfterTheReport(t *testing.T) {
	tr := inFolders(t, faults.Images(11, 20, 64))
	p := tr.pelmill("compress", tr.flags("compress")...)
	faults.Until(t, limit, "the report", func() bool { return tr.over() || !p.Running() })
	p.Kill()
	if !tr.over() {
		t.Fatal("the run ended without a report")
	}
	tr.check(tr.job())
}
