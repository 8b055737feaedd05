package queue

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

const (
	// maxAttempts is how often a chunk may fail before its job is blocked with the last error. With the delays of
	// retryDelay that is after 3 to 7 minutes. What was handed back and the death of a worker do not count.
	maxAttempts = 12

	// maxRetry ends a task whose job could not be blocked, so that no task is tried for ever: asynq moves it to its
	// archive, where the scheduler finds it. It is above maxAttempts because Redis may be full at that moment.
	maxRetry = 3 * maxAttempts

	// laterTime is the delay of a task that a handler put off, see ErrLater.
	laterTime = 2 * time.Second

	// maxReason bounds the text of an error in a reason, in bytes.
	maxReason = 500
)

// giveUp blocks the job of a chunk that failed too often, and puts the chunk off: it is neither lost nor tried on and
// on. Where that fails the chunk is tried again as before.
func (s *Server) giveUp(ctx context.Context, t jobs.Task, attempt int, err error) error {
	cause := jobs.BlockChunk
	if s.opts.Passing != nil && s.opts.Passing(err) {
		cause = jobs.BlockStore
	}
	b := jobs.Block{Cause: cause, Reason: failedReason(t.Index, attempt, err.Error())}
	// The task's own context may have ended with the error.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), replyTime)
	defer cancel()
	if berr := s.conn.Job(t.Job).Block(ctx, b); berr != nil {
		s.opts.Log.Warn("cannot stop a job whose chunk failed too often", "task", t.ID(), "attempt", attempt, "error", berr)
		return err
	}
	s.opts.Log.Warn("a chunk failed too often, its job is stopped", "task", t.ID(), "attempt", attempt, "error", err)
	return fmt.Errorf("%w: %w", ErrLater, err)
}

// GivenUp is the reason of a job one of whose chunks is in the queue's archive.
func GivenUp(chunk int, text string) string {
	return failedReason(chunk, maxRetry, text)
}

func failedReason(chunk, attempts int, text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "..."
	}
	return fmt.Sprintf("chunk %d failed %d times, the last time with: %s", chunk, attempts, text)
}
