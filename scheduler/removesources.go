package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// Evidence says which results are enough for their sources to be removed.
type Evidence string

const (
	EvidenceFile   Evidence = "file"   // those from which the source's own bytes come back, and copies
	EvidencePixels Evidence = "pixels" // also those with the same samples
	EvidenceResult Evidence = "result" // all, lossy ones as well
)

// Evidences lists all kinds of evidence, the strongest first.
func Evidences() []Evidence { return []Evidence{EvidenceFile, EvidencePixels, EvidenceResult} }

// RemoveOptions say which sources [Client.RemoveSources] removes.
type RemoveOptions struct {
	Source   string   // canonical URL of the only source that is looked at; empty: all
	Evidence Evidence // empty: EvidenceFile

	// Prove reads the results and their sources again and gives for each why it does not hold, or nil. The error is one
	// of the whole.
	Prove func(ctx context.Context, target *storage.Bucket, all []SourceClaim) ([]error, error)

	// Delete lets sources be removed; without it they are only proved.
	Delete bool

	// Found is called for each source that is there and has a result, after it was removed or left.
	Found func(SourceObject) error

	// Keep gives the reason why a source object must stay whatever its result is; empty: there is none. nil: of none.
	Keep func(key string) string
}

// SourceClaim is a result with the objects that it was made from, as they are now: one, or the parts of a series that are
// there.
type SourceClaim struct {
	Claim   jobs.Claim
	Source  *storage.Bucket
	Objects []storage.Object
}

// SourceObject is a source with a result: one object, or all parts of a series.
type SourceObject struct {
	jobs.Deleted
	Size    int64  // bytes of what is there
	Left    string // why it stays, one sentence; empty: it can go
	Removed bool
}

// RemovedSources is what [Client.RemoveSources] has found and done. A series counts as one.
type RemovedSources struct {
	Sources int64 // with a result, that are there
	Gone    int64 // with a result, that are not
	Left    int64 // of Sources, not to be removed
	Bytes   int64 // of those that can be removed
	Removed int64
	Freed   int64 // bytes
}

// removedAtOnce is the number of sources that are proved, written down and then removed together.
const removedAtOnce = 200

// RemoveSources proves the results of a target and their sources at this moment, and removes sources if it is told to:
// those versions that were proved, whose result is enough by the evidence that is asked for, that no job which has not
// ended may still read, and that do not lie in the target itself. What is to be removed is written down before, so that
// Orphans does not take its result for one without a source. A process that was killed leaves sources that are written
// down and still there; the next call proves and removes them.
func (c *Client) RemoveSources(ctx context.Context, target string, opts *RemoveOptions) (sum RemovedSources, err error) {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return sum, err
	}
	if opts.Delete {
		var release func()
		if ctx, release, err = lockPrune(ctx, b); err != nil {
			return sum, err
		}
		defer release()
	}
	s := &sourceRemoval{client: c, b: b, opts: opts, sum: &sum, jobs: map[string]*pruneJob{}}
	all, _, err := jobsOf(ctx, b)
	if err != nil {
		return sum, err
	}
	if len(all) == 0 {
		return sum, fmt.Errorf("scheduler: %s: %w", b.URL, ErrNoJob)
	}
	for i := range all {
		s.jobs[all[i].spec.ID] = &all[i]
		if all[i].finished.IsZero() {
			s.busy = append(s.busy, all[i].spec)
		}
	}
	err = c.Claims(ctx, b.URL, "", func(claim jobs.Claim) error {
		j := s.jobs[claim.Job]
		switch {
		case claim.Target == "" || claim.Outcome == jobs.OutcomeFailed:
			return nil
		case j == nil:
			return nil // it has begun since
		case opts.Source != "" && !jobs.SameSource(j.spec.Source, opts.Source):
			return nil
		}
		if s.batch = append(s.batch, candidate{claim: claim, source: j.spec.Source}); len(s.batch) < removedAtOnce {
			return nil
		}
		return s.flush(ctx)
	})
	if err == nil {
		err = s.flush(ctx)
	}
	return sum, err
}

