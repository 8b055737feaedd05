package jobs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// timeline is what a scheduler sees of a job, look by look.
type timeline struct {
	total Work
	looks []look
}

type look struct {
	at      float64 // seconds
	running bool
	done    Work
}

var paceStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (l look) time() time.Time {
	return paceStart.Add(time.Duration(l.at * float64(time.Second)))
}

// estimates gives for each look how far the expected remaining time is off, as a
// factor of the true one, from a share of the work on. Looks at which no work goes on
// have none, and of the last seconds a factor says nothing.
func (tl timeline) check(t *testing.T, from, most float64) {
	t.Helper()
	var p Pace
	worked := make([]float64, len(tl.looks)) // seconds of work up to a look
	for i, l := range tl.looks[1:] {
		worked[i+1] = worked[i]
		if tl.looks[i].running {
			worked[i+1] += l.at - tl.looks[i].at
		}
	}
	end := len(tl.looks) - 1
	for end > 0 && tl.looks[end-1].done == tl.total {
		end--
	}
	n, worst, when := 0, 1.0, 0.0
	for i, l := range tl.looks[:end] {
		p.Look(l.time(), l.running, l.done, tl.total)
		truth := worked[end] - worked[i]
		if l.done.weight() < from*tl.total.weight() || !l.running || truth < 0.05*worked[end] {
			continue
		}
		left, ok := p.Left(l.time())
		if !ok {
			t.Fatalf("at %.1f s, %d of %d objects: no time", l.at, l.done.Objects, tl.total.Objects)
		}
		n++
		if off := left.Seconds() / truth; math.Abs(math.Log(off)) > math.Abs(math.Log(worst)) {
			worst, when = off, l.at
		}
	}
	t.Logf("%d estimates, the worst is %.2f of the truth, at %.1f s", n, worst, when)
	if n == 0 || worst > most || worst < 1/most {
		t.Errorf("%d estimates, the worst is %.2f of the truth, at %.1f s; want within %.2f", n, worst, when, most)
	}
}

// cluster makes the timeline of so many workers on one queue. Seconds an object, and how
// much of it shows at once: an object, or a chunk of so many.
type cluster struct {
	workers, objects, chunk int
	seconds                 func(i int) float64
	bytes                   func(i int) int64
	late                    float64 // the first object starts
}

func (c cluster) timeline() timeline {
	type event struct {
		at float64
		w  Work
	}
	var events []event
	var tl timeline
	free := make([]float64, c.workers)
	for i := range free {
		free[i] = c.late
	}
	shown := max(1, c.chunk)
	for i := 0; i < c.objects; i += shown {
		slot := 0
		for s := range free {
			if free[s] < free[slot] {
				slot = s
			}
		}
		var w Work
		for k := i; k < min(i+shown, c.objects); k++ {
			free[slot] += c.seconds(k)
			w.Objects++
			w.Bytes += c.bytes(k)
		}
		events = append(events, event{free[slot], w})
		tl.total.Objects += w.Objects
		tl.total.Bytes += w.Bytes
	}
	slices.SortFunc(events, func(a, b event) int { return int(math.Copysign(1, a.at-b.at)) })
	var done Work
	for at := 0.0; ; at++ {
		for len(events) > 0 && events[0].at <= at {
			done.Objects += events[0].w.Objects
			done.Bytes += events[0].w.Bytes
			events = events[1:]
		}
		tl.looks = append(tl.looks, look{at, true, done})
		if len(events) == 0 {
			return tl
		}
	}
}

func TestPaceOfSteadyWork(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	spread := func(mean float64) func(int) float64 {
		return func(int) float64 { return mean * (0.5 + random.Float64()) }
	}
	same := func(n int64) func(int) int64 { return func(int) int64 { return n } }
	for _, test := range []struct {
		name string
		c    cluster
	}{
		{"small objects", cluster{workers: 6, objects: 20_000, seconds: spread(0.06), bytes: same(1800), late: 1.5}},
		{"pictures of seconds", cluster{workers: 6, objects: 400, seconds: spread(4), bytes: same(8 << 20)}},
		{"one worker", cluster{workers: 1, objects: 60, seconds: spread(3), bytes: same(1 << 20)}},
		{"chunks of a minute", cluster{workers: 6, objects: 24_000, chunk: 100, seconds: spread(0.6), bytes: same(100 << 10)}},
		{"chunks of a minute at once", cluster{workers: 6, objects: 24_000, chunk: 100, seconds: func(int) float64 { return 0.6 }, bytes: same(100 << 10)}},
	} {
		t.Run(test.name, func(t *testing.T) { test.c.timeline().check(t, 0.1, 1.25) })
	}
}

