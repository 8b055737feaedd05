package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// readPlans notes the keys of the target that must stay: what jobs that have not ended may
// write or have written there, and what is a source of any job.
func (s *orphanSearch) readPlans(ctx context.Context) error {
	for i := range s.jobs {
		j := &s.jobs[i]
		if j.finished.IsZero() {
			why := fmt.Sprintf("job %s, which has not ended, has planned it: wait for it, or end it with pelmill cancel", j.spec.ID)
			err := plannedResults(ctx, s.client.Codecs, s.b, j.spec.ID, func(key string, _ result) error { return s.kept.add([]byte(key), []byte(why)) })
			if err != nil {
				return err
			}
		}
	}
	for n := range s.sources {
		if err := s.keepSources(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// keepSources notes the objects of a source that lie in the target.
func (s *orphanSearch) keepSources(ctx context.Context, n int) error {
	source, err := s.client.Buckets.Open(ctx, s.sources[n].url)
	if err != nil {
		return err
	}
	overlap, err := storage.Compare(source, s.b)
	if err != nil || overlap.Relation == storage.Disjoint {
		return err
	}
	for i := range s.jobs {
		j := &s.jobs[i]
		if !jobs.SameSource(j.spec.Source, s.sources[n].url) {
			continue
		}
		why := fmt.Sprintf("it is a source of job %s", j.spec.ID)
		for line, err := range records(ctx, s.b, j.spec.ID, true) {
			var rec record
			if err == nil {
				err = json.Unmarshal(line, &rec)
			}
			if key, inside := overlap.TargetKey(rec.Key); err == nil && inside {
				err = s.kept.add([]byte(key), []byte(why))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// doomed is an orphan that can be deleted.
type doomed struct {
	ETag   string        `json:"etag"`
	Claims []claimRecord `json:"claims"` // of the same content
}

// judge holds the results whose source objects are all gone against the listing of the
// target, and tells of those that are there.
func (s *orphanSearch) judge(ctx context.Context) error {
	there := listed(ctx, s.b)
	defer there.stop()
	in, err := s.kept.sorted()
	if err != nil {
		return err
	}
	kept := reasons{in: in}
	return eachKey(&s.gone, func(key string, values [][]byte) error {
		var d doomed
		objects := 0
		for _, value := range values {
			var c claimRecord
			if err := json.Unmarshal(value, &c); err != nil {
				return err
			}
			if objects++; len(d.Claims) == 0 || d.Claims[len(d.Claims)-1].Key != c.Key || d.Claims[len(d.Claims)-1].From != c.From {
				d.Claims = append(d.Claims, c)
			}
		}
		if objects < d.Claims[0].Of {
			return nil // another source object has the same result
		}
		present, err := there.has(key)
		if err != nil {
			return fmt.Errorf("scheduler: orphans: the target cannot be listed: %w", err)
		}
		why, err := kept.of(key)
		if err != nil || !present && d.Claims[0].Gone {
			return err
		}
		return s.tell(ctx, &d, there.object, present, why)
	})
}

// tell counts and names one orphan, and passes it on where it can be deleted.
func (s *orphanSearch) tell(ctx context.Context, d *doomed, o storage.Object, present bool, why string) error {
	c := &d.Claims[0]
	recorded := digest(c.MD5)
	switch {
	case !present:
		s.sum.Missing++
		return nil
	case why != "":
	case o.Size != c.TargetSize, o.MD5 != nil && recorded != nil && s.b.Kind() != "azblob" && string(o.MD5) != string(recorded):
		why = "it is not what was recorded"
	case s.opts.Keep != nil:
		if err := s.opts.Keep(ctx, c.Target); err != nil {
			why = err.Error()
		}
	}
	s.sum.Orphans++
	if why != "" {
		s.sum.Left++
	} else {
		s.sum.Bytes += c.TargetSize
		d.ETag = o.ETag
		value, err := json.Marshal(d)
		if err == nil {
			err = s.found.add([]byte(c.Target), value)
		}
		if err != nil {
			return err
		}
	}
	if s.opts.Found == nil {
		return nil
	}
	return s.opts.Found(Orphan{c.Deleted, why})
}

// reasons gives for keys in order why they stay.
type reasons struct {
	in   stream
	key  string
	why  string
	more bool
	open bool
}

func (r *reasons) of(key string) (string, error) {
	for !r.open || r.more && r.key < key {
		p, ok, err := r.in.next()
		if err != nil {
			return "", err
		}
		r.open, r.more, r.key, r.why = true, ok, string(p.key), string(p.value)
	}
	if r.more && r.key == key {
		return r.why, nil
	}
	return "", nil
}

// deletedAtOnce is the number of results that are proven, written down and then deleted
// together.
const deletedAtOnce = 1000

// delete deletes what was found, batch by batch.
func (s *orphanSearch) delete(ctx context.Context) error {
	var batch []doomed
	err := eachKey(&s.found, func(_ string, values [][]byte) error {
		var d doomed
		if err := json.Unmarshal(values[0], &d); err != nil {
			return err
		}
		if batch = append(batch, d); len(batch) < deletedAtOnce {
			return nil
		}
		err := s.deleteBatch(ctx, batch)
		batch = batch[:0]
		return err
	})
	if err == nil && len(batch) > 0 {
		err = s.deleteBatch(ctx, batch)
	}
	return err
}

func (s *orphanSearch) deleteBatch(ctx context.Context, batch []doomed) error {
	var proven []doomed
	var list []jobs.Deleted
	err := inOrder(ctx, len(batch), func(ctx context.Context, i int) (string, error) { return s.prove(ctx, &batch[i]) }, func(i int, why string) error {
		if why != "" {
			return s.leave(&batch[i], why)
		}
		proven = append(proven, batch[i])
		for _, c := range batch[i].Claims {
			list = append(list, c.Deleted)
		}
		return nil
	})
	if err != nil || len(proven) == 0 {
		return err
	}
	for i := range s.sources {
		if err := s.sources[i].stillThere(ctx); err != nil {
			return err
		}
	}
	at := time.Now().UTC()
	for i := range s.jobs {
		if f := s.jobs[i].finished; !f.Before(at) { // by the clock of another machine
			at = f.Add(time.Nanosecond)
		}
	}
	if err := (folder{b: s.b, before: s.client.before}).writeDeletion(ctx, at, list); err != nil {
		return err
	}
	return inOrder(ctx, len(proven), func(ctx context.Context, i int) (string, error) { return s.deleteOne(ctx, &proven[i]) }, func(i int, why string) error {
		if why != "" {
			return s.leave(&proven[i], why)
		}
		s.sum.Deleted++
		s.sum.Freed += proven[i].Claims[0].TargetSize
		return nil
	})
}

// leave tells of an orphan that is not deleted after all.
func (s *orphanSearch) leave(d *doomed, why string) error {
	s.sum.Left++
	if s.opts.Left == nil {
		return nil
	}
	return s.opts.Left(Orphan{d.Claims[0].Deleted, why})
}

// stillThere looks up an object that the source had, so that a source which went away
// meanwhile does not look like one that lost its objects.
func (o *orphanSource) stillThere(ctx context.Context) error {
	if o.witness == "" || o.bucket == nil {
		return nil
	}
	there, err := exists(ctx, o.bucket, o.witness)
	if err == nil && !there {
		err = fmt.Errorf("scheduler: orphans: %s had %q and has lost it meanwhile: nothing more is deleted; call it again when the source is at rest", o.url, o.witness)
	}
	return err
}

// prove gives the reason why an orphan must not be deleted; empty: its sources are gone
// and the target has what was recorded.
func (s *orphanSearch) prove(ctx context.Context, d *doomed) (why string, err error) {
	for _, c := range d.Claims {
		// Of a series each part was looked for.
		if there, err := exists(ctx, s.sources[c.From].bucket, c.Key); storage.NoPlace(err) {
			return "its source lies behind a link", nil
		} else if err != nil {
			return "", fmt.Errorf("scheduler: orphans: the source cannot be asked, so nothing is known to be gone: %w", err)
		} else if there {
			return "its source is back", nil
		}
	}
	c := &d.Claims[0]
	o, metadata, err := storage.Stat(ctx, s.b, c.Target)
	switch {
	case storage.IsNotExist(err) && !storage.Unreachable(err):
		return "it is gone, too", nil
	case err != nil:
		return "", withoutName(err, c.Target)
	case !d.made(metadata["pelmill_source"]):
		return "it is the result of another source", nil
	}
	d.ETag = o.ETag
	if recorded := digest(c.MD5); recorded != nil && o.MD5 != nil && s.b.Kind() != "azblob" {
		if o.Size == c.TargetSize && string(o.MD5) == string(recorded) {
			return "", nil
		}
		return "it is not what was recorded", nil
	}
	if c.TargetSHA256 == "" {
		return "its record has no checksum", nil
	}
	sum, _, err := storage.Sum(ctx, s.b, c.Target)
	switch {
	case storage.IsNotExist(err) && !storage.Unreachable(err):
		return "it is gone, too", nil
	case err == nil && sum != c.TargetSHA256:
		return "it is not what was recorded", nil
	}
	return "", err
}

// made reports whether metadata says that an object was made from one of the source objects
// that are gone, or nothing.
func (d *doomed) made(id string) bool {
	for _, c := range d.Claims {
		if id == "" || id == jobs.SourceID(c.Source, c.Key) {
			return true
		}
	}
	return false
}

// deleteOne deletes what was proven, and nothing that came later.
func (s *orphanSearch) deleteOne(ctx context.Context, d *doomed) (why string, err error) {
	f := folder{b: s.b, before: s.client.before}
	err = f.deleteVersion(ctx, storage.Object{Key: d.Claims[0].Target, ETag: d.ETag})
	var other *storage.ExistsError
	if errors.As(err, &other) {
		return "it was replaced a moment ago", nil
	}
	return "", err
}
