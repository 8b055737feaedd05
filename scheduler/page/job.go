package page

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/internal/quantity"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/scheduler/api"
)

// jobView is a job.
type jobView struct {
	api.Job
	Plan     *api.Plan // nil: there is none yet, or it is of no interest any more
	Outcomes []outcome
	Reasons  []reason
	Phases   []stage
	Ended    bool
	Bad      int64
}

// outcome is how many objects came to the same.
type outcome struct {
	Name  string
	Count int64
}

// reason is a class of errors.
type reason struct {
	Class, Meaning string
	Count          int64
	Retried        bool // a new job may do better
}

// stage is how long the objects were in a stage.
type stage struct {
	Name    string
	Seconds float64
	Share   float64
}

func (v *jobView) events() string {
	if v.Ended {
		return ""
	}
	return "/v1/jobs/" + v.Job.Job + "/events"
}

// Can reports whether an action is allowed now.
func (v *jobView) Can(action string) bool { return slices.Contains(v.Actions, action) }

// Progress is the share of the objects that were attempted, 0 where it is not known.
func (v *jobView) Progress() float64 { return progress(&v.Job) }

func progress(j *api.Job) float64 {
	if j.Total <= 0 {
		return 0
	}
	return min(1, float64(j.Counts.Objects)/float64(j.Total))
}

// Moves says in one sentence why the job moves or does not.
func (v *jobView) Moves() string {
	switch {
	case v.Why != "":
		return strings.ToUpper(v.Why[:1]) + v.Why[1:] + "."
	case v.State == string(jobs.StateRunning) && v.Rate > 0:
		text := quantity.Plural(int64(v.Workers), "worker") + " connected"
		if v.ETA > 0 {
			text += ", about " + quantity.Seconds(v.ETA) + " to go"
		}
		return "It moves: " + text + "."
	}
	return states[v.State]
}

// states says what a job in a state does.
var states = map[string]string{
	"new": "It waits for a scheduler.", "preparing": "The source is being listed.", "planned": "It is planned and waits for start.",
	"running": "Its chunks are being worked on.", "pausing": "Chunks at work are finished, and no more are started.", "paused": "It is paused.",
	"finishing": "All chunks are done; the report is being written.", "done": "Every object was attempted.", "cancelling": "It is being ended.",
	"cancelled": "It was cancelled. What was done stays done.", "failed": "It stopped itself.", "interrupted": "The process that did it has ended.",
}

func (p *page) job(rw http.ResponseWriter, r *http.Request) {
	ctx, id := r.Context(), r.PathValue("id")
	j, err := p.api.Job(ctx, id)
	if err != nil {
		p.failWith(rw, r, err)
		return
	}
	state := jobs.State(j.State)
	v := &jobView{Job: j, Ended: state.Terminal(), Bad: j.Bad()}
	if p.opts.HashKeys {
		v.Why = plainWhy(j.Why)
	}
	if state == jobs.StatePlanned || state == jobs.StateRunning || state == jobs.StatePaused {
		if plan, err := p.api.Plan(ctx, id); err == nil {
			v.Plan = &plan
		}
	}
	for o, n := range j.Counts.Outcomes() {
		v.Outcomes = append(v.Outcomes, outcome{string(o), n})
	}
	for c, n := range j.Classes {
		v.Reasons = append(v.Reasons, reason{c, class.Meaning(c), n, !class.Unsupported(c)})
	}
	slices.SortFunc(v.Reasons, func(a, b reason) int { return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Class, b.Class)) })
	var total float64
	for _, s := range j.Stages {
		total += s
	}
	for _, name := range slices.Sorted(maps.Keys(j.Stages)) {
		v.Phases = append(v.Phases, stage{name, j.Stages[name], j.Stages[name] / max(total, 1e-9)})
	}
	order := []string{"fetch", "read", "encode", "verify", "store"}
	slices.SortStableFunc(v.Phases, func(a, b stage) int { return cmp.Compare(slices.Index(order, a.Name), slices.Index(order, b.Name)) })
	p.show(rw, r, http.StatusOK, "job", "Job "+id, v)
}

// plainWhy keeps a reason that names no object: reasons quote keys.
func plainWhy(why string) string {
	if strings.ContainsAny(why, `"'`) {
		return "see the scheduler's log"
	}
	return why
}

// act does what a button asks for, and leads back to the job.
func (p *page) act(rw http.ResponseWriter, r *http.Request) {
	ctx, id, action := r.Context(), r.PathValue("id"), r.PathValue("action")
	var j api.Job
	var err error
	switch action {
	case api.Start, api.Pause, api.Resume, api.Cancel:
		if j, err = p.api.Job(ctx, id); err == nil {
			// Whoever lets a failed job go on has seen why it failed.
			force := action == api.Resume && j.State == string(jobs.StateFailed)
			j, err = p.api.Act(ctx, id, action, api.Order{Force: force}, "")
		}
	case api.Retry:
		again := api.Again{Start: true}
		if of := r.PostFormValue("class"); of != "" {
			again.Classes = []string{of}
		}
		j, err = p.api.Retry(ctx, id, again)
	default:
		p.fail(rw, r, http.StatusNotFound, "There is no such action.")
		return
	}
	if err != nil {
		p.failWith(rw, r, err)
		return
	}
	http.Redirect(rw, r, "/jobs/"+j.Job, http.StatusSeeOther)
}

// report serves report.html of a job that has ended. It comes from the target, so it may do
// nothing, and has the style in its own text only.
func (p *page) report(rw http.ResponseWriter, r *http.Request) {
	ctx, id := r.Context(), r.PathValue("id")
	if _, err := p.api.Report(ctx, id); err != nil {
		p.failWith(rw, r, err)
		return
	}
	j, err := p.api.Job(ctx, id)
	if err != nil {
		p.failWith(rw, r, err)
		return
	}
	if !p.enter(ctx) {
		p.fail(rw, r, http.StatusServiceUnavailable, "Too many reports are being made at once.")
		return
	}
	defer p.leave()
	html, err := p.client.StoredReportPage(ctx, j.Target, id, p.opts.HashKeys)
	if err != nil {
		p.log.Warn("no report page", "job", id, "error", err)
		p.fail(rw, r, http.StatusServiceUnavailable, "The report cannot be read now.")
		return
	}
	style := ""
	if _, after, ok := strings.Cut(string(html), "<style>"); ok {
		text, _, _ := strings.Cut(after, "</style>")
		sum := sha256.Sum256([]byte(text))
		style = "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; "
	}
	rw.Header().Set("Content-Security-Policy", "default-src 'none'; "+style+"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox")
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.Write(html)
}
