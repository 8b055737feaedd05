package scheduler

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// OrphanOptions say what [Client.Orphans] looks for and does.
type OrphanOptions struct {
	Source  string // canonical URL of the only source whose results are looked at; empty: of all
	AllGone bool   // a source that has none of the objects that were compressed is believed

	// Found is called with each result whose source is gone, in the order of target keys.
	Found func(Orphan) error

	// Delete is asked once, after all were found, whether they are to be deleted; nil: no.
	Delete func(Orphans) (bool, error)

	// Left is called for each that is not deleted after all.
	Left func(Orphan) error

	// Ignore says of the key of a result that it is none of these: its source is gone because it should be. nil: of none.
	Ignore func(target string) bool

	// Keep gives the reason why the object under a key of the target must stay; nil: there is none.
	Keep func(ctx context.Context, key string) error
}

// Orphan is a result whose source is gone.
type Orphan struct {
	jobs.Deleted
	Left string // why it is not to be deleted, one sentence; empty: it can be
}

// Orphans is what [Client.Orphans] has found and done.
type Orphans struct {
	Results int64 // with a record in the target
	Orphans int64 // that are there and whose source is gone
	Missing int64 // whose source is gone and which are not there either
	Left    int64 // of Orphans, not to be deleted
	Bytes   int64 // of those that can be deleted
	Deleted int64
	Freed   int64 // bytes
}

// GoneError means that a source lacks every object that results were made from: it may be
// a folder that is not mounted.
type GoneError struct {
	Source  string
	Results int64
}

func (e *GoneError) Error() string {
	return fmt.Sprintf("scheduler: orphans: %s has no object that a result was made from (results: %d): is it mounted, and the right one?", e.Source, e.Results)
}

// Orphans finds the results of a target whose source object is gone, and deletes them if
// it is told to: only the content that a record names, which no other source object that
// is still there has claimed, and nothing that a job which has not ended has planned.
//
// Records and listings are merged in the order of keys, so that memory is bounded. Nothing
// is deleted unless the whole source could be listed and had some of the objects; each
// source is looked up once more right before, beside one that was there. What is to be
// deleted is written down before, in batches, so that no record tells of a result that is
// gone; a process that was killed leaves some that are written down and still there, which
// the next call finds.
func (c *Client) Orphans(ctx context.Context, target string, opts *OrphanOptions) (sum Orphans, err error) {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return sum, err
	}
	if opts.Delete != nil {
		var release func()
		if ctx, release, err = lockPrune(ctx, b); err != nil {
			return sum, err
		}
		defer release()
	}
	s := &orphanSearch{client: c, b: b, opts: opts, sum: &sum}
	mem := memory(c.Memory)
	s.claims, s.keys, s.gone, s.kept, s.found = mem.sorter(), mem.sorter(), mem.sorter(), mem.sorter(), mem.sorter()
	for _, one := range []*sorter{&s.claims, &s.keys, &s.gone, &s.kept, &s.found} {
		defer one.close()
	}
	for _, step := range []func(context.Context) error{s.readRecords, s.currentClaims, s.listSources, s.readPlans, s.judge} {
		if err := step(ctx); err != nil {
			return sum, err
		}
	}
	if opts.Delete == nil || sum.Orphans == sum.Left {
		return sum, nil
	}
	if yes, err := opts.Delete(sum); err != nil || !yes {
		return sum, err
	}
	return sum, s.delete(ctx)
}

// orphanSearch is one call of Orphans.
type orphanSearch struct {
	client *Client
	b      *storage.Bucket
	opts   *OrphanOptions
	sum    *Orphans

	jobs    []pruneJob // of the target, those that wrote last first
	sources []orphanSource

	claims sorter // target key: what jobs recorded there, newest first
	keys   sorter // source and key: the results made from it
	gone   sorter // target key: one value for each source object that is gone
	kept   sorter // target key: why it stays
	found  sorter // target key: what can be deleted
}

// orphanSource is one source of the jobs of a target.
type orphanSource struct {
	url     string
	bucket  *storage.Bucket
	witness string // a key that the listing had; empty where it had none of those looked for
}

// claimRecord is what a record says of a target key.
type claimRecord struct {
	jobs.Deleted
	MD5   string   `json:"md5,omitempty"`
	From  int      `json:"from"`            // the number of its source
	Parts []string `json:"parts,omitempty"` // keys of a series
	Gone  bool     `json:"gone,omitempty"`  // it was deleted, or was to be
	Of    int      `json:"of,omitempty"`    // source objects that the result has

	Removed bool `json:"removed,omitempty"` // a source object of the result was removed because the result is there
}

