package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/internal/listener"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

// Job gives where a job stands, as of the last second.
func (a *API) Job(ctx context.Context, id string) (Job, error) {
	if !jobs.ValidID(id) {
		return Job{}, noJob(id)
	}
	w, err := a.watching(id)
	if err != nil {
		return Job{}, err
	}
	job, _, err := w.now(ctx)
	if err != nil {
		return Job{}, problemOf(err)
	}
	return job, nil
}

// serveJob answers to GET /v1/jobs/{id} of a client that may read with the text that was made at the last look: what pages
// and scripts ask again and again costs no more than its writing. It is false where there is none, and for all other requests.
func (a *API) serveJob(rw http.ResponseWriter, r *http.Request) bool {
	id, ok := strings.CutPrefix(r.URL.Path, "/v1/jobs/")
	if !ok || r.Method != http.MethodGet || r.ContentLength != 0 || r.URL.RawQuery != "" || r.URL.ForceQuery || !jobs.ValidID(id) {
		return false
	}
	w, err := a.watching(id)
	if err != nil {
		return false
	}
	text := w.newest()
	if text == nil {
		return false
	}
	header := rw.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(text.body)))
	header.Set("ETag", text.etag)
	control := http.NewResponseController(rw)
	control.SetWriteDeadline(time.Now().Add(requestTime)) // a writer of tests has none
	defer listener.Hold(r)()
	rw.Write(text.body)
	control.Flush()
	return true
}

func noJob(id string) *Problem {
	return coded(problem(http.StatusNotFound, fmt.Sprintf("%q: no such job; ids look like 20060102-150405-abcd", id)), CodeNoJob)
}

// locate gives the target of a job.
func (a *API) locate(ctx context.Context, id string) (string, error) {
	job, err := a.Job(ctx, id)
	return job.Target, err
}

// targetOf finds the target of a job: where the queue says, or else in the targets that the scheduler was started with.
func (a *API) targetOf(ctx context.Context, id string) (string, error) {
	target, err := a.client.Conn.Job(id).Target(ctx)
	if target != "" {
		return target, a.opts.Allow.Check(target)
	}
	for _, named := range a.opts.Targets {
		_, serr := a.client.Spec(ctx, named, id)
		if serr == nil {
			return named, nil
		}
		if problemOf(serr).Code != CodeNoJob && err == nil {
			err = serr
		}
	}
	if err != nil {
		return "", err
	}
	return "", coded(problem(http.StatusNotFound, "no such job: "+id+" (jobs that have ended are found in the targets that the scheduler was started with)"), CodeNoJob)
}

// Plan gives what a job is going to do.
func (a *API) Plan(ctx context.Context, id string) (Plan, error) {
	job, err := a.Job(ctx, id)
	if err != nil {
		return Plan{}, err
	}
	if job.State == string(jobs.StateNew) || job.State == string(jobs.StatePreparing) {
		return Plan{}, noPlan(&job)
	}
	return a.plans.get(ctx, id, func(ctx context.Context) (Plan, error) {
		spec, err := a.client.Spec(ctx, job.Target, id)
		if err != nil {
			return Plan{}, err
		}
		plan, err := a.client.Plan(ctx, job.Target, id)
		if storage.IsNotExist(err) && !storage.Unreachable(err) {
			return Plan{}, noPlan(&job) // it was cancelled, or failed, before it had one
		}
		return newPlan(&spec, &plan, a.opts.Prices), err
	})
}

func noPlan(job *Job) *Problem {
	return conflict(jobs.State(job.State), CodeNoPlan, fmt.Sprintf("job %s has no plan, it is %s", job.Job, job.State))
}

// Report gives what became of a job that has ended.
func (a *API) Report(ctx context.Context, id string) (jobs.Report, error) {
	job, err := a.Job(ctx, id)
	if err != nil {
		return jobs.Report{}, err
	}
	if !jobs.State(job.State).Terminal() {
		return jobs.Report{}, conflict(jobs.State(job.State), CodeNoReport, fmt.Sprintf("job %s has not ended, so it has no report", id))
	}
	return a.reports.get(ctx, id, func(ctx context.Context) (jobs.Report, error) { return a.client.Report(ctx, job.Target, id) })
}

// ResultsQuery says which records of a job are wanted.
type ResultsQuery = scheduler.RecordQuery

// Results gives a page of the records of a job, with the keys of medical images.
func (a *API) Results(ctx context.Context, id string, q ResultsQuery) (ResultPage, error) {
	target, err := a.locate(ctx, id)
	if err != nil {
		return ResultPage{}, err
	}
	select {
	case a.reading <- struct{}{}:
		defer func() { <-a.reading }()
	case <-ctx.Done():
		return ResultPage{}, problem(http.StatusServiceUnavailable, "too many records are being read")
	}
	page, err := a.client.Records(ctx, target, id, q)
	if err != nil {
		return ResultPage{}, problemOf(err)
	}
	return ResultPage{Results: append([]jobs.Result{}, page.Records...), Next: page.Next}, nil
}

// nameless is a page as the API answers it: with hashes in place of the keys of medical images.
func nameless(page ResultPage, err error) (ResultPage, error) {
	for i, r := range page.Results {
		page.Results[i] = r.Shown("pelmill report --show-keys has the text")
	}
	return page, err
}

// Workers gives the workers of the cluster.
func (a *API) Workers(ctx context.Context) (Workers, error) {
	return a.workers.get(ctx, "", func(ctx context.Context) (Workers, error) {
		all := Workers{Workers: []Worker{}}
		alive, err := a.client.Conn.Workers(ctx)
		if err != nil {
			return all, err
		}
		gone, err := a.client.Conn.GoneWorkers(ctx)
		for _, w := range alive {
			state := "working"
			if w.Stopping {
				state = "stopping"
			}
			all.Workers = append(all.Workers, newWorker(w, state))
		}
		for _, w := range gone {
			all.Workers = append(all.Workers, newWorker(w, "gone"))
		}
		return all, err
	})
}

// Codecs gives the codecs that the scheduler knows.
func (a *API) Codecs() Codecs {
	list := a.client.Codecs
	if list == nil {
		list = codecs.All()
	}
	all := Codecs{Codecs: []Codec{}}
	for _, c := range list {
		all.Codecs = append(all.Codecs, newCodec(c.Info()))
	}
	if auto, err := codecs.Resolve(a.client.Codecs, codecs.Auto, 0, ""); err == nil {
		all.Codecs = append(all.Codecs, newCodec(auto.Info()))
	}
	return all
}

// Targets gives the places of jobs: those that the scheduler was started with, and those of the queue's jobs that it may open.
func (a *API) Targets(ctx context.Context) (Targets, error) {
	return a.targets.get(ctx, "", func(ctx context.Context) (Targets, error) {
		all := Targets{Targets: []Target{}, Allowed: a.opts.Allow.Prefixes()}
		registered, err := a.client.Conn.Jobs(ctx)
		if err != nil {
			return all, err
		}
		var names []string
		for _, target := range registered {
			if a.opts.Allow.Check(target) == nil && !slices.Contains(a.opts.Targets, target) {
				names = append(names, target)
			}
		}
		slices.Sort(names)
		for _, t := range a.opts.Targets {
			all.Targets = append(all.Targets, Target{t, true})
		}
		for _, t := range slices.Compact(names) {
			all.Targets = append(all.Targets, Target{t, false})
		}
		return all, nil
	})
}
