package main

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/pelmill/pelmill/worker"
)

// With little memory garbage may gather to four times what is in use; with more there is a reserve, which the limit of the runtime
// does not count against the process. GOGC decides alone.
func TestGarbageByMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	defer func() { reserve = nil }()
	check := func(what string, memory, limit int64, percent, kept int) {
		t.Helper()
		reserve = nil
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(math.MaxInt64)
		if _, err := checkMemory(size(memory), 0); err != nil {
			t.Fatal(err)
		}
		now := debug.SetGCPercent(100)
		if l := debug.SetMemoryLimit(-1); now != percent || len(reserve) != kept || l != limit {
			t.Errorf("%s: %d %%, a reserve of %d bytes, a limit of %d; want %d, %d and %d", what, now, len(reserve), l, percent, kept, limit)
		}
	}
	t.Setenv("GOGC", "")
	check("512 MiB", 512<<20, worker.RuntimeMemory(512<<20), gcPercent, 0)
	check("1 GiB", 1<<30, worker.RuntimeMemory(1<<30)+gcReserve, 100, gcReserve)
	t.Setenv("GOGC", "100")
	check("GOGC", 1<<30, worker.RuntimeMemory(1<<30), 100, 0)
}
