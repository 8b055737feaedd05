package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

// errBlocked ends a chunk whose job waits until the target takes writes again.
var errBlocked = errors.New("the job is blocked")

// writeFault classifies an error of the writing of a result. A full store refuses
// all writes. A forbidden key may be the only one, so a small object of our own is
// written to find that out.
func (c *chunk) writeFault(ctx context.Context, err error, bytes int) error {
	if ctx.Err() == nil && storage.Refused(err) != "" && (storage.Full(err) || c.refusesAll(ctx)) {
		return storage.RefusedWrite(err, int64(bytes))
	}
	return storageFault(ctx, err)
}

// writeFault classifies an error of the writing of a picture file: a full target ends
// the work.
func (d *decompression) writeFault(ctx context.Context, err error) error {
	if ctx.Err() == nil && storage.Full(err) {
		return err
	}
	return storageFault(ctx, err)
}

// probeTime is the longest that a probing write may take.
const probeTime = 30 * time.Second

// refusesAll finds out whether the target takes a small write of our own.
func (c *chunk) refusesAll(ctx context.Context) bool {
	c.w.probing.Lock()
	defer c.w.probing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	name := sha256.Sum256([]byte(c.w.name))
	key := jobs.Folder(c.task.Job).Probe(hex.EncodeToString(name[:4]))
	return storage.Refused(storage.Probe(ctx, c.target, key, 1)) != ""
}

// putOff stops the whole job where the target refused a write of the chunk, and
// returns what the chunk ends with. Where Redis does not take the block, the chunk
// counts as failed, so that it is tried again more and more rarely.
func (c *chunk) putOff(ctx context.Context, r *storage.RefusedError) error {
	if c.w.conn == nil {
		return fmt.Errorf("worker: chunk %s: %w", c.task.ID(), c.nameless(r))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateTime)
	defer cancel()
	reason := r.Reason()
	if !storage.Full(r.Err) {
		reason += ", says worker " + c.w.name // rights can be of one machine
	}
	err := c.w.conn.Job(c.task.Job).Block(ctx, jobs.Block{Cause: jobs.BlockTarget, Reason: reason, Bytes: r.Bytes})
	if err != nil {
		return fmt.Errorf("worker: chunk %s: %w", c.task.ID(), c.nameless(errors.Join(r, err)))
	}
	c.w.log.Warn("the target refuses writes, the job waits", "job", c.task.Job, "chunk", c.task.Index, "error", c.nameless(r.Err))
	return queue.ErrLater
}

// passes reports whether what a chunk failed with may go away by itself: a store or
// Redis that does not answer, or workers that cannot do the job while others are
// busy.
func passes(err error) bool {
	return storage.Unreachable(err) || storage.Temporary(err) || errors.Is(err, queue.ErrUnreachable) || errors.Is(err, queue.ErrFull) ||
		errors.Is(err, codecs.ErrUnable) || errors.Is(err, gpu.ErrNoDevice)
}

// stopped reports whether chunks of the job must not be worked on: with atWork, also
// not those that are at work.
func (c *chunk) stopped(ctx context.Context, atWork bool) (bool, error) {
	b, ok, err := c.w.conn.Job(c.task.Job).Blocked(ctx)
	return ok && (!atWork || b.Cause == jobs.BlockTarget), err
}
