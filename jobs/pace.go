package jobs

import (
	"fmt"
	"slices"
	"time"
)

// Pace is how fast a job moves: the timeline of its work, from which rate and
// remaining time follow. The scheduler that leads the job keeps it, with a look
// at the job every second, and shows it to everybody, so that every command says
// the same.
//
// Time counts while work goes on: not while the job is paused, outside its hours
// or without a worker. What becomes visible in jumps, as an object of a minute or a
// whole chunk, is taken for work that went on before the jump.
//
// The zero value is a job without a look at it.
type Pace struct {
	At      time.Time `json:"at"`                // of the last look
	Running bool      `json:"running,omitempty"` // work went on then
	Active  float64   `json:"active"`            // seconds of work until then
	Done    Work      `json:"done"`
	Most    Work      `json:"most"` // that was ever done: Redis may have lost what it knew, and learns it again
	Total   Work      `json:"total"`
	First   float64   `json:"first,omitempty"` // Active when something was first done; 0: nothing yet
	Moved   float64   `json:"moved,omitempty"` // Active when something was last done
	In      int64     `json:"in,omitempty"`    // bytes of the sources of results until then
	Out     int64     `json:"out,omitempty"`   // bytes of these results
	Step    float64   `json:"step,omitempty"`  // least seconds between two points
	Points  []Point   `json:"points,omitempty"`
}

// Work is an amount of work: objects that were attempted, and the bytes of their sources.
type Work struct {
	Objects int64 `json:"n"`
	Bytes   int64 `json:"b"`
}

// Point is one look that is remembered.
type Point struct {
	At float64 `json:"t"` // Active
	Work
	In  int64 `json:"i,omitempty"` // bytes of the sources of results
	Out int64 `json:"o,omitempty"` // bytes of these results
}

const (
	// objectWeight is what an object costs besides its bytes, in bytes: its requests.
	objectWeight = 32 << 10

	paceGap    = 5 * time.Second // between two looks; a longer time is one without a look
	paceFresh  = 15.0            // seconds after which a pace says nothing about now
	paceWindow = 30.0            // least seconds of work that a rate is taken from, where there are as many
	pacePoints = 96              // most points
)

// Clone is a copy that does not change with p.
func (p *Pace) Clone() Pace {
	q := *p
	q.Points = slices.Clone(p.Points)
	return q
}

// Check reports what no timeline has: more points than are kept, or times that go back.
func (p *Pace) Check() error {
	if len(p.Points) > pacePoints+1 || len(p.Points) == 0 && !p.At.IsZero() || p.First < 0 || p.Moved < 0 || p.Active < 0 {
		return fmt.Errorf("jobs: pace with %d points over %v s", len(p.Points), p.Active)
	}
	for i := 1; i < len(p.Points); i++ {
		if p.Points[i].At < p.Points[i-1].At || p.Points[i].At > p.Active {
			return fmt.Errorf("jobs: pace: point %d is at %v s of %v", i, p.Points[i].At, p.Active)
		}
	}
	return nil
}

// weight is the work in bytes, each object counting as objectWeight more.
func (w Work) weight() float64 { return float64(w.Bytes) + objectWeight*float64(w.Objects) }

// Attempted is the work that c counts, without what was skipped.
func (c Counts) Attempted() Work { return Work{c.Objects - c.Skipped, c.BytesAttempted} }

// Saved notes how large the results of the next look are, and their sources: the most of what was ever known.
func (p *Pace) Saved(c Counts) {
	if c.BytesIn >= p.In {
		p.In, p.Out = c.BytesIn, c.BytesOut
	}
}

// Look adds what is done at a time. running says whether anybody works.
func (p *Pace) Look(at time.Time, running bool, done, total Work) {
	p.Total = total
	if p.At.IsZero() {
		p.At, p.Running, p.Done, p.Most, p.Points = at, running, done, done, []Point{{At: 0, Work: done, In: p.In, Out: p.Out}}
		return
	}
	most := Work{max(done.Objects, p.Most.Objects), max(done.Bytes, p.Most.Bytes)}
	p.Active += p.passed(at.Sub(p.At), most)
	moved := most != p.Most
	p.At, p.Running, p.Done, p.Most = at, running, done, most
	if !moved {
		return
	}
	if p.Moved = p.Active; p.First == 0 {
		p.First = p.Active
	}
	if p.Active-p.Points[len(p.Points)-1].At >= p.Step {
		p.Points = append(p.Points, Point{p.Active, most, p.In, p.Out})
	}
	if len(p.Points) > pacePoints {
		p.thin()
	}
}

