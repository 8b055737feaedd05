package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// deleteSuperseded deletes what earlier jobs made of an object under the other names that its
// result can have, once the new result is stored under its own: where the codec is chosen for
// each source, a source that has become of another kind gets another extension, and two
// results of one source would give two versions of it back. Only what a record of the same
// object names byte for byte is deleted, where it could be replaced as well, and a list of
// deletions is written before, so that no record tells of a result that is gone. What must not
// be replaced stays. Under the key of the source nothing is deleted.
func (c *chunk) deleteSuperseded(ctx context.Context, o *object, stored string) error {
	e := &o.entry
	if c.choices == nil || len(e.Old) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.w.opts.ObjectTimeout)
	defer cancel()
	for _, key := range e.TargetKeys(c.extensions) {
		if key == stored || key == e.Key {
			continue
		}
		if err := c.deleteSupersededAt(ctx, o, key); err != nil {
			return c.writeFault(ctx, err, 0)
		}
	}
	return nil
}

func (c *chunk) deleteSupersededAt(ctx context.Context, by *object, key string) error {
	e := &by.entry
	o, metadata, err := storage.Stat(ctx, c.target, key)
	if storage.IsNotExist(err) && !storage.Unreachable(err) {
		return nil
	}
	if err != nil {
		return err
	}
	there := &storage.ExistsError{URL: c.target.URL, Key: key, Object: o, Metadata: metadata}
	old, recorded, err := c.recorded(ctx, e.Old, key, there)
	if err == nil && recorded && !c.anothers(e, metadata) {
		err = c.spareSources(ctx, e, key, there)
	}
	var f *fault
	switch {
	case errors.Is(err, storage.ErrChanged), errors.As(err, &f):
		return nil
	case err != nil:
		return err
	case !recorded || c.anothers(e, metadata):
		return nil
	}
	at := time.Now().UTC()
	var lines storage.Lines
	if _, _, err := storage.Frame(&lines, []jobs.Deletion{{At: at, Results: 1}}); err != nil {
		return err
	}
	deleted := jobs.Deleted{Target: key, TargetSize: old.Size, TargetSHA256: old.SHA256, Key: e.Key, Source: c.spec.Source, Job: old.Job}
	if by.record.Medical() {
		names, err := c.names.Key(ctx)
		if err != nil {
			return err
		}
		if err := names.SealDeleted(&deleted); err != nil {
			return err
		}
	}
	if _, _, err := storage.Frame(&lines, []jobs.Deleted{deleted}); err != nil {
		return err
	}
	name := at.Format("20060102-150405") + "-" + strings.ToLower(rand.Text()[:8])
	if _, err := storage.Put(ctx, c.target, jobs.DeletedList(name), lines.Bytes(), nil); err != nil {
		return err
	}
	err = storage.DeleteVersion(ctx, c.target, o)
	if errors.As(err, &there) {
		return nil // somebody has put something else there
	}
	return err
}
