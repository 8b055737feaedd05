package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

// maxShard bounds a shard: a thousand records of a few kilobytes.
const maxShard = 64 << 20

// commitTime is how long a commit is tried while Redis does not answer.
const commitTime = time.Minute

// record keeps the one record of an object, and reports it. That of a medical image gets its hashes before anybody sees it;
// where they cannot be made, the chunk fails.
func (c *chunk) record(ctx context.Context, o *object) {
	if o.record.Medical() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.w.opts.ObjectTimeout) // what is done is recorded also when ctx has ended
		err := c.names.Result(late, &o.record)
		cancel()
		if err != nil {
			c.fail(err)
			return
		}
	}
	o.record.Attempts, o.record.Seconds = o.attempts, o.seconds()
	for i, d := range o.spent {
		if d > 0 {
			c.w.metrics.stage(stageNames[i]).Observe(d.Seconds())
		}
	}
	r := new(jobs.Result) // a copy: the object is not kept
	*r = o.record
	c.mu.Lock()
	c.records[o.index] = r
	c.counts.Add(r)
	c.made[r.Key] = r
	c.done++
	c.mu.Unlock()
	c.w.report(c.task.Job, r)
}

// commit stores the result shard and counts it. Where another worker stored one
// before, that one is counted.
func (c *chunk) commit(ctx context.Context) error {
	data, head, err := c.shard(true)
	if err != nil {
		return err
	}
	_, err = storage.Put(ctx, c.target, jobs.Folder(c.task.Job).Result(c.task.Index), data, nil)
	var exists *storage.ExistsError
	switch {
	case errors.As(err, &exists):
		other, ok, err := c.readShard(ctx)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("shard %d was there and is gone", c.task.Index)
		}
		head = other
	case err != nil:
		return storage.RefusedWrite(err, int64(len(data)))
	}
	c.forgetIntents(ctx)
	if err := c.count(ctx, head.Counts); err != nil {
		return err
	}
	c.mu.Lock()
	saved := c.saved
	c.mu.Unlock()
	if saved > 0 {
		// One that stays behind costs a few kilobytes.
		if err := storage.Delete(ctx, c.target, jobs.Folder(c.task.Job).Partial(c.task.Index)); err != nil {
			c.w.log.Debug("cannot delete a partial shard", "job", c.task.Job, "chunk", c.task.Index, "error", err)
		}
	}
	return nil
}

// count commits counts to the queue. A job that Redis has lost is no error: the scheduler
// makes the counters again from the shards.
func (c *chunk) count(ctx context.Context, counts jobs.Counts) error {
	if c.w.conn == nil {
		return nil
	}
	wait := 100 * time.Millisecond
	for start := time.Now(); ; wait = min(2*wait, 5*time.Second) {
		err := c.w.conn.Job(c.task.Job).Commit(ctx, c.task.Index, counts)
		if err == nil {
			return nil
		}
		c.w.metrics.redis.Inc()
		passes := errors.Is(err, queue.ErrUnreachable) || errors.Is(err, queue.ErrFull)
		if !passes || ctx.Err() != nil || time.Since(start) > commitTime {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// shard encodes the records there are. whole: it is an error if one is missing.
func (c *chunk) shard(whole bool) ([]byte, jobs.Shard, error) {
	head := jobs.Shard{Job: c.task.Job, Chunk: c.task.Index, Worker: c.w.name, Attempt: c.attempt,
		Seconds: time.Since(c.start).Seconds(), At: time.Now().UTC(), Sums: &jobs.Sums{}}
	c.mu.Lock()
	records := make([]jobs.Result, 0, len(c.records))
	for i, r := range c.records {
		if r != nil {
			records = append(records, r.Written())
			head.Counts.Add(r)
			head.Sums.Add(r)
		} else if whole {
			c.mu.Unlock()
			return nil, head, fmt.Errorf("object %d of %d has no record", i, len(c.records))
		}
	}
	c.mu.Unlock()
	var lines storage.Lines
	if _, _, err := storage.Frame(&lines, []jobs.Shard{head}); err != nil {
		return nil, head, err
	}
	if _, _, err := storage.Frame(&lines, records); err != nil {
		return nil, head, err
	}
	return lines.Bytes(), head, nil
}

// readShard reads the header of the chunk's result shard; ok is false where there
// is none.
func (c *chunk) readShard(ctx context.Context) (head jobs.Shard, ok bool, err error) {
	got, err := storage.Get(ctx, c.target, jobs.Folder(c.task.Job).Result(c.task.Index), maxShard, nil)
	if storage.IsNotExist(err) {
		return head, false, nil
	}
	if err != nil {
		return head, false, err
	}
	head, err = parseShard(got.Data, nil, nil)
	return head, err == nil, err
}

// parseShard reads a shard: a header line, then records, which names opens and fn gets. Without fn only the header is read.
func parseShard(data []byte, names *sitekey.Reader, fn func(*jobs.Result)) (jobs.Shard, error) {
	var head jobs.Shard
	n := 0
	err := storage.DecodeLines(data, func(line json.RawMessage) error {
		n++
		if n == 1 {
			if err := json.Unmarshal(line, &head); err != nil {
				return err
			}
			return head.Check()
		}
		if n > 1+jobs.MaxChunkObjects {
			return fmt.Errorf("more than %d records", jobs.MaxChunkObjects)
		}
		if fn == nil {
			return nil
		}
		record, err := names.Line(line)
		if err != nil {
			return err
		}
		r := new(jobs.Result)
		if err := json.Unmarshal(record, r); err != nil {
			return err
		}
		fn(r)
		return nil
	})
	if err == nil && n == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return head, fmt.Errorf("shard: %w", err)
	}
	return head, nil
}

// savePartial stores the records so far, if there are new ones.
func (c *chunk) savePartial(ctx context.Context) error {
	c.mu.Lock()
	done := c.done
	same := done == c.saved || done == len(c.records)
	c.mu.Unlock()
	if same {
		return nil
	}
	data, _, err := c.shard(false)
	if err != nil {
		return err
	}
	_, err = storage.Put(ctx, c.target, jobs.Folder(c.task.Job).Partial(c.task.Index), data, &storage.PutOptions{Overwrite: true})
	if err != nil {
		return storage.RefusedWrite(err, int64(len(data)))
	}
	c.mu.Lock()
	c.saved = max(c.saved, done)
	c.mu.Unlock()
	return nil
}

// readPartial takes over the records of an earlier delivery. A partial shard that
// cannot be read is work to do again, not an error.
func (c *chunk) readPartial(ctx context.Context) error {
	got, err := storage.Get(ctx, c.target, jobs.Folder(c.task.Job).Partial(c.task.Index), maxShard, nil)
	if storage.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	byKey := map[string]*jobs.Result{}
	names := sitekey.NewReader(ctx, c.target)
	if _, err := parseShard(got.Data, names, func(r *jobs.Result) { byKey[r.Key] = r }); err != nil {
		c.w.log.Warn("cannot read a partial shard", "job", c.task.Job, "chunk", c.task.Index, "error", err)
		return nil
	}
	for i := range c.entries {
		r := byKey[c.entries[i].Key]
		if r == nil {
			continue
		}
		if err := c.names.Result(ctx, r); err != nil { // one that an earlier version wrote
			return err
		}
		c.records[i] = r
		c.done++
	}
	c.saved = c.done
	return nil
}
