package main

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/intake"
	"github.com/pelmill/pelmill/scheduler/intake/dimse"
	"github.com/pelmill/pelmill/scheduler/intake/instances"
	"github.com/pelmill/pelmill/scheduler/intake/stow"
	"github.com/pelmill/pelmill/scheduler/tokens"
)

// receiveFlags say how an intake receives DICOM instances over a network.
type receiveFlags struct {
	stow      stow.Options
	tokenFile string
	scp       dimse.Options
	peers     []string
	audit     bool
	budget    size
	free      size
	largest   size

	logKey func(key string) string // how a key appears in the log; nil: as it is
}

func (f *receiveFlags) flags(fs *pflag.FlagSet) {
	fs.StringVar(&f.stow.Address, "stow", "", "receive DICOM instances over HTTP (STOW-RS) at this `ADDRESS`, such as :8042 for loopback, into SRC")
	fs.StringVar(&f.tokenFile, "stow-token-file", "", "`FILE` of those who may send over HTTP, a line each: store, the SHA-256 of a token, a name; without one only loopback is served")
	fs.StringVar(&f.stow.Cert, "stow-tls-cert", "", "`FILE` of the certificate of --stow, PEM")
	fs.StringVar(&f.stow.Key, "stow-tls-key", "", "`FILE` of its key, PEM")
	fs.StringVar(&f.scp.Address, "scp", "", "receive DICOM instances over associations (C-STORE, C-ECHO, storage commitment) at this `ADDRESS`, such as :11112 for loopback, into SRC")
	fs.StringVar(&f.scp.Title, "ae-title", "", "AE title of --scp, which peers must call; without it any that they call, and "+dimse.DefaultTitle+" is its own")
	fs.StringSliceVar(&f.peers, "scp-peer", nil, "who may send over associations: `TITLE`[@HOST[:PORT]], by AE title and address; results of storage commitment go to PORT. May be repeated; without one only loopback is served")
	fs.IntVar(&f.scp.Associations, "scp-associations", dimse.DefaultAssociations, "most associations at once")
	auditFlag(fs, &f.audit, "; --stow and --scp do so anyway")
	f.budget, f.free, f.largest = size(0), size(1<<30), size(instances.DefaultMostBytes)
	fs.Var(&f.budget, "spool-size", "most bytes of received instances in SRC and in quarantine; senders are told to try again beyond; 0 is no limit")
	fs.Var(&f.free, "spool-free", "bytes of the disk that stay free where SRC is a folder")
	fs.Var(&f.largest, "instance-size", "most bytes of an instance")
}

// check refuses flags that belong to others, and peers that are none.
func (f *receiveFlags) check() error {
	switch {
	case f.stow.Address == "" && (f.tokenFile != "" || f.stow.Cert != "" || f.stow.Key != ""):
		return usagef("--stow-token-file, --stow-tls-cert and --stow-tls-key belong to --stow")
	case f.scp.Address == "" && (f.scp.Title != "" || len(f.peers) > 0):
		return usagef("--ae-title and --scp-peer belong to --scp")
	case f.scp.Associations < 1:
		return usagef("--scp-associations %d: want at least 1", f.scp.Associations)
	}
	for _, text := range f.peers {
		p, err := dimse.ParsePeer(text)
		if err != nil {
			return usagef("--scp-peer: %w", err)
		}
		f.scp.Peers = append(f.scp.Peers, p)
	}
	return nil
}

// open makes the sources of an intake that receive. The caller calls end.
func (f *receiveFlags) open(ctx context.Context, client *scheduler.Client, spec *jobs.Spec, opts *intake.Options) (sources []intake.Source, end func(), err error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	if f.stow.Address == "" && f.scp.Address == "" && !f.audit {
		return nil, func() {}, nil
	}
	if f.stow.Address != "" || f.scp.Address != "" {
		// Results that are DICOM files have the keys of their sources, and an original is never replaced.
		if jobs.SameSource(spec.Source, spec.Target) {
			return nil, nil, usagef("--stow and --scp keep originals in SRC, which DST cannot be: choose another folder or bucket")
		}
	}
	buckets, log := client.Buckets, opts.Log
	spool, err := buckets.Open(ctx, spec.Source)
	if err != nil {
		return nil, nil, err
	}
	target, err := buckets.Open(ctx, spec.Target)
	if err != nil {
		return nil, nil, err
	}
	limits := &instances.Options{MostBytes: int64(f.largest), Budget: int64(f.budget), Floor: int64(f.free)}
	if dir := spool.Dir(); dir != "" {
		limits.Free = func() int64 {
			n, err := freeSpace(dir)
			if err != nil { // not known on this system
				return 1 << 62
			}
			return n
		}
	}
	store, err := instances.Open(ctx, spool, target, limits)
	if err != nil {
		return nil, nil, err
	}
	// Names of objects may be those of patients; what was received has a name made of hashes.
	opts.Private, opts.Collectors = true, store.Collectors()
	f.logKey = func(key string) string {
		if _, ok := instances.Series(key); ok {
			return key
		}
		return store.Hash("key", key)
	}
	opts.Ended = func(ctx context.Context, job string) error { return auditJob(ctx, client, store, target.URL, job) }
	f.stow.Log, f.scp.Log = log, log
	if f.tokenFile != "" {
		f.stow.Tokens, err = tokens.Read(f.tokenFile, []string{stow.RoleStore}, func(err error) { log.Warn("tokens are those of before", "error", err) })
		if err != nil {
			return nil, nil, errors.Join(&exit{exitUsage, err}, store.Close())
		}
	}
	if f.stow.Address != "" {
		server, err := stow.New(store, f.stow)
		if err != nil {
			return nil, nil, errors.Join(&exit{exitUsage, err}, store.Close())
		}
		sources = append(sources, server)
	}
	if f.scp.Address != "" {
		server, err := dimse.New(store, f.scp)
		if err != nil {
			return nil, nil, errors.Join(&exit{exitUsage, err}, store.Close())
		}
		sources = append(sources, server)
	}
	watching, cancel := context.WithCancel(ctx)
	go store.Watch(watching, func(err error) { log.Warn("the spool cannot be counted", "error", err) })
	return sources, func() {
		cancel()
		if err := store.Close(); err != nil {
			log.Error("the audit trail cannot be ended", "error", err)
		}
	}, nil
}
