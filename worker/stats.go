package worker

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pelmill/pelmill/internal/build"
	"github.com/pelmill/pelmill/queue"
)

// recentSeconds is the time that the rate of a worker is taken from.
const recentSeconds = 15

// recent counts the records of the last seconds.
type recent struct {
	mu    sync.Mutex
	total int64
	began time.Time                // of the first record
	count [recentSeconds + 1]int64 // by second, in a ring
	at    [recentSeconds + 1]int64 // the second that an element is of
}

func (r *recent) add(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.total++; r.began.IsZero() {
		r.began = now
	}
	second := now.Unix()
	i := second % int64(len(r.at))
	if r.at[i] != second {
		r.at[i], r.count[i] = second, 0
	}
	r.count[i]++
}

// rate gives all records, and those of late a second.
func (r *recent) rate(now time.Time) (total int64, rate float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.began.IsZero() {
		return 0, 0
	}
	var n int64
	for i, at := range r.at {
		if age := now.Unix() - at; age >= 0 && age <= recentSeconds {
			n += r.count[i]
		}
	}
	return r.total, float64(n) / min(recentSeconds, max(1, now.Sub(r.began).Seconds()))
}

// announced is what this worker says of itself to the queue.
func (w *Worker) announced() queue.Stats {
	s := queue.Stats{Version: build.Version(), Commit: build.Commit(), Device: w.device.Name(), CPU: w.opts.CPU,
		Cores: runtime.NumCPU(), Memory: residentMemory()}
	s.Objects, s.Rate = w.recent.rate(time.Now())
	return s
}

// residentMemory is the bytes of memory that this process holds; where the system does not say, what Go
// has taken.
func residentMemory() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if fields := strings.Fields(string(data)); err == nil && len(fields) > 1 {
		if pages, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			return pages * int64(os.Getpagesize())
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
