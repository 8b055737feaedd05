package scheduler

import (
	"context"

	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

// RecordSums are what the records of a running job's done chunks say so far. Each chunk is read once. The zero value is
// that of a job of which nothing was read.
type RecordSums struct {
	Classes map[string]int64   // objects by the class of their error
	Stages  map[string]float64 // seconds by stage, summed over objects
	Partial bool               // not all chunks that are done were read yet

	read []byte // chunks, in the order of a bitmap of done chunks
}

// AddRecords reads at most so many more done chunks of a job into sums. Without a queue nothing is known to be done.
func (c *Client) AddRecords(ctx context.Context, target, id string, sums *RecordSums, most int) error {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil || c.Conn == nil {
		return err
	}
	p, ok, err := c.Conn.Job(id).Progress(ctx)
	if err != nil || !ok {
		return err
	}
	if len(sums.read) != len(p.Done) {
		*sums = RecordSums{Classes: map[string]int64{}, Stages: map[string]float64{}, read: make([]byte, len(p.Done))}
	}
	var next []int
	sums.Partial = false
	for i := range 8 * len(p.Done) {
		if !queue.Bit(p.Done, i) || queue.Bit(sums.read, i) {
			continue
		}
		if len(next) == most {
			sums.Partial = true
			break
		}
		next = append(next, i)
	}
	return inOrder(ctx, len(next), func(ctx context.Context, i int) (*tally, error) {
		t, err := readShard(ctx, folder{b: b, id: id}, next[i])
		if storage.IsNotExist(err) {
			return nil, nil // the job is being pruned, or its shard was deleted: it is read when it is there again
		}
		return t, err
	}, func(i int, t *tally) error {
		if t == nil {
			sums.Partial = true
			return nil
		}
		for class, n := range t.classes {
			sums.Classes[class] += n
		}
		for stage, s := range t.stages {
			sums.Stages[stage] += s
		}
		queue.SetBit(sums.read, next[i])
		return nil
	})
}
