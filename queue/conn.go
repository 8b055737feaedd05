package queue

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/pelmill/pelmill/jobs"
)

// Options of [Open].
type Options struct {
	TLS     *tls.Config   // used instead of the URL's for the TLS schemes
	Timeout time.Duration // to reach Redis in Open; 0: 5 s
}

// Conn is a connection to one Redis. All methods are safe for concurrent use.
type Conn struct {
	address  *address
	rdb      redis.UniversalClient
	feed     *asynq.Client
	inspect  *asynq.Inspector
	embedded *miniredis.Miniredis // nil: a real Redis
	clock    *ttlClock            // of the embedded one
	changes  *changes             // made here; nil: a real Redis

	mu   sync.Mutex
	seen [jobs.Priorities]snapshot // see Enqueue
}

// Open connects to the Redis at url, or starts the embedded one where url is
// empty, and checks that it answers and is not too old. A Redis that does not
// answer gives [ErrUnreachable]. The caller closes the connection, after the
// servers that use it were shut down.
func Open(ctx context.Context, url string, opts *Options) (*Conn, error) {
	if opts == nil {
		opts = &Options{}
	}
	c := &Conn{}
	if url == "" {
		if err := c.embed(); err != nil {
			return nil, err
		}
	} else {
		a, err := parseAddress(url)
		if err != nil {
			return nil, err
		}
		if a.tls != nil && opts.TLS != nil {
			a.tls = opts.TLS.Clone()
		}
		c.address = a
	}
	c.rdb = c.address.client()
	c.feed = asynq.NewClientFromRedisClient(c.rdb)
	c.inspect = asynq.NewInspectorFromRedisClient(c.rdb)
	if err := c.check(ctx, opts.Timeout); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Conn) check(ctx context.Context, timeout time.Duration) error {
	if timeout <= 0 {
		timeout = dialTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := c.rdb.Ping(ctx).Err(); err != nil {
		// A password that is wrong is a server that answered.
		return fail("open "+c.address.String(), err)
	}
	version, err := c.Version(ctx)
	if err != nil {
		return err
	}
	return checkVersion(c.address.String(), version)
}

// embed starts a Redis in the process: on loopback with a password that only
// this process knows, TTLs running with the clock, to [ttlTick].
func (c *Conn) embed() error {
	var secret [24]byte
	rand.Read(secret[:])
	password := hex.EncodeToString(secret[:])
	m := miniredis.NewMiniRedis()
	m.RequireAuth(password) // before it listens
	if err := m.StartAddr("127.0.0.1:0"); err != nil {
		return fmt.Errorf("queue: start the embedded queue: %w", err)
	}
	c.embedded, c.changes, c.clock = m, newChanges(), newTTLClock(m)
	c.address = &address{kind: single, hosts: []string{m.Addr()}, password: password, inProcess: true}
	return nil
}

// Close ends the connection, and the embedded Redis with all it held.
func (c *Conn) Close() error {
	err := c.rdb.Close()
	if c.embedded != nil {
		c.clock.stop()
		c.embedded.Close()
	}
	if err != nil {
		return fmt.Errorf("queue: close: %w", err)
	}
	return nil
}

// Embedded reports whether Redis lives in this process.
func (c *Conn) Embedded() bool { return c.embedded != nil }

// Redis is the client, for commands that this package does not have.
func (c *Conn) Redis() redis.UniversalClient { return c.rdb }

// String is the address without user, password and parameters.
func (c *Conn) String() string {
	if c.Embedded() {
		return "embedded"
	}
	return c.address.String()
}

// Ping reports whether Redis answers.
func (c *Conn) Ping(ctx context.Context) error {
	return fail("ping", c.rdb.Ping(ctx).Err())
}

// Log sends what the Redis client has to say about connections to l at debug
// level, nil dropping it. The client has one logger for the process, so this
// is for programs to call once, not for libraries.
func Log(l *slog.Logger) {
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	redis.SetLogger(clientLog{l})
}

type clientLog struct{ log *slog.Logger }

func (c clientLog) Printf(ctx context.Context, format string, v ...any) {
	c.log.DebugContext(ctx, "redis client", "said", fmt.Sprintf(format, v...))
}
