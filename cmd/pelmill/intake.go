package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/intake"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker"
)

// intakeFlags are the flags of intake beside those that say what is done.
type intakeFlags struct {
	options                    intake.Options
	webhook, tokenFile         string
	every, wait, quiet, settle time.Duration
	objects, keep              int
	hashKeys                   bool
}

func (f *intakeFlags) flags(fs *pflag.FlagSet) {
	fs.StringVar(&f.options.Events, "events", "", "take events of the store from this `QUEUE` ("+strings.Join(intake.Schemes(), "://, ")+"://); it may hold a secret, so better PELMILL_EVENTS than the command line")
	fs.StringVar(&f.webhook, "webhook", "", "take events of the store by POST at this `ADDRESS`, such as 127.0.0.1:9400")
	fs.StringVar(&f.tokenFile, "webhook-token-file", "", "`FILE` with the token that senders must show, as bearer or as password; without one only loopback is served")
	fs.DurationVar(&f.every, "every", 0, "time between two listings of SRC; 0 is 1h with events and 1m without")
	fs.IntVar(&f.objects, "batch-objects", intake.DefaultBatchObjects, "most objects of a batch")
	fs.DurationVar(&f.wait, "batch-wait", intake.DefaultBatchWait, "longest time that an object waits for others")
	fs.DurationVar(&f.quiet, "quiet-period", 0, "objects of a folder wait until nothing new came there for so long, at most ten times that, so that what belongs together is in one batch")
	fs.DurationVar(&f.settle, "settle", intake.DefaultSettle, "files of a folder that were changed a shorter time ago are left to the next listing, as somebody may still write them")
	fs.IntVar(&f.keep, "keep-last", intake.DefaultKeepLast, "ended batches that stay when older ones are pruned, as pelmill prune does; -1 prunes none")
	fs.BoolVar(&f.hashKeys, "hash-keys", false, "put hashes in place of object keys into the log and report.html of the work of this process")
	fs.StringVar(&f.options.Metrics, "metrics-listen", "", "`ADDRESS` for health, metrics and profiles, such as 127.0.0.1:9092")
}

// build checks the flags.
func (f *intakeFlags) build() (*intake.Options, error) {
	o := f.options
	switch {
	case f.every < 0 || f.wait <= 0 || f.quiet < 0 || f.settle < 0:
		return nil, usagef("--every %v, --batch-wait %v, --quiet-period %v, --settle %v: want nothing below 0, and some time to wait", f.every, f.wait, f.quiet, f.settle)
	case f.objects < 1 || f.objects > intake.MaxBatchObjects:
		return nil, usagef("--batch-objects %d: want 1 to %d", f.objects, intake.MaxBatchObjects)
	case f.keep == 0 || f.keep < -1:
		return nil, usagef("--keep-last %d: want 1 or more, or -1", f.keep)
	case f.tokenFile != "" && f.webhook == "":
		return nil, usagef("--webhook-token-file belongs to --webhook")
	}
	o.Every, o.BatchObjects, o.BatchWait, o.Quiet, o.Settle, o.KeepLast = f.every, f.objects, f.wait, f.quiet, f.settle, f.keep
	if o.Events != "" {
		if err := intake.CheckEvents(o.Events); err != nil {
			return nil, &exit{exitUsage, err}
		}
	}
	if f.webhook != "" {
		o.Webhook = &intake.Webhook{Address: f.webhook}
		if f.tokenFile != "" {
			var err error
			if o.Webhook.Token, err = readToken(f.tokenFile); err != nil {
				return nil, err
			}
		}
		if err := o.Webhook.Check(); err != nil {
			return nil, &exit{exitUsage, err}
		}
	}
	return &o, nil
}

// leastToken is the least length of a token in bytes: 16 random ones in hexadecimal have 32.
const leastToken = 16

// readToken reads a secret from a file of one line.
func readToken(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", usagef("--webhook-token-file: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return "", usagef("--webhook-token-file: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < leastToken || strings.ContainsAny(token, "\r\n") {
		return "", usagef("--webhook-token-file %s: want one line with at least %d bytes", file, leastToken)
	}
	return token, nil
}

