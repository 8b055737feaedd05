package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/intake/instances"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker"
)

// orphanFlags are those of pelmill orphans.
type orphanFlags struct {
	source                            string
	copyLinks, allGone, doDelete, yes bool
	allow                             allowFlag
}

func (p *program) orphans() *cobra.Command {
	var o orphanFlags
	cmd := &cobra.Command{
		Use:   "orphans DST",
		Short: "List results whose source is gone, and delete them",
		Long: `List the results and copies in DST whose source object no longer exists, by the records of
the jobs of DST and a listing of their sources.

--delete deletes them, after a question that --yes answers: only what is still byte for byte
what its record says, and the records then no longer count on it. What somebody has changed,
what another source object has the same result for, and what a job that has not ended has
planned is named and left; code 3 says that there was such. It can be killed and repeated.

A source that cannot be listed is an error. So is one that has none of the objects that were
compressed, as it may be a folder that is not mounted: --all-gone takes it for what it is.
Results that were deleted before need no source; where nothing is left to find, the code is 0.`,
		Example: "  pelmill orphans s3://scans-vq\n  pelmill orphans s3://scans-vq --delete --yes",
		GroupID: groupJobs,
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.findOrphans(cmd.Context(), args[0], &o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.source, "source", "", "only results of `SRC`")
	fs.BoolVarP(&o.copyLinks, "copy-links", "L", false, "follow links in SRC, a folder of this machine, as compress --copy-links did; needs --source")
	fs.BoolVar(&o.allGone, "all-gone", false, "believe that a source has none of its objects any more")
	fs.BoolVar(&o.doDelete, "delete", false, "delete them")
	fs.BoolVarP(&o.yes, "yes", "y", false, "with --delete: do not ask")
	o.allow.sources(fs)
	p.keysFlag(fs)
	return cmd
}

func (p *program) findOrphans(ctx context.Context, dst string, o *orphanFlags) error {
	target, err := storage.Canonical(dst)
	if err != nil {
		return &exit{exitUsage, err}
	}
	opts := &scheduler.OrphanOptions{AllGone: o.allGone}
	if o.source != "" {
		if opts.Source, err = storage.Canonical(o.source); err != nil {
			return &exit{exitUsage, err}
		}
	}
	switch {
	case o.yes && !o.doDelete:
		return usagef("--yes is for --delete")
	case o.doDelete && !o.yes && !p.asks:
		return usagef("orphans --delete asks before it deletes, and there is no terminal: give --yes, best after a look at what pelmill orphans %s lists", shellQuote(short(target)))
	case o.copyLinks && o.source == "":
		return usagef("--copy-links needs --source, the folder whose links are followed")
	}
	buckets := p.newBuckets()
	defer buckets.Close()
	if o.copyLinks {
		buckets.CopyLinks = &storage.CopyLinks{Source: opts.Source, Target: target}
	}
	if err := o.allow.onlyNamed(buckets, target, opts.Source); err != nil {
		return err
	}
	b, err := buckets.Open(ctx, target)
	if err != nil {
		return err
	}
	opts.Ignore = instances.IsResult // pelmill originals has removed their sources
	guard := worker.NewSourceGuard(buckets, b, b, "")
	opts.Keep = func(ctx context.Context, key string) error {
		_, err := guard.InSource(ctx, key)
		return err
	}
	names := sitekey.NewReader(ctx, b)
	show := func(o scheduler.Orphan) error { return p.showOrphan(o, names) }
	opts.Found, opts.Left = show, show
	if o.doDelete {
		opts.Delete = func(sum scheduler.Orphans) (bool, error) { return o.yes || p.confirmed(ctx, sum, target), nil }
	}
	client := &scheduler.Client{Buckets: buckets}
	sum, err := client.Orphans(ctx, target, opts)
	return p.endOrphans(target, sum, o.doDelete, err)
}

// orphanEvent is a result whose source is gone, as --json prints it.
type orphanEvent struct {
	Type string `json:"type"` // "orphan"
	named
	Source string `json:"source"` // bucket
	Job    string `json:"job"`
	Size   int64  `json:"size"`
	Left   string `json:"left,omitempty"` // why it is not deleted
}

// named is an object with its result: of a medical image by hashes.
type named struct {
	Target     string `json:"target,omitempty"`
	TargetHash string `json:"target_hash,omitempty"`
	Key        string `json:"key,omitempty"` // of the source
	KeyHash    string `json:"key_hash,omitempty"`
}

// nameObject gives the names of an object as they are shown, and a text about it.
func (p *program) nameObject(d *jobs.Deleted, text string, names *sitekey.Reader) (named, string, error) {
	r := jobs.Result{Key: d.Key, Target: d.Target, Outcome: jobs.OutcomeRejected, Class: "it cannot be shown", Error: text}
	if d.KeyHash != "" {
		if err := names.Hash(&r); err != nil {
			return named{}, "", err
		}
	}
	r = p.shown(r, "--show-keys shows why")
	return named{r.Target, r.TargetHash, r.Key, r.KeyHash}, r.Error, nil
}

func (p *program) showOrphan(o scheduler.Orphan, names *sitekey.Reader) error {
	n, left, err := p.nameObject(&o.Deleted, o.Left, names)
	if err != nil {
		return err
	}
	target, key := p.name(cmp.Or(n.Target, n.TargetHash)), p.name(cmp.Or(n.Key, n.KeyHash))
	switch {
	case p.json:
		return p.emit(orphanEvent{"orphan", n, o.Source, o.Job, o.TargetSize, left})
	case p.quiet:
	case o.Left != "":
		fmt.Fprintf(p.stdout, "left: %s: %s\n", target, left)
	default:
		fmt.Fprintf(p.stdout, "orphan: %s, %s, of %s\n", target, bytesText(o.TargetSize), key)
	}
	return nil
}

// confirmed asks whether results are to be deleted.
func (p *program) confirmed(ctx context.Context, sum scheduler.Orphans, target string) bool {
	return p.confirm(ctx, fmt.Sprintf("Delete %s, %s, from %s?", plural(sum.Orphans-sum.Left, "result"), bytesText(sum.Bytes), short(target)))
}

// confirm asks a question that is answered by yes or no.
func (p *program) confirm(ctx context.Context, question string) bool {
	answer := strings.ToLower(p.ask(ctx, question+" [y/N] "))
	return answer == "y" || answer == "yes"
}

// ask gives the line that answers a question, without the space around it; empty where nobody answers.
func (p *program) ask(ctx context.Context, question string) string {
	fmt.Fprint(p.stderr, question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(p.stdin).ReadString('\n')
		answer <- line
	}()
	select {
	case line := <-answer:
		return strings.TrimSpace(line)
	case <-ctx.Done():
		return ""
	}
}

// orphansEvent is the last line that --json prints.
type orphansEvent struct {
	Type    string `json:"type"` // "orphans"
	Target  string `json:"target"`
	Results int64  `json:"results"`
	Orphans int64  `json:"orphans"`
	Left    int64  `json:"left"`
	Missing int64  `json:"missing"`
	Bytes   int64  `json:"bytes"`
	Deleted int64  `json:"deleted"`
	Freed   int64  `json:"freed"`
}

// endOrphans prints the summary and gives the exit code.
func (p *program) endOrphans(target string, sum scheduler.Orphans, wanted bool, err error) error {
	var gone *scheduler.GoneError
	var not *storage.NotAllowedError
	switch {
	case errors.As(err, &gone):
		return fmt.Errorf("%w (--all-gone lists them all the same)", err)
	case errors.As(err, &not):
		return fmt.Errorf("%w (--source or --allow names it)", err)
	case errors.Is(err, scheduler.ErrLinks):
		return fmt.Errorf("%w (give --source and --copy-links)", err)
	case errors.Is(err, scheduler.ErrNoJob):
		return nothingf("nothing to do: no job in %s", short(target))
	case err != nil && sum.Deleted == 0:
		return err
	}
	if p.json {
		if err := p.emit(orphansEvent{"orphans", target, sum.Results, sum.Orphans, sum.Left, sum.Missing, sum.Bytes, sum.Deleted, sum.Freed}); err != nil {
			return err
		}
	} else if !p.quiet {
		table := [][]string{{"  results", countText(sum.Results)}, {"  orphans", countText(sum.Orphans) + ", " + bytesText(sum.Bytes)}}
		if sum.Left > 0 {
			table = append(table, []string{"  left", countText(sum.Left)})
		}
		if sum.Missing > 0 {
			table = append(table, []string{"  missing", countText(sum.Missing) + ", without source and without result"})
		}
		if wanted {
			table = append(table, []string{"  deleted", countText(sum.Deleted) + ", " + bytesText(sum.Freed)})
		}
		rows(p.stdout, table)
		if !wanted && sum.Orphans > sum.Left {
			fmt.Fprintln(p.stdout, "nothing was deleted: --delete does it")
		}
	}
	switch {
	case err != nil:
		return err
	case wanted && sum.Orphans > sum.Left && sum.Deleted == 0:
		return errors.New("nothing was deleted")
	case wanted && sum.Left > 0:
		return &exit{code: exitFailures}
	}
	return nil
}
