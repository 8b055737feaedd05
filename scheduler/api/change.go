package api

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
)

// Order is what can be said with an action.
type Order struct {
	Priority *int `json:"priority,omitempty" minimum:"0" maximum:"3" doc:"With start and resume: the new priority"`
	Force    bool `json:"force,omitempty" doc:"With start and resume: go on although the failure limit was reached"`
}

// Again is what a new job for the failures of another one has otherwise than that.
type Again struct {
	Start     bool     `json:"start,omitempty" doc:"Start as soon as it is planned"`
	Classes   []string `json:"classes,omitempty" maxItems:"64" nullable:"false" doc:"Only objects whose error is of one of these classes"`
	Device    string   `json:"device,omitempty" pattern:"^(auto|cpu|cuda(:[0-9]{1,3})?)$" example:"auto"`
	Verify    string   `json:"verify,omitempty" pattern:"^(full|device|off|sample:(0?\\.[0-9]+|1(\\.0*)?|0))$" example:"full"`
	MinPSNR   *float64 `json:"min_psnr,omitempty" minimum:"0" maximum:"1000"`
	Overwrite *bool    `json:"overwrite,omitempty"`
}

// wants are what the actions write down.
var wants = map[string]string{Start: jobs.WantRun, Resume: jobs.WantRun, Pause: jobs.WantPause, Cancel: jobs.WantCancel}

// Act asks for an action: [Start], [Pause], [Resume] or [Cancel]. Where match is not empty the job must still have that
// version, or one of these ETags. The job as it is right after it is returned; the scheduler obeys within seconds.
func (a *API) Act(ctx context.Context, id, action string, o Order, match string) (Job, error) {
	want, ok := wants[action]
	if !ok {
		return Job{}, problem(http.StatusUnprocessableEntity, fmt.Sprintf("action %q: want start, pause, resume or cancel", action))
	}
	ctl := jobs.Control{Want: want, Force: o.Force}
	if want == jobs.WantRun {
		ctl.Priority = o.Priority
	}
	return a.change(ctx, id, match, ctl)
}

// Set changes settings of a job.
func (a *API) Set(ctx context.Context, id string, s Settings, match string) (Job, error) {
	settings, err := s.settings()
	if err != nil {
		return Job{}, problem(http.StatusUnprocessableEntity, err.Error())
	}
	return a.change(ctx, id, match, jobs.Control{Settings: settings})
}

// change writes down what is wanted. Of the changes that come to this process one at a time looks and writes.
func (a *API) change(ctx context.Context, id, match string, ctl jobs.Control) (Job, error) {
	if _, err := a.Job(ctx, id); err != nil { // finds it
		return Job{}, err
	}
	h := fnv.New32a()
	io.WriteString(h, id)
	lock := &a.changing[h.Sum32()%uint32(len(a.changing))]
	lock.Lock()
	defer lock.Unlock()
	w, err := a.watching(id)
	if err != nil {
		return Job{}, err
	}
	if match != "" {
		w.look(ctx)
	}
	job, _, err := w.now(ctx)
	if err != nil {
		return Job{}, problemOf(err)
	}
	if match != "" && match != job.Version && !ifMatch(match, job.Version) {
		p := problem(http.StatusPreconditionFailed, fmt.Sprintf("job %s has another version now, %q: it is %s", id, job.Version, job.State))
		p.State = job.State
		return Job{}, p
	}
	ctl.At = time.Now().UTC()
	if err := a.client.Control(ctx, job.Target, id, ctl); err != nil {
		return Job{}, problemOf(err)
	}
	w.look(ctx)
	job, _, err = w.now(ctx)
	if err != nil {
		return Job{}, problemOf(err)
	}
	return job, nil
}

// Submit makes a new job, or finds the one that the token made before; created says which.
func (a *API) Submit(ctx context.Context, s Submission, token string) (job Job, created bool, err error) {
	spec, manifest, err := a.specOf(&s)
	if err != nil {
		return job, false, err
	}
	spec.Token = token
	spec.ID = jobs.NewID(spec.Created)
	stored, err := a.client.Submit(ctx, spec, manifest, s.Format)
	if err != nil {
		return job, false, a.submitProblem(err)
	}
	job, err = a.made(ctx, &stored)
	return job, stored.ID == spec.ID, err
}

// submitProblem is that of an error which is the submission's own where it is nobody else's.
func (a *API) submitProblem(err error) *Problem {
	p := problemOf(err)
	if p.Status == http.StatusInternalServerError {
		p = problem(http.StatusUnprocessableEntity, p.Detail)
	}
	return p
}

// made gives a job that was just made.
func (a *API) made(ctx context.Context, spec *jobs.Spec) (Job, error) {
	a.places.drop()
	a.mu.Lock()
	w := a.watches[spec.ID]
	a.mu.Unlock()
	if w != nil {
		w.look(ctx) // somebody asked for it before it was there
	}
	return a.Job(ctx, spec.ID)
}

