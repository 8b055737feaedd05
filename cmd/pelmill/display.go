package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// snapshot is where a piece of work stands.
type snapshot struct {
	job        string
	state      jobs.State
	why        string      // why nothing moves, "" where it does
	blocked    bool        // by something that people must change: it is said at once
	total      int64       // objects, 0 while unknown
	chunks     int64       // of the job
	chunksDone int64       //
	counts     jobs.Counts // so far
	workers    int         // alive; shown where positive

	rate, byteRate float64 // objects and source bytes a second, 0 while unknown
	eta            float64 // seconds to the end, 0 while unknown
}

// display shows the progress of one piece of work on stderr: a bar on a
// terminal, a line every so often elsewhere, nothing with -q, and events on
// stdout with --json. It is safe for concurrent use.
type display struct {
	p     *program
	every time.Duration // between lines and between events
	texts string        // where the texts of errors are that are not shown

	mu      sync.Mutex
	bars    *mpb.Progress // nil without a bar
	bar     *mpb.Bar
	now     snapshot
	said    time.Time // when the last line or event came
	saidWhy string
	pace    jobs.Pace     // of work that is no job
	shown   int           // objects that were named because they failed
	holding bool          // objects are kept back until release
	held    []jobs.Result //
}

// shownFailures is how many failed objects are named while the work goes on.
const shownFailures = 20

// display starts showing; the caller ends it with close.
func (p *program) display(every time.Duration) *display {
	d := &display{p: p, every: every, said: time.Now(), texts: "pelmill report --show-keys has the text"}
	if p.screen != nil && !p.quiet && !p.json {
		d.bars = mpb.New(mpb.WithOutput(p.screen), mpb.WithRefreshRate(150*time.Millisecond), mpb.WithAutoRefresh())
		d.bar = d.bars.New(0, mpb.BarStyle().Lbound("[").Filler("=").Tip(">").Padding(" ").Rbound("]"),
			mpb.BarRemoveOnComplete(), mpb.BarWidth(30),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
				d.mu.Lock()
				defer d.mu.Unlock()
				return d.text()
			})))
	}
	return d
}

// update shows a newer state of the work.
func (d *display) update(s snapshot) {
	d.mu.Lock()
	changed := s.state != d.now.state || s.why != d.saidWhy && s.why != ""
	if s.job == "" {
		d.pace.Look(time.Now(), true, s.counts.Attempted(), jobs.Work{})
		s.rate, s.byteRate = d.pace.Rate()
	}
	d.now = s
	due := time.Since(d.said) >= d.every || (changed && (d.p.json || s.blocked))
	text := d.text()
	event := d.event()
	if due {
		d.said, d.saidWhy = time.Now(), s.why
	}
	d.mu.Unlock()

	switch {
	case d.bar != nil:
		if s.total > 0 {
			d.bar.SetTotal(max(s.total, s.counts.Objects)+1, false) // the bar would end itself at its total
		}
		d.bar.SetCurrent(s.counts.Objects)
	case due && d.p.json:
		d.p.emit(event)
	case due && !d.p.quiet:
		fmt.Fprintln(d.p.stderr, text)
	}
}

// text is the state in one line: "1,200 of 2,000, 45.1/s, 8.2 MiB/s, saving
// 81.0 %, ETA 18 s". The caller holds mu.
func (d *display) text() string {
	s := d.now
	var parts []string
	switch {
	case s.state == jobs.StateNew || s.state == jobs.StatePreparing:
		parts = append(parts, "listing the source")
	case s.state == jobs.StateFinishing:
		parts = append(parts, "writing the report")
	case s.state == jobs.StateRunning || s.state == "":
	default:
		parts = append(parts, string(s.state))
	}
	if s.total > 0 {
		parts = append(parts, countText(s.counts.Objects)+" of "+countText(s.total))
	} else if s.counts.Objects > 0 {
		parts = append(parts, plural(s.counts.Objects, "object"))
	}
	if s.rate > 0 && !s.blocked {
		parts = append(parts, fmt.Sprintf("%.1f/s", s.rate), bytesText(int64(s.byteRate))+"/s")
	}
	if s.counts.BytesIn > 0 && s.counts.BytesOut > 0 {
		parts = append(parts, "saving "+percent(s.counts.Saving()))
	}
	if bad := s.counts.Bad(); bad > 0 {
		parts = append(parts, countText(bad)+" failed")
	}
	if s.eta > 0 && !s.blocked {
		parts = append(parts, "ETA "+secondsText(s.eta))
	}
	if s.workers > 0 {
		parts = append(parts, plural(int64(s.workers), "worker"))
	}
	if s.why != "" {
		parts = append(parts, s.why)
	}
	return plain.Line(strings.Join(parts, ", "))
}

