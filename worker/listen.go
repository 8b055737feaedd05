package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pelmill/pelmill/internal/plain"
)

// readyTime is how long Redis may take to answer for the worker to be ready.
const readyTime = 2 * time.Second

// Handler serves health, metrics and profiles:
//
//	/livez         200 as long as the process answers
//	/readyz        200, or 503 with one line for each reason
//	/metrics       for Prometheus
//	/debug/pprof/  profiles
//
// Nothing of it waits for work.
func (w *Worker) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprintln(rw, "ok") })
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, r *http.Request) {
		reasons := w.unready(r.Context())
		if len(reasons) == 0 {
			fmt.Fprintln(rw, "ok")
			return
		}
		rw.WriteHeader(http.StatusServiceUnavailable)
		for _, reason := range reasons {
			fmt.Fprintln(rw, plain.Line(reason))
		}
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(w.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// unready gives the reasons for which no new work should be sent here.
func (w *Worker) unready(ctx context.Context) []string {
	var reasons []string
	if !w.tested.Load() {
		reasons = append(reasons, "the self-test of the codecs has not ended")
	}
	if w.draining.Load() {
		reasons = append(reasons, "the worker is stopping")
	}
	if n := w.guards.stuck.Load(); n > 0 {
		reasons = append(reasons, fmt.Sprintf("%d of %d encoders are held by a codec that does not end", n, w.opts.CPU))
	}
	if n := w.laneGuards.stuck.Load(); n > 0 {
		reasons = append(reasons, fmt.Sprintf("%d of %d batches on the device are held by a codec that does not end", n, cap(w.lanes)))
	}
	if trouble := w.trouble.Load(); trouble != nil {
		reasons = append(reasons, *trouble)
	}
	if w.conn != nil {
		ctx, cancel := context.WithTimeout(ctx, readyTime)
		defer cancel()
		if err := w.conn.Ping(ctx); err != nil {
			reasons = append(reasons, err.Error())
		}
	}
	return reasons
}

// listen serves Handler at Options.Listen until the returned function is called.
func (w *Worker) listen() (stop func(), err error) {
	if w.opts.Listen == "" {
		return func() {}, nil
	}
	host, port, err := net.SplitHostPort(w.opts.Listen)
	if err != nil {
		host, port = "", w.opts.Listen // a port alone
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("worker: listen at %q: %w", w.opts.Listen, err)
	}
	server := &http.Server{Handler: w.Handler(), ReadHeaderTimeout: 10 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			w.log.Error("health and metrics ended", "error", err)
		}
	})
	w.address = l.Addr().String()
	w.log.Info("health and metrics", "address", w.address)
	return func() { server.Close(); serving.Wait() }, nil
}