// Retry makes a new job of the objects of an ended job that failed or were rejected.
func (a *API) Retry(ctx context.Context, id string, o Again) (Job, error) {
	job, err := a.Job(ctx, id)
	if err != nil {
		return Job{}, err
	}
	report, err := a.Report(ctx, id)
	if err != nil {
		return Job{}, err
	}
	if report.Counts.Bad() == 0 {
		return Job{}, conflict(report.State, CodeNothing, fmt.Sprintf("no object of job %s failed", id))
	}
	spec, err := a.client.Retry(ctx, job.Target, id, o.Classes, o.mutate)
	if errors.Is(err, scheduler.ErrNothing) {
		return Job{}, conflict(report.State, CodeNothing, strings.TrimPrefix(err.Error(), "scheduler: "))
	}
	if err != nil {
		return Job{}, a.submitProblem(err)
	}
	return a.made(ctx, &spec)
}

// mutate changes the specification of the new job.
func (o *Again) mutate(s *jobs.Spec) {
	if s.AutoStart = o.Start; o.Device != "" {
		s.Device = o.Device
	}
	if o.Verify != "" {
		s.Verify = o.Verify
	}
	if o.MinPSNR != nil {
		s.MinPSNR = *o.MinPSNR
	}
	if o.Overwrite != nil {
		s.Overwrite = *o.Overwrite
	}
}

type submitIn struct {
	Key  string `header:"Idempotency-Key" maxLength:"255" doc:"The same key gives the same job again, however often it is submitted"`
	Body Submission
}

type madeOut struct {
	Status   int
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     Job
}

// MatchParams name a job and its version.
type MatchParams struct {
	JobPath
	Match string `header:"If-Match" maxLength:"1024" doc:"ETag of the job as it must still be"`
}

type orderIn struct {
	MatchParams
	Body *Order `required:"false"`
}

type setIn struct {
	MatchParams
	Body Settings
}

type retryIn struct {
	JobPath
	Body *Again `required:"false"`
}

func newMade(job Job, created bool) *madeOut {
	out := &madeOut{Status: http.StatusOK, Location: "/v1/jobs/" + job.Job, ETag: `"` + job.Version + `"`, Body: job}
	if created {
		out.Status = http.StatusCreated
	}
	return out
}

func (a *API) changeRoutes(h huma.API) {
	submit := operation("submit-job", http.MethodPost, "/v1/jobs", "Submit a job. It is planned, and then waits for start unless the submission says otherwise; 200 is the job that the same key made before", conflicts)
	submit.DefaultStatus, submit.MaxBodyBytes = http.StatusCreated, mostManifest
	huma.Register(h, submit, func(ctx context.Context, in *submitIn) (*madeOut, error) {
		job, created, err := a.Submit(ctx, in.Body, in.Key)
		if err != nil {
			return nil, problemOf(err)
		}
		return newMade(job, created), nil
	})
	for action, summary := range map[string]string{
		Start: "Start a job that waits after its plan", Pause: "Let the chunks at work finish and start no more",
		Resume: "Go on with a paused or failed job", Cancel: "End a job; what is done stays done",
	} {
		op := operation(action+"-job", http.MethodPost, "/v1/jobs/{id}/"+action, summary, notFound, conflicts, http.StatusPreconditionFailed)
		op.DefaultStatus = http.StatusAccepted
		huma.Register(h, op, func(ctx context.Context, in *orderIn) (*jobOut, error) {
			if in.Body == nil {
				in.Body = &Order{}
			}
			return jobAnswer(a.Act(ctx, in.ID, action, *in.Body, in.Match))
		})
	}
	set := operation("set-job", http.MethodPatch, "/v1/jobs/{id}", "Change priority, hours and limits of a job, also while it runs", notFound, conflicts, http.StatusPreconditionFailed)
	set.DefaultStatus = http.StatusAccepted
	huma.Register(h, set, func(ctx context.Context, in *setIn) (*jobOut, error) {
		return jobAnswer(a.Set(ctx, in.ID, in.Body, in.Match))
	})
	retry := operation("retry-job", http.MethodPost, "/v1/jobs/{id}/retry", "Make a new job of the objects that failed or were rejected", notFound, conflicts)
	retry.DefaultStatus = http.StatusCreated
	huma.Register(h, retry, func(ctx context.Context, in *retryIn) (*madeOut, error) {
		if in.Body == nil {
			in.Body = &Again{}
		}
		job, err := a.Retry(ctx, in.ID, *in.Body)
		if err != nil {
			return nil, problemOf(err)
		}
		return newMade(job, true), nil
	})
}
