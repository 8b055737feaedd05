package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

// endpoint is the value of --s3-endpoint.
type endpoint string

func (e *endpoint) Type() string   { return "URL" }
func (e *endpoint) String() string { return string(*e) }

func (e *endpoint) Set(text string) error {
	url, err := storage.ParseEndpoint(text)
	*e = endpoint(url)
	return err
}

// newBuckets opens what the command line names, at the configured endpoint.
func (p *program) newBuckets() *storage.Buckets {
	b := storage.NewBuckets()
	b.S3Endpoint = string(p.s3Endpoint)
	return b
}

// allowFlag says what may be opened when the URL comes from Redis or a job's
// folder; verbs that take URLs from there have it.
type allowFlag struct{ prefixes []string }

func (a *allowFlag) flags(fs *pflag.FlagSet) {
	fs.StringArrayVar(&a.prefixes, "allow", nil, "open, of what Redis and jobs name, only what is under `PREFIX`: a folder, or a bucket URL with exactly these parameters; may be repeated. Without it: s3://, gs:// and azblob:// URLs without parameters")
}

// sources is the flag of verbs that open, in this process, the sources that a job's folder names.
func (a *allowFlag) sources(fs *pflag.FlagSet) {
	fs.StringArrayVar(&a.prefixes, "allow", nil, "open sources under `PREFIX` as well, a folder or a bucket URL with exactly these parameters; may be repeated. Those in the store of DST are opened anyway")
}

// policy is what --allow says, beside the places that the command line names
// otherwise.
func (a *allowFlag) policy(named ...string) (*storage.Policy, error) {
	policy := storage.Plain()
	if len(a.prefixes) > 0 {
		var err error
		if policy, err = storage.Only(a.prefixes...); err != nil {
			return nil, usagef("--allow: %w", err)
		}
	}
	policy, err := policy.Plus(named...)
	if err != nil {
		return nil, &exit{exitUsage, err}
	}
	return policy, nil
}

// onlyNamed lets buckets open the target, what is in its store, the source unless it is empty, and what --allow says: the
// sources that records name must be there.
func (a *allowFlag) onlyNamed(buckets *storage.Buckets, target, source string) error {
	store, err := storage.Store(target)
	if err != nil {
		return err
	}
	named := []string{target, store}
	if source != "" {
		named = append(named, source)
	}
	if buckets.Allow, err = storage.Only(append(named, a.prefixes...)...); err != nil {
		return usagef("--allow: %w", err)
	}
	return nil
}

// hintAllow says at a submission what schedulers and workers will not open on
// their own.
func (p *program) hintAllow(spec jobs.Spec) {
	for _, url := range []string{spec.Source, spec.Target} {
		if !storage.IsPlain(url) {
			p.hint("schedulers and workers open it only with --allow " + shellQuote(url))
		}
	}
}

// refused is the error of a job that its schedulers do not do; nil where they do.
func refused(s scheduler.Status, id string) error {
	if s.State.State != jobs.StateRefused {
		return nil
	}
	return fmt.Errorf("job %s is refused: %s (--allow says what may be opened; on a cluster that of pelmill scheduler and pelmill worker)", id, s.Why)
}
