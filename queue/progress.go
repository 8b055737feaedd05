package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

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
	return []string{jobKey(job, "meta"), jobKey(job, "done"), jobKey(job, "counts"), jobKey(job, "work")}
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
	if j.conn.changes != nil {
		j.conn.changes.commit(j.id)
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

// Progress is how far a job is.
type Progress struct {
	Done   []byte      // chunks that are committed, see [Bit]
	Counts jobs.Counts // of them
	AtWork jobs.Counts // of chunks that are not, as far as their workers have said, see [Job.Report]
}

// Progress gives how far a job is, as of one moment. ok is false where Redis has lost
// the job or never had it.
func (j Job) Progress(ctx context.Context) (p Progress, ok bool, err error) {
	what := "read progress of " + j.id
	answer, err := progressScript.Run(ctx, j.conn.rdb, progressKeys(j.id)).StringSlice()
	if err != nil {
		return p, false, fail(what, err)
	}
	if len(answer) < 3 {
		return p, false, nil
	}
	chunks, err1 := strconv.Atoi(answer[0])
	working, err2 := strconv.Atoi(answer[2])
	if err := errors.Join(err1, err2); err != nil || working > len(answer)-3 {
		return p, false, fmt.Errorf("queue: %s: chunks: %w", what, err)
	}
	if p.Done = []byte(answer[1]); len(p.Done) != (chunks+7)/8 {
		return p, false, nil
	}
	for _, text := range answer[3 : 3+working] {
		p.AtWork.Plus(parseReport(text))
	}
	answer = answer[3+working:]
	values := map[string]string{}
	for i := 0; i+1 < len(answer); i += 2 {
		values[answer[i]] = answer[i+1]
	}
	for name, value := range p.Counts.Fields() {
		text, found := values[name]
		if !found {
			continue // begun by a version that did not count it
		}
		if *value, err = strconv.ParseInt(text, 10, 64); err != nil {
			return p, false, fmt.Errorf("queue: %s: counter %s: %w", what, name, err)
		}
	}
	return p, true, nil
}

// Report says how far chunks are that are at work, by their index: what their objects have come
// to. It is one round trip, for workers to make every second or so. A chunk keeps what was
// last said of it until it is committed, also where another worker goes on with it.
func (j Job) Report(ctx context.Context, chunks map[int]jobs.Counts) error {
	var args []any
	for index, counts := range chunks {
		args = append(args, index, reportText(&counts))
	}
	return fail("report progress of "+j.id, reportScript.Run(ctx, j.conn.rdb, progressKeys(j.id), args...).Err())
}

// reportText is counters in the order of [jobs.Counts.Fields].
func reportText(c *jobs.Counts) string {
	var text []byte
	for _, value := range c.Fields() {
		text = append(strconv.AppendInt(text, *value, 10), ' ')
	}
	return string(text[:len(text)-1])
}

// parseReport is the inverse of reportText; of what no chunk can come to it gives nothing.
func parseReport(text string) (c jobs.Counts) {
	words := strings.Fields(text)
	i := 0
	for _, value := range c.Fields() {
		if i < len(words) {
			*value, _ = strconv.ParseInt(words[i], 10, 64)
		}
		i++
	}
	if c.Check() != nil || c.Objects > jobs.MaxChunkObjects {
		return jobs.Counts{}
	}
	return c
}

// maxPace bounds what is kept of a job's pace, in bytes.
const maxPace = 64 << 10

// SetPace keeps how fast the job moves, for everybody who asks.
func (j Job) SetPace(ctx context.Context, p jobs.Pace) error {
	data, err := json.Marshal(p)
	if err == nil {
		err = j.conn.rdb.Set(ctx, jobKey(j.id, "pace"), data, 0).Err()
	}
	return fail("keep the pace of "+j.id, err)
}

// Pace is what was last given to SetPace; the zero value where nothing was.
func (j Job) Pace(ctx context.Context) (p jobs.Pace, err error) {
	data, err := j.conn.rdb.GetRange(ctx, jobKey(j.id, "pace"), 0, maxPace).Bytes()
	if err != nil && !errors.Is(err, redis.Nil) {
		return p, fail("read the pace of "+j.id, err)
	}
	if json.Unmarshal(data, &p) != nil || p.Check() != nil {
		return jobs.Pace{}, nil
	}
	return p, nil
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
	keys := append(progressKeys(j.id), jobKey(j.id, "signal"), jobKey(j.id, "blocked"), jobKey(j.id, "pace"), jobKey(j.id, "limits"), deniedKey(j.id, Schedulers), deniedKey(j.id, Workers), flights)
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
