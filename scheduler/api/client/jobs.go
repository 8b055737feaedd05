package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/api"
	"github.com/pelmill/pelmill/storage"
)

const pageLimit = 1000

func path(id, rest string) string { return "/v1/jobs/" + url.PathEscape(id) + rest }

// Target gives the target of a job.
func (c *Client) Target(ctx context.Context, id string) (string, error) {
	var j api.Job
	err := c.call(ctx, http.MethodGet, path(id, ""), nil, &j)
	return j.Target, err
}

// Status is where a job stands.
func (c *Client) Status(ctx context.Context, target, id string) (scheduler.Status, error) {
	var j api.Job
	if err := c.call(ctx, http.MethodGet, path(id, ""), nil, &j); err != nil {
		return scheduler.Status{}, err
	}
	if j.Target != target {
		return scheduler.Status{}, fmt.Errorf("job %s is in %s, not in %s", id, j.Target, target)
	}
	return status(&j), nil
}

// status makes a status of what the API says of a job.
func status(j *api.Job) scheduler.Status {
	s := scheduler.Status{
		Spec: jobs.Spec{ID: j.Job, Source: j.Source, Target: j.Target, Codec: j.Codec, Options: j.Options, Parent: j.Parent, Created: j.Created, Verify: j.Verify,
			MinPSNR: j.MinPSNR, Strict: j.Strict, Priority: j.Priority, Hours: j.Hours},
		Control: jobs.Control{Want: j.Want},
		State:   jobs.StateRecord{State: jobs.State(j.State), Reason: j.Why, Limit: j.FailureLimit, Blocked: jobs.Cause(j.Blocked), Budget: jobs.Budget{Used: j.BudgetUsed}},
		Objects: j.Total, Bytes: j.Bytes, Counts: j.Counts, Chunks: j.Chunks, Done: j.ChunksDone, Workers: make([]queue.WorkerInfo, max(0, min(j.Workers, 1<<20))),
		Rate: j.Rate, ByteRate: j.ByteRate, ETA: time.Duration(j.ETA * float64(time.Second)), Offline: j.Offline, Leader: j.Leader, Why: j.Why, Blocked: jobs.Cause(j.Blocked),
	}
	if j.Started != nil {
		s.State.Started = *j.Started
	}
	if j.Ended != nil {
		s.State.Finished = *j.Ended
	}
	return s
}

// Plan is what a job is going to do.
func (c *Client) Plan(ctx context.Context, target, id string) (jobs.Plan, error) {
	var p api.Plan
	if err := c.call(ctx, http.MethodGet, path(id, "/plan"), nil, &p); err != nil {
		return jobs.Plan{}, err
	}
	return planOf(&p), nil
}

func planOf(p *api.Plan) jobs.Plan {
	return jobs.Plan{Job: p.Job, Objects: p.Objects, Bytes: p.Bytes, Skipped: p.Skipped, SkippedBytes: p.SkippedBytes, Known: p.Known, Filtered: p.Filtered, Links: p.Links,
		Collisions: p.Collisions, Unfit: p.Unfit, Estimate: p.Estimate, Expect: p.Expect, Chunks: make(jobs.Chunks, max(0, min(p.Chunks, jobs.MaxChunks)))}
}

// Report is what became of a job that has ended.
func (c *Client) Report(ctx context.Context, target, id string) (r jobs.Report, err error) {
	return r, c.call(ctx, http.MethodGet, path(id, "/report"), nil, &r)
}

// Results calls fn with every record of a job.
func (c *Client) Results(ctx context.Context, target, id string, fn func(jobs.Result) error) error {
	return c.pages(ctx, id, url.Values{}, fn)
}

// Known calls fn with the records of the objects that a job's plan skipped because of an earlier verdict.
func (c *Client) Known(ctx context.Context, target, id string, fn func(jobs.Result) error) error {
	return c.pages(ctx, id, url.Values{"known": {"true"}}, fn)
}

