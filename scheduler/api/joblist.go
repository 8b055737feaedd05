package api

import (
	"context"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
)

const (
	listAtOnce = 32     // jobs that are looked at at once for a page
	mostEnded  = 10_000 // ended jobs that are remembered
)

// place is a job and where it is.
type place struct{ id, target string }

// Jobs gives a page of jobs, newest first: of the targets that the scheduler was started with all, of others those that
// the queue knows, which have not ended.
func (a *API) Jobs(ctx context.Context, q JobsQuery) (JobList, error) {
	list := JobList{Jobs: []Job{}}
	if q.Target != "" {
		if err := a.opts.Allow.Check(q.Target); err != nil {
			return list, problemOf(err)
		}
	}
	all, err := a.places.get(ctx, "", a.findPlaces)
	if err != nil {
		return list, err
	}
	if q.Target != "" && !slices.Contains(a.opts.Targets, q.Target) {
		if all, err = a.places.get(ctx, q.Target, func(ctx context.Context) ([]place, error) { return a.placesOf(ctx, q.Target, nil) }); err != nil {
			return list, err
		}
	}
	last := "" // that was looked at
	for len(all) > 0 {
		if q.Cursor != "" && all[0].id >= q.Cursor || q.Target != "" && all[0].target != q.Target {
			all = all[1:]
			continue
		}
		some := all[:min(listAtOnce, len(all))]
		some = slices.DeleteFunc(slices.Clone(some), func(p place) bool { return q.Target != "" && p.target != q.Target })
		found, err := a.standing.get(ctx, key(some), func(ctx context.Context) ([]Job, error) { return a.stand(ctx, some) })
		if err != nil {
			return list, err
		}
		for _, j := range found {
			if len(list.Jobs) == q.Limit {
				list.Next = last
				return list, nil
			}
			last = j.Job
			if q.States == nil || slices.Contains(q.States, j.State) {
				list.Jobs = append(list.Jobs, j)
			}
		}
		all = all[min(listAtOnce, len(all)):]
	}
	return list, nil
}

func key(some []place) string {
	var b strings.Builder
	for _, p := range some {
		b.WriteString(p.id + " " + p.target + "\n")
	}
	return b.String()
}

// findPlaces lists all jobs, newest first.
func (a *API) findPlaces(ctx context.Context) ([]place, error) {
	registered, err := a.client.Conn.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	var all []place
	for _, target := range a.opts.Targets {
		if all, err = a.placesOf(ctx, target, all); err != nil {
			return nil, err
		}
	}
	for id, target := range registered {
		if p := (place{id, target}); jobs.ValidID(id) && !slices.Contains(a.opts.Targets, target) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b place) int { return strings.Compare(b.id+b.target, a.id+a.target) })
	return all, nil
}

// placesOf adds the jobs of a target, newest first.
func (a *API) placesOf(ctx context.Context, target string, all []place) ([]place, error) {
	ids, err := a.client.IDs(ctx, target)
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Backward(ids) {
		all = append(all, place{id, target})
	}
	return all, nil
}

// stand looks where some jobs stand. Jobs that are done or cancelled stay so and are remembered.
func (a *API) stand(ctx context.Context, some []place) ([]Job, error) {
	out := make([]Job, len(some))
	var missing []scheduler.Overview
	var at []int
	a.mu.Lock()
	for i, p := range some {
		job, ok := a.ended[p]
		if out[i] = job; !ok {
			missing, at = append(missing, scheduler.Overview{ID: p.id, Target: p.target, Err: a.opts.Allow.Check(p.target)}), append(at, i)
		}
	}
	a.mu.Unlock()
	found, err := a.client.OverviewOf(ctx, missing)
	if err != nil {
		return nil, err
	}
	for i, o := range found {
		if o.Err != nil {
			out[at[i]] = unknown(o)
			continue
		}
		out[at[i]] = newJob(o.Target, &o.Status, nil, false)
		if s := o.Status.State.State; s == jobs.StateDone || s == jobs.StateCancelled {
			a.mu.Lock()
			if len(a.ended) >= mostEnded {
				a.ended = map[place]Job{}
			}
			a.ended[place{o.ID, o.Target}] = out[at[i]]
			a.mu.Unlock()
		}
	}
	return out, nil
}

// unknown is a job of which nothing is known but where it is.
func unknown(o scheduler.Overview) Job {
	return Job{Job: o.ID, Target: o.Target, State: "unknown", Error: problemOf(o.Err).Detail, Total: -1, Actions: []string{}}
}
