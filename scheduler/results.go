package scheduler

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// results distinguishes the results in a target from the sources that lie among them,
// where a source and its target overlap. What a name ends in says nothing: a
// user has .webp files too. The records of the target's jobs say what pelmill
// made there, and the plans of jobs that have not ended what it may have made
// without having recorded it yet.
//
// Everything goes through a sort on the local disk, so memory is bounded.
// close must be called.
type results struct {
	source *storage.Bucket
	sorted sorter
	in     stream
	head   pair
	more   bool
}

// result is one thing that may lie under a key of the target.
type result struct {
	Size int64     `json:"s"`
	MD5  []byte    `json:"m,omitempty"`
	From time.Time `json:"f,omitzero"` // not recorded: what is older than this is none
	Made time.Time `json:"t,omitzero"` // not recorded: the time of the source, which the result may carry
}

// findResults reads the records and plans of all jobs of a target but id. Keys
// are given as the source has them.
func findResults(ctx context.Context, list []codec.Codec, source, target *storage.Bucket, id string, overlap storage.Overlap) (*results, error) {
	r := &results{source: source}
	add := func(key string, v result) error {
		key, ok := overlap.SourceKey(key)
		if !ok {
			return nil
		}
		value, err := json.Marshal(v)
		if err != nil {
			return err
		}
		return r.sorted.add([]byte(key), value)
	}
	ids, err := jobIDs(ctx, target)
	for _, other := range ids {
		if err == nil && other != id {
			err = errors.Join(recordedResults(ctx, target, other, add), plannedResults(ctx, list, target, other, add))
		}
	}
	if err == nil {
		r.in, err = r.sorted.sorted()
	}
	if err == nil {
		err = r.advance()
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// again gives the same results from the first key on. Only r is closed.
func (r *results) again() (*results, error) {
	c := &results{source: r.source}
	var err error
	if c.in, err = r.sorted.sorted(); err == nil {
		err = c.advance()
	}
	return c, err
}

func (r *results) close() {
	if r != nil {
		r.sorted.close()
	}
}

// recordedResults gives what the records of a job say that it stored.
func recordedResults(ctx context.Context, target *storage.Bucket, id string, add func(string, result) error) error {
	for line, err := range records(ctx, target, id, true) {
		var rec record
		if err == nil {
			err = json.Unmarshal(line, &rec)
		}
		if err == nil && rec.Target != "" && rec.Outcome != jobs.OutcomeFailed {
			v := result{Size: rec.TargetSize, MD5: digest(rec.TargetMD5)}
			if v.Size == 0 && rec.Outcome != jobs.OutcomeCompressed {
				v.Size = rec.Size
			}
			err = add(rec.Target, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// plannedResults gives where a job that has not ended may have stored something
// that it could not record, because it runs or its process was killed.
func plannedResults(ctx context.Context, list []codec.Codec, target *storage.Bucket, id string, add func(string, result) error) error {
	report, ended, err := getJSON[jobs.Report](ctx, target, jobs.Folder(id).Report())
	if err != nil || ended && report.State == jobs.StateDone {
		return err
	}
	spec, ok, err := getJSON[jobs.Spec](ctx, target, jobs.Folder(id).Spec())
	if err != nil || !ok {
		return err
	}
	plan, ok, err := getJSON[jobs.Plan](ctx, target, jobs.Folder(id).Plan())
	if err != nil || !ok {
		return err
	}
	r, err := resolveStored(list, &spec)
	if err != nil {
		return nil // a codec that this build does not have: the records must do
	}
	extensions := r.Extensions()
	frames := r.Frames() // results of DICOM files have the keys of their sources
	last := -1
	for _, c := range plan.Chunks {
		last = max(last, c.Part)
	}
	// Clocks of stores give whole seconds.
	maybe := result{Size: -1, From: spec.Created.Truncate(time.Second)}
	return parts(target, last+1, func(n int) string { return jobs.Folder(id).Chunks(n) })(ctx, func(e jobs.Entry) error {
		maybe := maybe
		maybe.Made = e.ModTime
		var err error
		for _, extension := range extensions {
			key, earlier := e.TargetKey(extension), e.EarlierTargetKey(extension)
			if err == nil {
				err = add(key, maybe)
			}
			if err == nil && earlier != key {
				err = add(earlier, maybe) // by a process of an earlier version
			}
		}
		if err == nil && (frames || spec.Copies()) {
			err = add(e.Key, maybe)
		}
		return err
	})
}

func (r *results) advance() (err error) {
	r.head, r.more, err = r.in.next()
	return err
}

// has reports whether an object of the source is a result. Objects must come in
// key order. An object of another size or checksum than was recorded is the
// user's own, who has put it in the place of a result.
func (r *results) has(ctx context.Context, o storage.Object) (bool, error) {
	if r == nil {
		return false, nil
	}
	found := false
	for r.more && string(r.head.key) <= o.Key {
		if string(r.head.key) == o.Key && !found {
			var v result
			err := json.Unmarshal(r.head.value, &v)
			if err == nil {
				found, err = r.matches(ctx, &v, o)
			}
			if err != nil {
				return false, err
			}
		}
		if err := r.advance(); err != nil {
			return false, err
		}
	}
	return found, nil
}

func (r *results) matches(ctx context.Context, v *result, o storage.Object) (bool, error) {
	switch {
	case v.From.IsZero():
		return (o.Size < 0 || v.Size == o.Size) && (o.MD5 == nil || v.MD5 == nil || string(o.MD5) == string(v.MD5)), nil
	case r.source.Kind() == "file":
		if !o.ModTime.Before(v.From) {
			return true, nil
		}
		if v.Made.IsZero() || !v.Made.Equal(o.ModTime) {
			return false, nil
		}
		written, err := storage.Written(r.source, o)
		return !written.Before(v.From), err
	}
	_, metadata, err := storage.Stat(ctx, r.source, o.Key)
	if storage.IsNotExist(err) && !storage.Unreachable(err) {
		return false, nil
	}
	return metadata["pelmill_fingerprint"] != "", withoutName(err, o.Key)
}

// digest is a hexadecimal MD5; nil where it is none.
func digest(text string) []byte {
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != 16 {
		return nil
	}
	return sum
}
