package instances

import (
	"context"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// DefaultRetention is how long an original stays after it was received.
const DefaultRetention = 30 * 24 * time.Hour

// RemoveOptions say which originals may go.
type RemoveOptions struct {
	Source    string                                                                   // canonical URL of the spool, as the jobs' records have it
	Retention time.Duration                                                            // since an original was received
	Delete    bool                                                                     // without it nothing is removed
	Claims    func(fn func(jobs.Claim) error) error                                    // calls its argument with the records of all results
	SourceOf  func(job string) (string, error)                                         // canonical URL of a job's source
	Verify    func(ctx context.Context, claims []jobs.Claim) (map[string]error, error) // decodes results and compares them with their records: why one does not hold, by its key; nil for those that do
	Found     func(Original) error                                                     // is told of each original that may go or has to stay; nil: nobody
}

// Original is a received instance with a result.
type Original struct {
	Key     string `json:"key"`
	Size    int64  `json:"size"`
	Target  string `json:"target"`         // its result
	Left    string `json:"left,omitempty"` // why it stays
	Removed bool   `json:"removed"`
}

// Removal counts originals.
type Removal struct {
	Originals int64 // with a result, that are there
	Waiting   int64 // of them, those that are younger than the retention
	Left      int64 // of them, those that stay because their proof fails
	Proved    int64 // of them, those that may go
	Removed   int64
	Bytes     int64 // of those that may go
}

// exactDICOM is [jobs.Result].Exact of a DICOM file whose elements were compared with those of its source.
const exactDICOM = "dicom"

// removeAtOnce is how many originals are proved side by side.
const removeAtOnce = 200

// Remove removes originals whose retention is over, each after a proof of its own, made at that moment: the original has
// the size and the SHA-256 of its record, and its result has those of its own and is a DICOM file that decodes to exactly
// the picture of the original, or is a copy of the original. Only received instances are originals here; other objects of the source are their
// owner's.
func (s *Store) Remove(ctx context.Context, opts *RemoveOptions) (sum Removal, err error) {
	var batch []jobs.Claim
	sources := map[string]bool{}
	flush := func() error {
		defer func() { batch = nil }()
		return s.removeBatch(ctx, opts, batch, &sum)
	}
	err = opts.Claims(func(c jobs.Claim) error {
		if _, ok := Series(c.Key); !ok || c.Owner != nil || c.Target == "" || c.SHA256 == "" {
			return nil
		}
		of, known := sources[c.Job]
		if !known {
			source, err := opts.SourceOf(c.Job)
			if err != nil {
				return err
			}
			of = jobs.SameSource(source, opts.Source)
			sources[c.Job] = of
		}
		if !of {
			return nil
		}
		if batch = append(batch, c); len(batch) == removeAtOnce {
			return flush()
		}
		return nil
	})
	if err == nil && len(batch) > 0 {
		err = flush()
	}
	return sum, err
}

func (s *Store) removeBatch(ctx context.Context, opts *RemoveOptions, batch []jobs.Claim, sum *Removal) error {
	var due []jobs.Claim
	found := map[string]storage.Object{}
	for _, c := range batch {
		o, _, err := storage.Stat(ctx, s.spool, c.Key)
		switch {
		case storage.IsNotExist(err):
			continue // it was removed
		case err != nil:
			return err
		}
		sum.Originals++
		if time.Since(o.ModTime) < opts.Retention {
			sum.Waiting++
			continue
		}
		if _, twice := found[c.Key]; !twice {
			found[c.Key] = o
			due = append(due, c)
		}
	}
	if len(due) == 0 {
		return nil
	}
	faults, err := opts.Verify(ctx, due)
	if err != nil {
		return err
	}
	for _, c := range due {
		if err := s.removeOne(ctx, opts, &c, found[c.Key], faults, sum); err != nil {
			return err
		}
	}
	return nil
}

// removeOne proves the original and removes it.
func (s *Store) removeOne(ctx context.Context, opts *RemoveOptions, c *jobs.Claim, o storage.Object, faults map[string]error, sum *Removal) error {
	show := Original{Key: c.Key, Size: o.Size, Target: c.Target}
	fault, looked := faults[c.Target]
	switch digest, size, err := storage.Sum(ctx, s.spool, c.Key); {
	case err != nil:
		show.Left = "it cannot be read"
	case digest != c.SHA256 || size != c.Size:
		show.Left = "it has other bytes than its record says"
	case !looked:
		show.Left = "its result was not verified"
	case fault != nil:
		show.Left = "its result: " + fault.Error()
	case c.Outcome != jobs.OutcomeCompressed && c.TargetSHA256 != c.SHA256:
		show.Left = "what is in the target is no copy of it"
	case c.Outcome == jobs.OutcomeCompressed && c.Target != c.Key:
		show.Left = "its result is no DICOM file: it has the picture, and no other element"
	case c.Outcome == jobs.OutcomeCompressed && (c.Exact != exactDICOM || c.PixelHash == "" || c.DecodedHash != c.PixelHash):
		show.Left = "its result was not proved to have the same pixels and elements"
	}
	line := Line{Actor: Sender{Protocol: "command"}, Action: "remove", Outcome: "removed", Bytes: o.Size, SHA256: c.SHA256, Job: c.Job, TargetBytes: c.TargetSize, TargetSHA256: c.TargetSHA256, PixelHash: c.PixelHash}
	s.nameObject(&line, c.Key)
	if show.Left != "" {
		sum.Left++
	} else {
		sum.Proved++
		sum.Bytes += o.Size
		if opts.Delete {
			// The line is first: an original that is gone has one.
			if err := s.audit.add(line); err != nil {
				return err
			}
			if err := storage.DeleteVersion(ctx, s.spool, o); err != nil {
				line.Outcome, line.Reason = "left", "store"
				s.audit.add(line)
				return err
			}
			sum.Removed++
			show.Removed = true
		}
	}
	if opts.Found != nil {
		return opts.Found(show)
	}
	return nil
}

// IsResult reports whether a key of the target is that of the result of a received instance. Such a result is all there is
// once its original was removed.
func IsResult(key string) bool {
	dot := len(key)
	for i := len(key) - 1; i >= 0 && key[i] != '/'; i-- {
		if key[i] == '.' {
			dot = i
		}
	}
	_, ok := Series(key[:dot] + ".dcm")
	return ok
}
