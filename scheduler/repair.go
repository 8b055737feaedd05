package scheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// KeepDamage writes the list of damaged results of a target, which [Client.Damage]
// reads; without any it removes the list of an earlier verification.
func (c *Client) KeepDamage(ctx context.Context, target string, found []jobs.Damage) error {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		if there, err := exists(ctx, b, jobs.Damaged); err != nil || !there {
			return err
		}
		return storage.RefusedWrite(storage.Delete(ctx, b, jobs.Damaged), 0)
	}
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	names := sitekey.NewWriter(b)
	for _, d := range found {
		if d.Medical() {
			key, err := names.Key(ctx)
			if err == nil {
				err = key.SealDamage(&d)
			}
			if err != nil {
				return err
			}
		}
		if err := enc.Encode(&d); err != nil {
			return fmt.Errorf("scheduler: list of damaged results: %w", err)
		}
	}
	_, err = storage.Put(ctx, b, jobs.Damaged, lines.Bytes(), &storage.PutOptions{Overwrite: true, ContentType: "application/json"})
	return storage.RefusedWrite(err, int64(lines.Len()))
}

// Damage reads the list of damaged results that the last verification left in a
// target; it is empty where there is none.
func (c *Client) Damage(ctx context.Context, target string) (found []jobs.Damage, err error) {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return nil, err
	}
	got, err := storage.Get(ctx, b, jobs.Damaged, largest, nil)
	if storage.IsNotExist(err) && !storage.Unreachable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names := sitekey.NewReader(ctx, b)
	for line := range bytes.Lines(got.Data) {
		var d jobs.Damage
		line, err := names.Line(line)
		if err == nil {
			err = json.Unmarshal(line, &d)
		}
		if err != nil {
			return nil, fmt.Errorf("scheduler: %s: %s: line %d: %w", b.URL, jobs.Damaged, len(found)+1, err)
		}
		found = append(found, d)
	}
	return found, nil
}

// RepairDamaged is [Client.Repair] of what the last verification of a target listed, of all jobs or of one.
func (c *Client) RepairDamaged(ctx context.Context, target, only string, mutate func(*jobs.Spec)) ([]jobs.Spec, error) {
	found, err := c.Damage(ctx, target)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(d jobs.Damage) bool { return only != "" && d.Job != only || !d.Repairable() })
	if len(found) == 0 {
		return nil, fmt.Errorf("scheduler: the last verification of %s has listed no result that can be made anew: %w", target, ErrNothing)
	}
	return c.Repair(ctx, target, found, mutate)
}

// Repair submits jobs that make damaged results anew from their sources as they are
// now, one for all results that were made in the same way; mutate, if not nil, may
// change their specifications. A result gets the name that it had. Under that name
// only what the damage says was found is replaced, or what may be replaced anyway.
func (c *Client) Repair(ctx context.Context, target string, found []jobs.Damage, mutate func(*jobs.Spec)) ([]jobs.Spec, error) {
	specs := map[string]jobs.Spec{} // by work
	damage := map[string][]jobs.Damage{}
	works := map[string]string{} // by job
	var order []string
	for _, d := range found {
		work, known := works[d.Job]
		if !known {
			b, spec, err := c.job(ctx, target, d.Job)
			if err != nil {
				return nil, err
			}
			spec.Version = 0 // a repair is done by the codec as it is now
			if err := storedOptions(c.Codecs, &spec); err != nil {
				return nil, err
			}
			spec.Target = b.URL
			spec = repairOf(spec)
			key := spec
			key.Parent = ""
			text, err := json.Marshal(key)
			if err != nil {
				return nil, fmt.Errorf("scheduler: repair of job %s: %w", d.Job, err)
			}
			work = string(text)
			if works[d.Job] = work; damage[work] == nil {
				specs[work] = spec
				order = append(order, work)
			}
		}
		damage[work] = append(damage[work], d)
	}
	var made []jobs.Spec
	for _, work := range order {
		spec := specs[work]
		if mutate != nil {
			mutate(&spec)
		}
		spec, err := c.submitEntries(ctx, spec, damaged(damage[work]))
		if err != nil {
			return made, err
		}
		made = append(made, spec)
	}
	return made, nil
}

// repairOf is the specification of a job that makes results of another one anew.
func repairOf(spec jobs.Spec) jobs.Spec {
	spec.Parent, spec.Repair = spec.ID, true
	spec.ID, spec.Token, spec.Created, spec.Manifest = "", "", time.Time{}, ""
	spec.Filter, spec.Sample, spec.Hours, spec.CopyLinks = jobs.Filter{}, 0, "", false
	spec.FailRatio = 1 // each result counts for itself
	return spec
}

// damaged gives the entries of damaged results, in any order.
func damaged(found []jobs.Damage) func(fn func(jobs.Entry) error) error {
	return func(fn func(jobs.Entry) error) error {
		for _, d := range found {
			e := jobs.Entry{Key: d.Key, Size: -1, Again: true}
			for _, key := range d.Parts {
				e.Parts = append(e.Parts, jobs.Part{Key: key, Size: -1})
			}
			if d.Target != d.Key {
				e.PlannedTarget = d.Target
			}
			if d.SHA256 != "" {
				e.Old = []jobs.Version{{Job: d.Job, Size: d.Size, SHA256: d.SHA256}}
			}
			if err := fn(e); err != nil {
				return err
			}
		}
		return nil
	}
}

// submitEntries submits a job of these entries of its source.
func (c *Client) submitEntries(ctx context.Context, spec jobs.Spec, list func(fn func(jobs.Entry) error) error) (jobs.Spec, error) {
	if _, err := c.completeNew(ctx, &spec); err != nil {
		return spec, err
	}
	b, err := c.Buckets.Open(ctx, spec.Target)
	if err != nil {
		return spec, err
	}
	f := folder{b: b, id: spec.ID}
	spec.Manifest = jobs.Given
	s := memory(c.Memory).sorter()
	defer s.close()
	if err := sortManifest(&s, list); err != nil {
		return spec, err
	}
	if err := storeGiven(ctx, f, distinct(spool(&s))); err != nil {
		return spec, err
	}
	if err := f.putJSON(ctx, jobs.Folder(spec.ID).Spec(), spec, false); err != nil {
		return spec, err
	}
	return spec, c.open(ctx, spec)
}

// Repairs gives the repairs of a target that have not ended, oldest first: those
// whose process was interrupted.
func (c *Client) Repairs(ctx context.Context, target string) (unfinished []jobs.Spec, err error) {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return nil, err
	}
	ids, err := jobIDs(ctx, b)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		spec, ok, err := readSpec(ctx, b, id)
		if err != nil {
			return nil, err
		}
		if !ok || !spec.Repair || spec.CheckAt(id, b.URL) != nil {
			continue
		}
		control, _, err := getJSON[jobs.Control](ctx, b, jobs.Folder(id).Control())
		if err != nil {
			return nil, err
		}
		ended, err := exists(ctx, b, jobs.Folder(id).Report())
		if err != nil {
			return nil, err
		}
		if !ended && control.Want != jobs.WantCancel {
			unfinished = append(unfinished, spec)
		}
	}
	return unfinished, nil
}
