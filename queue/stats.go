package queue

import (
	"context"
	"encoding/json"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Stats is what a worker process says of itself every two seconds.
type Stats struct {
	Version string    `json:"version"`
	Commit  string    `json:"commit"`
	Device  string    `json:"device"`
	CPU     int       `json:"cpu"`     // pictures at once
	Cores   int       `json:"cores"`   // of its machine
	Objects int64     `json:"objects"` // with a record since it started
	Rate    float64   `json:"rate"`    // objects a second, of late
	Memory  int64     `json:"memory"`  // bytes that it holds
	At      time.Time `json:"at"`      // by its clock
}

const (
	statsKey = "pelmill:worker-stats" // hash: host:pid to Stats
	maxStats = 2 << 10                // bytes of them

	// goneTime is how long a worker is listed that died without a word.
	goneTime = time.Hour
)

func (c *Conn) announceStats(ctx context.Context, name string, s Stats) error {
	s.At = time.Now().UTC()
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return c.rdb.HSet(ctx, statsKey, name, data).Err()
}

// stats gives what processes said, by their name.
func (c *Conn) stats(ctx context.Context) (map[string]Stats, error) {
	all, err := c.rdb.HGetAll(ctx, statsKey).Result()
	if err != nil {
		return nil, fail("list workers", err)
	}
	out := map[string]Stats{}
	for name, text := range all {
		var s Stats
		if len(text) <= maxStats && json.Unmarshal([]byte(text), &s) == nil {
			out[name] = s
		}
	}
	return out, nil
}

// GoneWorkers lists the workers that said something within the last hour and give no sign of life
// any more, in a fixed order. One that ends in good order is in neither list.
func (c *Conn) GoneWorkers(ctx context.Context) ([]WorkerInfo, error) {
	alive, err := c.Workers(ctx)
	if err != nil {
		return nil, err
	}
	stats, err := c.stats(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range alive {
		delete(stats, processName(w.Host, w.PID))
	}
	var gone []WorkerInfo
	for name, s := range stats {
		i := strings.LastIndexByte(name, ':')
		if i < 0 || time.Since(s.At) > goneTime {
			continue
		}
		pid, _ := strconv.Atoi(name[i+1:])
		gone = append(gone, WorkerInfo{Host: name[:i], PID: pid, Device: s.Device, Stats: s})
	}
	sort.Slice(gone, func(i, j int) bool { return gone[i].At.After(gone[j].At) })
	return gone, nil
}

// forgetWorkers removes what is left of processes that died long ago.
func (c *Conn) forgetWorkers(ctx context.Context) {
	stats, err := c.stats(ctx)
	if err != nil {
		return
	}
	for name, s := range stats {
		if time.Since(s.At) > goneTime {
			c.rdb.HDel(ctx, statsKey, name)
			c.rdb.HDel(ctx, workersKey, name)
		}
	}
}
