package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/storage"
)

// Metadata of results, where the store keeps some. A key of a target belongs to one
// source object, and only what was made from that object may replace it.
const (
	metaJob         = "pelmill_job"         // id of the job that wrote it
	metaSource      = "pelmill_source"      // [jobs.SourceID] of what it was made from
	metaFingerprint = "pelmill_fingerprint" // see [jobs.Spec.Fingerprint]
)

// replaceTries is how often what lies under a target key may change while it is
// looked at and replaced.
const replaceTries = 8

// put writes an object. What is there already is replaced only where
// [chunk.spareSources] allows it, and only as long as it stays what was looked at.
// The same bytes are a success, unless they are the result of another source
// object: a key has one owner, who may replace it later.
func (c *chunk) put(ctx context.Context, o *object, key string, data []byte, opts *storage.PutOptions) (storage.PutResult, error) {
	waited := c.delivery.waits()
	err := take(ctx, c.w.stores)
	if waited(); err != nil {
		return storage.PutResult{}, err
	}
	defer c.w.storing()()
	limited, cancel := context.WithTimeout(ctx, c.w.opts.ObjectTimeout)
	defer cancel()
	e, options := &o.entry, *opts
	if c.intends() {
		if options.SHA256 == nil {
			sum := sha256.Sum256(data)
			options.SHA256 = sum[:]
		}
		if err := c.intend(limited, o, key, int64(len(data)), hex.EncodeToString(options.SHA256)); err != nil {
			return storage.PutResult{}, c.writeFault(ctx, err, len(data))
		}
	}
	for range replaceTries {
		put, err := storage.Put(limited, c.target, key, data, &options)
		var there *storage.ExistsError
		switch {
		case errors.As(err, &there):
		case err != nil:
			return put, c.writeFault(ctx, err, len(data))
		case !put.Existed || !c.anothers(e, put.Metadata):
			return put, nil
		default:
			there = &storage.ExistsError{URL: c.target.URL, Key: key, Metadata: put.Metadata,
				Object: storage.Object{Key: key, Size: put.Size, ETag: put.ETag, MD5: put.MD5}}
		}
		err = c.spareSources(limited, e, key, there)
		var f *fault
		switch {
		case err == nil:
			options.IfMatch = there.Object.ETag
		case errors.Is(err, storage.ErrChanged):
			options.IfMatch = ""
		case errors.As(err, &f):
			return storage.PutResult{}, f
		default:
			return storage.PutResult{}, storageFault(ctx, err)
		}
	}
	return storage.PutResult{}, faultf(jobs.OutcomeFailed, class.Exists, "%q changed %d times while it was to be replaced: end what else writes to %s, and retry",
		key, replaceTries, c.target.URL)
}

// ownerMetadata says of a result whose it is.
func (c *chunk) ownerMetadata(e *jobs.Entry, fingerprint string) map[string]string {
	return map[string]string{metaJob: c.task.Job, metaSource: c.sourceStore.ID(e.Key), metaFingerprint: fingerprint}
}

// anothers reports whether metadata says that an object was made from another
// source object than e.
func (c *chunk) anothers(e *jobs.Entry, metadata map[string]string) bool {
	id := metadata[metaSource]
	return id != "" && id != c.sourceStore.ID(e.Key)
}

// mayReplace decides about what lies under a target key. It is nil where the object may
// be replaced: it was made from the same source object, or the user wants to
// overwrite, and no other job that has not ended owns it. storage.ErrChanged
// means that something else is there by now; a *fault says why not.
func (c *chunk) mayReplace(ctx context.Context, e *jobs.Entry, key string, there *storage.ExistsError) error {
	if there.Metadata[metaSource] == "" {
		return c.mayReplaceByRecords(ctx, e, key, there)
	}
	id, same := there.Metadata[metaJob], !c.anothers(e, there.Metadata)
	switch {
	case id == c.task.Job && same:
		return faultf(jobs.OutcomeFailed, class.Changed, "%q was made from another version of the source by an earlier delivery of the chunk, which may have recorded it: retry", key)
	case id == c.task.Job:
		return faultf(jobs.OutcomeFailed, class.Exists, "%q is the result of another object of this job: compress one of the two into another target", key)
	}
	owner, err := c.w.states.of(ctx, c.target, id)
	switch {
	case err != nil:
		return err
	case owner.unfinished:
		return c.owned(key, id, owner.spec.Source)
	case same && id > c.task.Job && !c.spec.Overwrite:
		return c.later(key, id)
	case same || c.spec.Overwrite:
		return nil
	}
	return c.foreign(key, id, owner.spec.Source)
}

