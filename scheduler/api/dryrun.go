package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

const (
	planPath = "/v1/plans"
	planTime = 15 * time.Minute // longest plan that is made for a request: it lists a source
)

// DryRun makes the plan that a submission would get, and writes nothing. One at a time is made.
func (a *API) DryRun(ctx context.Context, s Submission) (Plan, error) {
	spec, manifest, err := a.specOf(&s)
	if err != nil {
		return Plan{}, err
	}
	select {
	case a.planning <- struct{}{}:
		defer func() { <-a.planning }()
	default:
		return Plan{}, problem(http.StatusServiceUnavailable, "another plan is being made for a request: try again")
	}
	plan, err := a.client.DryRun(ctx, spec, manifest, s.Format)
	if err != nil {
		return Plan{}, a.submitProblem(err)
	}
	plan.Job = ""
	return newPlan(&spec, &plan, a.opts.Prices), nil
}

// specOf checks a submission and whether its places may be opened.
func (a *API) specOf(s *Submission) (spec jobs.Spec, manifest io.Reader, err error) {
	if spec, err = s.spec(a.client.Codecs); err != nil {
		return spec, nil, problem(http.StatusUnprocessableEntity, strings.TrimPrefix(err.Error(), "jobs: "))
	}
	for _, place := range []string{spec.Source, spec.Target} {
		if err := a.opts.Allow.Check(place); err != nil {
			return spec, nil, problemOf(err)
		}
	}
	spec.Created = time.Now().UTC()
	if s.Manifest != "" {
		manifest = strings.NewReader(s.Manifest)
	}
	return spec, manifest, nil
}

// Repair is what is made anew of the results that the last verification of a target listed as damaged.
type Repair struct {
	Target string `json:"target" minLength:"1" maxLength:"4096" doc:"Bucket URL"`
	Job    string `json:"job,omitempty" pattern:"^[0-9]{8}-[0-9]{6}-[a-z2-7]{4}$" doc:"Only results that this job recorded"`
	Again
}

// Repair makes new jobs for damaged results, one for all that were made in the same way.
func (a *API) Repair(ctx context.Context, o Repair) (list JobList, err error) {
	target, err := storage.Canonical(o.Target)
	if err != nil {
		return list, problem(http.StatusUnprocessableEntity, err.Error())
	}
	if len(o.Classes) > 0 {
		return list, problem(http.StatusUnprocessableEntity, "classes: damaged results have none")
	}
	if err := a.opts.Allow.Check(target); err != nil {
		return list, problemOf(err)
	}
	made, err := a.client.RepairDamaged(ctx, target, o.Job, o.mutate)
	if errors.Is(err, scheduler.ErrNothing) {
		return list, problemOf(err)
	}
	if err != nil {
		return list, a.submitProblem(err)
	}
	list.Jobs = []Job{}
	for i := range made {
		job, err := a.made(ctx, &made[i])
		if err != nil {
			return list, err
		}
		list.Jobs = append(list.Jobs, job)
	}
	return list, nil
}

type planIn struct{ Body Submission }

type repairIn struct{ Body Repair }

// repairOut are the jobs that were made.
type repairOut struct {
	Status int
	Body   JobList
}

func (a *API) dryRunRoutes(h huma.API) {
	plan := operation("plan-submission", http.MethodPost, planPath, "The plan that a submission would get; nothing is written. It lists the source, which may take minutes", conflicts)
	plan.MaxBodyBytes = mostManifest
	huma.Register(h, plan, func(ctx context.Context, in *planIn) (*of[Plan], error) { return answerWith(a.DryRun(ctx, in.Body)) })
	repair := operation("repair-results", http.MethodPost, "/v1/repairs", "Make new jobs for the results that the last pelmill verify of a target listed as damaged", notFound, conflicts)
	repair.DefaultStatus = http.StatusCreated
	huma.Register(h, repair, func(ctx context.Context, in *repairIn) (*repairOut, error) {
		list, err := a.Repair(ctx, in.Body)
		if err != nil {
			return nil, problemOf(err)
		}
		return &repairOut{http.StatusCreated, list}, nil
	})
}
