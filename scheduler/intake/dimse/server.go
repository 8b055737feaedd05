package dimse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pelmill/pelmill/internal/listener"
	"github.com/pelmill/pelmill/scheduler/intake"
	"github.com/pelmill/pelmill/scheduler/intake/instances"
)

// Defaults of [Options].
const (
	DefaultTitle        = "PELMILL"
	DefaultAssociations = 64
)

const (
	requestTime     = 30 * time.Second // in which a peer asks for an association (ARTIM, PS3.8, 9.1.5)
	idleTime        = 2 * time.Minute  // between two PDUs
	writeTime       = 30 * time.Second
	associationTime = 12 * time.Hour
	acceptAgain     = 100 * time.Millisecond // after an error of the listener, such as too many open files
)

// Peer is who may send.
type Peer struct {
	Title string // AE title
	Host  string // name or address; empty: any
	Port  string // at which it takes results of storage commitment; empty: on the association of the request
}

// ParsePeer reads TITLE, TITLE@HOST or TITLE@HOST:PORT.
func ParsePeer(text string) (p Peer, err error) {
	at := ""
	if p.Title, at, _ = strings.Cut(text, "@"); at != "" {
		if p.Host, p.Port, err = net.SplitHostPort(at); err != nil {
			p.Host, p.Port = strings.Trim(at, "[]"), ""
		}
	}
	if !validTitle(p.Title) || strings.HasSuffix(text, "@") {
		return p, fmt.Errorf("dimse: %q: want TITLE, TITLE@HOST or TITLE@HOST:PORT, with an AE title of 1 to 16 characters", text)
	}
	return p, nil
}

// validTitle reports whether a text is an AE title (PS3.5, 6.2: VR AE) as it is compared here.
func validTitle(t string) bool {
	return t != "" && len(t) <= 16 && t == title([]byte(t)) && !strings.ContainsAny(t, `\@`)
}

// Options say where a server listens, and to whom.
type Options struct {
	Address      string       // host:port; without a host: loopback
	Title        string       // AE title that peers must call; empty: any, and DefaultTitle is this side's
	Peers        []Peer       // who may send; none: whoever reaches the server
	Associations int          // at once; 0: DefaultAssociations
	Log          *slog.Logger // nil: nothing is logged

	Listen net.Listener // of tests; nil: at Address
}

// Server receives instances into a store. It is a source of an intake.
type Server struct {
	opts    Options
	title   string // of this side
	store   *instances.Store
	slots   chan struct{} // a token for each association
	reports chan struct{} // a token for each result of storage commitment that is on its way
	again   []time.Duration
}

// New checks options. A server that others than this machine reach needs peers.
func New(store *instances.Store, opts Options) (*Server, error) {
	s := &Server{opts: opts, store: store, title: opts.Title, reports: make(chan struct{}, mostReports), again: reportAgain}
	o := &s.opts
	if s.title == "" {
		s.title = DefaultTitle
	}
	if o.Associations == 0 {
		o.Associations = DefaultAssociations
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	host, port, err := net.SplitHostPort(o.Address)
	switch {
	case o.Listen != nil:
	case err != nil:
		return nil, fmt.Errorf("dimse: address %q: want HOST:PORT, or :PORT for loopback", o.Address)
	case host == "":
		host = "127.0.0.1"
		o.Address = net.JoinHostPort(host, port)
	}
	ip := net.ParseIP(host)
	switch {
	case o.Associations < 1:
		return nil, fmt.Errorf("dimse: %d associations: want at least 1", o.Associations)
	case !validTitle(s.title):
		return nil, fmt.Errorf("dimse: AE title %q: want 1 to 16 characters", s.title)
	case o.Listen == nil && len(o.Peers) == 0 && !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()):
		return nil, fmt.Errorf("dimse: %s can be reached from elsewhere, so it needs peers", o.Address)
	}
	s.slots = make(chan struct{}, o.Associations)
	return s, nil
}

// Run serves until ctx ends. Associations are aborted then: an instance that was not acknowledged comes again.
func (s *Server) Run(ctx context.Context, to *intake.Spool) error {
	l := s.opts.Listen
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", s.opts.Address); err != nil {
			return fmt.Errorf("dimse: %w", err)
		}
	}
	s.opts.Log.Info("Storage SCP", "address", l.Addr().String(), "title", s.title, "peers", len(s.opts.Peers))
	// Should the spool in memory be full, the next listing finds the instance.
	found := func(key string) { to.Add(ctx, intake.Arrival{Key: key}, false) }
	return s.serve(ctx, l, found)
}

// serve accepts associations until ctx ends.
func (s *Server) serve(ctx context.Context, l net.Listener, found func(key string)) error {
	var running sync.WaitGroup
	defer running.Wait()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	limited := listener.Limit(l, 2*s.opts.Associations) // half of them hear that there are too many
	for {
		conn, err := limited.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("dimse: %w", err)
		case err != nil:
			s.opts.Log.Warn("associations cannot be accepted", "error", err)
			time.Sleep(acceptAgain)
			continue
		}
		running.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			a := newSession(ctx, s, conn, found, &running)
			if err := a.run(); err != nil && ctx.Err() == nil {
				s.opts.Log.Debug("association has ended", "session", a.from.Session, "error", err)
			}
		})
	}
}

// known finds the peer of an association.
func (s *Server) known(ctx context.Context, calling, address string) (Peer, bool) {
	if len(s.opts.Peers) == 0 {
		return Peer{Title: calling, Host: address}, true
	}
	for _, p := range s.opts.Peers {
		if p.Title != calling {
			continue
		}
		if p.Host == "" || p.Host == address {
			return p, true
		}
		found, err := net.DefaultResolver.LookupHost(ctx, p.Host)
		if err == nil && slices.Contains(found, address) {
			return p, true
		}
	}
	return Peer{}, false
}