// event is the state as an event. The caller holds mu.
func (d *display) event() progressEvent {
	s := d.now
	e := progressEvent{
		Type: "progress", Job: s.job, State: s.state, Why: s.why, Total: s.total,
		ChunksDone: s.chunksDone, Chunks: s.chunks, Counts: s.counts, Saving: s.counts.Saving(),
		ObjectsPerSecond: s.rate, BytesPerSecond: s.byteRate, ETA: s.eta,
	}
	return e
}

// hold keeps objects back until release, so that the plan is shown first.
func (d *display) hold() { d.holding = true }

func (d *display) release() {
	d.mu.Lock()
	held := d.held
	d.holding, d.held = false, nil
	d.mu.Unlock()
	for _, r := range held {
		d.object(r)
	}
}

// object shows the record of one object: failures, and with -v all.
func (d *display) object(r jobs.Result) {
	d.mu.Lock()
	if d.holding {
		d.held = append(d.held, r)
	}
	holding := d.holding
	d.mu.Unlock()
	if holding {
		return
	}
	bad := r.Outcome == jobs.OutcomeFailed || r.Outcome == jobs.OutcomeRejected
	switch {
	case d.p.json:
		if bad || d.p.verbose {
			d.p.emit(objectEvent{"object", d.p.shown(r, d.texts)})
		}
	case d.p.quiet:
	case d.p.verbose:
		d.say(d.p.objectText(d.p.shown(r, d.texts)))
	case bad || r.Outcome == jobs.OutcomeUnsupported:
		d.mu.Lock()
		d.shown++
		n := d.shown
		d.mu.Unlock()
		if n <= shownFailures {
			d.say(d.p.objectText(d.p.shown(r, d.texts)))
		}
		if n == shownFailures {
			d.say("further ones are not shown here; pelmill report --failed lists them, -v shows all")
		}
	}
}

// shown is the record as people and programs see it: that of a medical image with hashes in place of its keys, which may
// name a patient, unless --show-keys is given. where says where a text is that may have a key.
func (p *program) shown(r jobs.Result, where string) jobs.Result {
	if p.showKeys {
		return r
	}
	if err := sitekey.OfProcess().Reader().Complete(&r); err != nil {
		panic(err) // it reads nothing
	}
	return r.Shown(where)
}

// keysFlag lets a verb show keys of medical images.
func (p *program) keysFlag(fs *pflag.FlagSet) {
	fs.BoolVar(&p.showKeys, "show-keys", false, "show keys of DICOM and NIfTI objects, which may name patients, in place of their hashes")
}

// say prints a line above the bar.
func (d *display) say(text string) { io.WriteString(d.log(), plain.Line(text)+"\n") }

// log is where lines go that must not break the bar.
func (d *display) log() io.Writer {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bars != nil {
		return plain.Writer(d.bars)
	}
	return d.p.stderr
}

// close removes the bar.
func (d *display) close() {
	d.release()
	d.mu.Lock()
	bars := d.bars
	d.bars = nil
	d.mu.Unlock()
	if bars != nil {
		d.bar.Abort(true)
		bars.Wait()
	}
}

// objectText says what became of an object.
func (p *program) objectText(r jobs.Result) string {
	key, target := p.name(cmp.Or(r.Key, r.KeyHash)), p.name(cmp.Or(r.Target, r.TargetHash))
	switch {
	case r.Error != "":
		return fmt.Sprintf("%s: %s: %s", r.Outcome, key, r.Error)
	case r.Outcome == jobs.OutcomeCompressed:
		s := fmt.Sprintf("%s: %s -> %s: %s to %s", r.Outcome, key, target, bytesText(r.Size), bytesText(r.TargetSize))
		switch {
		case r.PSNR == raster.Identical:
			s += ", identical"
		case r.PSNR > 0:
			s += fmt.Sprintf(", %.2f dB", r.PSNR)
		}
		for _, name := range slices.Sorted(maps.Keys(r.Facts)) {
			s += ", " + name + " " + r.Facts[name]
		}
		return s
	case r.Note != "":
		return fmt.Sprintf("%s: %s: %s", r.Outcome, key, r.Note)
	}
	return fmt.Sprintf("%s: %s", r.Outcome, key)
}

// shownName is the most characters of a name on a terminal.
const shownName = 120

// name renders the key of an object for people.
func (p *program) name(key string) string {
	if p.screen != nil {
		key = plain.Shorten(key, shownName)
	}
	return plain.Name(key)
}

// Write prints log lines above the bar.
func (d *display) Write(b []byte) (int, error) { return d.log().Write(b) }
