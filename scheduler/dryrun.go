package scheduler

import (
	"context"
	"fmt"
	"io"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
)

// DryRun makes the plan that a job would get, with its estimate, and writes
// nothing. Its arguments are those of Submit. The chunks are those for workers with
// as many slots as this machine has cores.
func (c *Client) DryRun(ctx context.Context, spec jobs.Spec, manifest io.Reader, format string) (jobs.Plan, error) {
	asset, err := c.complete(ctx, &spec)
	if err != nil {
		return jobs.Plan{}, err
	}
	source, err := c.Buckets.Open(ctx, spec.Source)
	if err != nil {
		return jobs.Plan{}, err
	}
	target, err := c.Buckets.Open(ctx, spec.Target)
	if err != nil {
		return jobs.Plan{}, err
	}
	resolved, err := resolveStored(c.Codecs, &spec)
	if err == nil && asset != nil {
		resolved, err = resolved.WithAsset(asset)
	}
	if err != nil {
		return jobs.Plan{}, err
	}
	listed, named := memory(c.Memory).sorter(), memory(c.Memory).sorter()
	defer listed.close()
	defer named.close()
	whole := spec
	if Groups(format) {
		spec.Filter = jobs.Filter{} // as in Submit
	}
	p, err := newPreparation(ctx, c.Buckets, c.Codecs, &spec, source, target, "")
	if err != nil {
		return jobs.Plan{}, err
	}
	defer p.close()
	p.add = spoolTo(&listed)
	if Groups(format) {
		err = sortManifest(&named, func(fn func(jobs.Entry) error) error { return c.group(ctx, whole, format, true, fn) })
		if err == nil {
			err = p.fromGiven(ctx, distinct(spool(&named)), 0)
		}
	} else if manifest == nil {
		err = p.list(ctx)
	} else {
		lacking := int64(0)
		err = sortManifest(&named, func(fn func(jobs.Entry) error) error {
			return parseManifest(manifest, format, spec.Source, sitekey.NewReader(ctx, target), func(e jobs.Entry) error {
				if !complete(&e) {
					lacking++
				}
				return fn(e)
			})
		})
		if err == nil {
			err = p.fromGiven(ctx, distinct(spool(&named)), lacking)
		}
	}
	if err != nil {
		return jobs.Plan{}, fmt.Errorf("scheduler: list the source: %w", err)
	}
	pl := &planning{spec: &spec, resolved: resolved, source: source, target: target, at: p.at, all: spool(&listed), slots: pool.Cores(), memory: memory(c.Memory)}
	pl.endpoint = c.Buckets.S3Endpoint
	pl.workers, pl.cores = machines(ctx, c.Conn)
	return pl.plan(ctx)
}
