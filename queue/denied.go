package queue

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"
)

// Side is the kind of process that does not do a job because it may not open a
// bucket that the job needs.
type Side string

// The sides of [Job.Deny].
const (
	Schedulers Side = "scheduler"
	Workers    Side = "worker"
)

// deniedTime is how long a denial is remembered after it was last said, so that
// nothing is left of a process that was set up otherwise since.
const deniedTime = 3 * time.Minute

// maxDenied bounds the reason of a denial in bytes.
const maxDenied = 1000

func deniedKey(job string, by Side) string { return jobKey(job, "denied:"+string(by)) }

// Deny says why a scheduler or worker does not do a job. It is kept in Redis
// because the process may not open the target, where the state of a job is.
func (j Job) Deny(ctx context.Context, by Side, reason string) error {
	if len(reason) > maxDenied {
		reason = strings.ToValidUTF8(reason[:maxDenied], "") + "..."
	}
	return fail("deny "+j.id, j.conn.rdb.Set(ctx, deniedKey(j.id, by), reason, deniedTime).Err())
}

// Admit takes back what Deny said.
func (j Job) Admit(ctx context.Context, by Side) error {
	return fail("admit "+j.id, j.conn.rdb.Del(ctx, deniedKey(j.id, by)).Err())
}

// Denied gives the reason of Deny as one printable line; empty where there is
// none.
func (j Job) Denied(ctx context.Context, by Side) (reason string, err error) {
	reason, err = j.conn.rdb.GetRange(ctx, deniedKey(j.id, by), 0, int64(maxDenied+len("..."))).Result()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	reason = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return '?'
	}, reason)
	return reason, fail("look up who denies "+j.id, err)
}
