package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/pelmill/pelmill/jobs"
)

// Committed is the answer to [Conn.Commit].
type Committed int

const (
	Lost  Committed = iota // Redis knows nothing of the job; nothing was counted
	First                  // the chunk was counted now
	Again                  // the chunk had been counted before; nothing changed
)

func (c Committed) String() string {
	return [...]string{"lost", "first", "again"}[c]
}

func jobKey(job, part string) string { return "pelmill:{" + job + "}:" + part }

func progressKeys(job string) []string {
	return []string{jobKey(job, "meta"), jobKey(job, "done"), jobKey(job, "counts")}
}

// Bit reports whether chunk i is set in a bitmap of done chunks. Bitmaps are in
// Redis' order: chunk 0 is the highest bit of byte 0.
func Bit(done []byte, i int) bool {
	return i>>3 < len(done) && done[i>>3]&(0x80>>(i&7)) != 0
}

// SetBit sets chunk i in a bitmap of done chunks, which must be long enough.
func SetBit(done []byte, i int) { done[i>>3] |= 0x80 >> (i & 7) }

// NewBitmap is a bitmap for so many chunks with none set.
func NewBitmap(chunks int) []byte { return make([]byte, (chunks+7)/8) }

// Init replaces all progress of a job: the number of its chunks, which of them
// are done, nil meaning none, and what is counted so far. It starts a job and
// repairs one that Redis has lost.
func (c *Conn) Init(ctx context.Context, job string, chunks int, done []byte, counts jobs.Counts) error {
	bitmap := NewBitmap(chunks)
	if len(done) > len(bitmap) {
		return fmt.Errorf("queue: init %s: bitmap of %d bytes for %d chunks", job, len(done), chunks)
	}
	copy(bitmap, done)
	if rest := chunks & 7; rest != 0 {
		bitmap[len(bitmap)-1] &= 0xff << (8 - rest)
	}
	args := append([]any{chunks, bitmap}, countArgs(&counts)...)
	return fail("init "+job, initScript.Run(ctx, c.rdb, progressKeys(job), args...).Err())
}

// Commit says that a chunk is done and adds its counts, unless the chunk was
// committed before. The result shard must be in storage already.
func (c *Conn) Commit(ctx context.Context, job string, index int, counts jobs.Counts) (Committed, error) {
	what := "commit chunk " + strconv.Itoa(index) + " of " + job
	if index < 0 {
		return Lost, fmt.Errorf("queue: %s: no such chunk", what)
	}
	args := append([]any{index}, countArgs(&counts)...)
	n, err := commitScript.Run(ctx, c.rdb, progressKeys(job), args...).Int()
	if err != nil {
		return Lost, fail(what, err)
	}
	if n < 0 {
		return Lost, fmt.Errorf("queue: %s: no such chunk", what)
	}
	return Committed(n), nil
}

func countArgs(counts *jobs.Counts) []any {
	var args []any
	for _, f := range counts.Fields() {
		args = append(args, f.Name, *f.Value)
	}
	return args
}

// Progress gives the bitmap of done chunks, see [Bit], and the counters, as of
// one moment. ok is false where Redis has lost the job or never had it.
func (c *Conn) Progress(ctx context.Context, job string) (done []byte, counts jobs.Counts, ok bool, err error) {
	what := "read progress of " + job
	answer, err := progressScript.Run(ctx, c.rdb, progressKeys(job)).StringSlice()
	if err != nil {
		return nil, counts, false, fail(what, err)
	}
	if len(answer) < 2 {
		return nil, counts, false, nil
	}
	chunks, err := strconv.Atoi(answer[0])
	if err != nil {
		return nil, counts, false, fmt.Errorf("queue: %s: chunks: %w", what, err)
	}
	if done = []byte(answer[1]); len(done) != (chunks+7)/8 {
		return nil, counts, false, nil
	}
	values := map[string]string{}
	for i := 2; i+1 < len(answer); i += 2 {
		values[answer[i]] = answer[i+1]
	}
	for _, f := range counts.Fields() {
		text, found := values[f.Name]
		if !found {
			continue // begun by a version that did not count it
		}
		if *f.Value, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, counts, false, fmt.Errorf("queue: %s: counter %s: %w", what, f.Name, err)
		}
	}
	return done, counts, true, nil
}

// IsDone reports whether a chunk is committed; false where Redis has lost the job.
func (c *Conn) IsDone(ctx context.Context, job string, index int) (bool, error) {
	bit, err := c.rdb.GetBit(ctx, jobKey(job, "done"), int64(index)).Result()
	return bit == 1, fail("look up chunk "+strconv.Itoa(index)+" of "+job, err)
}

// SetSignal tells the workers what they must obey: on Cancelled or Cancelling
// they stop the chunk at once. It outlives Init and ends with Forget.
func (c *Conn) SetSignal(ctx context.Context, job string, state jobs.State) error {
	return fail("signal "+job, c.rdb.Set(ctx, jobKey(job, "signal"), string(state), 0).Err())
}

// Signal is what was last set by SetSignal; empty where nothing was.
func (c *Conn) Signal(ctx context.Context, job string) (jobs.State, error) {
	state, err := c.rdb.Get(ctx, jobKey(job, "signal")).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return jobs.State(state), fail("read the signal of "+job, err)
}

// Forget removes everything of a job but its tasks and its registration. It is
// idempotent.
func (c *Conn) Forget(ctx context.Context, job string) error {
	flights := jobKey(job, "flights")
	chunks, err := c.rdb.SMembers(ctx, flights).Result()
	if err != nil {
		return fail("forget "+job, err)
	}
	keys := append(progressKeys(job), jobKey(job, "signal"), jobKey(job, "blocked"), deniedKey(job, Schedulers), deniedKey(job, Workers), flights)
	for _, chunk := range chunks {
		keys = append(keys, jobKey(job, "flight:"+chunk))
	}
	for len(keys) > 0 {
		n := min(len(keys), 500)
		if err := c.rdb.Del(ctx, keys[:n]...).Err(); err != nil {
			return fail("forget "+job, err)
		}
		keys = keys[n:]
	}
	return nil
}
