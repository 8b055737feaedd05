package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/jobs"
)

// The job engine as a transition system, small enough to look at every order of its steps. A step is what one process does
// at one moment that others can see: a request to storage or a script of Redis. A process may wait for any time between
// two of its steps, so a worker or a leader that was stopped and goes on needs no steps of its own. Names are those of
// the code: the steps of a worker are in worker/chunk.go, commit.go and replace.go, those of a scheduler in scheduler/drive.go,
// track.go, feed.go, reconcile.go and finish.go, the queue's in queue/lua.
//
// Each source has one object in each chunk, and the results of all sources have the same keys. What is written is
// named by its source and the version of the source; equal ones are equal bytes.
const (
	modelJobs    = 3
	modelChunks  = 2
	modelWorkers = 2
	modelLeaders = 2
)

// result is what lies under a key of the target, or what a record says that lies there.
type result struct {
	job     int8 // that wrote it, from 1; 0: nothing
	source  int8
	version int8 // of the source; in a record 0: it has failed
}

// skipped is the version of what was done before and is no part of the plan.
const skipped = -1

type modelJob struct {
	submitted bool
	source    int8
	state     modelState
	cancel    bool // control.json
	plan      bool
	shard     [modelChunks]result
	report    modelState
	merged    [modelChunks]result // in the report

	// What Redis has.
	registered bool
	meta       bool
	done       [modelChunks]bool
	signal     modelState
	task       [modelChunks]int8 // taskNone, taskPending, or the worker that has it
}

// modelState is a jobs.State in one byte.
type modelState int8

const (
	stateNone modelState = iota
	stateRunning
	stateFinishing
	stateDone
	stateCancelled
)

var modelStates = [...]jobs.State{jobs.StateNew, jobs.StateRunning, jobs.StateFinishing, jobs.StateDone, jobs.StateCancelled}

const (
	taskNone    = -2
	taskPending = -1
)

// modelLeader is a scheduler that leads a job.
type modelLeader struct {
	job  int8 // from 1; 0: none
	step leaderStep
	done [modelChunks]bool // of the last look
	seen [modelChunks]bool // shards of the last listing
	end  modelState
	left [modelChunks]result // records that were merged
}

type leaderStep int8

const (
	leaderStarts   leaderStep = iota // drive.run reads the report and the plan
	leaderPrepares                   // lists the source and writes the plan
	leaderTracks                     // work.track reads the progress in Redis
	leaderRebuilds                   // work.rebuild has listed the shards, Init comes
	leaderFeeds                      // work.feed and work.reconcile
	leaderStops                      // work.stop has told the workers; those at work are waited for
	leaderMerges                     // finish lists and merges the shards
	leaderReports                    // the report is written
	leaderLeaves                     // Redis forgets the job
)

// modelWorker is one place for a chunk in a worker.
type modelWorker struct {
	job, chunk int8 // job from 1; 0: none
	step       workerStep
	made       result // what it is about to store
	there      result // what lay under the key when it looked
	record     result
	lost       bool // its lease: another worker may get the chunk
}

type workerStep int8

const (
	workerLooks    workerStep = iota // chunk.doneBefore
	workerFetches                    // object.fetch
	workerPuts                       // storage.Put, which only creates
	workerDecides                    // chunk.mayReplace
	workerReplaces                   // storage.Put with IfMatch
	workerRecords                    // chunk.commit puts the shard
	workerCommits                    // chunk.count: the script commit
	workerAnswers                    // asynq takes the task off
)

// model is a state of everything.
type model struct {
	jobs    [modelJobs]modelJob
	version [2]int8 // of each source
	object  [modelChunks]result
	lead    [modelJobs]int8 // who holds the lock of a job, from 1; 0: nobody
	leaders [modelLeaders]modelLeader
	workers [modelWorkers]modelWorker

	// What may still go wrong.
	changes, losses, kills, delays int8
}

// modelSize is what a search begins with.
type modelSize struct {
	name                     string
	sources                  []int8 // of each job, which is submitted at any time
	chunks, workers, leaders int
	changes, losses, kills   int8
	delays                   int8 // leases and locks that end although their holders live
	cancel                   bool
}

// step is one transition.
type step struct {
	name string
	to   model
}

