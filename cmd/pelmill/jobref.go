package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/api/client"
	"github.com/pelmill/pelmill/scheduler/notify"
	"github.com/pelmill/pelmill/storage"
)

const jobRefHelp = `The job is named by its target and its id, by the target alone (the newest job
there), or by its id alone with --server, or with --redis while it has not ended.`

// cluster is what verbs about jobs need: the buckets and, where --redis is
// given, the queue.
type cluster struct {
	p       *program
	allow   allowFlag // of verbs that have --allow
	redis   string
	buckets *storage.Buckets
	conn    *queue.Conn // nil without --redis
	client  *scheduler.Client
	notify  *notify.Sender // of jobs that this process does itself; nil: none
	server  serverFlags    // of verbs that have --server
	remote  *client.Client // nil without it
	jobs    engine         // client, or remote
}

func (c *cluster) flags(fs *pflag.FlagSet) {
	fs.StringVar(&c.redis, "redis", "", "Redis `URL`: redis://, rediss://, redis-sentinel:// or redis-cluster://; better in PELMILL_REDIS than here if it has a password")
}

// open connects to Redis where --redis is given and prepares the buckets. The
// caller closes c.
func (c *cluster) open(ctx context.Context) error {
	if c.server.url != "" {
		if c.redis != "" {
			return usagef("--server and --redis cannot be given together: the scheduler knows its Redis")
		}
		remote, err := client.New(c.server.url, &c.server.opts)
		if err != nil {
			return &exit{exitUsage, err}
		}
		c.remote = remote
	}
	if c.redis != "" {
		conn, err := queue.Open(ctx, c.redis, nil)
		if err != nil {
			return err
		}
		c.conn = conn
	}
	c.buckets = c.p.newBuckets()
	c.client = &scheduler.Client{Buckets: c.buckets, Conn: c.conn}
	if c.jobs = c.client; c.remote != nil {
		c.jobs = c.remote
	}
	return nil
}

func (c *cluster) close() {
	if c.buckets != nil {
		c.buckets.Close()
	}
	if c.conn != nil {
		c.conn.Close()
	}
	if c.remote != nil {
		c.remote.Close()
	}
}

// ref is a job: where its folder is, and its id.
type ref struct{ target, id string }

// jobOf finds the job that the arguments name: DST, DST JOB, or JOB with
// --redis. "./20060102-150405-abcd" is a folder, not an id.
func (c *cluster) jobOf(ctx context.Context, args []string) (ref, error) {
	if len(args) == 2 {
		if !jobs.ValidID(args[1]) {
			return ref{}, usagef("%q is not a job's id; ids look like 20060102-150405-abcd", args[1])
		}
		target, err := storage.Canonical(args[0])
		if err != nil {
			return ref{}, &exit{exitUsage, err}
		}
		return ref{target, args[1]}, nil
	}
	if jobs.ValidID(args[0]) && c.remote != nil {
		target, err := c.remote.Target(ctx, args[0])
		return ref{target, args[0]}, err
	}
	if jobs.ValidID(args[0]) {
		if c.conn == nil {
			return ref{}, usagef("job %s: name its target too, or --redis or --server to look it up", args[0])
		}
		target, err := c.conn.Job(args[0]).Target(ctx)
		if err != nil {
			return ref{}, err
		}
		if target == "" {
			return ref{}, fmt.Errorf("job %s: not known to this Redis, which forgets jobs that have ended; name its target too", args[0])
		}
		policy, err := c.allow.policy()
		if err == nil {
			err = policy.Check(target)
		}
		if err != nil {
			return ref{}, fmt.Errorf("job %s: its target is what Redis says, and %w (name it on the command line, or --allow it)", args[0], err)
		}
		return ref{target, args[0]}, nil
	}
	target, err := storage.Canonical(args[0])
	if err != nil {
		return ref{}, &exit{exitUsage, err}
	}
	id, err := c.jobs.Newest(ctx, target)
	return ref{target, id}, err
}

// jobVerb makes a verb that acts on one job.
func (p *program) jobVerb(use, short, long string, act func(cmd *cobra.Command, c *cluster, r ref) error) *cobra.Command {
	c := &cluster{p: p}
	cmd := &cobra.Command{
		Use:     use,
		Short:   short,
		Long:    long + "\n\n" + jobRefHelp,
		GroupID: groupJobs,
		Args:    arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.open(cmd.Context()); err != nil {
				return err
			}
			defer c.close()
			r, err := c.jobOf(cmd.Context(), args)
			if err != nil {
				return err
			}
			return act(cmd, c, r)
		},
	}
	c.flags(cmd.Flags())
	c.server.flags(cmd.Flags())
	c.allow.flags(cmd.Flags())
	return cmd
}
