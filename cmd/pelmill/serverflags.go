package main

import (
	"context"
	"io"

	"github.com/spf13/pflag"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/api/client"
	"github.com/pelmill/pelmill/storage"
)

// engine answers what verbs about jobs ask: from the buckets and the queue, or by the API of a scheduler.
type engine interface {
	Submit(ctx context.Context, spec jobs.Spec, manifest io.Reader, format string) (jobs.Spec, error)
	DryRun(ctx context.Context, spec jobs.Spec, manifest io.Reader, format string) (jobs.Plan, error)
	Status(ctx context.Context, target, id string) (scheduler.Status, error)
	Plan(ctx context.Context, target, id string) (jobs.Plan, error)
	Report(ctx context.Context, target, id string) (jobs.Report, error)
	Results(ctx context.Context, target, id string, fn func(jobs.Result) error) error
	Known(ctx context.Context, target, id string, fn func(jobs.Result) error) error
	Control(ctx context.Context, target, id string, ctl jobs.Control) error
	Newest(ctx context.Context, target string) (string, error)
	List(ctx context.Context, target string) ([]scheduler.Summary, error)
	Overview(ctx context.Context, target string) ([]scheduler.Overview, error)
	OverviewOfQueue(ctx context.Context, allow *storage.Policy) ([]scheduler.Overview, error)
}

// serverFlags name the API of a scheduler, for verbs that need neither Redis nor the buckets then.
type serverFlags struct {
	url  string
	opts client.Options
}

func (f *serverFlags) flags(fs *pflag.FlagSet) {
	fs.StringVar(&f.url, "server", "", "`URL` of a scheduler's --listen, such as https://scheduler:8080, in place of --redis: then neither Redis nor the buckets are reached from here")
	fs.StringVar(&f.opts.TokenFile, "server-token-file", "", "`FILE` with the token for --server")
	fs.StringVar(&f.opts.CA, "server-ca", "", "`FILE` of the authorities that the certificate of --server may have, PEM; else those of the system")
	fs.StringVar(&f.opts.Cert, "server-cert", "", "`FILE` of a client certificate for --server, PEM")
	fs.StringVar(&f.opts.Key, "server-key", "", "`FILE` of its key, PEM")
}

// read takes the values of flags that another serverFlags has.
func (f *serverFlags) read(fs *pflag.FlagSet) {
	for name, to := range map[string]*string{"server": &f.url, "server-token-file": &f.opts.TokenFile, "server-ca": &f.opts.CA, "server-cert": &f.opts.Cert, "server-key": &f.opts.Key} {
		*to, _ = fs.GetString(name)
	}
}

// connected reports whether there is a cluster: by Redis or by a scheduler's API.
func (c *cluster) connected() bool { return c.redis != "" || c.server.url != "" }

// workers lists the workers of a cluster, and those that died within the last hour.
func (c *cluster) workers(ctx context.Context) (alive, gone []queue.WorkerInfo, err error) {
	if c.remote != nil {
		return c.remote.Workers(ctx)
	}
	if alive, err = c.conn.Workers(ctx); err == nil {
		gone, err = c.conn.GoneWorkers(ctx)
	}
	return alive, gone, err
}
