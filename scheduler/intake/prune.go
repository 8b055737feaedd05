package intake

import (
	"context"
	"errors"

	"github.com/pelmill/pelmill/scheduler"
)

// leastPruned is the least number of batches that a prune is for.
const leastPruned = 10

// pruneSoon counts batches that have ended.
func (in *Intake) pruneSoon(ended int) {
	keep := in.opts.KeepLast
	if in.endedBatches.Add(int64(ended)) < int64(keep+max(keep, leastPruned)) {
		return
	}
	select {
	case in.due <- struct{}{}:
	default:
	}
}

// prune takes old batches away, and keeps what they have done, until ctx ends.
func (in *Intake) prune(ctx context.Context) {
	if in.opts.KeepLast < 0 {
		return
	}
	for {
		select {
		case <-in.due:
		case <-ctx.Done():
			return
		}
		done, err := in.client.Prune(ctx, in.spec.Target, scheduler.PruneRule{KeepLast: in.opts.KeepLast, BySize: true}, false)
		switch {
		case errors.Is(err, scheduler.ErrPruning):
			in.log.Info("another process prunes the target")
		case err != nil && ctx.Err() == nil:
			in.log.Warn("cannot prune", "error", in.public(err))
		case err == nil:
			in.log.Info("old batches are pruned", "jobs", len(done.Jobs), "records", done.Records, "bytes", done.Bytes)
			in.metrics.pruned(len(done.Jobs))
			in.endedBatches.Store(int64(len(done.Kept)))
		}
	}
}
