package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/worker"
)

func (p *program) worker() *cobra.Command {
	c, w := &cluster{p: p}, &workerFlags{}
	var device, metricsListen string
	var chunks int
	var grace time.Duration
	var hashKeys bool
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Do the chunks of a cluster's jobs",
		Long: `Take chunks from --redis and do them until a signal ends it. SIGTERM and SIGINT stop
taking, finish what can be finished within --grace and hand the rest back; a second
signal ends at once, and other workers do the rest about a minute later.

It opens only buckets of the stores that it is configured for, or what --allow names:
whoever can write to Redis cannot send it elsewhere.

--metrics-listen serves /livez, /readyz, /metrics and /debug/pprof.`,
		Example: "  pelmill worker --redis redis://queue:6379 --metrics-listen 127.0.0.1:9090",
		GroupID: groupServing,
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.redis == "" {
				return usagef("worker needs --redis; pelmill compress has its own worker")
			}
			if err := checkDevice(device); err != nil {
				return err
			}
			opts, err := w.options()
			if err != nil {
				return err
			}
			if chunks < 0 || grace < 0 {
				return usagef("--chunks %d, --grace %v: want 0 or more", chunks, grace)
			}
			policy, err := c.allow.policy()
			if err != nil {
				return err
			}
			if err := c.open(cmd.Context()); err != nil {
				return err
			}
			defer c.close()
			c.buckets.Allow = policy
			opts.Device, opts.Chunks, opts.Grace, opts.MetricsListen, opts.HashKeys = device, chunks, grace, metricsListen, hashKeys
			opts.Log = p.logger(true)
			defer logSignal(cmd.Context(), opts.Log, "chunks at work end or are handed back")()
			trace, end, err := openTrace(w.trace)
			if err != nil {
				return err
			}
			opts.Trace = trace
			wk, err := worker.New(c.conn, c.buckets, opts)
			if err != nil {
				return end(err)
			}
			return end(served(cmd.Context(), wk.Run(cmd.Context())))
		},
	}
	c.flags(cmd.Flags())
	c.allow.flags(cmd.Flags())
	w.flags(cmd.Flags())
	traceFlag(cmd.Flags(), &w.trace)
	flags := cmd.Flags()
	flags.StringVar(&device, "device", "auto", "`DEVICE` that encodes: auto, cpu, cuda or cuda:N")
	flags.IntVar(&chunks, "chunks", 0, "chunks at work at once; 0 chooses")
	flags.DurationVar(&grace, "grace", worker.DefaultGrace, "longest time from a signal to the end")
	flags.StringVar(&metricsListen, "metrics-listen", "", "`ADDRESS` for health, metrics and profiles, such as 127.0.0.1:9090")
	flags.BoolVar(&hashKeys, "hash-keys", false, "log hashes in place of object keys")
	return cmd
}

// logSignal has a log line written when a signal ends ctx. The caller calls stop once, when
// there is nothing more to end.
func logSignal(ctx context.Context, log *slog.Logger, then string) (stop func()) {
	return whenEnded(ctx, func() {
		var came *interrupted
		if errors.As(context.Cause(ctx), &came) {
			log.Info("a signal came: "+then, "signal", came.signal.String())
		}
	})
}

// whenEnded has say called when ctx ends. The caller calls stop once: a process that ends
// quickly would otherwise be gone before say has run, so stop waits for it.
func whenEnded(ctx context.Context, say func()) (stop func()) {
	said := make(chan struct{})
	off := context.AfterFunc(ctx, func() {
		defer close(said)
		say()
	})
	return func() {
		if !off() {
			<-said
		}
	}
}

// served is the end of a verb that runs until a signal: being asked to stop by
// SIGTERM is no error, an interrupt from the keyboard has its exit code.
func served(ctx context.Context, err error) error {
	var signal *interrupted
	if !errors.As(context.Cause(ctx), &signal) {
		return err
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if signal.signal == os.Interrupt {
		return &exit{code: exitInterrupted}
	}
	return nil
}
