package scheduler

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pelmill/pelmill/queue"
)

// However often Redis goes away, its jobs are looked at again within seconds of its return; what fails for another reason
// is tried more and more rarely, until it has gone well for a while.
func TestDelays(t *testing.T) {
	t.Parallel()
	away := fmt.Errorf("queue: read progress: %w: connection refused", queue.ErrUnreachable)
	var outages, failures delays
	for n := range 10 {
		if got := outages.after(away, time.Second); got > mostOffline {
			t.Errorf("outage %d: the job waits for %v, want at most %v", n, got, mostOffline)
		}
		want := min(firstDelay<<n, mostDelay)
		if got := failures.after(errors.New("other"), time.Second); got != want {
			t.Errorf("failure %d: the job waits for %v, want %v", n, got, want)
		}
	}
	if got := failures.after(errors.New("other"), 2*mostDelay); got != firstDelay {
		t.Errorf("after a long time without an error the job waits for %v, want %v", got, firstDelay)
	}
}
