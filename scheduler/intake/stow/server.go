package stow

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/pelmill/pelmill/internal/listener"
	"github.com/pelmill/pelmill/scheduler/intake"
	"github.com/pelmill/pelmill/scheduler/intake/instances"
	"github.com/pelmill/pelmill/scheduler/tokens"
)

// RoleStore is the role of a token that may send instances.
const RoleStore = "store"

// Defaults of [Options].
const (
	DefaultClients   = 256
	DefaultMostBytes = 4 << 30
)

const (
	mostParts   = 10_000           // of a body
	mostHeader  = 64 << 10         // bytes of the header of a request
	headerTime  = 10 * time.Second // in which a client has sent its header
	idleTime    = time.Minute      // in which the next bytes of a body come, and between two requests
	requestTime = time.Hour        // for a whole request
	closeTime   = 5 * time.Second  // in which requests end when the server stops
	retryAfter  = "15"             // seconds after which a sender should try again
)

// Options say where a server listens, and to whom.
type Options struct {
	Address   string       // host:port; without a host: loopback
	Tokens    *tokens.File // of role RoleStore; nil: whoever reaches the server may send
	Cert, Key string       // files of the server's certificate and its key, PEM; empty: no TLS
	Clients   int          // requests at once; 0: DefaultClients
	MostBytes int64        // of a body; 0: DefaultMostBytes
	Log       *slog.Logger // nil: nothing is logged

	Listen net.Listener // of tests; nil: at Address
}

// Server receives instances into a store. It is a source of an intake.
type Server struct {
	opts  Options
	store *instances.Store
	slots chan struct{}
	tls   *tls.Config
}

// New checks options. A server that others than this machine reach needs tokens.
func New(store *instances.Store, opts Options) (*Server, error) {
	s := &Server{opts: opts, store: store}
	o := &s.opts
	if o.Clients == 0 {
		o.Clients = DefaultClients
	}
	if o.MostBytes == 0 {
		o.MostBytes = DefaultMostBytes
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s.slots = make(chan struct{}, o.Clients)
	host, port, err := net.SplitHostPort(o.Address)
	switch {
	case o.Listen != nil:
	case err != nil:
		return nil, fmt.Errorf("stow: address %q: want HOST:PORT, or :PORT for loopback", o.Address)
	case host == "":
		host = "127.0.0.1"
		o.Address = net.JoinHostPort(host, port)
	}
	switch {
	case o.Clients < 1 || o.MostBytes < 1:
		return nil, fmt.Errorf("stow: %d clients and %d bytes: want at least 1", o.Clients, o.MostBytes)
	case (o.Cert == "") != (o.Key == ""):
		return nil, errors.New("stow: a certificate and its key belong together")
	case o.Listen == nil && o.Tokens == nil && !loopback(host):
		return nil, fmt.Errorf("stow: %s can be reached from elsewhere, so it needs tokens", o.Address)
	}
	if o.Cert != "" {
		if s.tls, err = listener.TLS(o.Cert, o.Key, ""); err != nil {
			return nil, fmt.Errorf("stow: %w", err)
		}
		s.tls.NextProtos = []string{"h2", "http/1.1"}
	}
	return s, nil
}

// loopback reports whether a host is a name of this machine alone.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context, to *intake.Spool) error {
	l := s.opts.Listen
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", s.opts.Address); err != nil {
			return fmt.Errorf("stow: %w", err)
		}
	}
	// Should the spool in memory be full, the next listing finds the instance.
	found := func(key string) { to.Add(ctx, intake.Arrival{Key: key}, false) }
	server := &http.Server{Handler: s.handler(found), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: mostHeader, TLSConfig: s.tls, ErrorLog: listener.ErrorLog(s.opts.Log)}
	limited := listener.Limit(l, 2*s.opts.Clients)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		server.Shutdown(late)
		server.Close()
	})
	s.opts.Log.Info("STOW-RS", "address", l.Addr().String(), "tls", s.tls != nil)
	var err error
	if s.tls != nil {
		err = server.ServeTLS(limited, "", "")
	} else {
		err = server.Serve(limited)
	}
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		server.Close()
		return fmt.Errorf("stow: %w", err)
	}
	<-ended
	return nil
}
