package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Lead takes the lock of that name for holder, or renews it where holder has it.
// ok is false while somebody else holds it. It lasts for ttl; a leader renews
// it several times within that and stops leading when it cannot. holder must be
// unique to the caller: host, process and a random part.
//
// fence rises with every change of leader, even over a loss of Redis' data as
// long as its clock does not go back. Where a late write of an old leader does
// harm, it is compared with the fence.
func (c *Conn) Lead(ctx context.Context, name, holder string, ttl time.Duration) (fence int64, ok bool, err error) {
	if ttl < time.Millisecond {
		return 0, false, fmt.Errorf("queue: lead %s: ttl %v: want at least 1ms", name, ttl)
	}
	fence, err = leadScript.Run(ctx, c.rdb, leadKeys(name), holder, ttl.Milliseconds()).Int64()
	return fence, fence > 0, fail("lead "+name, err)
}

// Leader is who holds the lock of that name; empty where nobody does.
func (c *Conn) Leader(ctx context.Context, name string) (holder string, err error) {
	holder, err = c.rdb.Get(ctx, leadKeys(name)[0]).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return holder, fail("look who leads "+name, err)
}

// Resign gives the lock up, so that the next leader need not wait. It does
// nothing where holder does not hold it.
func (c *Conn) Resign(ctx context.Context, name, holder string) error {
	return fail("resign "+name, resignScript.Run(ctx, c.rdb, leadKeys(name)[:1], holder).Err())
}

func leadKeys(name string) []string {
	prefix := "pelmill:{lead:" + name + "}:"
	return []string{prefix + "lock", prefix + "fence"}
}
