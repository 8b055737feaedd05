package scheduler

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/pelmill/pelmill/jobs"
)

// claimant is the job that wrote a target key last, by the records: 16 bytes.
type claimant struct {
	job     uint32 // in the order of the jobs
	source  uint32 // start of the source object's id
	content uint32 // start of the SHA-256
	before  uint32 // source of the last claim before it by another source object
}

// Claims calls fn with the records of a target that claim a key: those of its
// jobs, or of one of them if only is not empty. Of the records that one source
// object has for a key, only the last is given, as its own later results may
// replace it, and none where that was deleted as its source is gone. A record
// whose key another source object has taken over says so.
//
// The jobs are gone through in the order in which they ended, the last first and
// those that have not ended before them; a job that replaced what another one
// made did so after that one's end. Memory is 28 bytes a key.
func (c *Client) Claims(ctx context.Context, target, only string, fn func(jobs.Claim) error) error {
	all, err := c.List(ctx, target)
	if err != nil {
		return err
	}
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return err
	}
	deleted, err := deletions(ctx, b)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b Summary) int {
		switch {
		case a.Finished.IsZero() != b.Finished.IsZero():
			if a.Finished.IsZero() {
				return -1
			}
			return 1
		case !a.Finished.Equal(b.Finished):
			return b.Finished.Compare(a.Finished)
		}
		return b.Created.Compare(a.Created)
	})
	seen := claimants{}
	for i, job := range all {
		for ; len(deleted) > 0 && !job.Finished.IsZero() && deleted[0].at.After(job.Finished); deleted = deleted[1:] {
			err := deleted[0].read(ctx, b, func(d jobs.Deleted) error {
				seen.take(d.Target, claimant{job: noJob, source: start(jobs.SourceID(d.Source, d.Key)), content: start(d.TargetSHA256)})
				return nil
			})
			if err != nil {
				return err
			}
		}
		err := c.Results(ctx, target, job.ID, func(r jobs.Result) error {
			claim := jobs.Claim{Result: r, Job: job.ID}
			if r.Target != "" {
				mine := claimant{job: uint32(i), source: start(jobs.SourceID(job.Source, r.Key)), content: start(r.TargetSHA256)}
				last, known, first := seen.take(r.Target, mine)
				switch {
				case !first:
					return nil
				case known && last.job != noJob && last.content != mine.content:
					claim.Owner = &jobs.Owner{Job: all[last.job].ID, Source: all[last.job].Source}
				}
			}
			if only != "" && only != job.ID {
				return nil
			}
			return fn(claim)
		})
		if err != nil || only == job.ID {
			return err
		}
	}
	return nil
}

// claimants are the last claims of the keys of a target, by a hash of the key.
type claimants map[[12]byte]claimant

// take notes a claim that is older than those before it. last is the last one of the key,
// where it is known; first is false where the source object has a later claim.
func (c claimants) take(key string, mine claimant) (last claimant, known, first bool) {
	sum := sha256.Sum256([]byte(key))
	at := [12]byte(sum[:])
	last, known = c[at]
	switch {
	case !known:
		c[at] = mine
	case mine.source == last.source || mine.source == last.before:
		return last, true, false
	default:
		last.before = mine.source
		c[at] = last
	}
	return last, known, true
}

// start gives 32 bits of a hash.
func start(text string) uint32 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint32(sum[:])
}