// explore visits every state that can be reached, looks for broken promises in each, and returns how many there are. The first
// violation is shown with the steps that lead to it. From each state all jobs must still be able to end without another fault.
func explore(t *testing.T, size modelSize) int {
	t.Helper()
	var first model
	first.changes, first.losses, first.kills, first.delays = size.changes, size.losses, size.kills, size.delays
	first.version = [2]int8{1, 1}
	for i := range first.jobs {
		for c := range first.jobs[i].task {
			first.jobs[i].task[c] = taskNone
		}
	}
	type visit struct {
		from int
		name string
	}
	seen := map[model]int{first: 0}
	states, visits := []model{first}, []visit{{-1, "start"}}
	var moves []move
	trace := func(i int) string {
		var names []string
		for ; i >= 0; i = visits[i].from {
			names = append(names, visits[i].name)
		}
		slices.Reverse(names)
		return strings.Join(names, "\n  ")
	}
	for i := 0; i < len(states); i++ {
		m := states[i]
		next, faults := m.steps(&size)
		if why := m.wrong(&size, len(next) == 0); why != "" {
			t.Errorf("%s: %s after\n  %s\nin %+v", size.name, why, trace(i), m)
			return len(states)
		}
		for n, s := range append(next, faults...) {
			to, ok := seen[s.to]
			if !ok {
				to = len(states)
				seen[s.to] = to
				states, visits = append(states, s.to), append(visits, visit{i, s.name})
			}
			if n < len(next) {
				moves = append(moves, move{int32(i), int32(to)})
			}
		}
	}
	if i := endless(states, moves, &size); i >= 0 {
		t.Errorf("%s: I5: without another fault no order of steps ends all jobs after\n  %s\nin %+v", size.name, trace(i), states[i])
	}
	return len(states)
}

// move is a step that is no fault, between states by their numbers.
type move struct{ from, to int32 }

// endless finds the first state from which no moves lead to the end of all jobs: work that is at rest undone, also where
// processes go on looking for ever. -1: there is none.
func endless(states []model, moves []move, size *modelSize) int {
	first := make([]int32, len(states)+1) // of the moves to a state, in sorted
	for _, m := range moves {
		first[m.to+1]++
	}
	for i := range states {
		first[i+1] += first[i]
	}
	sorted, at := make([]int32, len(moves)), slices.Clone(first)
	for _, m := range moves {
		sorted[at[m.to]] = m.from
		at[m.to]++
	}
	ends := make([]bool, len(states))
	var open []int32
	for i := range states {
		if states[i].ended(size) {
			ends[i] = true
			open = append(open, int32(i))
		}
	}
	for len(open) > 0 {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		for _, from := range sorted[first[i]:first[i+1]] {
			if !ends[from] {
				ends[from] = true
				open = append(open, from)
			}
		}
	}
	return slices.Index(ends, false)
}

// ended reports whether all jobs have ended and Redis has nothing of them.
func (m *model) ended(size *modelSize) bool {
	for j := range size.sources {
		if job := &m.jobs[j]; !job.submitted || job.report == stateNone || job.meta {
			return false
		}
	}
	return true
}

// wrong says which promise a state breaks; empty for none. stuck: nothing moves any more without a fault.
func (m *model) wrong(size *modelSize, stuck bool) string {
	quiet := true
	for _, w := range m.workers {
		quiet = quiet && w.job == 0
	}
	for j := range size.sources {
		job := &m.jobs[j]
		if stuck && (!job.submitted || job.report == stateNone) {
			return fmt.Sprintf("I5: job %d never ends", j+1)
		}
		if stuck && job.meta {
			return fmt.Sprintf("I6: Redis keeps job %d for ever", j+1)
		}
		for c := range size.chunks {
			if job.report == stateDone && job.merged[c].job == 0 {
				return fmt.Sprintf("I1: job %d is done without a record of chunk %d", j+1, c)
			}
			if job.report == stateDone && job.merged[c] != job.shard[c] {
				return fmt.Sprintf("I1: job %d reports %+v of chunk %d, its shard has %+v", j+1, job.merged[c], c, job.shard[c])
			}
		}
		quiet = quiet && (job.report != stateNone || !job.submitted)
	}
	if !quiet {
		return ""
	}
	// The last job that recorded a result under a key must have it there.
	for c := range size.chunks {
		for j := len(size.sources) - 1; j >= 0; j-- {
			r := m.jobs[j].shard[c]
			if r.version <= 0 || m.jobs[j].newer(m, c, r.source) {
				continue
			}
			if o := m.object[c]; o.source != r.source || o.version != r.version {
				return fmt.Sprintf("I2: job %d recorded version %d of source %d under key %d, which has version %d of source %d, by job %d",
					j+1, r.version, r.source, c, o.version, o.source, o.job)
			}
		}
	}
	return ""
}

