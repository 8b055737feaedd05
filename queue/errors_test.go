package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestFail: callers branch on what an error means, also where asynq has made
// text of it.
func TestFail(t *testing.T) {
	text := func(err error) error { return fmt.Errorf("INTERNAL_ERROR: redis eval error: %v", err) }
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	oom := errors.New("OOM command not allowed when used memory > 'maxmemory'.")
	tests := []struct {
		err  error
		want error // nil: neither
	}{
		{refused, ErrUnreachable}, {text(refused), ErrUnreachable},
		{io.EOF, ErrUnreachable}, {text(io.EOF), ErrUnreachable},
		{context.DeadlineExceeded, ErrUnreachable}, {text(context.DeadlineExceeded), ErrUnreachable},
		{redis.ErrClosed, ErrUnreachable},
		{errors.New("LOADING Redis is loading the dataset in memory"), ErrUnreachable},
		{errors.New("CLUSTERDOWN Hash slot not served"), ErrUnreachable},
		{errors.New("READONLY You can't write against a read only replica."), ErrUnreachable},
		{oom, ErrFull}, {text(oom), ErrFull}, {fmt.Errorf("x: %w", ErrFull), ErrFull},
		{context.Canceled, context.Canceled},
		{errors.New("WRONGPASS invalid username-password pair or user is disabled."), nil},
		{errors.New("NOPERM this user has no permissions to access one of the keys"), nil},
		{errors.New("WRONGTYPE Operation against a key holding the wrong kind of value"), nil},
	}
	for _, test := range tests {
		got := fail("do it", test.err)
		for _, sentinel := range []error{ErrUnreachable, ErrFull, context.Canceled} {
			if is := errors.Is(got, sentinel); is != (sentinel == test.want) {
				t.Errorf("%v: is %q: %v", test.err, sentinel, is)
			}
		}
	}
	if fail("do it", nil) != nil {
		t.Error("an error of nothing")
	}
}

// What asynq puts around an answer of Redis reaches nobody; the answer does.
func TestErrorsInOurWords(t *testing.T) {
	for _, c := range []struct{ asynq, want string }{
		{"UNKNOWN: redis eval error: WRONGTYPE Operation against a key", "queue: feed: Redis: WRONGTYPE Operation against a key"},
		{"INTERNAL_ERROR: redis command error: SADD failed: NOPERM no permission", "queue: feed: Redis: NOPERM no permission"},
		{"redis command error: EVALSHA failed: dial tcp 127.0.0.1:1: connect: connection refused",
			"queue: feed: redis cannot be reached: Redis: dial tcp 127.0.0.1:1: connect: connection refused"},
		{"asynq: task lease expired", "queue: feed: task lease expired"},
		{"ERR unknown command", "queue: feed: ERR unknown command"},
	} {
		inner := errors.New(c.asynq)
		if err := fail("feed", inner); err.Error() != c.want || !errors.Is(err, inner) {
			t.Errorf("%q becomes %q, want %q", c.asynq, err, c.want)
		}
	}
}
