package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/intake/instances"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker"
)

// removeFlags are those of pelmill remove-sources.
type removeFlags struct {
	source        string
	evidence      string
	doDelete, yes bool
	encoders      int
	memory        size
	timeout       time.Duration
	allow         allowFlag
}

func (p *program) removeSources() *cobra.Command {
	var o removeFlags
	cmd := &cobra.Command{
		Use:   "remove-sources DST",
		Short: "List sources whose result is proved again now, and remove them",
		Long: `Prove every result in DST and its source once more, at this moment, and list the sources that may go: the
source has the bytes that its result was made from, the result has the bytes of its record and decodes as recorded,
and, where the source's own bytes do not come back from the result, the source decodes to the same picture.

--evidence says which results are enough: file, the default, takes those that give the source back byte for byte
(jpegxl, series, copies); pixels also those with the same samples, whose sources' other bytes are lost; result also
lossy ones.

Nothing is removed without --delete, which asks twice unless --yes is given, and proves everything again first. What
fails its proof, what lies in DST itself and what a job that has not ended may read stays and is named; code 3 says
that there was such. Sources that pelmill intake has received are left to pelmill originals, which keeps their audit
trail. pelmill orphans leaves results alone whose source was removed here. It can be killed and repeated.

Sources are opened in the store of DST, and where --source and --allow say.`,
		Example: "  pelmill remove-sources s3://scans-jxl\n  pelmill remove-sources s3://scans-jxl --delete\n  pelmill remove-sources archive --source scans --evidence pixels --delete --yes",
		GroupID: groupJobs,
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.proveSources(cmd.Context(), args[0], &o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.source, "source", "", "only objects of `SRC`")
	fs.StringVar(&o.evidence, "evidence", string(scheduler.EvidenceFile), "which results are enough: file, pixels or result")
	fs.BoolVar(&o.doDelete, "delete", false, "remove them")
	fs.BoolVarP(&o.yes, "yes", "y", false, "with --delete: do not ask")
	fs.IntVar(&o.encoders, "encoders", 0, "pictures decoded at once; 0 is one a core")
	o.allow.sources(fs)
	memoryFlags(fs, &o.memory, &o.timeout)
	p.keysFlag(fs)
	return cmd
}

func (p *program) proveSources(ctx context.Context, dst string, o *removeFlags) error {
	target, err := storage.Canonical(dst)
	if err != nil {
		return &exit{exitUsage, err}
	}
	opts := &scheduler.RemoveOptions{Evidence: scheduler.Evidence(o.evidence)}
	if o.source != "" {
		if opts.Source, err = storage.Canonical(o.source); err != nil {
			return &exit{exitUsage, err}
		}
	}
	switch {
	case !slices.Contains(scheduler.Evidences(), opts.Evidence):
		return usagef("--evidence %q: want file, pixels or result", o.evidence)
	case o.yes && !o.doDelete:
		return usagef("--yes is for --delete")
	case o.doDelete && !o.yes && !p.asks:
		return usagef("remove-sources --delete asks before it removes, and there is no terminal: give --yes, best after a look at what pelmill remove-sources %s lists", shellQuote(short(target)))
	}
	memory, err := checkMemory(o.memory, o.timeout)
	if err != nil {
		return err
	}
	buckets := p.newBuckets()
	defer buckets.Close()
	if err := o.allow.onlyNamed(buckets, target, opts.Source); err != nil {
		return err
	}
	b, err := buckets.Open(ctx, target)
	if err != nil {
		return err
	}
	names := sitekey.NewReader(ctx, b)
	opts.Found = func(o scheduler.SourceObject) error { return p.showSource(o, names) }
	opts.Keep = func(key string) string {
		if _, received := instances.Series(key); received {
			return "pelmill intake has received it: pelmill originals removes it"
		}
		return ""
	}
	opts.Prove = func(ctx context.Context, b *storage.Bucket, all []scheduler.SourceClaim) ([]error, error) {
		proofs := make([]worker.SourceProof, len(all))
		for i, c := range all {
			proofs[i] = worker.SourceProof(c)
		}
		return worker.ProveSources(ctx, b, proofs, &worker.VerifyOptions{CPU: o.encoders, Memory: memory, Timeout: o.timeout})
	}
	client := &scheduler.Client{Buckets: buckets}
	if o.doDelete && !o.yes {
		// First what would go, then the questions; then everything is proved again.
		sum, err := client.RemoveSources(ctx, target, opts)
		if err != nil || sum.Sources == sum.Left {
			return p.endSources(target, sum, true, err)
		}
		n := sum.Sources - sum.Left
		if !p.confirm(ctx, fmt.Sprintf("Remove the sources of %s, %s?", plural(n, "result"), bytesText(sum.Bytes))) ||
			p.ask(ctx, fmt.Sprintf("What is in %s is all there is of them then. Type %d to remove them: ", short(target), n)) != strconv.FormatInt(n, 10) {
			return errors.New("nothing was removed")
		}
	}
	opts.Delete = o.doDelete
	sum, err := client.RemoveSources(ctx, target, opts)
	return p.endSources(target, sum, o.doDelete, err)
}

// sourceEvent is a source with a result, as --json prints it.
type sourceEvent struct {
	Type string `json:"type"` // "source"
	named
	Source  string `json:"source"` // bucket
	Job     string `json:"job"`
	Size    int64  `json:"size"`
	Left    string `json:"left,omitempty"` // why it stays
	Removed bool   `json:"removed"`
}

func (p *program) showSource(o scheduler.SourceObject, names *sitekey.Reader) error {
	n, left, err := p.nameObject(&o.Deleted, o.Left, names)
	if err != nil {
		return err
	}
	key := p.name(cmp.Or(n.Key, n.KeyHash))
	switch {
	case p.json:
		return p.emit(sourceEvent{"source", n, o.Source, o.Job, o.Size, left, o.Removed})
	case p.quiet:
	case o.Left != "":
		fmt.Fprintf(p.stdout, "left: %s: %s\n", key, left)
	case o.Removed:
		fmt.Fprintf(p.stdout, "removed: %s, %s\n", key, bytesText(o.Size))
	default:
		fmt.Fprintf(p.stdout, "proved: %s, %s\n", key, bytesText(o.Size))
	}
	return nil
}

// sourcesEvent is the last line of --json.
type sourcesEvent struct {
	Type    string `json:"type"` // "remove-sources"
	Target  string `json:"target"`
	Sources int64  `json:"sources"` // with a result, that are there
	Gone    int64  `json:"gone"`    // with a result, that are not
	Left    int64  `json:"left"`
	Bytes   int64  `json:"bytes"` // of those that may go
	Removed int64  `json:"removed"`
	Freed   int64  `json:"freed"`
}

// endSources prints the summary and gives the exit code.
func (p *program) endSources(target string, sum scheduler.RemovedSources, wanted bool, err error) error {
	var not *storage.NotAllowedError
	switch {
	case errors.As(err, &not):
		return fmt.Errorf("%w (--source or --allow names it)", err)
	case errors.Is(err, scheduler.ErrNoJob):
		return nothingf("nothing to do: no job in %s", short(target))
	case err != nil && sum.Removed == 0:
		return err
	}
	if p.json {
		if err := p.emit(sourcesEvent{"remove-sources", target, sum.Sources, sum.Gone, sum.Left, sum.Bytes, sum.Removed, sum.Freed}); err != nil {
			return err
		}
	} else if !p.quiet {
		table := [][]string{{"  sources", countText(sum.Sources) + " with a result"}, {"  proved", countText(sum.Sources-sum.Left) + ", " + bytesText(sum.Bytes)}}
		if sum.Left > 0 {
			table = append(table, []string{"  left", countText(sum.Left)})
		}
		if sum.Gone > 0 {
			table = append(table, []string{"  gone", countText(sum.Gone) + " before"})
		}
		if wanted {
			table = append(table, []string{"  removed", countText(sum.Removed) + ", " + bytesText(sum.Freed)})
		}
		rows(p.stdout, table)
		if !wanted && sum.Sources > sum.Left {
			fmt.Fprintln(p.stdout, "nothing was removed: --delete does it")
		}
	}
	switch {
	case err != nil:
		return err
	case sum.Left > 0:
		return &exit{code: exitFailures}
	case sum.Sources == 0 && sum.Gone == 0:
		return nothingf("nothing to do: no recorded result in %s", short(target))
	}
	return nil
}
