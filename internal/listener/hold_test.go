package listener

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// counted counts the writes to its connections.
type counted struct {
	net.Listener
	mu     sync.Mutex
	writes int
}

type countedConn struct {
	net.Conn
	of *counted
}

func (l *counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countedConn{c, l}, err
}

func (c countedConn) Write(p []byte) (int, error) {
	c.of.mu.Lock()
	c.of.writes++
	c.of.mu.Unlock()
	return c.Conn.Write(p)
}

// An answer that is held is sent with one write, whatever its size is, and arrives as it is without Hold.
func TestHold(t *testing.T) {
	texts := map[string][]byte{"/none": nil, "/small": []byte("text"), "/large": bytes.Repeat([]byte("0123456789"), 2000), "/huge": bytes.Repeat([]byte("0123456789"), 20_000)}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &counted{Listener: inner}
	server := &http.Server{ConnContext: WithConn, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		send := func() error { return nil }
		if strings.HasSuffix(r.URL.RawQuery, "hold") {
			send = Hold(r)
		}
		text := texts[r.URL.Path]
		if r.URL.RawQuery != "chunked-hold" {
			rw.Header()["Content-Length"] = []string{strconv.Itoa(len(text))}
		}
		_, err := rw.Write(text)
		if err := errors.Join(err, http.NewResponseController(rw).Flush(), send()); err != nil {
			t.Error(err)
		}
		if err := send(); err != nil { // a second time: nothing is held
			t.Error(err)
		}
	})}
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(Limit(l, 10)) })
	defer serving.Wait()
	defer server.Close()
	for path, text := range texts {
		for _, query := range []string{"", "hold", "chunked-hold", ""} {
			l.mu.Lock()
			before := l.writes
			l.mu.Unlock()
			res, err := http.Get("http://" + inner.Addr().String() + path + "?" + query)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s?%s: %d bytes, want %d (%v)", path, query, len(got), len(text), err)
			}
			l.mu.Lock()
			writes := l.writes - before
			l.mu.Unlock()
			if query == "hold" && len(text) <= mostHeld && writes != 1 {
				t.Errorf("%s?%s: %d writes, want 1", path, query, writes)
			}
		}
	}
}