// Pictures of the second half are ten times as large: their time goes by bytes.
func TestPaceGoesByBytes(t *testing.T) {
	size := func(i int) int64 {
		if i < 500 {
			return 1 << 20
		}
		return 10 << 20
	}
	c := cluster{workers: 4, objects: 1000, bytes: size, seconds: func(i int) float64 { return float64(size(i)) / (2 << 20) }}
	c.timeline().check(t, 0.1, 1.25)
}

func TestPaceFollowsAChange(t *testing.T) {
	c := cluster{workers: 4, objects: 2000, bytes: func(int) int64 { return 1 << 20 }, seconds: func(i int) float64 {
		if i < 1000 {
			return 1
		}
		return 0.25 // workers came
	}}
	c.timeline().check(t, 0.85, 1.25) // a fifth of the time, in which the rate is four times as high
}

func TestPaceLeavesPausesOut(t *testing.T) {
	tl := cluster{workers: 4, objects: 1200, bytes: func(int) int64 { return 1 << 20 }, seconds: func(int) float64 { return 1 }}.timeline()
	var paused timeline
	paused.total = tl.total
	for _, l := range tl.looks {
		if l.at >= 100 {
			l.at += 1000
		}
		paused.looks = append(paused.looks, l)
		if l.at == 99 {
			for at := 100.0; at < 1100; at++ {
				paused.looks = append(paused.looks, look{at, false, l.done})
			}
		}
	}
	paused.check(t, 0.1, 1.25)
}

// Redis is away for two minutes: nobody looks and next to nothing is done. Afterwards it has
// forgotten what was done and learns a part of it again.
func TestPaceSurvivesAnOutage(t *testing.T) {
	tl := cluster{workers: 4, objects: 1200, bytes: func(int) int64 { return 1 << 20 }, seconds: func(int) float64 { return 1 }}.timeline()
	var p Pace
	for i, l := range tl.looks {
		if i < 100 {
			p.Look(l.time(), true, l.done, tl.total)
		}
	}
	objects, bytes := p.Rate()
	if math.Abs(objects-4) > 0.5 || math.Abs(bytes-4<<20) > 1<<19 {
		t.Fatalf("%.2f objects/s, %.0f bytes/s; want 4 of 1 MiB", objects, bytes)
	}
	for i, done := range []int64{404, 404, 0, 0, 200, 300, 300, 304, 308} {
		p.Look(paceStart.Add(time.Duration(220+i)*time.Second), true, Work{done, done << 20}, tl.total)
		if now, _ := p.Rate(); now < 2 || now > 8 {
			t.Errorf("%d s after the outage: %.2f objects/s, want about 4", i, now)
		}
	}
}

func TestPaceKnowsNothing(t *testing.T) {
	var p Pace
	if _, ok := p.Left(paceStart); ok || p.Fresh(paceStart) {
		t.Error("a time without a look")
	}
	for i := range 10 {
		p.Look(paceStart.Add(time.Duration(i)*time.Second), true, Work{500, 500}, Work{1000, 1000})
	}
	if left, ok := p.Left(paceStart); ok {
		t.Errorf("%v left before anything was done", left)
	}
	if !p.Fresh(paceStart.Add(10*time.Second)) || p.Fresh(paceStart.Add(time.Minute)) {
		t.Error("a pace is fresh for some seconds")
	}
}

func TestPaceStaysSmall(t *testing.T) {
	var p Pace
	for i := range 100_000 {
		p.Look(paceStart.Add(time.Duration(i)*time.Second), true, Work{int64(i) << 20, int64(i) << 30}, Work{1 << 40, 1 << 50})
	}
	text, err := json.Marshal(p)
	if err != nil || len(text) > 8<<10 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	var again Pace
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	a, _ := p.Rate()
	b, _ := again.Rate()
	if a != b || math.Abs(a-1<<20) > 1<<15 {
		t.Errorf("%.0f objects/s, after storing %.0f; want %d", a, b, 1<<20)
	}
}

// The recordings are of real jobs, a line a look: seconds, whether work went on, objects and bytes
// that were attempted; the first line has the totals.
func TestPaceOfRecordings(t *testing.T) {
	files, err := filepath.Glob("testdata/pace/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { readTimeline(t, file).check(t, 0.1, 1.25) })
	}
}

func readTimeline(t *testing.T, file string) (tl timeline) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		text := lines.Text()
		if strings.HasPrefix(text, "#") {
			continue
		}
		var l look
		if tl.total == (Work{}) {
			_, err = fmt.Sscan(text, &tl.total.Objects, &tl.total.Bytes)
		} else {
			_, err = fmt.Sscan(text, &l.at, &l.running, &l.done.Objects, &l.done.Bytes)
			tl.looks = append(tl.looks, l)
		}
		if err != nil {
			t.Fatalf("%s: %q: %v", file, text, err)
		}
	}
	return tl
}
