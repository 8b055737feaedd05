package main

import (
	"time"

	"github.com/pelmill/pelmill/worker"
	"github.com/spf13/pflag"
)

// workerFlags say what the worker of this process may use; verbs that run one
// have them.
type workerFlags struct {
	encoders  int
	transfers int
	memory    size
	timeout   time.Duration
}

func (w *workerFlags) flags(fs *pflag.FlagSet) {
	fs.IntVar(&w.encoders, "encoders", 0, "pictures encoded at once; 0 is one a core")
	fs.IntVar(&w.transfers, "transfers", 0, "objects fetched at once; 0 chooses")
	fs.Var(&w.memory, "memory", "memory for pictures, in bytes or with K, M or G; 0 is half of the machine's")
	fs.DurationVar(&w.timeout, "object-timeout", 0, "longest time for one picture; 0 chooses")
}

func (w *workerFlags) options() (*worker.Options, error) {
	switch {
	case w.encoders < 0:
		return nil, usagef("--encoders %d: want 0 or more", w.encoders)
	case w.transfers < 0:
		return nil, usagef("--transfers %d: want 0 or more", w.transfers)
	case w.timeout < 0:
		return nil, usagef("--object-timeout %v: want 0 or more", w.timeout)
	}
	return &worker.Options{CPU: w.encoders, Fetchers: w.transfers, Memory: int64(w.memory), ObjectTimeout: w.timeout}, nil
}