// source gives the number of a source.
func (s *orphanSearch) source(url string) int {
	at := slices.IndexFunc(s.sources, func(o orphanSource) bool { return jobs.SameSource(o.url, url) })
	if at < 0 {
		at = len(s.sources)
		s.sources = append(s.sources, orphanSource{url: url})
	}
	return at
}

// readRecords passes all records of the target to the sorter of claims, the newest first.
func (s *orphanSearch) readRecords(ctx context.Context) error {
	var err error
	if s.jobs, _, err = jobsOf(ctx, s.b); err != nil {
		return err
	}
	if len(s.jobs) == 0 {
		return fmt.Errorf("scheduler: %s: %w", s.b.URL, ErrNoJob)
	}
	slices.SortStableFunc(s.jobs, func(a, b pruneJob) int {
		if at := b.wrote().Compare(a.wrote()); at != 0 {
			return at
		}
		return b.spec.Created.Compare(a.spec.Created)
	})
	deleted, err := deletions(ctx, s.b)
	if err != nil {
		return err
	}
	add := func(c claimRecord) error {
		value, err := json.Marshal(&c)
		if err != nil {
			return err
		}
		return s.claims.add([]byte(c.Target), value)
	}
	removed, err := deletionLists(ctx, s.b, jobs.RemovedDir)
	if err != nil {
		return err
	}
	for i := range removed {
		err := removed[i].read(ctx, s.b, func(d jobs.Deleted) error {
			return add(claimRecord{Deleted: jobs.Deleted{Target: d.Target}, Removed: true})
		})
		if err != nil {
			return err
		}
	}
	names := sitekey.NewReader(ctx, s.b)
	for i := range s.jobs {
		j := &s.jobs[i]
		for ; len(deleted) > 0 && deleted[0].at.After(j.wrote()); deleted = deleted[1:] {
			err := deleted[0].read(ctx, s.b, func(d jobs.Deleted) error {
				return add(claimRecord{Deleted: d, From: s.source(d.Source), Gone: true})
			})
			if err != nil {
				return err
			}
		}
		for line, err := range records(ctx, s.b, j.spec.ID, true) {
			var r jobs.Result
			if err == nil {
				err = json.Unmarshal(line, &r)
			}
			if err == nil {
				err = names.Complete(&r)
			}
			if err == nil && r.Target != "" && r.Outcome != jobs.OutcomeFailed && (s.opts.Ignore == nil || !s.opts.Ignore(r.Target)) {
				err = add(s.claim(j, &r))
			}
			if err != nil {
				return fmt.Errorf("scheduler: orphans: records of job %s: %w", j.spec.ID, err)
			}
		}
	}
	return nil
}

// claim is what a record of a job says.
func (s *orphanSearch) claim(j *pruneJob, r *jobs.Result) claimRecord {
	c := claimRecord{From: s.source(j.spec.Source), MD5: r.TargetMD5}
	c.Target, c.TargetSize, c.TargetSHA256 = r.Target, r.TargetSize, r.TargetSHA256
	c.Key, c.KeyHash, c.Job, c.Source = r.Key, r.KeyHash, j.spec.ID, j.spec.Source
	if r.Outcome != jobs.OutcomeCompressed && r.TargetSHA256 == "" { // a copy, in records of earlier versions
		c.TargetSize, c.TargetSHA256 = r.Size, r.SHA256
	}
	for _, p := range r.Parts {
		c.Parts = append(c.Parts, p.Key)
	}
	return c
}

