package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/pelmill/pelmill/jobs"
)

// committed is what became of a commit.
type committed int

const (
	jobLost        committed = iota // Redis knows nothing of the job; nothing was counted
	newlyCounted                    // the chunk was counted now
	alreadyCounted                  // the chunk had been counted before; nothing changed
)

func (c committed) String() string {
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
func (j Job) Init(ctx context.Context, chunks int, done []byte, counts jobs.Counts) error {
	bitmap := NewBitmap(chunks)
	if len(done) > len(bitmap) {
		return fmt.Errorf("queue: init %s: bitmap of %d bytes for %d chunks", j.id, len(done), chunks)
	}
	copy(bitmap, done)
	if rest := chunks & 7; rest != 0 {
		bitmap[len(bitmap)-1] &= 0xff << (8 - rest)
	}
	args := append([]any{chunks, bitmap}, countArgs(&counts)...)
	return fail("init "+j.id, initScript.Run(ctx, j.conn.rdb, progressKeys(j.id), args...).Err())
}

// Commit says that a chunk is done and adds its counts, unless the chunk was
// committed before. The result shard must be in storage already. Where Redis has
// lost the job nothing is counted, and that is no error: the scheduler makes the
// counters again from the shards.
func (j Job) Commit(ctx context.Context, index int, counts jobs.Counts) error {
	_, err := j.commit(ctx, index, counts)
	return err
}

func (j Job) commit(ctx context.Context, index int, counts jobs.Counts) (committed, error) {
	what := "commit chunk " + strconv.Itoa(index) + " of " + j.id
	if index < 0 {
		return jobLost, fmt.Errorf("queue: %s: no such chunk", what)
	}
	args := append([]any{index}, countArgs(&counts)...)
	n, err := commitScript.Run(ctx, j.conn.rdb, progressKeys(j.id), args...).Int()
	if err != nil {
		return jobLost, fail(what, err)
	}
	if n < 0 {
		return jobLost, fmt.Errorf("queue: %s: no such chunk", what)
	}
	return committed(n), nil
}

func countArgs(counts *jobs.Counts) []any {
	var args []any
	for name, value := range counts.Fields() {
		args = append(args, name, *value)
	}
	return args
}

// Progress gives the bitmap of done chunks, see [Bit], and the counters, as of
// one moment. ok is false where Redis has lost the job or never had it.
func (j Job) Progress(ctx context.Context) (done []byte, counts jobs.Counts, ok bool, err error) {
	what := "read progress of " + j.id
	answer, err := progressScript.Run(ctx, j.conn.rdb, progressKeys(j.id)).StringSlice()
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
	for name, value := range counts.Fields() {
		text, found := values[name]
		if !found {
			continue // begun by a version that did not count it
		}
		if *value, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, counts, false, fmt.Errorf("queue: %s: counter %s: %w", what, name, err)
		}
	}
	return done, counts, true, nil
}

// IsDone reports whether a chunk is committed; false where Redis has lost the job.
func (j Job) IsDone(ctx context.Context, index int) (bool, error) {
	bit, err := j.conn.rdb.GetBit(ctx, jobKey(j.id, "done"), int64(index)).Result()
	return bit == 1, fail("look up chunk "+strconv.Itoa(index)+" of "+j.id, err)
}

// SetSignal tells the workers what they must obey: on Cancelled or Cancelling
// they stop the chunk at once. It outlives Init and ends with Forget.
func (j Job) SetSignal(ctx context.Context, state jobs.State) error {
	return fail("signal "+j.id, j.conn.rdb.Set(ctx, jobKey(j.id, "signal"), string(state), 0).Err())
}

// Signal is what was last set by SetSignal; empty where nothing was.
func (j Job) Signal(ctx context.Context) (jobs.State, error) {
	state, err := j.conn.rdb.Get(ctx, jobKey(j.id, "signal")).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return jobs.State(state), fail("read the signal of "+j.id, err)
}

// Forget removes everything of a job but its tasks and its registration. It is
// idempotent.
func (j Job) Forget(ctx context.Context) error {
	flights := jobKey(j.id, "flights")
	chunks, err := j.conn.rdb.SMembers(ctx, flights).Result()
	if err != nil {
		return fail("forget "+j.id, err)
	}
	keys := append(progressKeys(j.id), jobKey(j.id, "signal"), jobKey(j.id, "blocked"), deniedKey(j.id, Schedulers), deniedKey(j.id, Workers), flights)
	for _, chunk := range chunks {
		keys = append(keys, jobKey(j.id, "flight:"+chunk))
	}
	for len(keys) > 0 {
		n := min(len(keys), 500)
		if err := j.conn.rdb.Del(ctx, keys[:n]...).Err(); err != nil {
			return fail("forget "+j.id, err)
		}
		keys = keys[n:]
	}
	return nil
}
