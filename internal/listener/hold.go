package listener

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// An answer that is larger than a buffer of net/http, 4 KiB, goes out in several writes, and a chunk of a stream in three.
// Each is a call of the system and may wake the client. Hold makes one of them.

type connKey struct{}

// WithConn is a ConnContext for an http.Server on a listener of [Limit], for [Hold].
func WithConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn() // below TLS
	}
	return context.WithValue(ctx, connKey{}, c)
}

// Hold keeps back what is written to the connection of a request until send is called, which must be, once everything
// was flushed into the connection. Where the server lacks [WithConn], and with HTTP/2, whose requests share a connection,
// nothing is kept back.
func Hold(r *http.Request) (send func() error) {
	c, ok := r.Context().Value(connKey{}).(*limitedConn)
	if !ok || r.ProtoMajor != 1 {
		return func() error { return nil }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = buffers.Get().(*[]byte)
	}
	return c.send
}

// buffers are of what is held; they serve all connections in turn.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// mostHeld is how many bytes are held at most.
const mostHeld = 64 << 10

func (c *limitedConn) send() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		return nil
	}
	data := *c.held
	var err error
	if len(data) > 0 {
		_, err = c.Conn.Write(data)
	}
	*c.held = data[:0]
	buffers.Put(c.held)
	c.held = nil
	return err
}

func (c *limitedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.held != nil && len(*c.held)+len(p) <= mostHeld {
		defer c.mu.Unlock()
		*c.held = append(*c.held, p...)
		return len(p), nil
	}
	c.mu.Unlock()
	if err := c.send(); err != nil { // too much to be held
		return 0, err
	}
	return c.Conn.Write(p)
}
