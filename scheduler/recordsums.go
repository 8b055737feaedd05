package scheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

// RecordSums are what the records of a running job's done chunks say so far. Each chunk is read once. The zero value is
// that of a job of which nothing was read.
type RecordSums struct {
	jobs.Sums
	Partial bool // not all chunks that are done were read yet

	read []byte // chunks, in the order of a bitmap of done chunks
}

// AddRecords reads at most so many more done chunks of a job into sums: those that its status says are done. Without a
// queue nothing is known to be done.
func (c *Client) AddRecords(ctx context.Context, target string, st *Status, sums *RecordSums, most int) error {
	if st.done == nil {
		return nil
	}
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return err
	}
	if len(sums.read) != len(st.done) {
		*sums = RecordSums{read: make([]byte, len(st.done))}
	}
	var next []int
	sums.Partial = false
	for i := range 8 * len(st.done) {
		if !queue.Bit(st.done, i) || queue.Bit(sums.read, i) {
			continue
		}
		if len(next) == most {
			sums.Partial = true
			break
		}
		next = append(next, i)
	}
	return inOrder(ctx, len(next), func(ctx context.Context, i int) (*jobs.Sums, error) {
		s, err := readSums(ctx, folder{b: b, id: st.Spec.ID}, next[i])
		if storage.IsNotExist(err) {
			return nil, nil // the job is being pruned, or its shard was deleted: it is read when it is there again
		}
		return s, err
	}, func(i int, s *jobs.Sums) error {
		if s == nil {
			sums.Partial = true
			return nil
		}
		sums.Plus(s)
		queue.SetBit(sums.read, next[i])
		return nil
	})
}

// readSums gives the sums that a shard has in its header. Of a shard of an earlier version, which has none, it adds
// the records up.
func readSums(ctx context.Context, f folder, chunk int) (*jobs.Sums, error) {
	key := jobs.Folder(f.id).Result(chunk)
	got, err := storage.Get(ctx, f.b, key, largest, nil)
	if err != nil {
		return nil, err
	}
	var head *jobs.Shard
	sums := &jobs.Sums{}
	err = storage.EachLine(bytes.NewReader(got.Data), func(line []byte) error {
		if head == nil {
			head = &jobs.Shard{}
			if err := json.Unmarshal(line, head); err != nil {
				return err
			}
			if head.Sums != nil {
				sums = head.Sums
				return errEnough
			}
			return nil
		}
		var r jobs.Result
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		sums.Add(&r)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("scheduler: %s: %w", key, err)
	}
	return sums, nil
}