// currentClaims finds for each target key the newest claim and older ones of the same content, which
// other source objects may have, and passes each of their source objects to the sorter of keys.
func (s *orphanSearch) currentClaims(context.Context) error {
	return eachKey(&s.claims, func(_ string, values [][]byte) error {
		var current []claimRecord
		for _, value := range values {
			var c claimRecord
			if err := json.Unmarshal(value, &c); err != nil {
				return err
			}
			if c.Removed {
				return nil
			}
			known := func(o claimRecord) bool { return o.From == c.From && o.Key == c.Key }
			if len(current) == 0 || c.TargetSHA256 == current[0].TargetSHA256 && (!c.Gone || current[0].Gone) && !slices.ContainsFunc(current, known) {
				current = append(current, c)
			}
		}
		if s.opts.Source != "" && !slices.ContainsFunc(current, func(c claimRecord) bool { return jobs.SameSource(c.Source, s.opts.Source) }) {
			return nil
		}
		if !current[0].Gone {
			s.sum.Results++
		}
		of := 0
		for _, c := range current {
			of += max(1, len(c.Parts))
		}
		for _, c := range current {
			keys := c.Parts
			if len(keys) == 0 {
				keys = []string{c.Key}
			}
			c.Parts, c.Of = nil, of
			c.Gone = current[0].Gone
			value, err := json.Marshal(&c)
			if err != nil {
				return err
			}
			for _, key := range keys {
				if err := s.keys.add(append(binary.BigEndian.AppendUint32(nil, uint32(c.From)), key...), value); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// eachKey calls fn with each key of a sorter and all of its values, in the order in which
// they were added.
func eachKey(s *sorter, fn func(key string, values [][]byte) error) error {
	in, err := s.sorted()
	if err != nil {
		return err
	}
	var key []byte
	var values [][]byte
	for {
		p, more, err := in.next()
		if err != nil {
			return err
		}
		if len(values) > 0 && (!more || !bytes.Equal(p.key, key)) {
			if err := fn(string(key), values); err != nil {
				return err
			}
			values = nil
		}
		if !more {
			return nil
		}
		key = append(key[:0], p.key...)
		values = append(values, bytes.Clone(p.value))
	}
}

// listSources merges the listing of each source with the keys that results were made from,
// and passes the results of those that it lacks on.
func (s *orphanSearch) listSources(ctx context.Context) error {
	at := -1          // the source at work
	var missing int64 // source objects of results that were not deleted before
	var l *listingInOrder
	end := func() error {
		if l == nil {
			return nil
		}
		defer l.stop()
		if s.sources[at].witness == "" && missing > 0 && !s.opts.AllGone {
			return &GoneError{s.sources[at].url, missing}
		}
		return nil
	}
	err := eachKey(&s.keys, func(key string, values [][]byte) error {
		n, key := int(binary.BigEndian.Uint32([]byte(key))), key[4:]
		if n != at {
			if err := end(); err != nil {
				return err
			}
			at, missing, l = n, 0, nil
			if err := s.openSource(ctx, n); err != nil {
				return err
			}
			l = listed(ctx, s.sources[n].bucket)
		}
		there, err := l.has(key)
		switch {
		case err != nil:
			return fmt.Errorf("scheduler: orphans: the source cannot be listed, so nothing is known to be gone: %w", err)
		case there:
			s.sources[n].witness = key
			return nil
		}
		counted := false
		for _, value := range values {
			var c claimRecord
			if err := json.Unmarshal(value, &c); err != nil {
				return err
			}
			if !c.Gone && !counted { // a result that was deleted before needs no source
				missing, counted = missing+1, true
			}
			if err := s.gone.add([]byte(c.Target), value); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, end())
}

// openSource opens a source in the way in which its jobs saw it.
func (s *orphanSearch) openSource(ctx context.Context, n int) (err error) {
	o := &s.sources[n]
	links := slices.ContainsFunc(s.jobs, func(j pruneJob) bool { return j.spec.CopyLinks && jobs.SameSource(j.spec.Source, o.url) })
	if follow := s.client.Buckets.CopyLinks; links && (follow == nil || follow.Source != o.url) {
		return fmt.Errorf("scheduler: orphans: %s: %w", o.url, ErrLinks)
	}
	o.bucket, err = s.client.Buckets.Open(ctx, o.url)
	return err
}

// ErrLinks: jobs followed links of a source that are not followed now.
var ErrLinks = errors.New("its jobs followed links, without which objects seem to be gone")

// listingInOrder answers for keys in order whether a bucket has them.
type listingInOrder struct {
	next func() (storage.Object, error, bool)
	stop func()

	object storage.Object // that was listed last
	end    bool
}

func listed(ctx context.Context, b *storage.Bucket) *listingInOrder {
	l := &listingInOrder{}
	l.next, l.stop = iter.Pull2(objects(ctx, b, ""))
	return l
}

func (l *listingInOrder) has(key string) (bool, error) {
	for !l.end && l.object.Key < key {
		o, err, ok := l.next()
		switch {
		case err != nil:
			return false, err
		case ok && o.Key <= l.object.Key:
			return false, outOfOrder("the listing", o.Key, l.object.Key)
		}
		l.object, l.end = o, !ok
	}
	return !l.end && l.object.Key == key, nil
}
