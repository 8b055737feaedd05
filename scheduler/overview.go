package scheduler

import (
	"context"
	"slices"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// Overview is a line of a list of jobs. Where Err is set nothing is known but id and target.
type Overview struct {
	ID, Target string
	Status     Status
	Err        error
}

// Overview gives where all jobs of a target stand, newest last.
func (c *Client) Overview(ctx context.Context, target string) ([]Overview, error) {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return nil, err
	}
	ids, err := jobIDs(ctx, b)
	if err != nil {
		return nil, err
	}
	var all []Overview
	for _, id := range ids {
		all = append(all, Overview{ID: id, Target: b.URL})
	}
	return c.overview(ctx, all)
}

// IDs gives the ids of all jobs of a target, oldest first.
func (c *Client) IDs(ctx context.Context, target string) ([]string, error) {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return nil, err
	}
	return jobIDs(ctx, b)
}

// OverviewOf fills in where jobs stand, of which ID and Target are given; one with an error is left as it is.
func (c *Client) OverviewOf(ctx context.Context, some []Overview) ([]Overview, error) {
	return c.overview(ctx, some)
}

// OverviewOfQueue gives where all jobs stand that the queue knows, which are those that have not
// ended, newest last. A target that allow refuses is not opened.
func (c *Client) OverviewOfQueue(ctx context.Context, allow *storage.Policy) ([]Overview, error) {
	registered, err := c.Conn.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	var all []Overview
	for id, target := range registered {
		if jobs.ValidID(id) {
			all = append(all, Overview{ID: id, Target: target, Err: allow.Check(target)})
		}
	}
	slices.SortFunc(all, func(a, b Overview) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return c.overview(ctx, all)
}

func (c *Client) overview(ctx context.Context, all []Overview) ([]Overview, error) {
	err := inOrder(ctx, len(all), func(ctx context.Context, i int) (Overview, error) {
		o := all[i]
		if o.Err == nil {
			o.Status, o.Err = c.briefStatus(ctx, o.Target, o.ID)
		}
		return o, ctx.Err()
	}, func(i int, o Overview) error {
		all[i] = o
		return nil
	})
	return all, err
}

// briefStatus is the status of a job, of an ended one from its report alone.
func (c *Client) briefStatus(ctx context.Context, target, id string) (Status, error) {
	b, spec, err := c.job(ctx, target, id)
	if err != nil {
		return Status{}, err
	}
	report, ended, err := getJSON[jobs.Report](ctx, b, jobs.Folder(id).Report())
	if err != nil || !ended {
		if err == nil {
			return c.Status(ctx, target, id)
		}
		return Status{}, err
	}
	st := Status{Spec: spec, Objects: report.Counts.Objects, Bytes: report.Counts.BytesAttempted, Chunks: report.Chunks}
	st.end(report)
	return st, nil
}

// end fills in what the report of an ended job says.
func (st *Status) end(report jobs.Report) {
	st.Counts, st.Done, st.Why = report.Counts, report.Attempted, report.Reason
	st.State.State, st.State.Reason, st.State.Finished = report.State, report.Reason, report.Finished
	if report.Seconds > 0 {
		w := report.Counts.Attempted()
		st.Rate, st.ByteRate = float64(w.Objects)/report.Seconds, float64(w.Bytes)/report.Seconds
	}
}
