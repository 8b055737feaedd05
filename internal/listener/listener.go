// Package listener serves health, metrics and profiles of a process that runs until
// it is told to stop:
//
//	/livez         200 as long as the process answers
//	/readyz        200, or 503 with one line for each reason
//	/metrics       for Prometheus
//	/debug/pprof/  profiles
//
// Nothing of it waits for work.
package listener

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pelmill/pelmill/internal/plain"
)

// Handler serves metrics, and whether the process is ready: unready gives the reasons
// for which it is not.
func Handler(metrics prometheus.Gatherer, unready func(context.Context) []string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprintln(rw, "ok") })
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, r *http.Request) {
		reasons := unready(r.Context())
		if len(reasons) == 0 {
			fmt.Fprintln(rw, "ok")
			return
		}
		rw.WriteHeader(http.StatusServiceUnavailable)
		for _, reason := range reasons {
			fmt.Fprintln(rw, plain.Line(reason))
		}
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// Serve serves h at host:port until stop is called, without a host on loopback; an
// empty address serves nothing. at is where it listens.
func Serve(address string, h http.Handler, log *slog.Logger) (at string, stop func(), err error) {
	if address == "" {
		return "", func() {}, nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = "", address // a port alone
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return "", nil, fmt.Errorf("listen at %q: %w", address, err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("health and metrics ended", "error", err)
		}
	})
	at = l.Addr().String()
	log.Info("health and metrics", "address", at)
	return at, func() { server.Close(); serving.Wait() }, nil
}
