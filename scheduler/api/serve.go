package api

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/pelmill/pelmill/internal/listener"
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
		ErrorLog: listener.ErrorLog(a.log), ConnContext: listener.WithConn}
	limited := listener.Limit(l, mostConnections)
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
	c, err := listener.TLS(o.Cert, o.Key, o.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key, --client-ca: %w", err)
	}
	c.NextProtos = []string{"h2", "http/1.1"}
	return c, nil
}
