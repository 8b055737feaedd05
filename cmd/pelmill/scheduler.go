package main

import (
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/api"
	"github.com/pelmill/pelmill/scheduler/page"
	"github.com/pelmill/pelmill/storage"
)

func (p *program) scheduler() *cobra.Command {
	c, web, notices := &cluster{p: p}, &apiFlags{}, &notifyFlags{}
	var window int
	var hashKeys bool
	var metricsListen string
	var tick time.Duration
	mem := size(1 << 30)
	cmd := &cobra.Command{
		Use:   "scheduler [DST...]",
		Short: "Drive the jobs of a cluster",
		Long: `List, plan, feed and finish the jobs that were submitted to --redis, and the
unfinished ones found in each DST, until a signal ends it. Any number of schedulers
may run: each job has one leader at a time, and another takes over within seconds.
Everything a job needs is in its target; a Redis that lost everything is filled again
from there, for each DST named here. It opens only buckets of the stores that it is
configured for, each DST, and what --allow names.

--listen serves the status page and, under /v1, the HTTP API: jobs, their results and progress, and what
the verbs about jobs do. Without --token-file or --client-ca it listens on loopback only.

--notify-secret-file has the secrets that sign the notifications of jobs submitted with --notify;
without it they wait for a scheduler that has them. They are tried for a day. Only public addresses
are connected to, with TLS, and those that --notify-allow names.

--metrics-listen serves /livez, /readyz, /metrics and /debug/pprof: queue depth, oldest chunk, window,
workers, and of the jobs that this scheduler leads state, objects, rate and time left.`,
		Example: "  pelmill scheduler --redis redis://queue:6379 s3://scans-vq",
		GroupID: groupServing,
		Args:    arguments(0, 1000),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.redis == "" {
				return usagef("scheduler needs --redis; pelmill compress has its own scheduler")
			}
			var targets []string
			var err error
			for _, a := range args {
				var t string
				if t, err = storage.Canonical(a); err != nil {
					return &exit{exitUsage, err}
				}
				targets = append(targets, t)
			}
			policy, err := c.allow.policy(targets...)
			if err != nil {
				return err
			}
			sender, err := notices.sender()
			if err != nil {
				return err
			}
			if err := c.open(cmd.Context()); err != nil {
				return err
			}
			defer c.close()
			c.buckets.Allow = policy
			log := p.logger(true)
			defer logSignal(cmd.Context(), log, "another scheduler takes over the jobs of this one")()
			opts := &scheduler.Options{Log: log, Tick: tick, Window: window, HashKeys: hashKeys, MetricsListen: metricsListen, Notify: sender}
			if opts.Memory, err = checkMemory(mem, 0); err != nil {
				return err
			}
			client := &scheduler.Client{Buckets: c.buckets, Conn: c.conn, Memory: opts.Memory}
			view := func(a *api.API) http.Handler { return page.New(a, client, &page.Options{Log: log, HashKeys: hashKeys}) }
			stop, err := web.open(client, &api.Options{Log: log, Targets: targets, Allow: policy, Prices: p.prices, Page: view})
			if err != nil {
				return err
			}
			defer stop()
			return served(cmd.Context(), scheduler.New(c.conn, c.buckets, opts).Run(cmd.Context(), targets...))
		},
	}
	c.flags(cmd.Flags())
	c.allow.flags(cmd.Flags())
	web.flags(cmd.Flags())
	notices.flags(cmd.Flags())
	p.pricesFlag(cmd.Flags())
	cmd.Flags().IntVar(&window, "window", 0, "most chunks of a job in Redis at once; 0 follows the number of workers")
	cmd.Flags().Var(&mem, "memory", "`SIZE` that the process keeps its memory to while it plans jobs, within a fifth, in bytes or with K, M or G")
	cmd.Flags().StringVar(&metricsListen, "metrics-listen", "", "`ADDRESS` for health, metrics and profiles, such as 127.0.0.1:9091")
	cmd.Flags().BoolVar(&hashKeys, "hash-keys", false, "put hashes in place of object keys into report.html and the status page, which then shows no pictures")
	cmd.Flags().DurationVar(&tick, "tick", 0, "time between looks at a job; 0 chooses")
	return cmd
}
