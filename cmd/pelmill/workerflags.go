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
	fs.IntVar(&w.transfers, "transfers", 0, "objects fetched at once, and as many stored; 0 is 16, with several cards for each")
	memoryFlags(fs, &w.memory, &w.timeout)
}

// memoryFlags are those of every verb that decodes images.
func memoryFlags(fs *pflag.FlagSet, memory *size, timeout *time.Duration) {
	fs.Var(memory, "memory", "`SIZE` that the process keeps its memory to, within a fifth: objects wait for their share, and those that need more are rejected; in bytes or with K, M or G; 0 is half of the machine's")
	fs.DurationVar(timeout, "object-timeout", 0, "longest time for one picture; 0 is 10 minutes")
}

// Garbage may gather until there is as much of it as is in use, counted with a reserve that nobody touches: images of a few
// kilobytes keep so little in use that without it a sixth of the processor time goes into collections, and every page that a
// heap grows by is cleared by the kernel first, which for large images takes longer than collecting sooner.
const gcReserve = 64 << 20

// With little memory there is no reserve, and garbage may gather until it is so many percent of what is in use, as long as the
// limit of the memory is far.
const (
	reserveMemory = 16 * gcReserve // from which on there is one
	gcPercent     = 400
)

// reserve is the reserve of the process, which takes addresses and no memory.
var reserve []byte

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
	if os.Getenv("GOGC") == "" {
		if n < reserveMemory {
			debug.SetGCPercent(gcPercent)
		} else if reserve == nil {
			reserve = make([]byte, gcReserve)
		}
	}
	limit += int64(len(reserve))                      // the runtime takes it for memory in use
	if now := debug.SetMemoryLimit(-1); limit < now { // GOMEMLIMIT may be less
		debug.SetMemoryLimit(limit)
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
	return &worker.Options{Only: true, CPU: w.encoders, Fetchers: w.transfers, Memory: memory, ObjectTimeout: w.timeout}, nil
}
