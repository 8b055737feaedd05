package worker

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/pelmill/pelmill/internal/listener"
)

// readyTime is how long Redis may take to answer for the worker to be ready.
const readyTime = 2 * time.Second

// Handler serves health, metrics and profiles, see package listener.
func (w *Worker) Handler() http.Handler { return listener.Handler(w.metrics.registry, w.unready) }

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

// listen serves Handler at Options.MetricsListen until the returned function is called.
func (w *Worker) listen() (stop func(), err error) {
	if w.address, stop, err = listener.Serve(w.opts.MetricsListen, w.Handler(), w.log); err != nil {
		err = fmt.Errorf("worker: %w", err)
	}
	return stop, err
}
