package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// PruneRule says which ended jobs of each source stay as they are, besides those that are
// named by the list of damaged results and those that an intake has not followed up. A job stays that one of the rules keeps.
type PruneRule struct {
	KeepLast   int           // the newest so many
	KeepWithin time.Duration // those submitted so long before the newest

	// BySize lets a done-list stay that has more than twice as many objects as what would be added to it, and all older
	// ones. Then a prune after each few jobs, for months, writes each record only a few times; there are as many lists as
	// the number of objects has binary digits, at most.
	BySize bool
}

// Pruned is what [Client.Prune] has done, or would do.
type Pruned struct {
	Jobs    []string // that are taken away, oldest first
	Kept    []string // ended jobs that stay
	Records int64    // of results and verdicts that went, or would go, into done-lists
	Lists   []string // jobs that hold them now; empty in a dry run
	Objects int64    // of the folders of Jobs
	Bytes   int64    // of them
}

// Prune takes ended jobs, done or cancelled, away from a target, and keeps what later jobs
// need of them in done-lists: folders of jobs that hold the records of results that are in
// the target and of verdicts, one for all jobs of one source, codec and options.
//
// Nothing is lost when the process is killed at any moment. A done-list has its
// specification, without which it does not exist, written last, and only then is what it
// stands for taken away, specifications first. What reads records of a job that has lost
// its specification meanwhile begins again. One process prunes a target at a time.
func (c *Client) Prune(ctx context.Context, target string, rule PruneRule, dry bool) (p Pruned, err error) {
	if rule.KeepLast < 0 || rule.KeepWithin < 0 || rule.KeepLast == 0 && rule.KeepWithin == 0 {
		return p, fmt.Errorf("scheduler: prune: keep the last %d jobs and %v: want one of them above 0", rule.KeepLast, rule.KeepWithin)
	}
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return p, err
	}
	if !dry {
		var release func()
		if ctx, release, err = lockPrune(ctx, b); err != nil {
			return p, err
		}
		defer release()
	}
	run := &pruning{client: c, b: b, before: c.before}
	if err := run.choose(ctx, rule, &p); err != nil || len(p.Jobs) == 0 {
		if err == nil && !dry {
			err = cmp.Or(run.sweep(ctx), run.expire(ctx))
		}
		return p, err
	}
	for _, id := range p.Jobs {
		err := walk(ctx, b, jobs.Folder(id).Dir(), "", func(o storage.Object) error {
			p.Objects++
			p.Bytes += o.Size
			return nil
		})
		if err != nil {
			return p, err
		}
	}
	if err := run.compact(ctx, &p, dry); err != nil || dry {
		return p, err
	}
	if err := run.removeTokens(ctx); err != nil {
		return p, err
	}
	for _, id := range p.Jobs {
		if err := run.remove(ctx, id); err != nil {
			return p, err
		}
	}
	return p, cmp.Or(run.sweep(ctx), run.expire(ctx))
}

// pruning is one call of Prune.
type pruning struct {
	client *Client
	b      *storage.Bucket
	before func(key string) error // see folder
	all    []pruneJob             // of the target, those that wrote last first
	other  []string               // ids of folders without a specification

	deleted []deletion // lists of deleted results, the newest first
}

// pruneJob is a job of the target.
type pruneJob struct {
	spec     jobs.Spec
	finished time.Time // zero: not ended
	objects  int64     // of its records, as its report counts them
	open     bool      // it has ended, and its intake has not seen its records
	ends     bool      // it is pruned
	list     int       // the done-list that it goes into, where ends
}

