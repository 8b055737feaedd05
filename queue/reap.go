package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// ReapReport is what [Conn.Reap] found and repaired.
type ReapReport struct {
	Expired  int // tasks of workers that stopped renewing their lease: pending again
	Unleased int // active tasks without a lease: pending again
	Broken   int // ids without a task behind them: removed
	Stray    int // leases of tasks that are not active: removed
	Due      int // tasks whose delay was over and that no worker had moved: pending again
}

// Total is how much was repaired, which is everything but Due.
func (r ReapReport) Total() int { return r.Expired + r.Unleased + r.Broken + r.Stray }

// reapRule is when a lease counts as abandoned. asynq's workers renew every 5 s
// for 30 s, by their own clocks.
type reapRule struct {
	grace  time.Duration // it expired so long ago
	steady time.Duration // ... and did not change for so long, by Redis' clock: a living worker whose clock is late renews
	silent time.Duration // or it did not change for so long, whatever it says: a dead worker whose clock was ahead
}

var defaultReapRule = reapRule{grace: 5 * time.Second, steady: 12 * time.Second, silent: 45 * time.Second}

// Reap puts tasks of dead workers back to the head of their queue, which does
// not count as a retry, and removes broken entries, in all four queues. asynq's
// own recovery takes up to two minutes, counts as a failure, and does not see
// entries that have no lease or no task. It also moves what is due again, which
// otherwise only workers do: a task handed back by the last worker to leave is
// pending for whoever starts new ones. Called every 5 to 10 seconds by one or
// more schedulers, it brings a task back 30 to 40 seconds after its worker was
// killed. Called for the first time, it wants to see a lease unchanged for 12
// seconds before it believes that its worker is dead.
func (c *Conn) Reap(ctx context.Context) (ReapReport, error) {
	return c.reap(ctx, defaultReapRule)
}

func (c *Conn) reap(ctx context.Context, rule reapRule) (ReapReport, error) {
	var total ReapReport
	for priority := range jobs.Priorities {
		keys := []string{
			asynqKey(priority, "active"), asynqKey(priority, "lease"), asynqKey(priority, "pending"),
			"pelmill:{" + queueName(priority) + "}:leases", asynqKey(priority, "retry"),
		}
		n, err := reapScript.Run(ctx, c.rdb, keys, asynqKey(priority, "t:"),
			int(rule.grace.Seconds()), int(rule.steady.Seconds()), int(rule.silent.Seconds())).Int64Slice()
		if err != nil {
			return total, fail(fmt.Sprintf("reap priority %d", priority), err)
		}
		if len(n) != 5 {
			return total, fmt.Errorf("queue: reap priority %d: %d numbers: want 5", priority, len(n))
		}
		total.Expired += int(n[0])
		total.Unleased += int(n[1])
		total.Broken += int(n[2])
		total.Stray += int(n[3])
		total.Due += int(n[4])
	}
	return total, nil
}
