package queue

import (
	"context"
	"strconv"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// maxWait bounds what is believed of a wait, which anybody who can write to Redis could make.
const maxWait = time.Hour

// SetRates says what limits hold for all workers of a job together.
func (j Job) SetRates(ctx context.Context, r jobs.Rates) error {
	key := jobKey(j.id, "limits")
	if r == (jobs.Rates{}) {
		return fail("lift the limits of "+j.id, j.conn.rdb.Del(ctx, key).Err())
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	return fail("limit "+j.id, j.conn.rdb.HSet(ctx, key, "up", number(r.Up), "down", number(r.Down), "requests", number(r.Requests)).Err())
}

// Limited reports whether limits hold, so that [Job.Take] has to be called.
func (j Job) Limited(ctx context.Context) (bool, error) {
	n, err := j.conn.rdb.Exists(ctx, jobKey(j.id, "limits")).Result()
	return n > 0, fail("look up the limits of "+j.id, err)
}

// Take takes requests and bytes of the job's limits and gives how long to wait before they
// may be made. One round trip; what was taken first comes first, from whatever worker.
func (j Job) Take(ctx context.Context, requests int, down, up int64) (time.Duration, error) {
	us, err := takeScript.Run(ctx, j.conn.rdb, []string{jobKey(j.id, "limits")}, up, down, requests).Int64()
	if err != nil {
		return 0, fail("take of the limits of "+j.id, err)
	}
	return min(maxWait, time.Duration(us)*time.Microsecond), nil
}
