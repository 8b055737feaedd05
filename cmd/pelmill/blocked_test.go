package main

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/scheduler"
)

// A command gives up a job that is blocked and does not move for roomPatience,
// not one that has moved or was free meanwhile.
func TestFollowingABlockedJobEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w waiting
		look := func(cause jobs.Cause, objects int64) error {
			time.Sleep(roomPatience * 2 / 3)
			return w.over(scheduler.Status{Blocked: cause, Why: "why", State: jobs.StateRecord{Reason: "reason"}, Counts: jobs.Counts{Objects: objects}})
		}
		for i, c := range []struct {
			cause   jobs.Cause
			objects int64
		}{{jobs.BlockTarget, 5}, {jobs.BlockTarget, 5}, {"", 5}, {jobs.BlockTarget, 5}, {jobs.BlockRedis, 6}, {jobs.BlockRedis, 6}} {
			if err := look(c.cause, c.objects); err != nil {
				t.Errorf("look %d: %v", i, err)
			}
		}
		var blocked *blockedError
		if err := look(jobs.BlockRedis, 6); !errors.As(err, &blocked) || blocked.reason != "why" {
			t.Errorf("after %v without a change: %v", roomPatience, err)
		}
	})
}

func TestAFullRedisIsCode8(t *testing.T) {
	if got := code(t.Context(), fmt.Errorf("x: %w", queue.ErrFull)); got != exitUnreachable {
		t.Errorf("code %d", got)
	}
}