// passed is how many seconds of work went by in d. Of a time without a look it is what the
// work done in it explains: the rest was an outage.
func (p *Pace) passed(d time.Duration, most Work) float64 {
	if !p.Running || d <= 0 {
		return 0
	}
	s := d.Seconds()
	if d <= paceGap {
		return s
	}
	if rate := p.rate(Work.weight); rate > 0 {
		return min(s, max(1, (most.weight()-p.Most.weight())/rate))
	}
	return min(s, paceGap.Seconds())
}

// thin leaves out every second point but the last.
func (p *Pace) thin() {
	last := p.Points[len(p.Points)-1]
	kept := p.Points[:0]
	for i := 0; i < len(p.Points)-1; i += 2 {
		kept = append(kept, p.Points[i])
	}
	p.Points = append(kept, last)
	p.Step = max(2*p.Step, p.Active/pacePoints)
}

// Rate is the objects and the source bytes a second of work; 0 while nothing is known.
func (p *Pace) Rate() (objects, bytes float64) {
	return p.rate(func(w Work) float64 { return float64(w.Objects) }), p.rate(func(w Work) float64 { return float64(w.Bytes) })
}

// Fresh reports whether work goes on at now, as far as p knows.
func (p *Pace) Fresh(now time.Time) bool {
	return p.Running && now.Sub(p.At).Seconds() < paceFresh
}

// Left is how long the rest will take from now on, while work goes on; ok is false
// while that is not known.
func (p *Pace) Left(now time.Time) (left time.Duration, ok bool) {
	value := Work.weight
	if p.Done.Bytes == 0 { // workers of earlier versions do not count bytes
		value = func(w Work) float64 { return float64(w.Objects) }
	}
	rate, rest := p.rate(value), value(p.Total)-value(p.Done)
	if rate <= 0 || rest <= 0 {
		return 0, false
	}
	// What is in work since the last change is done as well, as far as a change takes.
	since := p.Active - p.Moved
	if p.Running {
		since += min(max(0, now.Sub(p.At).Seconds()), paceFresh)
	}
	s := rest / rate
	return time.Duration(max(s-min(since, p.First), s/20) * float64(time.Second)), true
}

// rate is the slope of the line through the timeline, a staircase, by least
// squares. At the beginning the line starts at a fixed point: in the middle of the time
// until the first change, because at any moment work is under way that does not show
// yet, half of it on average. Later it is free and goes through the last sixth of
// the time, or 30 changes, so that a rate that changes is followed.
func (p *Pace) rate(value func(Work) float64) float64 {
	if p.First == 0 {
		return 0
	}
	window := max(paceWindow, p.Active/6, 30*p.First)
	if window < 0.8*p.Active {
		return p.freeSlope(p.Active-window, value)
	}
	return p.fixedSlope(p.First/2, value)
}

// stairs calls fn with every tread of the staircase from a time on.
func (p *Pace) stairs(from float64, fn func(from, to float64, w Work)) {
	for i, at := range p.Points {
		end := p.Active
		if i+1 < len(p.Points) {
			end = p.Points[i+1].At
		}
		if end > from {
			fn(max(at.At, from), end, at.Work)
		}
	}
}

// fixedSlope is the slope of the line that is at the first value at start.
func (p *Pace) fixedSlope(start float64, value func(Work) float64) float64 {
	base := value(p.Points[0].Work)
	var ty float64 // integral of t*y, t from start on
	p.stairs(start, func(from, to float64, w Work) {
		a, b := from-start, to-start
		ty += (value(w) - base) * (b*b - a*a) / 2
	})
	length := p.Active - start
	if length <= 0 {
		return 0
	}
	slope := ty / (length * length * length / 3)
	// Right after the first change there is next to no time in which it counts.
	least := (value(p.Most) - base) / p.Active
	return max(slope, min(least, (value(p.Done)-base)/length))
}

// freeSlope is the slope of the line through the staircase from a time on.
func (p *Pace) freeSlope(start float64, value func(Work) float64) float64 {
	length := p.Active - start
	var ty float64
	p.stairs(start, func(from, to float64, w Work) {
		a, b := from-start-length/2, to-start-length/2
		ty += value(w) * (b*b - a*a) / 2
	})
	return max(0, ty/(length*length*length/12))
}
