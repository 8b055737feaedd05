package worker

import (
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/pelmill/pelmill/jobs"
)

// Lines about objects that the log takes: a broken archive must not fill a disk.
const (
	failureLines = 50                     // at once
	failureEvery = 200 * time.Millisecond // and then
)

// failureLog bounds the lines about objects that failed or were rejected. The zero value has
// to be started.
type failureLog struct {
	limit   *rate.Limiter
	leftOut atomic.Int64 // since the last line
}

func newFailureLog() failureLog {
	return failureLog{limit: rate.NewLimiter(rate.Every(failureEvery), failureLines)}
}

// logResult writes a line for an object that failed or was rejected, unless somebody else
// shows results. It never has more of the source than its name.
func (w *Worker) logResult(job string, r *jobs.Result) {
	if r.Error == "" {
		return
	}
	bad := r.Outcome == jobs.OutcomeFailed || r.Outcome == jobs.OutcomeRejected
	key := r.KeyHash
	if key == "" || w.opts.LogKey != nil {
		key = w.logKey(r.Key, r.SourceFormat)
	}
	attrs := []any{"job", job, "key", key, "outcome", string(r.Outcome), "class", r.Class}
	if key == r.Key { // else the text may have the key
		attrs = append(attrs, "error", r.Error)
	}
	switch {
	case !bad || w.opts.OnResult != nil:
		w.log.Debug("object not compressed", attrs...)
	case !w.failures.limit.Allow():
		w.failures.leftOut.Add(1)
	default:
		if n := w.failures.leftOut.Swap(0); n > 0 {
			attrs = append(attrs, "left_out_before", n)
		}
		w.log.Warn("object "+string(r.Outcome), attrs...)
	}
}

// outcomes is how many objects of the chunk came to what, for the log.
func (c *chunk) outcomes() []any {
	c.mu.Lock()
	defer c.mu.Unlock()
	var attrs []any
	for name, value := range c.counts.Outcomes() {
		if value > 0 {
			attrs = append(attrs, slog.Int64(string(name), value))
		}
	}
	return attrs
}
