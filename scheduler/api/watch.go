package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
)

const (
	lookEvery  = time.Second
	lookShare  = 10               // a look takes at most this part of the time
	lookTime   = 30 * time.Second // longest look
	idleTime   = 10 * time.Second // after which a job that nobody asks for is looked at no more
	errorTime  = 2 * time.Second  // for which an error is the answer to everybody
	mostJobs   = 1000             // looked at at once
	mostRead   = 16               // chunks whose sums are read in a look
	mostSummed = 256              // jobs that nobody asks for and whose sums are kept, so that they are not read anew for the next who asks
)

// watch is a job that somebody asks for: one goroutine looks at it, everybody reads what it saw last.
type watch struct {
	a      *API
	id     string
	target string // empty until it is found

	looking sync.Mutex // one look at a time
	sums    *scheduler.RecordSums
	known   *scheduler.Status // the last one with an answer of Redis

	mu      sync.Mutex
	job     Job
	text    *jobText // of job; nil where there is err
	err     error
	looked  bool
	asked   time.Time
	readers int           // streams of events
	changed chan struct{} // closed at the next look that sees something else
	end     bool          // it is looked at no more
}

// watching gives the watch of a job and makes one where there is none.
func (a *API) watching(id string) (*watch, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.watches[id]
	switch {
	case w != nil:
	case a.ctx.Err() != nil:
		return nil, problem(http.StatusServiceUnavailable, "the scheduler is stopping")
	case len(a.watches) >= mostJobs:
		return nil, problem(http.StatusServiceUnavailable, "too many jobs are asked for at once")
	default:
		w = &watch{a: a, id: id, sums: a.summed[id], changed: make(chan struct{})}
		if delete(a.summed, id); w.sums == nil {
			w.sums = &scheduler.RecordSums{}
		}
		a.watches[id] = w
		a.running.Go(w.run)
	}
	w.mu.Lock()
	w.asked = time.Now()
	w.mu.Unlock()
	return w, nil
}

// run looks at the job until nobody has asked for a while.
func (w *watch) run() {
	for {
		start := time.Now()
		ctx, cancel := context.WithTimeout(w.a.ctx, lookTime)
		w.look(ctx)
		cancel()
		for wait := max(lookEvery, lookShare*time.Since(start)); ; wait = lookEvery {
			timer := time.NewTimer(wait)
			select {
			case <-w.a.ctx.Done():
				timer.Stop()
			case <-timer.C:
			}
			if w.over() {
				return
			}
			w.mu.Lock()
			still := w.err == nil && (w.job.State == string(jobs.StateDone) || w.job.State == string(jobs.StateCancelled))
			w.mu.Unlock()
			if !still {
				break // what is done or cancelled stays so, and is remembered while it is asked for
			}
		}
	}
}

// over ends the watch where nobody wants it any more.
func (w *watch) over() bool {
	w.a.mu.Lock()
	defer w.a.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	idle := idleTime
	if w.err != nil {
		idle = errorTime
	}
	if w.a.ctx.Err() == nil && (w.readers > 0 || time.Since(w.asked) < idle) {
		return false
	}
	if !w.looking.TryLock() {
		return false // somebody has changed the job and looks at it
	}
	defer w.looking.Unlock()
	delete(w.a.watches, w.id)
	if w.err == nil && !jobs.State(w.job.State).Terminal() {
		if len(w.a.summed) >= mostSummed {
			clear(w.a.summed)
		}
		w.a.summed[w.id] = w.sums
	}
	w.end = true
	close(w.changed)
	return true
}

// look sees where the job stands now.
func (w *watch) look(ctx context.Context) {
	w.looking.Lock()
	defer w.looking.Unlock()
	w.mu.Lock()
	end := w.end
	w.mu.Unlock()
	if end {
		return // its sums are those of another watch by now
	}
	job, err := w.see(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end || errors.Is(err, context.Canceled) && w.looked {
		return
	}
	var text *jobText
	if err == nil {
		if text, err = newJobText(&job); err != nil {
			return
		}
	}
	same := w.looked && (err == nil) == (w.err == nil) && (err != nil || bytes.Equal(text.body, w.text.body))
	if w.err, w.looked = err, true; !same {
		w.job, w.text = job, text
		close(w.changed)
		w.changed = make(chan struct{})
	}
}

func (w *watch) see(ctx context.Context) (Job, error) {
	if w.target == "" {
		target, err := w.a.targetOf(ctx, w.id)
		if err != nil {
			return Job{}, err
		}
		w.target = target
	}
	s, err := w.a.client.StatusAfter(ctx, w.target, w.id, w.known)
	if err != nil {
		return Job{}, err
	}
	switch {
	case !s.Offline:
		w.known = &s
	case w.known != nil:
		s = s.With(*w.known)
	}
	if !s.State.State.Terminal() {
		if err := w.a.client.AddRecords(ctx, w.target, &s, w.sums, mostRead); err != nil {
			w.a.log.Debug("cannot read records", "job", w.id, "error", err)
		}
		return newJob(w.target, &s, &w.sums.Sums, w.sums.Partial), nil
	}
	report, err := w.a.client.Report(ctx, w.target, w.id)
	if err != nil {
		return newJob(w.target, &s, &w.sums.Sums, w.sums.Partial), nil // failed without a report
	}
	return newJob(w.target, &s, &jobs.Sums{Stages: report.Stages, Classes: report.Classes, SecondDecoder: report.Second}, false), nil
}

// newest is the text of the newest look; nil where there is none yet, or it went wrong.
func (w *watch) newest() *jobText {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text
}

// jobText is a job as it is sent, made once for all who ask.
type jobText struct {
	body []byte // JSON and a line end
	etag string
	id   string // of its event
	end  bool   // nothing more will come of the job

	event string // "status", with its id
}

func newJobText(j *Job) (*jobText, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(j); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b.Bytes())
	t := &jobText{body: b.Bytes(), etag: `"` + j.Version + `"`, id: hex.EncodeToString(sum[:8])}
	t.end = j.State == string(jobs.StateDone) || j.State == string(jobs.StateCancelled)
	t.event = "event: status\nid: " + t.id + "\ndata: " + b.String() + "\n"
	return t, nil
}

// now is the newest look, and a channel that is closed when there is another one. It waits for the first.
func (w *watch) now(ctx context.Context) (Job, <-chan struct{}, error) {
	for {
		w.mu.Lock()
		job, err, looked, changed, end := w.job, w.err, w.looked, w.changed, w.end
		w.mu.Unlock()
		if looked {
			return job, changed, err
		}
		if end {
			return job, changed, problem(http.StatusServiceUnavailable, "the scheduler is stopping")
		}
		select {
		case <-ctx.Done():
			return job, changed, ctx.Err()
		case <-changed:
		}
	}
}

// follow counts a stream of events, until the returned function is called.
func (w *watch) follow() (leave func()) {
	w.mu.Lock()
	w.readers++
	w.mu.Unlock()
	return func() {
		w.mu.Lock()
		w.readers--
		w.asked = time.Now()
		w.mu.Unlock()
	}
}