func (c *Client) pages(ctx context.Context, id string, q url.Values, fn func(jobs.Result) error) error {
	for q.Set("limit", strconv.Itoa(pageLimit)); ; {
		var page api.ResultPage
		if err := c.call(ctx, http.MethodGet, path(id, "/results?"+q.Encode()), nil, &page); err != nil {
			return err
		}
		for _, r := range page.Results {
			if err := fn(r); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		q.Set("cursor", page.Next)
	}
}

// Submit makes a new job of spec and gives it as stored.
func (c *Client) Submit(ctx context.Context, spec jobs.Spec, manifest io.Reader, format string) (jobs.Spec, error) {
	s, err := submission(&spec, manifest, format)
	if err != nil {
		return spec, err
	}
	var header []string
	if spec.Token != "" {
		header = []string{"Idempotency-Key", spec.Token}
	}
	var j api.Job
	if err := c.call(ctx, http.MethodPost, "/v1/jobs", s, &j, header...); err != nil {
		return spec, err
	}
	spec.ID, spec.Source, spec.Target, spec.Options, spec.Created = j.Job, j.Source, j.Target, j.Options, j.Created
	return spec, nil
}

// submission is what is sent of a specification and a manifest, which may be nil.
func submission(spec *jobs.Spec, manifest io.Reader, format string) (api.Submission, error) {
	s := api.SubmissionOf(spec)
	if manifest != nil {
		text, err := read(manifest)
		if err != nil {
			return s, err
		}
		s.Manifest, s.Format = text, format
	}
	return s, nil
}

// DryRun makes the plan that a job of spec would get, where the scheduler is. Nothing is written.
func (c *Client) DryRun(ctx context.Context, spec jobs.Spec, manifest io.Reader, format string) (jobs.Plan, error) {
	s, err := submission(&spec, manifest, format)
	if err != nil {
		return jobs.Plan{}, err
	}
	patient := *c
	patient.http = &http.Client{Transport: c.http.Transport, CheckRedirect: c.http.CheckRedirect, Timeout: planTime}
	var p api.Plan
	if err := patient.call(ctx, http.MethodPost, "/v1/plans", s, &p); err != nil {
		return jobs.Plan{}, err
	}
	return planOf(&p), nil
}

// planTime is longer than a scheduler takes for a plan, as it ends one after 15 minutes.
const planTime = 16 * time.Minute

// RepairDamaged makes jobs for what the last verification of a target listed as damaged, of all jobs or of one.
func (c *Client) RepairDamaged(ctx context.Context, target, only string, again api.Again) (made []jobs.Spec, err error) {
	var list api.JobList
	if err := c.call(ctx, http.MethodPost, "/v1/repairs", api.Repair{Target: target, Job: only, Again: again}, &list); err != nil {
		return nil, err
	}
	for i := range list.Jobs {
		spec := status(&list.Jobs[i]).Spec
		spec.AutoStart = again.Start
		made = append(made, spec)
	}
	return made, nil
}

// mostManifest is how large the text of a manifest may be in a request.
const mostManifest = 30 << 20

// read reads a manifest, which may be gzip.
func read(from io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(from, mostManifest+1))
	if err == nil && bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(io.LimitReader(z, mostManifest+1))
		}
	}
	if err == nil && len(data) > mostManifest {
		err = fmt.Errorf("it has more than %d bytes, which do not go through --server", mostManifest)
	}
	if err != nil {
		return "", fmt.Errorf("manifest: %w", err)
	}
	return string(data), nil
}

// Control says what is wanted of a job.
func (c *Client) Control(ctx context.Context, target, id string, ctl jobs.Control) error {
	var j api.Job
	action := map[string]string{jobs.WantRun: api.Resume, jobs.WantPause: api.Pause, jobs.WantCancel: api.Cancel}[ctl.Want]
	if action == "" {
		return c.call(ctx, http.MethodPatch, path(id, ""), api.NewSettings(ctl.Settings), &j)
	}
	return c.call(ctx, http.MethodPost, path(id, "/"+action), api.Order{Priority: ctl.Priority, Force: ctl.Force}, &j)
}

