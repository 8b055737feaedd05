package queue

import (
	"bufio"
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// minVersion is the oldest Redis that asynq works on: its archive uses ZRANGE
// BYSCORE.
var minVersion = [2]int{6, 2}

// Version is what the server says of itself; empty where it does not say, as
// the embedded one.
func (c *Conn) Version(ctx context.Context) (string, error) {
	if c.Embedded() {
		return "", nil
	}
	info, err := c.rdb.Info(ctx, "server").Result()
	if err != nil {
		if offline(err) || ctx.Err() != nil {
			return "", fail("read the version", err)
		}
		return "", nil // hosted services refuse INFO to some users
	}
	return infoFields(info)["redis_version"], nil
}

// checkVersion refuses a version that is known to be too old.
func checkVersion(where, version string) error {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	if err1 != nil || err2 != nil {
		return nil
	}
	if a < minVersion[0] || a == minVersion[0] && b < minVersion[1] {
		return fmt.Errorf("queue: redis at %s is version %s: want %d.%d or later", where, version, minVersion[0], minVersion[1])
	}
	return nil
}

// Memory is what Redis uses and may use, in bytes; max 0 is no limit. In a
// cluster it is the shard that is fullest. The embedded Redis, and one that does
// not say, give 0, 0.
func (c *Conn) Memory(ctx context.Context) (used, max int64, err error) {
	err = c.eachMemory(ctx, func(f map[string]string) {
		u, _ := strconv.ParseInt(f["used_memory"], 10, 64)
		m, _ := strconv.ParseInt(f["maxmemory"], 10, 64)
		if fuller(u, m, used, max) {
			used, max = u, m
		}
	})
	return used, max, err
}

// fuller reports whether u of m is a higher share than used of max, no limit
// being the lowest.
func fuller(u, m, used, max int64) bool {
	if m == 0 || max == 0 {
		return m > 0 || max == 0 && u > used
	}
	return float64(u)/float64(m) > float64(used)/float64(max)
}

// Policy is Redis' maxmemory-policy; in a cluster the first that is not
// noeviction. Empty where Redis does not say.
func (c *Conn) Policy(ctx context.Context) (string, error) {
	if c.Embedded() {
		return "noeviction", nil
	}
	var policy string
	err := c.eachMemory(ctx, func(f map[string]string) {
		if p := f["maxmemory_policy"]; policy == "" || policy == "noeviction" {
			policy = p
		}
	})
	return policy, err
}

// eachMemory calls fn with the memory section of every master, one at a time.
func (c *Conn) eachMemory(ctx context.Context, fn func(fields map[string]string)) error {
	if c.Embedded() {
		return nil
	}
	var mu sync.Mutex
	read := func(ctx context.Context, node redis.Cmdable) error {
		info, err := node.Info(ctx, "memory").Result()
		if err != nil {
			if offline(err) || ctx.Err() != nil {
				return err
			}
			return nil // hosted services refuse INFO to some users
		}
		mu.Lock()
		defer mu.Unlock()
		fn(infoFields(info))
		return nil
	}
	var err error
	if cc, ok := c.rdb.(*redis.ClusterClient); ok {
		err = cc.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return read(ctx, node) })
	} else {
		err = read(ctx, c.rdb)
	}
	return fail("read memory use", err)
}

// infoFields reads the answer to INFO: name:value lines among comments.
func infoFields(info string) map[string]string {
	fields := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(info))
	for lines.Scan() {
		if name, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), ":"); ok && !strings.HasPrefix(name, "#") {
			fields[name] = value
		}
	}
	return fields
}

// Clock is how far Redis' clock is ahead of ours. asynq's leases are written by
// the workers' clocks: a skew of more than a few seconds delays recovery.
func (c *Conn) Clock(ctx context.Context) (skew time.Duration, err error) {
	before := time.Now()
	there, err := c.rdb.Time(ctx).Result()
	if err != nil {
		return 0, fail("read the clock", err)
	}
	here := before.Add(time.Since(before) / 2)
	return there.Sub(here), nil
}

// WorkerInfo is a worker process that serves the queue.
type WorkerInfo struct {
	ID          string // of the server in the process
	Host        string
	PID         int
	Concurrency int // chunks at once
	Active      int // chunks it has now, as of its last heartbeat, every 5 s
	Started     time.Time
	Device      string // as given to Serve
	Stopping    bool   // takes no more tasks
	Stats              // zero where the process does not say, as one of an earlier version
}

// Workers lists the workers that gave a sign of life within 10 seconds, in a
// fixed order.
func (c *Conn) Workers(ctx context.Context) ([]WorkerInfo, error) {
	servers, err := c.inspect.Servers()
	if err != nil {
		return nil, fail("list workers", err)
	}
	devices, err := c.rdb.HGetAll(ctx, workersKey).Result()
	if err != nil {
		return nil, fail("list workers", err)
	}
	stats, err := c.stats(ctx)
	if err != nil {
		return nil, err
	}
	var workers []WorkerInfo
	for _, s := range servers {
		workers = append(workers, WorkerInfo{
			ID: s.ID, Host: s.Host, PID: s.PID, Concurrency: s.Concurrency,
			Active: len(s.ActiveWorkers), Started: s.Started,
			Device: devices[processName(s.Host, s.PID)], Stopping: s.Status != "active", Stats: stats[processName(s.Host, s.PID)],
		})
	}
	sort.Slice(workers, func(i, j int) bool {
		a, b := workers[i], workers[j]
		if a.Host != b.Host {
			return a.Host < b.Host
		}
		if a.PID != b.PID {
			return a.PID < b.PID
		}
		return a.ID < b.ID
	})
	return workers, nil
}

// workersKey holds what asynq does not keep about a worker process.
const workersKey = "pelmill:workers"

func processName(host string, pid int) string { return host + ":" + strconv.Itoa(pid) }