// jobsOf reads the jobs of a target, and gives the ids of folders that have none. One that
// failed has not ended, as an operator can let it go on.
func jobsOf(ctx context.Context, b *storage.Bucket) (all []pruneJob, other []string, err error) {
	ids, err := jobIDs(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	err = inOrder(ctx, len(ids), func(ctx context.Context, i int) (j pruneJob, err error) {
		spec, ok, err := readSpec(ctx, b, ids[i])
		if err != nil || !ok {
			return j, err
		}
		j.spec = spec
		report, ended, err := getJSON[jobs.Report](ctx, b, jobs.Folder(ids[i]).Report())
		if ended && report.State != jobs.StateFailed {
			j.finished, j.objects = report.Finished, report.Counts.Objects-report.Counts.Skipped
			if spec.FollowUp && err == nil {
				var done bool
				done, err = followedUp(ctx, b, ids[i], report.Finished)
				j.open = !done
			}
		}
		return j, err
	}, func(i int, j pruneJob) error {
		if j.spec.ID == "" {
			other = append(other, ids[i])
			return nil
		}
		all = append(all, j)
		return nil
	})
	return all, other, err
}

// choose divides the jobs into those that stay and those that go.
func (r *pruning) choose(ctx context.Context, rule PruneRule, p *Pruned) error {
	var err error
	if r.all, r.other, err = jobsOf(ctx, r.b); err != nil {
		return err
	}
	if r.deleted, err = deletions(ctx, r.b); err != nil {
		return err
	}
	found, err := r.client.Damage(ctx, r.b.URL)
	if err != nil {
		return err
	}
	for i := range r.all {
		j := &r.all[i]
		named := slices.ContainsFunc(found, func(d jobs.Damage) bool { return d.Job == j.spec.ID })
		j.ends = !j.finished.IsZero() && !j.open && !named && j.spec.CheckAt(j.spec.ID, r.b.URL) == nil
	}
	r.apply(rule)
	r.leaveLists(rule.BySize)
	slices.SortStableFunc(r.all, func(a, b pruneJob) int { return a.spec.Created.Compare(b.spec.Created) })
	for _, j := range r.all {
		switch {
		case j.ends:
			p.Jobs = append(p.Jobs, j.spec.ID)
		case !j.finished.IsZero() && j.spec.Pruned == 0:
			p.Kept = append(p.Kept, j.spec.ID)
		}
	}
	slices.SortStableFunc(r.all, func(a, b pruneJob) int { return b.wrote().Compare(a.wrote()) })
	return nil
}

// wrote is when a job wrote last, as far as is known: one that has not ended may still.
func (j *pruneJob) wrote() time.Time {
	if j.finished.IsZero() {
		return j.spec.Created.Add(1 << 62)
	}
	return j.finished
}

// apply lets those of the ended jobs stay that the rule keeps.
func (r *pruning) apply(rule PruneRule) {
	slices.SortStableFunc(r.all, func(a, b pruneJob) int { return b.spec.Created.Compare(a.spec.Created) })
	type kept struct {
		source string
		n      int
		newest time.Time
	}
	var sources []kept
	for i := range r.all {
		j := &r.all[i]
		if !j.ends || j.spec.Pruned > 0 {
			continue
		}
		at := slices.IndexFunc(sources, func(k kept) bool { return jobs.SameSource(k.source, j.spec.Source) })
		if at < 0 {
			at = len(sources)
			sources = append(sources, kept{j.spec.Source, 0, j.spec.Created})
		}
		k := &sources[at]
		if k.n < rule.KeepLast || rule.KeepWithin > 0 && !j.spec.Created.Before(k.newest.Add(-rule.KeepWithin)) {
			j.ends = false
			k.n++
		}
	}
}

// leaveLists numbers the done-lists that will be, and lets those stay that nothing is added to, or that are too large
// for what would be.
func (r *pruning) leaveLists(bySize bool) {
	lists := map[string][]int{}
	var order []string
	for i := range r.all { // the newest first
		if j := &r.all[i]; j.ends {
			work := workOf(j.spec)
			if lists[work] == nil {
				order = append(order, work)
			}
			lists[work] = append(lists[work], i)
		}
	}
	for n, work := range order {
		list := lists[work]
		if bySize {
			list = r.small(list)
		}
		for _, i := range list {
			r.all[i].list = n
			r.all[i].ends = len(list) > 1 || r.all[i].spec.Pruned == 0
		}
	}
}

// small leaves out of the jobs of a list, the newest first, the older lists from the first on that is too large.
func (r *pruning) small(list []int) (kept []int) {
	var objects int64
	for _, i := range list {
		if r.all[i].spec.Pruned == 0 {
			objects += r.all[i].objects
		}
	}
	full := false
	for _, i := range list {
		j := &r.all[i]
		if j.spec.Pruned > 0 {
			if full = full || j.objects > 2*objects; full {
				j.ends = false
				continue
			}
			objects += j.objects
		}
		kept = append(kept, i)
	}
	return kept
}

// workOf is what jobs have in common whose records say the same: everything but which
// objects they took, when, and how fast.
func workOf(s jobs.Spec) string {
	text, err := json.Marshal(listSpec(s))
	if err != nil {
		return s.ID // a job of its own
	}
	return string(text)
}

// listSpec is the specification of a done-list for jobs like s.
func listSpec(s jobs.Spec) jobs.Spec {
	return jobs.Spec{
		Source: s.Source, Target: s.Target, Codec: s.Codec, Version: s.Version, Options: s.Options, Requested: s.Requested,
		Device: s.Device, Verify: s.Verify, MinPSNR: s.MinPSNR, Larger: s.Larger, Others: cmp.Or(s.Others, "leave"),
		Limits: s.Limits, Readers: s.Readers, AutoStart: true, ChunkObjects: jobs.MaxChunkObjects, ChunkBytes: 1 << 40,
	}
}

// remove takes the folder of a job away: its specification first and its report last, so
// that one which was left half-way shows.
func (r *pruning) remove(ctx context.Context, id string) error {
	f := folder{b: r.b, id: id, before: r.before}
	first, last := jobs.Folder(id).Spec(), jobs.Folder(id).Report()
	keys := []string{first}
	err := walk(ctx, r.b, jobs.Folder(id).Dir(), "", func(o storage.Object) error {
		if o.Key != first && o.Key != last {
			keys = append(keys, o.Key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range append(keys, last) {
		if err := f.delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// removeTokens takes the tokens of batches of an intake away with their jobs: there is one a batch, and what a batch
// held is done also for another submission of it. Tokens of people stay, as they may come again after years.
func (r *pruning) removeTokens(ctx context.Context) error {
	f := folder{b: r.b, before: r.before}
	for _, j := range r.all {
		if !j.ends || !strings.HasPrefix(j.spec.Token, jobs.IntakeToken) {
			continue
		}
		if err := f.delete(ctx, tokenKey(j.spec.Token)); err != nil {
			return err
		}
	}
	return nil
}

// leftTime is how old a folder without a specification and without a report must be to be
// taken for that of a process that was killed: a submission writes its manifest first.
const leftTime = 24 * time.Hour

// sweep takes away what killed processes left: folders that have lost their specification.
func (r *pruning) sweep(ctx context.Context) error {
	for _, id := range r.other {
		var newest time.Time
		report := false
		err := walk(ctx, r.b, jobs.Folder(id).Dir(), "", func(o storage.Object) error {
			report = report || o.Key == jobs.Folder(id).Report()
			if o.ModTime.After(newest) {
				newest = o.ModTime
			}
			return nil
		})
		if err != nil {
			return err
		}
		// It may have become a job meanwhile.
		if made, err := exists(ctx, r.b, jobs.Folder(id).Spec()); err != nil {
			return err
		} else if made || !report && time.Since(newest) <= leftTime {
			continue
		}
		if err := r.remove(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// Of the lease of a prune.
const (
	pruneLease = 10 * time.Minute
	pruneRenew = time.Minute
)

// ErrPruning: another process prunes the target.
var ErrPruning = errors.New("another process prunes it")

// lockPrune keeps other processes from pruning a target until release is called, or until
// this one has not renewed its lease for long. The context ends when the lease is lost.
func lockPrune(ctx context.Context, b *storage.Bucket) (locked context.Context, release func(), err error) {
	lease := func() []byte {
		host, _ := os.Hostname()
		data, _ := json.Marshal(jobs.Lease{PID: os.Getpid(), Host: host, Renewed: time.Now().UTC()})
		return data
	}
	put, err := storage.Put(ctx, b, jobs.Prune, lease(), nil)
	var there *storage.ExistsError
	if errors.As(err, &there) || err == nil && put.Existed {
		old, ok, rerr := getJSON[jobs.Lease](ctx, b, jobs.Prune)
		switch {
		case rerr != nil:
			return nil, nil, rerr
		case ok && time.Since(old.Renewed) < pruneLease:
			return nil, nil, fmt.Errorf("scheduler: prune %s: process %d on %s: %w", b.URL, old.PID, old.Host, ErrPruning)
		case there == nil:
			return nil, nil, fmt.Errorf("scheduler: prune %s: %w", b.URL, ErrPruning)
		}
		put, err = storage.Put(ctx, b, jobs.Prune, lease(), &storage.PutOptions{IfMatch: there.Object.ETag})
		if errors.As(err, &there) {
			err = fmt.Errorf("scheduler: prune %s: %w", b.URL, ErrPruning)
		}
	}
	if err != nil {
		return nil, nil, storage.RefusedWrite(err, 0)
	}
	locked, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for etag := put.ETag; ; {
			select {
			case <-locked.Done():
				return
			case <-time.After(pruneRenew):
			}
			put, err := storage.Put(locked, b, jobs.Prune, lease(), &storage.PutOptions{IfMatch: etag})
			if err != nil {
				cancel(fmt.Errorf("scheduler: prune %s: the lease could not be renewed: %w", b.URL, err))
				return
			}
			etag = put.ETag
		}
	}()
	return locked, func() {
		lost := locked.Err() != nil && ctx.Err() == nil
		cancel(nil)
		<-done
		if !lost {
			storage.Delete(context.WithoutCancel(ctx), b, jobs.Prune) // one that stays is free in ten minutes
		}
	}, nil
}
