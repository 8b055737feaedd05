package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pelmill/pelmill/jobs"
)

// maxWait bounds what is believed of a wait, which anybody who can write to Redis could make.
const maxWait = time.Hour

// SetRates says what limits hold for all workers of a job together. New ones hold at once,
// whatever was taken of those before.
func (j Job) SetRates(ctx context.Context, r jobs.Rates) error {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	err := limitScript.Run(ctx, j.conn.rdb, []string{jobKey(j.id, "limits")}, number(r.Up), number(r.Down), number(r.Requests)).Err()
	return fail("limit "+j.id, err)
}

// LimitedSince is since when the limits hold that hold now, so that [Job.Take] has to be called:
// microseconds, and the more, the later they were set. 0: none holds.
func (j Job) LimitedSince(ctx context.Context) (int64, error) {
	since, err := j.conn.rdb.HGet(ctx, jobKey(j.id, "limits"), "since").Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return since, fail("look up the limits of "+j.id, err)
}

// Take takes requests and bytes of the job's limits and gives how long to wait before they
// may be made, and since when these limits hold: under later ones it has to be taken again.
// One round trip; what was taken first comes first, from whatever worker.
func (j Job) Take(ctx context.Context, requests int, down, up int64) (wait time.Duration, since int64, err error) {
	what := "take of the limits of " + j.id
	answer, err := takeScript.Run(ctx, j.conn.rdb, []string{jobKey(j.id, "limits")}, up, down, requests).Int64Slice()
	if err == nil && len(answer) != 2 {
		err = fmt.Errorf("%d numbers: want 2", len(answer))
	}
	if err != nil {
		return 0, 0, fail(what, err)
	}
	return min(maxWait, time.Duration(answer[0])*time.Microsecond), answer[1], nil
}
