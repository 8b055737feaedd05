package queue

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// embeddedCheck is what asynq sleeps between two turns over the queues of the embedded Redis. It does not turn in
// vain: see dequeues.
const embeddedCheck = time.Millisecond

// ttlTick is how much too early or too late keys of the embedded Redis expire at most. They all have seconds or more.
const ttlTick = 50 * time.Millisecond

// ttlClock lets the keys of the embedded Redis expire. It could do so by itself, for which it sorts all of its keys at each
// command.
type ttlClock struct {
	over    chan struct{}
	stopped sync.Once
	running sync.WaitGroup
}

func newTTLClock(m *miniredis.Miniredis) *ttlClock {
	c := &ttlClock{over: make(chan struct{})}
	c.running.Go(func() {
		tick := time.NewTicker(ttlTick)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case now := <-tick.C:
				m.FastForward(now.Sub(last))
				last = now
			case <-c.over:
				return
			}
		}
	})
	return c
}

// stop ends the clock and waits for it.
func (c *ttlClock) stop() {
	c.stopped.Do(func() { close(c.over) })
	c.running.Wait()
}

// changes tells the parts of one process what others of it have just done, where Redis is embedded, so that they need
// not look again and again. Each channel has room for one value, which stands for all changes since it was received.
type changes struct {
	fed chan struct{} // a task was added

	mu        sync.Mutex
	touched   map[string]int           // by the name of an asynq queue: tasks that were added, and others moved
	committed map[string]chan struct{} // by job: one of its chunks was committed
}

func newChanges() *changes {
	return &changes{fed: make(chan struct{}, 1), touched: map[string]int{}, committed: map[string]chan struct{}{}}
}

// tell leaves a value in a channel of changes.
func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// touch says that a queue may have a task that it did not have before.
func (c *changes) touch(queue string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.touched[queue]++
}

// touches is how often that was said.
func (c *changes) touches(queue string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.touched[queue]
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
// at once, and an idle server looks no more often than asynq alone would with Poll. Of the queues, which asynq asks one
// after the other for each task, those are left out that had none a moment ago and that nobody has touched since.
type dequeues struct {
	queues  int             // that a turn looks at
	poll    time.Duration   // within which what others have moved to a queue is seen
	changes *changes        // of this process
	drain   <-chan struct{} // closed when the server takes no more

	mu    sync.Mutex
	empty int              // queues in a row that had no task
	asked map[string]asked // those that had none when they were asked last
}

// asked is when a queue was asked, and how often it had been touched before.
type asked struct {
	at      time.Time
	touches int
}

func newDequeues(queues int, poll time.Duration, c *changes, drain <-chan struct{}) *dequeues {
	return &dequeues{queues: queues, poll: poll, changes: c, drain: drain, asked: map[string]asked{}}
}

// turnIsOver reports whether all queues had no task, and begins the next turn.
func (d *dequeues) turnIsOver() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	over := d.empty >= d.queues
	if over {
		d.empty = 0
	}
	return over
}

// knows reports whether a queue still has no task, as far as this process can know.
func (d *dequeues) knows(queue string, now asked) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	last, ok := d.asked[queue]
	known := ok && last.touches == now.touches && now.at.Sub(last.at) < d.poll
	if known {
		d.empty++
	}
	return known
}

// learn notes the answer of a queue.
func (d *dequeues) learn(queue string, at asked, none bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if none {
		d.empty++
		d.asked[queue] = at
	} else {
		d.empty = 0
		delete(d.asked, queue)
	}
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

// queueOf is the name of the asynq queue whose keys a script has; empty: none's.
func queueOf(cmd redis.Cmder) string {
	args := cmd.Args()
	if len(args) < 4 || !strings.HasPrefix(cmd.Name(), "eval") {
		return ""
	}
	key, _ := args[3].(string)
	rest, ok := strings.CutPrefix(key, "asynq:{")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "}")
	return name
}

func (d *dequeues) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		queue := queueOf(cmd)
		if !looksForTask(cmd) {
			err := next(ctx, cmd)
			if queue != "" {
				d.changes.touch(queue)
			}
			return err
		}
		if d.turnIsOver() {
			select {
			case <-d.changes.fed:
			case <-d.drain:
			case <-time.After(d.poll):
			case <-ctx.Done():
			}
		}
		// Counted before it is asked: what comes meanwhile may not be in the answer.
		now := asked{time.Now(), d.changes.touches(queue)}
		if d.knows(queue, now) {
			return redis.Nil
		}
		err := next(ctx, cmd)
		d.learn(queue, now, errors.Is(err, redis.Nil))
		return err
	}
}

func (d *dequeues) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (d *dequeues) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}