// Retry makes a new job of what failed.
func (c *Client) Retry(ctx context.Context, id string, again api.Again) (jobs.Spec, error) {
	var j api.Job
	if err := c.call(ctx, http.MethodPost, path(id, "/retry"), again, &j); err != nil {
		return jobs.Spec{}, err
	}
	s := status(&j)
	s.Spec.AutoStart = again.Start
	return s.Spec, nil
}

// all gives jobs, newest first, at most most of them.
func (c *Client) all(ctx context.Context, q url.Values, most int) (all []api.Job, err error) {
	for q.Set("limit", strconv.Itoa(min(most, pageLimit))); ; {
		var page api.JobList
		if err := c.call(ctx, http.MethodGet, "/v1/jobs?"+q.Encode(), nil, &page); err != nil {
			return nil, err
		}
		if all = append(all, page.Jobs...); page.Next == "" || len(all) >= most {
			return all, nil
		}
		q.Set("cursor", page.Next)
	}
}

const mostJobs = 1 << 30

// Newest gives the id of the newest job of a target.
func (c *Client) Newest(ctx context.Context, target string) (string, error) {
	all, err := c.all(ctx, url.Values{"target": {target}}, 1)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("scheduler: %s: %w", target, scheduler.ErrNoJob)
	}
	if err != nil {
		return "", err
	}
	return all[0].Job, nil
}

// List gives the jobs of a target, newest last.
func (c *Client) List(ctx context.Context, target string) (list []scheduler.Summary, err error) {
	all, err := c.all(ctx, url.Values{"target": {target}}, mostJobs)
	for _, j := range slices.Backward(all) {
		list = append(list, scheduler.Summary{ID: j.Job, Created: j.Created, Source: j.Source, Codec: j.Codec, Options: j.Options, Parent: j.Parent,
			State: jobs.State(j.State), Reason: j.Why, Counts: j.Counts})
	}
	return list, err
}

// Overview gives where all jobs of a target stand, newest last.
func (c *Client) Overview(ctx context.Context, target string) ([]scheduler.Overview, error) {
	return c.overview(ctx, url.Values{"target": {target}})
}

// OverviewOfQueue gives where all jobs stand that have not ended, newest last. What may be opened is for the scheduler to say.
func (c *Client) OverviewOfQueue(ctx context.Context, _ *storage.Policy) ([]scheduler.Overview, error) {
	return c.overview(ctx, url.Values{"state": {"new,preparing,planned,running,pausing,paused,finishing,cancelling,refused,unknown"}})
}

func (c *Client) overview(ctx context.Context, q url.Values) (list []scheduler.Overview, err error) {
	all, err := c.all(ctx, q, mostJobs)
	for _, j := range slices.Backward(all) {
		o := scheduler.Overview{ID: j.Job, Target: j.Target, Status: status(&j)}
		if j.Error != "" {
			o.Err = fmt.Errorf("%s", j.Error)
		}
		list = append(list, o)
	}
	return list, err
}

// Workers gives the workers of the cluster, and those that died within the last hour.
func (c *Client) Workers(ctx context.Context) (alive, gone []queue.WorkerInfo, err error) {
	var all api.Workers
	if err := c.call(ctx, http.MethodGet, "/v1/workers", nil, &all); err != nil {
		return nil, nil, err
	}
	for _, w := range all.Workers {
		info := queue.WorkerInfo{Host: w.Host, PID: w.PID, Concurrency: w.Slots, Active: w.Chunks, Started: w.Since, Device: w.Device, Stopping: w.State == "stopping",
			Stats: queue.Stats{Version: w.Version, Commit: w.Commit, Device: w.Device, CPU: w.CPU, Cores: w.Cores, Objects: w.Objects, Rate: w.Rate, Memory: w.Memory, At: w.At}}
		if w.State == "gone" {
			gone = append(gone, info)
		} else {
			alive = append(alive, info)
		}
	}
	return alive, gone, nil
}
