package queue

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// hasty believes a lease that has expired an hour ago.
var hasty = reapRule{grace: time.Hour, silent: 24 * time.Hour}

func wantReap(t *testing.T, c *Conn, rule reapRule, want ReapReport) {
	t.Helper()
	if got, err := c.reap(t.Context(), rule); err != nil || got != want {
		t.Fatalf("reaped %+v, %v: want %+v", got, err, want)
	}
}

func testReap(t *testing.T, c *Conn) {
	ctx := t.Context()
	for i := range 8 {
		enqueue(t, c, 1, task(i))
	}
	now := time.Now()
	expired := activate(t, c, 1, now.Add(-2*time.Hour)) // 0
	activate(t, c, 1, now.Add(time.Hour))               // 1: alive
	activate(t, c, 1, now)                              // 2: just over, may still be renewed
	unleased := activate(t, c, 1, now.Add(time.Hour))   // 3
	hashless := activate(t, c, 1, now.Add(time.Hour))   // 4
	emptyHash := activate(t, c, 1, now.Add(time.Hour))  // 5
	c.Redis().ZRem(ctx, asynqKey(1, "lease"), unleased)
	c.Redis().Del(ctx, asynqKey(1, "t:"+hashless))
	c.Redis().HDel(ctx, asynqKey(1, "t:"+emptyHash), "msg")
	c.Redis().ZAdd(ctx, asynqKey(1, "lease"), redis.Z{Score: 1, Member: "nobody"})

	wantReap(t, c, hasty, ReapReport{Expired: 1, Unleased: 1, Broken: 2, Stray: 1})
	wantReap(t, c, hasty, ReapReport{})
	wantDepth(t, c, 1, Depth{Pending: 4, Active: 2})
	wantState(t, c, 1, task(0), "pending")
	wantState(t, c, 1, task(3), "pending")
	wantState(t, c, 1, task(4), "")
	wantState(t, c, 1, task(5), "")
	enqueue(t, c, 1, task(4), task(5)) // their ids are free again
	// What comes back is next, before what was never begun.
	if next := activate(t, c, 1, now); next != unleased && next != expired {
		t.Errorf("next is %s", next)
	}
}

// TestReapBelievesRedisClock: leases are written by the workers' clocks.
func TestReapBelievesRedisClock(t *testing.T) {
	t.Parallel()
	start := time.Now().Truncate(time.Second)
	tests := []struct {
		name   string
		skew   time.Duration // of the worker's clock
		alive  bool
		within time.Duration // its task is back; never before 30 s
	}{
		{"clocks agree, alive", 0, true, 0},
		{"clocks agree, dead", 0, false, 45 * time.Second},
		{"worker late by an hour, alive", -time.Hour, true, 0},
		{"worker late by an hour, dead", -time.Hour, false, 20 * time.Second},
		{"worker ahead by an hour, alive", time.Hour, true, 0},
		{"worker ahead by an hour, dead", time.Hour, false, 55 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := open(t, "")
			c.embedded.SetTime(start)
			enqueue(t, c, 0, task(0))
			id := activate(t, c, 0, start.Add(test.skew+30*time.Second))
			for d := time.Duration(0); d < 5*time.Minute; d += 5 * time.Second {
				c.embedded.SetTime(start.Add(d))
				if test.alive {
					lease := start.Add(test.skew + d + 30*time.Second)
					c.Redis().ZAddXX(t.Context(), asynqKey(0, "lease"), redis.Z{Score: float64(lease.Unix()), Member: id})
				}
				r, err := c.Reap(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if r.Expired > 0 {
					if test.alive {
						t.Fatalf("taken from a living worker after %v", d)
					}
					if d > test.within {
						t.Fatalf("taken after %v: want %v", d, test.within)
					}
					return
				}
			}
			if !test.alive {
				t.Fatal("not taken from a dead worker")
			}
		})
	}
}