// mayReplaceByRecords decides about an object that does not say whose it is: a file, or a
// result of a version that did not write it down.
func (c *chunk) mayReplaceByRecords(ctx context.Context, e *jobs.Entry, key string, there *storage.ExistsError) error {
	size := there.Object.Size
	old, recorded, err := c.recorded(ctx, e.Old, key, there)
	if err != nil {
		return err
	}
	if recorded {
		state, err := c.w.states.of(ctx, c.target, old.Job)
		switch {
		case err != nil:
			return err
		case state.unfinished && old.Job != c.task.Job:
			return c.owned(key, old.Job, state.spec.Source)
		}
	}
	// The same bytes may be a result of another source, too.
	owner, err := c.w.owners.of(ctx, c, key, size, old.SHA256)
	switch {
	case err != nil:
		return err
	case owner == nil && (recorded || c.spec.Overwrite):
		return nil
	case owner == nil:
		return faultf(jobs.OutcomeFailed, class.Exists, "%q exists with other content (%d bytes) and no recent job of %s has recorded it: "+
			"move it away, compress into another target, or give --overwrite to replace it", key, size, c.target.URL)
	case owner.unfinished:
		return c.owned(key, owner.spec.ID, owner.spec.Source)
	}
	if owner.record.Key == e.Key && jobs.SameSource(owner.spec.Source, c.spec.Source) {
		made := jobs.Version{Job: owner.spec.ID, Size: size, SHA256: owner.record.TargetSHA256}
		switch _, same, err := c.recorded(ctx, []jobs.Version{made}, key, there); {
		case err != nil:
			return err
		case same && owner.spec.ID > c.task.Job:
			return c.later(key, owner.spec.ID)
		case same:
			return nil
		}
	}
	return c.foreign(key, owner.spec.ID, owner.spec.Source)
}

// recorded finds what lies there among the versions of it that were recorded.
func (c *chunk) recorded(ctx context.Context, versions []jobs.Version, key string, there *storage.ExistsError) (jobs.Version, bool, error) {
	var sum string
	for _, old := range versions {
		if old.Size != there.Object.Size || old.SHA256 == "" {
			continue
		}
		if sum == "" {
			// It may be the copy of a large source. What comes under the key meanwhile has another ETag, and stays.
			var err error
			if sum, _, err = storage.Sum(ctx, c.target, key); err != nil {
				if storage.IsNotExist(err) {
					err = storage.ErrChanged
				}
				return old, false, err
			}
		}
		if sum == old.SHA256 {
			return old, true, nil
		}
	}
	return jobs.Version{}, false, nil
}

// owned is the fault where there is the result of a job that has not ended.
func (c *chunk) owned(key, job, source string) error {
	return faultf(jobs.OutcomeFailed, class.Exists, "%q belongs to job %s from %s, which has not ended: wait for it, or end it with: pelmill cancel %s %s",
		key, job, source, c.target.URL, job)
}

// later is the fault where there is the result of a later job of the same source. A worker may come back to its chunk when its job
// has long ended and another one has made the result anew.
func (c *chunk) later(key, job string) error {
	return faultf(jobs.OutcomeFailed, class.Exists, "%q is the result of the later job %s of the same source: give --overwrite to replace it", key, job)
}

// foreign is the fault where there is the result of another source object.
func (c *chunk) foreign(key, job, source string) error {
	if source == "" {
		source = "a source that is no longer known"
	}
	return faultf(jobs.OutcomeFailed, class.Exists, "%q is the result of job %s from %s: compress into another target, or give --overwrite to replace it",
		key, job, source)
}
