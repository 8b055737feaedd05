package api

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// ServeOptions say where an API listens.
type ServeOptions struct {
	Listen   string // host:port; without a host loopback
	Cert     string // file of the server's certificate and what is between it and its authority, PEM; empty: no TLS
	Key      string // file of its key
	ClientCA string // file of the authorities of client certificates; empty: these are not asked for
}

const (
	mostHeader      = 64 << 10 // bytes of the header of a request
	mostConnections = 1024
	headerTime      = 10 * time.Second // in which a client has sent its header
	idleConnection  = 60 * time.Second
	closeTime       = 2 * time.Second // in which requests end when the listener is closed
)

// Check reports what of the options cannot be: a listener that others reach needs to know who they are.
func (o *ServeOptions) Check(tokens bool) error {
	host, _, err := o.address()
	switch {
	case err != nil:
		return err
	case (o.Cert == "") != (o.Key == ""):
		return errors.New("--tls-cert and --tls-key belong together")
	case o.ClientCA != "" && o.Cert == "":
		return errors.New("--client-ca needs --tls-cert and --tls-key")
	case !tokens && o.ClientCA == "" && !loopbackName(host):
		return fmt.Errorf("--listen %s can be reached from elsewhere, so it needs --token-file or --client-ca", o.Listen)
	}
	return nil
}

func (o *ServeOptions) address() (host, port string, err error) {
	host, port, err = net.SplitHostPort(o.Listen)
	if err != nil {
		return "", "", fmt.Errorf("--listen %q: want HOST:PORT, or :PORT for loopback", o.Listen)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return host, port, nil
}

// Serve serves the API until stop is called. at is where it listens.
func (a *API) Serve(o *ServeOptions) (at string, stop func(), err error) {
	if err := o.Check(a.opts.Tokens != nil); err != nil {
		return "", nil, err
	}
	config, err := o.tls()
	if err != nil {
		return "", nil, err
	}
	host, port, _ := o.address()
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return "", nil, fmt.Errorf("listen at %q: %w", o.Listen, err)
	}
	at = l.Addr().String()
	server := &http.Server{Handler: a.handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleConnection, MaxHeaderBytes: mostHeader, TLSConfig: config,
		ErrorLog: log.New(&errorLog{log: a.log}, "", 0)}
	limited := &limitedListener{Listener: l, free: make(chan struct{}, mostConnections)}
	var serving sync.WaitGroup
	serving.Go(func() {
		err := error(nil)
		if config != nil {
			err = server.ServeTLS(limited, "", "")
		} else {
			err = server.Serve(limited)
		}
		if !errors.Is(err, http.ErrServerClosed) {
			a.log.Error("the API has ended", "error", err)
		}
	})
	a.log.Info("API", "address", at, "tls", config != nil)
	return at, func() {
		a.stop() // streams of events end
		end := time.AfterFunc(closeTime, func() { server.Close() })
		defer end.Stop()
		a.running.Wait()
		server.Shutdown(a.ctx) // a.ctx is over: it closes what is idle and waits for nothing
		server.Close()
		serving.Wait()
	}, nil
}

// tls is nil where there is none.
func (o *ServeOptions) tls() (*tls.Config, error) {
	if o.Cert == "" {
		return nil, nil
	}
	pair := &certificate{cert: o.Cert, key: o.Key}
	if _, err := pair.get(nil); err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.get, NextProtos: []string{"h2", "http/1.1"}}
	if o.ClientCA == "" {
		return c, nil
	}
	data, err := os.ReadFile(o.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("--client-ca: %w", err)
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("--client-ca: %s has no certificate in PEM", o.ClientCA)
	}
	c.ClientAuth = tls.VerifyClientCertIfGiven // who has none may have a token
	return c, nil
}

// certificate is that of the server, read again when its file has changed: certificates are renewed while it runs.
type certificate struct {
	cert, key string

	mu      sync.Mutex
	changed time.Time
	pair    *tls.Certificate
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.cert)
	if err == nil && !info.ModTime().Equal(c.changed) {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(c.cert, c.key); err == nil {
			c.pair, c.changed = &pair, info.ModTime()
		}
	}
	if c.pair == nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	return c.pair, nil
}

// limitedListener accepts so many connections at once; others wait in the queue of the system.
type limitedListener struct {
	net.Listener
	free chan struct{}
}

func (l *limitedListener) Accept() (net.Conn, error) {
	l.free <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &limitedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.free })}, nil
}

type limitedConn struct {
	net.Conn
	leave func()
}

func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// errorLog takes what net/http says of connections: it is what clients do, and no error of ours.
type errorLog struct{ log *slog.Logger }

func (e *errorLog) Write(line []byte) (int, error) {
	e.log.Debug("connection", "says", string(line))
	return len(line), nil
}
