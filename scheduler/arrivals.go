package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// Arrivals says what a source has that a job would do: what an intake asks. It is safe for concurrent use.
type Arrivals struct {
	client         *Client
	spec           jobs.Spec
	source, target *storage.Bucket
	resolved       codecs.Resolved
	filter         *filter
	nested         string // folder of the source that is the target, with a slash; empty where there is none
}

// Arrivals checks a specification as [Client.Submit] does and opens its buckets. The result's Spec is complete but
// for its id, so that jobs can be submitted with it.
func (c *Client) Arrivals(ctx context.Context, spec jobs.Spec) (*Arrivals, error) {
	a := &Arrivals{client: c, spec: spec}
	checked := spec
	asset, err := c.complete(ctx, &checked)
	if err != nil {
		return nil, err
	}
	a.spec.Source, a.spec.Target = checked.Source, checked.Target
	if a.source, err = c.Buckets.Open(ctx, checked.Source); err != nil {
		return nil, err
	}
	if a.target, err = c.Buckets.Open(ctx, checked.Target); err != nil {
		return nil, err
	}
	if a.resolved, err = resolveStored(c.Codecs, &checked); err == nil && asset != nil {
		a.resolved, err = a.resolved.WithAsset(asset)
	}
	if err != nil {
		return nil, err
	}
	overlap, err := storage.Compare(a.source, a.target)
	if err != nil {
		return nil, err
	}
	if overlap.Relation == storage.TargetInside {
		a.nested = overlap.Prefix
	}
	keys := spec.Filter
	keys.MinAge, keys.MaxAge = "", "" // of today; a job judges by its own time
	a.filter, err = newFilter(keys, checked.Created)
	return a, err
}

// Spec is the specification with canonical URLs.
func (a *Arrivals) Spec() jobs.Spec { return a.spec }

// Source is the bucket that objects arrive in.
func (a *Arrivals) Source() *storage.Bucket { return a.source }

// Extensions are those that results can have.
func (a *Arrivals) Extensions() jobs.Extensions { return a.resolved.Extensions() }

// Own reports whether a key of the source lies in the target or in a folder of pelmill's own.
func (a *Arrivals) Own(key string) bool {
	return ours(key) || a.nested != "" && strings.HasPrefix(key, a.nested)
}

// Takes reports whether the filter lets an object pass, whatever its age. Its size is below zero where it is not known.
func (a *Arrivals) Takes(o storage.Object) bool { return a.filter.keep(o.Key, o.Size, o.ModTime) }

// listMemory bounds the memory of a listing, which goes on beside the work that earlier ones have found: each of its sorters,
// four at once, holds a sixteenth.
const listMemory memory = 128 << 20

// List lists the source and calls fn, in key order, with each object that earlier jobs have not done. Its memory does
// not grow with the source: sorting goes through temporary files. An error of fn ends it and is returned.
func (a *Arrivals) List(ctx context.Context, fn func(jobs.Entry) error) error {
	spec, c := a.spec, a.client
	if _, err := c.complete(ctx, &spec); err != nil {
		return err
	}
	mem := min(memory(memory(c.Memory).bytes()), listMemory)
	listed := mem.sorter()
	defer listed.close()
	p, err := newPreparation(ctx, c.Buckets, c.Codecs, &spec, a.source, a.target, "")
	if err != nil {
		return err
	}
	p.add = spoolTo(&listed)
	err = p.list(ctx)
	inPlace := p.at.InPlace
	p.close()
	if err != nil {
		return fmt.Errorf("scheduler: list the source: %w", err)
	}
	specs, err := earlier(ctx, a.target, &spec, nil)
	if err != nil {
		return err
	}
	if err := a.adoptTrained(ctx, &spec, specs); err != nil {
		return err
	}
	all := spool(&listed)
	found, err := findStatus(ctx, &spec, a.Extensions(), a.target, all, history{specs: specs}, inPlace, mem, nil)
	if err != nil {
		return err
	}
	defer found.close()
	line := int64(-1)
	return all(ctx, func(e jobs.Entry) error {
		if line++; found.done.has(line) {
			return nil
		}
		return fn(e)
	})
}