// sourceRemoval is one call of RemoveSources.
type sourceRemoval struct {
	client  *Client
	b       *storage.Bucket
	opts    *RemoveOptions
	sum     *RemovedSources
	jobs    map[string]*pruneJob
	busy    []jobs.Spec // of jobs that have not ended
	sources []*removalSource
	batch   []candidate
}

// removalSource is a source of the jobs of a target.
type removalSource struct {
	url     string
	bucket  *storage.Bucket
	overlap storage.Overlap // with the target
}

// candidate is a source that may go.
type candidate struct {
	claim   jobs.Claim
	source  string
	at      *removalSource
	objects []storage.Object
	left    string
	removed bool
}

// keys are those of the source objects of a result.
func (c *candidate) keys() (keys []string) {
	for _, p := range c.claim.Parts {
		keys = append(keys, p.Key)
	}
	if len(keys) == 0 {
		keys = []string{c.claim.Key}
	}
	return keys
}

func (c *candidate) bytes() (n int64) {
	for _, o := range c.objects {
		n += o.Size
	}
	return n
}

// flush proves the sources of a batch and removes those that may go.
func (s *sourceRemoval) flush(ctx context.Context) error {
	batch := s.batch
	s.batch = nil
	for i := range batch {
		var err error
		if batch[i].at, err = s.open(ctx, batch[i].source); err != nil {
			return err
		}
	}
	there := batch[:0]
	seen := map[string]bool{}
	err := inOrder(ctx, len(batch), func(ctx context.Context, i int) (candidate, error) {
		c := batch[i]
		err := s.look(ctx, &c)
		return c, err
	}, func(_ int, c candidate) error {
		switch id := jobs.SourceID(c.source, c.claim.Key); {
		case len(c.objects) == 0 && c.left == "":
			s.sum.Gone++
		case !seen[id]: // another result of it takes its turn in the next batch, or finds it gone
			seen[id] = true
			there = append(there, c)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.prove(ctx, there); err != nil {
		return err
	}
	if s.opts.Delete {
		if err := s.remove(ctx, there); err != nil {
			return err
		}
	}
	for i := range there {
		if err := s.tell(&there[i]); err != nil {
			return err
		}
	}
	return nil
}

// open opens a source and holds its place against that of the target.
func (s *sourceRemoval) open(ctx context.Context, url string) (*removalSource, error) {
	if at := slices.IndexFunc(s.sources, func(o *removalSource) bool { return o.url == url }); at >= 0 {
		return s.sources[at], nil
	}
	bucket, err := s.client.Buckets.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	overlap, err := storage.Compare(bucket, s.b)
	if err != nil {
		return nil, err
	}
	s.sources = append(s.sources, &removalSource{url, bucket, overlap})
	return s.sources[len(s.sources)-1], nil
}

// look finds the objects of a source that are there, and why it stays where that can be said without reading it.
func (s *sourceRemoval) look(ctx context.Context, c *candidate) error {
	for _, key := range c.keys() {
		o, _, err := storage.Stat(ctx, c.at.bucket, key)
		switch {
		case storage.NoPlace(err):
			c.left = "it lies behind a link"
			return nil
		case storage.IsNotExist(err) && !storage.Unreachable(err):
			continue
		case err != nil:
			return fmt.Errorf("scheduler: remove sources: %w", withoutName(err, key))
		}
		c.objects = append(c.objects, o)
		if _, inside := c.at.overlap.TargetKey(key); inside {
			c.left = "it lies in the target, where it may be a result"
		}
	}
	if len(c.objects) == 0 || c.left != "" {
		return nil
	}
	if at := slices.IndexFunc(s.busy, func(j jobs.Spec) bool { return jobs.SameSource(j.Source, c.source) }); at >= 0 {
		c.left = fmt.Sprintf("job %s, which has not ended, may read it: wait for it, or end it with pelmill cancel", s.busy[at].ID)
	} else if s.opts.Keep != nil {
		c.left = s.opts.Keep(c.claim.Key)
	}
	if c.left == "" {
		c.left = lacks(&c.claim.Result, s.opts.Evidence)
	}
	return nil
}

// lacks says what a record lacks for the evidence that is asked for; empty: nothing.
func lacks(r *jobs.Result, want Evidence) string {
	switch {
	case r.SHA256 == "" && !slices.ContainsFunc(r.Parts, func(p jobs.Part) bool { return p.SHA256 != "" }):
		return "its record has no checksum of it"
	case r.Outcome != jobs.OutcomeCompressed && r.TargetSHA256 == r.SHA256, r.Exact == "jpeg", r.Exact == "series":
		return ""
	case r.Outcome != jobs.OutcomeCompressed:
		return "what is in the target is no copy of it"
	case want == EvidenceResult:
		return ""
	case r.PixelHash == "" || r.DecodedHash != r.PixelHash:
		return "its result is lossy (--evidence result accepts that)"
	case want != EvidencePixels:
		return "its result has the same samples, and its bytes do not come back from it (--evidence pixels accepts that)"
	}
	return ""
}

// prove has everything read again that may go.
func (s *sourceRemoval) prove(ctx context.Context, all []candidate) error {
	var claims []SourceClaim
	var of []int
	for i, c := range all {
		if c.left == "" {
			claims, of = append(claims, SourceClaim{c.claim, c.at.bucket, c.objects}), append(of, i)
		}
	}
	if len(claims) == 0 {
		return nil
	}
	faults, err := s.opts.Prove(ctx, s.b, claims)
	if err != nil {
		return err
	}
	if len(faults) != len(claims) {
		return fmt.Errorf("scheduler: remove sources: %d verdicts on %d results", len(faults), len(claims))
	}
	for n, fault := range faults {
		if fault != nil {
			all[of[n]].left = fault.Error()
		}
	}
	return nil
}

// remove writes down what goes, and removes it.
func (s *sourceRemoval) remove(ctx context.Context, all []candidate) error {
	var list []jobs.Deleted
	for i := range all {
		if all[i].left == "" {
			list = append(list, all[i].deleted())
		}
	}
	if len(list) == 0 {
		return nil
	}
	at := time.Now().UTC()
	f := folder{b: s.b, before: s.client.before}
	if err := f.writeDeletionList(ctx, jobs.RemovedList(deletionName(at)), at, list); err != nil {
		return err
	}
	return inOrder(ctx, len(all), func(ctx context.Context, i int) (left string, err error) {
		if all[i].left != "" {
			return all[i].left, nil
		}
		from := folder{b: all[i].at.bucket, before: s.client.before}
		for _, o := range all[i].objects {
			err := from.deleteVersion(ctx, o)
			if other := (*storage.ExistsError)(nil); errors.As(err, &other) {
				return "it was replaced a moment ago", nil
			} else if err != nil {
				return "", fmt.Errorf("scheduler: remove sources: %w", err)
			}
		}
		return "", nil
	}, func(i int, left string) error {
		all[i].left, all[i].removed = left, left == ""
		return nil
	})
}

// deleted is the record of a removal.
func (c *candidate) deleted() jobs.Deleted {
	r := &c.claim.Result
	return jobs.Deleted{KeyHash: r.KeyHash, Target: r.Target, TargetSize: r.TargetSize, TargetSHA256: r.TargetSHA256, Key: r.Key, Source: c.source, Job: c.claim.Job}
}

// tell counts a source and passes it on.
func (s *sourceRemoval) tell(c *candidate) error {
	n := c.bytes()
	s.sum.Sources++
	if c.left != "" {
		s.sum.Left++
	} else {
		s.sum.Bytes += n
	}
	if c.removed {
		s.sum.Removed++
		s.sum.Freed += n
	}
	if s.opts.Found == nil {
		return nil
	}
	return s.opts.Found(SourceObject{c.deleted(), n, c.left, c.removed})
}
