// Package allocated finds out whether a function takes too much memory, fast enough for fuzz targets. It is for tests only.
package allocated

import (
	"runtime"
	"runtime/metrics"
)

// least is the smallest bound that is looked at in the fast way. What that may miss is one span of objects of each size, as
// an allocator counts those when it takes the next span, and a bound's half is far more.
const least = 1 << 20

// MoreThan runs f and reports whether it takes more than so many bytes in total, which is at least what it holds at its peak,
// and how many. Stopping the world to count them exactly takes longer than most parsers do, so that f is counted in the
// fast way, and runs a second time where that comes near to the bound. Nothing else may allocate meanwhile.
func MoreThan(most uint64, f func()) (took uint64, more bool) {
	if most >= least {
		var now [1]metrics.Sample
		now[0].Name = "/gc/heap/allocs:bytes"
		metrics.Read(now[:])
		before := now[0].Value.Uint64()
		f()
		metrics.Read(now[:])
		if took = now[0].Value.Uint64() - before; took <= most/2 {
			return took, false
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	took = after.TotalAlloc - before.TotalAlloc
	return took, took > most
}