// adoptTrained puts the asset into a specification that an earlier job has trained. Without one nothing was done
// with these options.
func (a *Arrivals) adoptTrained(ctx context.Context, spec *jobs.Spec, specs []jobs.Spec) error {
	trained := slices.ContainsFunc(specs, func(s jobs.Spec) bool {
		return s.Codec == spec.Codec && s.Version == spec.Version && s.Requested == spec.Requested && s.Options != s.Requested
	})
	if !a.resolved.Want().Trained || !trained {
		return nil
	}
	p := &planning{spec: spec, resolved: a.resolved, source: a.source, target: a.target, memory: memory(a.client.Memory)}
	p.all = func(context.Context, func(jobs.Entry) error) error { return nil }
	return p.train(ctx, specs)
}

// SubmitEntries is [Client.Submit] with a manifest of entries, which are taken as they are: those with an etag are
// not looked up in the source.
func (c *Client) SubmitEntries(ctx context.Context, spec jobs.Spec, list []jobs.Entry) (jobs.Spec, error) {
	return c.submit(ctx, spec, func(_ string, fn func(jobs.Entry) error) error {
		for _, e := range list {
			if err := fn(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// Given calls fn with each entry of the manifest that a job was submitted with.
func (c *Client) Given(ctx context.Context, target, id string, fn func(jobs.Entry) error) error {
	b, _, err := c.job(ctx, target, id)
	if err != nil {
		return err
	}
	index, ok, err := getJSON[givenIndex](ctx, b, givenIndexKey(id))
	if err != nil || !ok {
		return err
	}
	return parts(b, index.Parts, func(n int) string { return jobs.Folder(id).Given(n) })(ctx, fn)
}

// Unfinished gives the jobs of a target whose token begins with prefix and which have not ended, oldest first, and
// how many jobs with such a token have ended.
func (c *Client) Unfinished(ctx context.Context, target, prefix string) (open []jobs.Spec, ended int, err error) {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return nil, 0, err
	}
	ids, err := jobIDs(ctx, b)
	if err != nil {
		return nil, 0, err
	}
	type found struct {
		spec jobs.Spec
		done bool
	}
	err = inOrder(ctx, len(ids), func(ctx context.Context, i int) (f found, err error) {
		spec, ok, err := readSpec(ctx, b, ids[i])
		if err != nil || !ok || !strings.HasPrefix(spec.Token, prefix) || spec.CheckAt(ids[i], b.URL) != nil {
			return f, err
		}
		f.spec = spec
		f.done, err = exists(ctx, b, jobs.Folder(ids[i]).Report())
		return f, err
	}, func(_ int, f found) error {
		switch {
		case f.done:
			ended++
		case f.spec.ID != "":
			open = append(open, f.spec)
		}
		return nil
	})
	return open, ended, err
}

// Ended gives the report of a job, if it has ended. A job that is gone, such as by a prune, has ended without one.
func (c *Client) Ended(ctx context.Context, target, id string) (report jobs.Report, ended bool, err error) {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return report, false, err
	}
	report, ended, err = getJSON[jobs.Report](ctx, b, jobs.Folder(id).Report())
	if err != nil || ended {
		return report, ended, err
	}
	there, err := exists(ctx, b, jobs.Folder(id).Spec())
	return report, err == nil && !there, err
}

// Register says to the queue that a job is there, for one that may have lost it. Without a queue it is an error.
func (c *Client) Register(ctx context.Context, target, id string) error {
	if c.Conn == nil {
		return errors.New("scheduler: there is no queue")
	}
	return c.Conn.Job(id).Register(ctx, target)
}
