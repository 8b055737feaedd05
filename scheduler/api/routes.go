package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// of is the body of an answer.
type of[T any] struct{ Body T }

// answerWith makes the answer of an operation.
func answerWith[T any](body T, err error) (*of[T], error) {
	if err != nil {
		return nil, problemOf(err)
	}
	return &of[T]{body}, nil
}

// jobOut is a job with its ETag.
type jobOut struct {
	ETag string `header:"ETag" doc:"Changes with state, wish and settings of the job, not with its progress; for If-Match"`
	Body Job
}

func jobAnswer(job Job, err error) (*jobOut, error) {
	if err != nil {
		return nil, problemOf(err)
	}
	return &jobOut{`"` + job.Version + `"`, job}, nil
}

// JobPath names a job in a path; huma takes parameters of exported types only.
type JobPath struct {
	ID string `path:"id" pattern:"^[0-9]{8}-[0-9]{6}-[a-z2-7]{4}$" example:"20060102-150405-abcd" doc:"The job's id"`
}

type jobsIn struct {
	Target string   `query:"target" maxLength:"2048" doc:"Jobs of this target only, a bucket URL"`
	State  []string `query:"state" maxItems:"16" doc:"In one of these states, separated by commas" enum:"new,preparing,planned,running,pausing,paused,finishing,done,cancelling,cancelled,failed,interrupted,refused,unknown"`
	Cursor string   `query:"cursor" maxLength:"64" pattern:"^[a-z0-9-]*$" doc:"next_cursor of the page before"`
	Limit  int      `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Most jobs of the page"`
}

type resultsIn struct {
	JobPath
	Outcome []string `query:"outcome" maxItems:"8" doc:"With one of these outcomes, separated by commas" enum:"compressed,kept,skipped,unsupported,rejected,failed"`
	PageParams
	Known bool `query:"known" doc:"In place of the job's own results the verdicts of earlier jobs for which it skipped objects"`
}

type failuresIn struct {
	JobPath
	PageParams
}

// PageParams choose records.
type PageParams struct {
	Class  string `query:"class" maxLength:"64" doc:"With this class of error"`
	Prefix string `query:"prefix" maxLength:"1024" doc:"Of the key; of a DICOM or NIfTI object the whole key"`
	Cursor string `query:"cursor" maxLength:"8192" pattern:"^[A-Za-z0-9_-]*$" doc:"next_cursor of the page before"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Most results of the page"`
}

func (p *PageParams) query(outcomes ...jobs.Outcome) ResultsQuery {
	return ResultsQuery{Outcomes: outcomes, Class: p.Class, Prefix: p.Prefix, Cursor: p.Cursor, Limit: p.Limit}
}

// operation describes a route. Every one can fail for want of a right, or because storage or Redis does not answer.
func operation(id, method, path, summary string, errors ...int) huma.Operation {
	return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, MaxBodyBytes: mostBody,
		Errors: append(errors, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge,
			http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusServiceUnavailable)}
}

const (
	notFound  = http.StatusNotFound
	conflicts = http.StatusConflict
)

// routes adds all operations and gives their description.
func (a *API) routes(h huma.API) *huma.OpenAPI {
	a.readRoutes(h)
	a.changeRoutes(h)
	a.dryRunRoutes(h)
	describe(h.OpenAPI())
	return h.OpenAPI()
}

func (a *API) readRoutes(h huma.API) {
	huma.Register(h, operation("list-jobs", http.MethodGet, "/v1/jobs", "Jobs, newest first"),
		func(ctx context.Context, in *jobsIn) (*of[JobList], error) {
			q := JobsQuery{States: in.State, Cursor: in.Cursor, Limit: in.Limit}
			if in.Target != "" {
				var err error
				if q.Target, err = storage.Canonical(in.Target); err != nil {
					return nil, problem(http.StatusUnprocessableEntity, err.Error())
				}
			}
			return answerWith(a.Jobs(ctx, q))
		})
	huma.Register(h, operation("get-job", http.MethodGet, "/v1/jobs/{id}", "Where a job stands, as of the last second", notFound),
		func(ctx context.Context, in *JobPath) (*jobOut, error) { return jobAnswer(a.Job(ctx, in.ID)) })
	huma.Register(h, operation("get-plan", http.MethodGet, "/v1/jobs/{id}/plan", "What a job is going to do", notFound, conflicts),
		func(ctx context.Context, in *JobPath) (*of[Plan], error) { return answerWith(a.Plan(ctx, in.ID)) })
	huma.Register(h, operation("get-report", http.MethodGet, "/v1/jobs/{id}/report", "What became of a job that has ended", notFound, conflicts),
		func(ctx context.Context, in *JobPath) (*of[jobs.Report], error) {
			return answerWith(a.Report(ctx, in.ID))
		})
	huma.Register(h, operation("list-results", http.MethodGet, "/v1/jobs/{id}/results", "The records of a job's objects, in the order of their keys; of a running job those of chunks that are done", notFound),
		func(ctx context.Context, in *resultsIn) (*of[ResultPage], error) {
			var outcomes []jobs.Outcome
			for _, o := range in.Outcome {
				outcomes = append(outcomes, jobs.Outcome(o))
			}
			q := in.query(outcomes...)
			q.Known = in.Known
			return answerWith(nameless(a.Results(ctx, in.ID, q)))
		})
	huma.Register(h, operation("list-failures", http.MethodGet, "/v1/jobs/{id}/failures", "The records of objects that failed or were rejected", notFound),
		func(ctx context.Context, in *failuresIn) (*of[ResultPage], error) {
			return answerWith(nameless(a.Results(ctx, in.ID, in.query(jobs.OutcomeFailed, jobs.OutcomeRejected))))
		})
	type nothing struct{}
	huma.Register(h, operation("list-workers", http.MethodGet, "/v1/workers", "The workers of the cluster"),
		func(ctx context.Context, _ *nothing) (*of[Workers], error) { return answerWith(a.Workers(ctx)) })
	huma.Register(h, operation("list-codecs", http.MethodGet, "/v1/codecs", "The codecs with their options"),
		func(context.Context, *nothing) (*of[Codecs], error) { return &of[Codecs]{a.Codecs()}, nil })
	huma.Register(h, operation("list-targets", http.MethodGet, "/v1/targets", "The places of jobs, and where sources and targets may be"),
		func(ctx context.Context, _ *nothing) (*of[Targets], error) { return answerWith(a.Targets(ctx)) })
}

// ifMatch reports whether a version satisfies a header If-Match (RFC 9110, 13.1.1).
func ifMatch(header, version string) bool {
	return header == "" || slices.ContainsFunc(strings.Split(header, ","), func(tag string) bool {
		tag = strings.TrimSpace(tag)
		return tag == "*" || tag == `"`+version+`"`
	})
}
