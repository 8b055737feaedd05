package instances

import (
	"context"
	"fmt"
	"path"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/storage"
)

// Results takes what became of the objects of a job, which each calls its argument with: it writes a line of the audit
// trail for each, and puts those that were rejected or failed verification into quarantine. Their originals stay.
func (s *Store) Results(ctx context.Context, spec *jobs.Spec, each func(func(jobs.Result) error) error) error {
	job := spec.ID
	return each(func(r jobs.Result) error {
		if r.Outcome == jobs.OutcomeSkipped {
			return nil
		}
		line := Line{Actor: Sender{Protocol: "job"}, Action: "compress", Outcome: string(r.Outcome), Reason: r.Class, Bytes: r.Size, SHA256: r.SHA256,
			Job: job, TargetBytes: r.TargetSize, TargetSHA256: r.TargetSHA256, PixelHash: r.PixelHash, Codec: r.Codec, Version: r.Version, Options: r.Options, Verified: r.Verified,
			Changed: r.Changed, Exact: r.Exact, Syntax: standardUID(r.Facts["transfer_syntax"]), Decoder: fmt.Sprintf("imageio %d", spec.Readers)}
		s.nameObject(&line, r.Key)
		if reason := isolates(&r); reason != "" {
			if err := s.isolateObject(ctx, job, reason, &r); err != nil {
				return err
			}
			line.Reason = string(reason)
		}
		return s.audit.add(line)
	})
}

// nameObject says in a line which object it is about: by its key, where that is made of hashes.
func (s *Store) nameObject(line *Line, key string) {
	if _, ok := Series(key); ok {
		n, _ := parseName(path.Base(key))
		line.Object, line.Instance, line.Series = key, n.uid, n.series
		return
	}
	line.Object = s.hash.Hash("key", key)
}

// isolates gives the reason for which the source of a result belongs into quarantine; empty: it does not.
func isolates(r *jobs.Result) Reason {
	switch {
	case r.Outcome == jobs.OutcomeRejected && r.Class == class.Malformed:
		return ReasonUndecodable
	case r.Outcome == jobs.OutcomeFailed && r.Class == class.Verify:
		return ReasonMismatch
	}
	return ""
}

// isolateObject copies an object of the source into quarantine.
func (s *Store) isolateObject(ctx context.Context, job string, reason Reason, r *jobs.Result) error {
	name := s.hash.Hash("key", r.Key)
	if _, ok := Series(r.Key); ok {
		name = path.Base(r.Key)
	}
	key := Quarantine + string(reason) + "/" + name
	put, err := storage.Copy(ctx, s.spool, r.Key, s.target, key, nil, &storage.PutOptions{ContentType: "application/octet-stream"})
	switch {
	case storage.IsNotExist(err):
		return nil // it is gone
	case err != nil:
		return err
	case put.Existed:
		return nil
	}
	s.budget.settle(0, put.Size)
	s.metrics.quarantined.WithLabelValues(string(reason)).Inc()
	return s.record(ctx, key, Isolated{Time: now(), Reason: reason, Bytes: put.Size, SHA256: hexOf(put.SHA256), Object: s.hash.Hash("key", r.Key), Job: job})
}
