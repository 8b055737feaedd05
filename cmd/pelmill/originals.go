package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/intake/instances"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker"
)

// originalFlags are those of pelmill originals.
type originalFlags struct {
	retention time.Duration
	doDelete  bool
	yes       bool
	memory    size
	timeout   time.Duration
}

func (p *program) originals() *cobra.Command {
	var o originalFlags
	cmd := &cobra.Command{
		Use:   "originals SRC DST",
		Short: "Say which received originals have a proved result and are old enough to go, and remove them",
		Long: `List the instances that pelmill intake has received into SRC whose retention is over and whose
result in DST is proved at this moment: the original has the SHA-256 of its record, the result has its own and is a
DICOM file that decodes to exactly the picture of the original, or is a copy of the original. Lossy results, and
those of codecs that keep no DICOM file, prove nothing. Nothing else in SRC is an original here.

Nothing is removed without --delete, which asks unless --yes is given. Each removal has a line in the audit trail
of DST before it happens. What fails its proof stays and is named; code 3 says that there was such. pelmill orphans
leaves results of received instances alone, with an original or without.

An encapsulated original cannot be made again from its result, byte for byte: after its removal only its pixels and
all its other elements are there. --retention 0 has to be given as such.`,
		Example: "  pelmill originals spool archive\n  pelmill originals spool archive --retention 2160h --delete --yes",
		GroupID: groupServing,
		Args:    arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.retention < 0:
				return usagef("--retention %v: want 0 or more", o.retention)
			case o.yes && !o.doDelete:
				return usagef("--yes is for --delete")
			case o.doDelete && !o.yes && !p.asks:
				return usagef("originals --delete asks before it removes, and there is no terminal: give --yes, best after a look at what pelmill originals lists")
			}
			return p.withInstances(cmd.Context(), args[0], args[1], func(s *instances.Store, spool, target *storage.Bucket) error {
				return p.removeOriginals(cmd.Context(), s, spool, target, &o)
			})
		},
	}
	fs := cmd.Flags()
	fs.DurationVar(&o.retention, "retention", instances.DefaultRetention, "how long originals stay since they were received")
	fs.BoolVar(&o.doDelete, "delete", false, "remove them")
	fs.BoolVarP(&o.yes, "yes", "y", false, "with --delete: do not ask")
	memoryFlags(fs, &o.memory, &o.timeout)
	return cmd
}

// originalEvent is an original, as --json prints it.
type originalEvent struct {
	Type string `json:"type"` // "original"
	instances.Original
}

// originalsEvent is the last line of --json.
type originalsEvent struct {
	Type      string `json:"type"` // "originals"
	Originals int64  `json:"originals"`
	Waiting   int64  `json:"waiting"` // for the end of their retention
	Left      int64  `json:"left"`
	Proved    int64  `json:"proved"`
	Bytes     int64  `json:"bytes"`
	Removed   int64  `json:"removed"`
}

func (p *program) removeOriginals(ctx context.Context, s *instances.Store, spool, target *storage.Bucket, o *originalFlags) error {
	memory, err := checkMemory(o.memory, o.timeout)
	if err != nil {
		return err
	}
	buckets := p.newBuckets()
	defer buckets.Close()
	client := &scheduler.Client{Buckets: buckets}
	all, err := client.List(ctx, target.URL)
	if err != nil {
		return err
	}
	sources := map[string]string{}
	for _, job := range all {
		sources[job.ID] = job.Source
	}
	opts := &instances.RemoveOptions{
		Source: spool.URL, Retention: o.retention,
		Claims: func(fn func(jobs.Claim) error) error { return client.Claims(ctx, target.URL, "", fn) },
		SourceOf: func(job string) (string, error) {
			if source, ok := sources[job]; ok {
				return source, nil
			}
			spec, err := client.Spec(ctx, target.URL, job) // it has begun since
			return spec.Source, err
		},
		Verify: func(ctx context.Context, claims []jobs.Claim) (map[string]error, error) {
			return verifyClaims(ctx, target, claims, &worker.VerifyOptions{Memory: memory, Timeout: o.timeout})
		},
		Found: p.showOriginal,
	}
	if o.doDelete && !o.yes {
		// First what would go, then the question.
		sum, err := s.Remove(ctx, opts)
		if err != nil || sum.Proved == 0 {
			return p.endOriginals(sum, false, err)
		}
		if !p.confirm(ctx, fmt.Sprintf("Remove %s, %s, from %s?", plural(sum.Proved, "original"), bytesText(sum.Bytes), short(spool.URL))) {
			return errors.New("nothing was removed")
		}
	}
	opts.Delete = o.doDelete
	sum, err := s.Remove(ctx, opts)
	return p.endOriginals(sum, o.doDelete, err)
}

// verifyClaims reads and decodes results, and says of each why it is not as recorded; nil: it is.
func verifyClaims(ctx context.Context, target *storage.Bucket, claims []jobs.Claim, opts *worker.VerifyOptions) (map[string]error, error) {
	faults := map[string]error{}
	var mu sync.Mutex
	opts.OnDone = func(v worker.Verdict) {
		mu.Lock()
		defer mu.Unlock()
		faults[v.Target] = nil
		if v.Problem != "" {
			faults[v.Target] = errors.New(v.Problem)
		}
	}
	_, err := worker.VerifyTarget(ctx, target, func(fn func(jobs.Claim) error) error {
		for _, c := range claims {
			if err := fn(c); err != nil {
				return err
			}
		}
		return nil
	}, opts)
	return faults, err
}

func (p *program) showOriginal(o instances.Original) error {
	switch {
	case p.json:
		return p.emit(originalEvent{"original", o})
	case p.quiet:
	case o.Left != "":
		fmt.Fprintf(p.stdout, "left: %s: %s\n", p.name(o.Key), o.Left)
	case o.Removed:
		fmt.Fprintf(p.stdout, "removed: %s, %s\n", p.name(o.Key), bytesText(o.Size))
	default:
		fmt.Fprintf(p.stdout, "proved: %s, %s\n", p.name(o.Key), bytesText(o.Size))
	}
	return nil
}

// endOriginals prints the summary and gives the exit code.
func (p *program) endOriginals(sum instances.Removal, wanted bool, err error) error {
	if p.json {
		if err := p.emit(originalsEvent{"originals", sum.Originals, sum.Waiting, sum.Left, sum.Proved, sum.Bytes, sum.Removed}); err != nil {
			return err
		}
	} else if !p.quiet {
		rows(p.stdout, [][]string{{"  originals", countText(sum.Originals) + " with a result"}, {"  waiting", countText(sum.Waiting) + " for the end of their retention"},
			{"  left", countText(sum.Left)}, {"  proved", countText(sum.Proved) + ", " + bytesText(sum.Bytes)}, {"  removed", countText(sum.Removed)}})
		if !wanted && sum.Proved > 0 {
			fmt.Fprintln(p.stdout, "nothing was removed: --delete does it")
		}
	}
	switch {
	case err != nil:
		return err
	case sum.Left > 0:
		return &exit{code: exitFailures}
	}
	return nil
}