func (p *program) intake() *cobra.Command {
	j, w, c, f, rf := &jobFlags{}, &workerFlags{}, &cluster{p: p}, &intakeFlags{}, &receiveFlags{}
	cmd := &cobra.Command{
		Use:   "intake SRC DST",
		Short: "Compress what arrives in a folder or bucket, for months",
		Long: `Compress each new object of SRC once, until a signal ends it. Events of the store (--events,
--webhook) tell of new objects at once; a listing of SRC at the start and then each --every finds what
no event told of, so that events may be lost, doubled or forged, and none are needed. New objects become
batches: ordinary jobs of DST, which pelmill status and report show, of as many objects as arrive within
--batch-wait, at most --batch-objects. An event is acknowledged when its batch is stored in DST.

Without --redis this process does the work; with it the cluster there does, whose schedulers should
name DST. It can be killed at any moment: started again it goes on with its batches, and the listing
finds the rest. One process serves a SRC and DST at a time.

Queues: nats://SUBJECT of the server in NATS_SERVER_URL, awssqs://sqs.REGION.amazonaws.com/ACCOUNT/QUEUE,
gcppubsub://projects/PROJECT/subscriptions/NAME, azuresb://TOPIC?subscription=NAME. Events are those of
Amazon S3 and what speaks like it (MinIO, versitygw, Ceph), also by SNS or EventBridge, of Google Cloud Storage
and of Azure Event Grid; scripts send {"key": "a/b.png"} or {"keys": [...]}.

--stow receives DICOM instances over HTTP (STOW-RS, POST /studies), --scp over associations (C-STORE, C-ECHO,
storage commitment) in every transfer syntax. SRC is then their spool: an instance becomes an object received/... of SRC, under a name made of hashes, and its sender is answered when its bytes
are stored there, synced and compared. The same instance again is a success that writes nothing; one with the
UID of another and other bytes is kept in .pelmill/quarantine/conflict/ of DST. What arrives, from whom and what
became of it is in .pelmill/intake/audit/ of DST. --spool-size and --spool-free bound what is kept; senders get
503 or A700 then. Originals stay in SRC: pelmill originals removes them, with a proof of its own; pelmill quarantine
lists what was not taken. With --audit a folder or bucket has the trail and the quarantine too.

--metrics-listen serves /livez, /readyz, /metrics (pelmill_intake_...) and /debug/pprof.`,
		Example: `  pelmill intake scans out --codec webp
  pelmill intake spool archive --codec jpeg2000 --stow :8042 --quiet-period 10m
  pelmill intake spool archive --codec jpeg2000 --scp 0.0.0.0:11112 --ae-title PELMILL --scp-peer CT1@10.0.0.5:104
  NATS_SERVER_URL=nats://queue:4222 pelmill intake s3://scans s3://scans-vq --codec vq --events nats://objects --redis redis://queue:6379`,
		GroupID: groupServing,
		Args:    arguments(2, 2),
		RunE: j.verb(func(ctx context.Context, spec jobs.Spec) error {
			opts, err := f.build()
			if err != nil {
				return err
			}
			if err := c.open(ctx); err != nil {
				return err
			}
			defer c.close()
			if c.buckets.Allow, err = storage.Only(spec.Source, spec.Target); err != nil {
				return &exit{exitUsage, err}
			}
			local, err := w.options()
			if err != nil {
				return err
			}
			local.HashKeys = f.hashKeys
			c.client.Memory = local.Memory
			opts.Log = p.logger(true)
			defer logSignal(ctx, opts.Log, "what is stored is followed by the next process")()
			sources, endReceive, err := rf.open(ctx, c.client, &spec, opts)
			if err != nil {
				return err
			}
			defer endReceive()
			local.LogKey = rf.logKey
			end, _ := p.announce("intake", "", spec.Source, spec.Target)
			defer end()
			if c.conn == nil {
				return served(ctx, p.intakeHere(ctx, c, spec, opts, local, sources...))
			}
			in, err := intake.New(ctx, c.client, spec, opts, sources...)
			if err != nil {
				return err
			}
			return served(ctx, in.Run(ctx))
		}),
	}
	j.work(cmd.Flags())
	j.settingsFlags.some(cmd.Flags(), "bwlimit", "tpslimit", "max-workers")
	w.flags(cmd.Flags())
	c.flags(cmd.Flags())
	f.flags(cmd.Flags())
	rf.flags(cmd.Flags())
	return cmd
}

// intakeHere runs an intake with a queue, a scheduler and a worker of its own.
func (p *program) intakeHere(ctx context.Context, c *cluster, spec jobs.Spec, opts *intake.Options, local *worker.Options, sources ...intake.Source) error {
	conn, err := queue.Open(ctx, "", nil)
	if err != nil {
		return err
	}
	c.conn, c.client.Conn = conn, conn // c closes it
	local.Device, local.Grace, local.Log, local.TestOnUse = spec.Device, localGrace, opts.Log, true
	wk, err := worker.New(conn, c.buckets, local)
	if err != nil {
		return err
	}
	opts.Lease = true
	in, err := intake.New(ctx, c.client, spec, opts, sources...)
	if err != nil {
		return err
	}
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	var mu sync.Mutex
	var failed error
	part := func(name string, run func() error) {
		running.Go(func() {
			defer cancel()
			if err := run(); err != nil && !errors.Is(err, context.Canceled) {
				mu.Lock()
				defer mu.Unlock()
				if failed == nil {
					failed = fmt.Errorf("%s: %w", name, err)
				}
			}
		})
	}
	part("scheduler", func() error {
		return scheduler.New(conn, c.buckets, &scheduler.Options{Log: opts.Log, Memory: local.Memory, HashKeys: local.HashKeys}).Run(run)
	})
	part("worker", func() error { return wk.Run(run) })
	part("intake", func() error { return in.Run(run) })
	running.Wait()
	return failed
}
