package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// asynqLog passes asynq's log on. Its errors are Redis being away or full,
// which it goes on trying, so nothing is above a warning. An embedded queue can be neither,
// and whoever runs one need not know what it is made of: there it is silent.
type asynqLog struct{ log *slog.Logger }

func (l asynqLog) Debug(args ...any) { l.log.Debug("asynq", "said", fmt.Sprint(args...)) }
func (l asynqLog) Info(args ...any)  { l.log.Debug("asynq", "said", fmt.Sprint(args...)) }
func (l asynqLog) Warn(args ...any)  { l.log.Warn("asynq", "said", fmt.Sprint(args...)) }
func (l asynqLog) Error(args ...any) { l.log.Warn("asynq", "said", fmt.Sprint(args...)) }
func (l asynqLog) Fatal(args ...any) { l.log.Error("asynq", "said", fmt.Sprint(args...)) }

// guard makes asynq bearable for a Redis in trouble, and the other way round. It
// bounds each of asynq's requests, most of which have no deadline, so that a
// Redis that hangs does not hold up a shutdown. And it slows asynq down where
// Redis answers with an error: asynq requests the next task again at once, which
// on a full Redis is thousands of refused scripts a second from every worker.
type guard struct {
	wait time.Duration   // after an error
	stop context.Context // the server's: ended while it shuts down
}

func (g guard) limit() time.Duration {
	if g.stop.Err() != nil {
		return 2 * time.Second
	}
	return 5 * time.Second
}

func (g guard) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		limited, cancel := context.WithTimeout(ctx, g.limit())
		defer cancel()
		err := next(limited, cmd)
		if err == nil || errors.Is(err, redis.Nil) || strings.HasPrefix(err.Error(), "NOSCRIPT") {
			return err
		}
		select {
		case <-time.After(g.wait):
		case <-ctx.Done():
		case <-g.stop.Done():
		}
		return err
	}
}

func (g guard) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		ctx, cancel := context.WithTimeout(ctx, g.limit())
		defer cancel()
		return next(ctx, cmds)
	}
}

func (g guard) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}
