package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/queue"
)

// run parses args, runs the verb they name and returns the exit code. An error
// is one line on stderr.
func (p *program) run(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(args)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	err := root.ExecuteContext(ctx)
	var e *exit
	if err != nil && !(errors.As(err, &e) && e.err == nil) {
		fmt.Fprintf(p.stderr, "pelmill: %s\n", sentence(err))
	}
	return code(ctx, err)
}

// The groups of verbs in the help.
const (
	groupData    = "data"
	groupJobs    = "jobs"
	groupServing = "serving"
)

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "pelmill",
		Short: "Compress images in bulk, and prove every result",
		Long: `pelmill compresses images in bulk: from a folder or bucket to another one, with
every result decoded and compared before it counts, and a report at the end.

SRC and DST are paths or URLs: photos, file:///srv/photos, s3://bucket/prefix,
gs://bucket/prefix, azblob://container/prefix, mem://name.

Every flag can also be set by a variable (PELMILL_MIN_SIZE for --min-size,
commas between values of a repeated flag) or by a key of the YAML file of --config
(min-size: 10K). Flags win over variables, variables over the file.

` + exitHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				known := map[string]bool{}
				for _, c := range cmd.Commands() {
					known[c.Name()] = true
				}
				return usagef("unknown verb %q%s (pelmill --help lists them)", args[0], nearest(args[0], known))
			}
			return usagef("no verb (pelmill --help lists them)")
		},
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			err := p.bind(cmd)
			queue.Log(nil)
			if redis := cmd.Flags().Lookup("redis"); redis != nil && redis.Value.String() != "" {
				queue.Log(p.logger(false))
			}
			if err == nil {
				p.warnUnknown(cmd.Root())
			}
			return err
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w (%s --help lists the flags)", err, cmd.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.StringVar(&p.configFile, "config", "", "YAML `FILE` with settings; keys are names of flags")
	flags.Var(&p.s3Endpoint, "s3-endpoint", "where s3:// buckets are, such as http://minio:9000, unless their URL says otherwise; credentials and region come from the environment")
	flags.BoolVar(&p.json, "json", false, "print one JSON object per line on standard output")
	flags.BoolVarP(&p.quiet, "quiet", "q", false, "no progress and no summary, only errors")
	flags.BoolVarP(&p.verbose, "verbose", "v", false, "say more: every object, every log line")
	root.AddGroup(
		&cobra.Group{ID: groupData, Title: "Pictures:"},
		&cobra.Group{ID: groupJobs, Title: "Jobs on a cluster:"},
		&cobra.Group{ID: groupServing, Title: "Running and checking:"},
	)
	root.SetHelpCommandGroupID(groupServing)
	root.SetCompletionCommandGroupID(groupServing)
	root.AddCommand(
		p.compress(), p.decompress(), p.inspect(), p.verify(), p.train(),
		p.submit(), p.plan(), p.start(), p.status(), p.jobs(), p.workers(), p.watch(), p.pause(), p.resume(), p.cancel(), p.set(), p.retry(), p.report(), p.prune(), p.orphans(), p.removeSources(), p.quarantine(), p.originals(),
		p.scheduler(), p.worker(), p.intake(), p.codecs(), p.doctor(), p.health(), p.version(),
	)
	p.completions(root)
	return root
}

// arguments checks the number of positional arguments of a verb.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("%s: want %s", cmd.Name(), strings.TrimSuffix(cmd.UseLine(), " [flags]"))
		case len(args) > most:
			return usagef("%s: %q is one argument too many: want %s", cmd.Name(), args[most], strings.TrimSuffix(cmd.UseLine(), " [flags]"))
		}
		return nil
	}
}

// logger writes what happens to stderr: warnings, with -v everything, with -q
// errors only. A serving verb also says the ordinary events.
func (p *program) logger(serving bool) *slog.Logger { return p.loggerTo(p.stderr, serving) }

func (p *program) loggerTo(w io.Writer, serving bool) *slog.Logger {
	level := slog.LevelWarn
	switch {
	case p.quiet:
		level = slog.LevelError
	case p.verbose:
		level = slog.LevelDebug
	case serving:
		level = slog.LevelInfo
	}
	opts := &slog.HandlerOptions{Level: level}
	if p.json {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