// newer reports whether a later job has recorded something of the same source and chunk. Where that is a failure, what an earlier
// delivery of the later job had made may have been left.
func (j *modelJob) newer(m *model, chunk int, source int8) bool {
	after := false
	for i := range m.jobs {
		o := &m.jobs[i]
		if after && o.shard[chunk].job != 0 && o.shard[chunk].version >= 0 && o.shard[chunk].source == source {
			return true
		}
		after = after || o == j
	}
	return false
}

// unfinished is what worker/jobstates.go says of a job.
func (j *modelJob) unfinished() bool { return j.submitted && j.report == stateNone }

// steps are what processes may do next, and what may go wrong.
func (m *model) steps(size *modelSize) (next, faults []step) {
	add := func(list *[]step, name string, change func(n *model)) {
		n := *m
		change(&n)
		*list = append(*list, step{name, n})
	}
	for j, source := range size.sources {
		job := &m.jobs[j]
		if !job.submitted && (j == 0 || m.jobs[j-1].submitted) {
			add(&next, fmt.Sprintf("job %d of source %d is submitted", j+1, source), func(n *model) {
				n.jobs[j].submitted, n.jobs[j].source, n.jobs[j].registered = true, source, true
			})
		}
		if size.cancel && job.unfinished() && !job.cancel {
			add(&faults, fmt.Sprintf("job %d is to be cancelled", j+1), func(n *model) { n.jobs[j].cancel = true })
		}
		if job.unfinished() && !job.registered {
			// A scheduler that starts, and every one now and then, looks for unfinished jobs of known targets.
			add(&next, fmt.Sprintf("job %d is registered again", j+1), func(n *model) { n.jobs[j].registered = true })
		}
	}
	for s := range size.leaders {
		m.leaderSteps(size, s, add, &next)
	}
	for w := range size.workers {
		m.workerSteps(size, w, add, &next)
	}
	m.faultSteps(size, add, &faults)
	return next, faults
}

type adder func(list *[]step, name string, change func(n *model))

