package queue

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// embeddedCheck is what asynq sleeps between two turns over the queues of the embedded Redis. It does not turn in
// vain: see dequeues.
const embeddedCheck = time.Millisecond

// changes tells the parts of one process what others of it have just done, where Redis is embedded, so that they need
// not look again and again. Each channel has room for one value, which stands for all changes since it was received.
type changes struct {
	fed chan struct{} // a task was added

	mu        sync.Mutex
	committed map[string]chan struct{} // by job: one of its chunks was committed
}

func newChanges() *changes {
	return &changes{fed: make(chan struct{}, 1), committed: map[string]chan struct{}{}}
}

// tell leaves a value in a channel of changes.
func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// of gives the channel of a job's commits.
func (c *changes) of(job string) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.committed[job] == nil {
		c.committed[job] = make(chan struct{}, 1)
	}
	return c.committed[job]
}

// commit tells of a commit where somebody waits for the job's: a chunk may be committed once more after its job has ended.
func (c *changes) commit(job string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.committed[job] != nil {
		tell(c.committed[job])
	}
}

func (c *changes) forget(job string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.committed, job)
}

// Committed has a value when a chunk of the job was committed since the last value was received, or since the first call.
// It is nil, which has none ever, where Redis is another process. It is for one receiver, and until the job is unregistered.
func (j Job) Committed() <-chan struct{} {
	if j.conn.changes == nil {
		return nil
	}
	return j.conn.changes.of(j.id)
}

// dequeues holds back the requests with which asynq looks for tasks in the embedded Redis: after a turn that found all
// queues empty the next one waits until this process adds a task, and at most for the server's Poll. So a task is taken
// at once, and an idle server looks no more often than asynq alone would with Poll.
type dequeues struct {
	queues int             // that a turn looks at
	poll   time.Duration   // within which what others have moved to a queue is seen
	fed    <-chan struct{} // see changes
	drain  <-chan struct{} // closed when the server takes no more
	empty  *atomic.Int64   // queues in a row that had no task
}

// looksForTask reports whether a command is asynq's script that takes a task; it alone has the key for paused queues second.
func looksForTask(cmd redis.Cmder) bool {
	args := cmd.Args()
	if len(args) < 5 || !strings.HasPrefix(cmd.Name(), "eval") {
		return false
	}
	key, _ := args[4].(string)
	return strings.HasPrefix(key, "asynq:{") && strings.HasSuffix(key, ":paused")
}

func (d dequeues) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !looksForTask(cmd) {
			return next(ctx, cmd)
		}
		if d.empty.Load() >= int64(d.queues) {
			d.empty.Store(0)
			select {
			case <-d.fed:
			case <-d.drain:
			case <-time.After(d.poll):
			case <-ctx.Done():
			}
		}
		err := next(ctx, cmd)
		if errors.Is(err, redis.Nil) {
			d.empty.Add(1)
		} else {
			d.empty.Store(0)
		}
		return err
	}
}

func (d dequeues) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (d dequeues) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}
