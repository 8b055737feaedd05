package main

import (
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/pflag"

	"github.com/pelmill/pelmill/worker"
)

// workerFlags say what the worker of this process may use; verbs that run one
// have them.
type workerFlags struct {
	encoders  int
	transfers int
	memory    size
	timeout   time.Duration
	trace     string // file of the timeline; only of verbs with traceFlag
}

func (w *workerFlags) flags(fs *pflag.FlagSet) {
	fs.IntVar(&w.encoders, "encoders", 0, "pictures encoded at once; 0 is one a core")
	fs.IntVar(&w.transfers, "transfers", 0, "objects fetched at once; 0 chooses")
	memoryFlags(fs, &w.memory, &w.timeout)
}

// memoryFlags are those of every verb that decodes images.
func memoryFlags(fs *pflag.FlagSet, memory *size, timeout *time.Duration) {
	fs.Var(memory, "memory", "`SIZE` that the process keeps its memory to, within a fifth: objects wait for their share, and those that need more are rejected; in bytes or with K, M or G; 0 is half of the machine's")
	fs.DurationVar(timeout, "object-timeout", 0, "longest time for one picture; 0 is 10 minutes")
}

// gcPercent is how much garbage may gather before it is collected, in percent of what is in
// use, as long as the limit of the memory is far. Images of a few kilobytes keep so little in
// use that with Go's 100 % a sixth of the processor time goes into collections.
const gcPercent = 400

// checkMemory checks the values of memoryFlags and returns the memory. It sets the limit
// of the collector by it, so that garbage is collected in time to stay within.
func checkMemory(memory size, timeout time.Duration) (int64, error) {
	switch {
	case timeout < 0:
		return 0, usagef("--object-timeout %v: want 0 or more", timeout)
	case memory != 0 && memory < worker.MinMemory:
		least := size(worker.MinMemory)
		return 0, usagef("--memory %s: want at least %s, as the program itself takes most of that", &memory, &least)
	}
	n := int64(memory)
	if n == 0 {
		n = worker.DefaultMemory()
	}
	limit := worker.RuntimeMemory(n)
	if now := debug.SetMemoryLimit(-1); limit < now { // GOMEMLIMIT may be less
		debug.SetMemoryLimit(limit)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	return n, nil
}

func (w *workerFlags) options() (*worker.Options, error) {
	switch {
	case w.encoders < 0:
		return nil, usagef("--encoders %d: want 0 or more", w.encoders)
	case w.transfers < 0:
		return nil, usagef("--transfers %d: want 0 or more", w.transfers)
	}
	memory, err := checkMemory(w.memory, w.timeout)
	if err != nil {
		return nil, err
	}
	return &worker.Options{CPU: w.encoders, Fetchers: w.transfers, Memory: memory, ObjectTimeout: w.timeout}, nil
}
