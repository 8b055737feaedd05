package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrUnreachable: Redis did not answer. Wait and try again.
	ErrUnreachable = errors.New("redis cannot be reached")

	// ErrFull: Redis is at maxmemory and refuses to store more. Stop feeding
	// until [Conn.Memory] shows room.
	ErrFull = errors.New("redis is full (maxmemory)")

	// ErrQueued: the task is in the queue already, in some state.
	ErrQueued = errors.New("task is queued already")

	// ErrHandBack is what a handler returns to give its task back: another
	// worker gets it at once and it does not count as a failure.
	ErrHandBack = errors.New("task handed back")

	// ErrLater is what a handler returns to give its task back for some
	// seconds, because nobody can do it now. It does not count as a failure.
	ErrLater = errors.New("task put off")
)

// fail wraps err with what was done and with the sentinel that a caller may
// branch on. asynq passes Redis' answers on as text only, hence the search.
func fail(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, ErrUnreachable), errors.Is(err, ErrFull):
		return fmt.Errorf("queue: %s: %w", what, err)
	case strings.Contains(err.Error(), "OOM command not allowed"):
		return fmt.Errorf("queue: %s: %w", what, ErrFull)
	case offline(err):
		return fmt.Errorf("queue: %s: %w: %w", what, ErrUnreachable, told(err))
	}
	return fmt.Errorf("queue: %s: %w", what, told(err))
}

// asynqText is what asynq puts around an answer of Redis: a code, and which of its calls got it.
var asynqText = regexp.MustCompile(`^(?:[A-Z_]+: )*redis (?:eval|command) error: (?:[A-Z]+ failed: )?`)

// answered is an error that Redis answered, in its own words.
type answered struct {
	text string
	err  error
}

func (e *answered) Error() string { return e.text }
func (e *answered) Unwrap() error { return e.err }

// told leaves out of an error what only says how asynq is made.
func told(err error) error {
	text := err.Error()
	if at := asynqText.FindStringIndex(text); at != nil {
		return &answered{"Redis: " + text[at[1]:], err}
	}
	if rest, ok := strings.CutPrefix(text, "asynq: "); ok {
		return &answered{rest, err}
	}
	return err
}

// offline reports whether err means that no server answered, as opposed to a
// server that answered with an error.
func offline(err error) bool {
	var network net.Error
	switch {
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, net.ErrClosed),
		errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return true
	}
	text := err.Error() // all that asynq leaves of an error
	for _, sign := range []string{
		"LOADING", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "TRYAGAIN",
		"MISCONF", // it cannot write its own file, and refuses every write until it can
		"sentinels specified in configuration are unreachable", "cluster has no nodes",
		"connection refused", "connection reset", "broken pipe", "i/o timeout", "deadline exceeded",
		"no such host", "no route to host", "network is unreachable", "use of closed network connection",
	} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return strings.HasSuffix(text, "EOF")
}