func (m *model) leaderSteps(size *modelSize, s int, add adder, next *[]step) {
	l := m.leaders[s]
	if l.job == 0 {
		for j := range size.sources {
			if m.jobs[j].registered && m.lead[j] == 0 {
				add(next, fmt.Sprintf("scheduler %d leads job %d", s, j+1), func(n *model) {
					n.lead[j] = int8(s + 1)
					n.leaders[s] = modelLeader{job: int8(j + 1)}
				})
			}
		}
		return
	}
	j := int(l.job - 1)
	job := &m.jobs[j]
	to := func(name string, change func(n *model, l *modelLeader, job *modelJob)) {
		add(next, fmt.Sprintf("scheduler %d: job %d: %s", s, l.job, name), func(n *model) { change(n, &n.leaders[s], &n.jobs[j]) })
	}
	if m.lead[j] != int8(s+1) {
		// Its lead was lost. It ends at its next look at the lock, or does one more step before.
		to("stops leading", func(n *model, l *modelLeader, _ *modelJob) { *l = modelLeader{} })
	}
	switch l.step {
	case leaderStarts:
		to("reads report and plan", func(_ *model, l *modelLeader, job *modelJob) {
			switch {
			case job.report != stateNone:
				l.step = leaderLeaves
			case !job.plan:
				l.step = leaderPrepares
			default:
				l.step = leaderTracks
			}
		})
	case leaderPrepares:
		to("plans", func(n *model, l *modelLeader, job *modelJob) {
			if job.cancel {
				l.step, l.end = leaderMerges, stateCancelled
				return
			}
			l.step = leaderTracks
			if job.plan {
				return // by another leader: the plan is only created
			}
			job.plan = true
			for c := range size.chunks {
				for _, o := range n.jobs {
					if r := o.shard[c]; o.report == stateDone && o.source == job.source && r.version == n.version[job.source] {
						job.shard[c] = result{l.job, job.source, skipped}
					}
				}
			}
		})
	case leaderTracks:
		to("tracks", func(_ *model, l *modelLeader, job *modelJob) {
			if !job.meta {
				for c := range size.chunks {
					l.seen[c] = job.shard[c].job != 0
				}
				l.step = leaderRebuilds
				return
			}
			l.done, l.step = job.done, leaderFeeds
		})
	case leaderRebuilds:
		to("makes the progress anew", func(_ *model, l *modelLeader, job *modelJob) {
			job.meta, job.registered, job.done, l.done, l.step = true, true, l.seen, l.seen, leaderFeeds
		})
	case leaderFeeds:
		all := true
		for c := range size.chunks {
			all = all && l.done[c]
		}
		switch {
		case job.cancel:
			to("cancels", func(_ *model, l *modelLeader, job *modelJob) {
				job.signal = stateCancelled
				for c := range size.chunks {
					if job.task[c] == taskPending {
						job.task[c] = taskNone
					}
				}
				l.step, l.end = leaderStops, stateCancelled
			})
		case all:
			to("begins to finish", func(_ *model, l *modelLeader, job *modelJob) {
				job.state, l.step, l.end = stateFinishing, leaderMerges, stateDone
			})
		default:
			for c := range size.chunks {
				if !l.done[c] && job.task[c] == taskNone {
					to(fmt.Sprintf("feeds chunk %d", c), func(_ *model, l *modelLeader, job *modelJob) {
						job.task[c], job.state, job.signal = taskPending, stateRunning, stateRunning
					})
				}
			}
			if job.done != l.done || !job.meta {
				to("looks again", func(_ *model, l *modelLeader, _ *modelJob) { l.step = leaderTracks })
			}
		}
	case leaderStops: // waits for workers for a limited time
		to("has waited for workers", func(_ *model, l *modelLeader, _ *modelJob) { l.step = leaderMerges })
	case leaderMerges:
		to("merges", func(_ *model, l *modelLeader, job *modelJob) {
			whole := true
			for c := range size.chunks {
				l.seen[c] = job.shard[c].job != 0
				whole = whole && l.seen[c]
			}
			if l.end == stateDone && !whole {
				l.step = leaderRebuilds
				return
			}
			l.left, l.step = job.shard, leaderReports
		})
	case leaderReports:
		to("writes the report", func(_ *model, l *modelLeader, job *modelJob) {
			if job.report == stateNone || job.report == l.end {
				job.report, job.merged, job.state = l.end, l.left, l.end
			}
			l.step = leaderLeaves
		})
	case leaderLeaves:
		to("has Redis forget it", func(n *model, l *modelLeader, job *modelJob) {
			job.meta, job.done, job.signal, job.registered = false, [modelChunks]bool{}, stateNone, false
			if n.lead[j] == int8(s+1) {
				n.lead[j] = 0
			}
			*l = modelLeader{}
		})
	}
}

func (m *model) workerSteps(size *modelSize, w int, add adder, next *[]step) {
	k := m.workers[w]
	if k.job == 0 {
		for j := range size.sources {
			for c := range size.chunks {
				if m.jobs[j].task[c] == taskPending {
					add(next, fmt.Sprintf("worker %d takes chunk %d of job %d", w, c, j+1), func(n *model) {
						n.jobs[j].task[c] = int8(w)
						n.workers[w] = modelWorker{job: int8(j + 1), chunk: int8(c)}
					})
				}
			}
		}
		return
	}
	j, c := int(k.job-1), int(k.chunk)
	to := func(name string, change func(n *model, k *modelWorker, job *modelJob)) {
		add(next, fmt.Sprintf("worker %d: job %d: %s", w, k.job, name), func(n *model) {
			change(n, &n.workers[w], &n.jobs[j])
		})
	}
	failed := result{job: k.job, source: m.jobs[j].source}
	switch k.step {
	case workerLooks:
		to("looks whether it is done", func(_ *model, k *modelWorker, job *modelJob) {
			switch {
			case job.meta && job.done[c], job.signal == stateCancelled:
				k.step = workerAnswers
			case job.shard[c].job != 0:
				k.record, k.step = job.shard[c], workerCommits
			default:
				k.step = workerFetches
			}
		})
	case workerFetches:
		to("fetches", func(n *model, k *modelWorker, job *modelJob) {
			k.made, k.step = result{k.job, job.source, n.version[job.source]}, workerPuts
		})
	case workerPuts:
		to("puts", func(n *model, k *modelWorker, _ *modelJob) {
			switch o := n.object[c]; {
			case o.job == 0:
				n.object[c], k.record, k.step = k.made, k.made, workerRecords
			case o.source == k.made.source && o.version == k.made.version:
				k.record, k.step = k.made, workerRecords
			default:
				k.there, k.step = o, workerDecides
			}
		})
	case workerDecides:
		to("decides", func(n *model, k *modelWorker, _ *modelJob) {
			other := &n.jobs[k.there.job-1]
			switch {
			case k.there.job == k.job, k.there.job > k.job, other.unfinished(), k.there.source != k.made.source:
				k.record, k.step = failed, workerRecords
			default:
				k.step = workerReplaces
			}
		})
	case workerReplaces:
		to("replaces", func(n *model, k *modelWorker, _ *modelJob) {
			if n.object[c] != k.there {
				k.step = workerPuts
				return
			}
			n.object[c], k.record, k.step = k.made, k.made, workerRecords
		})
	case workerRecords:
		to("records", func(_ *model, k *modelWorker, job *modelJob) {
			if job.shard[c].job == 0 {
				job.shard[c] = k.record
			}
			k.step = workerCommits
		})
	case workerCommits:
		to("commits", func(_ *model, k *modelWorker, job *modelJob) {
			if job.meta {
				job.done[c] = true
			}
			k.step = workerAnswers
		})
	case workerAnswers:
		to("answers", func(_ *model, k *modelWorker, job *modelJob) {
			if job.task[c] == int8(w) {
				job.task[c] = taskNone
			}
			*k = modelWorker{}
		})
	}
}

func (m *model) faultSteps(size *modelSize, add adder, faults *[]step) {
	if m.changes > 0 {
		add(faults, "source 0 changes", func(n *model) { n.changes--; n.version[0]++ })
	}
	if m.losses > 0 {
		add(faults, "Redis is lost", func(n *model) {
			n.losses--
			n.lead = [modelJobs]int8{}
			for j := range n.jobs {
				job := &n.jobs[j]
				job.registered, job.meta, job.done, job.signal = false, false, [modelChunks]bool{}, stateNone
				for c := range job.task {
					job.task[c] = taskNone
				}
			}
		})
	}
	for w := range size.workers {
		k := m.workers[w]
		if k.job == 0 {
			continue
		}
		j, c := k.job-1, k.chunk
		if m.kills > 0 {
			add(faults, fmt.Sprintf("worker %d is killed, its task taken back", w), func(n *model) {
				n.kills--
				n.workers[w] = modelWorker{}
				if n.jobs[j].task[c] == int8(w) {
					n.jobs[j].task[c] = taskPending
				}
			})
		}
		if m.delays > 0 && !k.lost && m.jobs[j].task[c] == int8(w) {
			add(faults, fmt.Sprintf("worker %d loses its lease and goes on", w), func(n *model) {
				n.delays--
				n.workers[w].lost = true
				n.jobs[j].task[c] = taskPending
			})
		}
	}
	for s := range size.leaders {
		l := m.leaders[s]
		if l.job == 0 || m.lead[l.job-1] != int8(s+1) {
			continue
		}
		if m.kills > 0 {
			add(faults, fmt.Sprintf("scheduler %d is killed", s), func(n *model) {
				n.kills--
				n.lead[l.job-1] = 0
				n.leaders[s] = modelLeader{}
			})
		}
		if m.delays > 0 {
			add(faults, fmt.Sprintf("scheduler %d loses its lock and goes on", s), func(n *model) {
				n.delays--
				n.lead[l.job-1] = 0
			})
		}
	}
}

func TestModelOfTheJobEngine(t *testing.T) {
	for _, size := range []modelSize{
		{name: "one job", sources: []int8{0}, chunks: 2, workers: 2, leaders: 1, kills: 1, delays: 1},
		{name: "two schedulers", sources: []int8{0}, chunks: 1, workers: 1, leaders: 2, losses: 1, kills: 1, delays: 1},
		{name: "cancelled", sources: []int8{0}, chunks: 1, workers: 2, leaders: 1, losses: 1, delays: 1, cancel: true},
		{name: "two sources", sources: []int8{0, 1}, chunks: 1, workers: 2, leaders: 1, delays: 1},
		{name: "a source that changes", sources: []int8{0, 0}, chunks: 1, workers: 2, leaders: 1, delays: 1, changes: 2},
	} {
		t.Run(size.name, func(t *testing.T) {
			t.Logf("%d states", explore(t, size))
		})
	}
}
