package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/scheduler"
)

func TestExitCodes(t *testing.T) {
	stopped, stop := context.WithCancelCause(context.Background())
	stop(&interrupted{signal: os.Interrupt})
	for _, tt := range []struct {
		name string
		ctx  context.Context
		err  error
		want int
	}{
		{"no error", t.Context(), nil, 0},
		{"no error after a signal", stopped, nil, 0},
		{"an error", t.Context(), fs.ErrNotExist, 1},
		{"usage", t.Context(), fmt.Errorf("compress: %w", usagef("no codec")), 2},
		{"nothing to retry", t.Context(), fmt.Errorf("x: %w", scheduler.ErrNothing), 4},
		{"no device", t.Context(), fmt.Errorf("worker: %w", gpu.ErrNoDevice), 7},
		{"no Redis", t.Context(), fmt.Errorf("queue: %w: refused", queue.ErrUnreachable), 8},
		{"no rights", t.Context(), &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrPermission}, 8},
		{"lost card", t.Context(), fmt.Errorf("worker: %w", gpu.ErrFatal), 9},
		{"interrupted", stopped, context.Canceled, 130},
		{"what a verb says counts more than the signal", stopped, &exit{code: 3}, 3},
	} {
		if got := code(tt.ctx, tt.err); got != tt.want {
			t.Errorf("%s: exit code %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestExitCodesOfEndedJobs(t *testing.T) {
	good := jobs.Counts{Objects: 3, Compressed: 3}
	for _, tt := range []struct {
		name   string
		report jobs.Report
		limit  bool
		want   int
	}{
		{"all well", jobs.Report{State: jobs.StateDone, Counts: good}, false, 0},
		{"all done before", jobs.Report{State: jobs.StateDone, Counts: jobs.Counts{Objects: 3, Skipped: 3}}, false, 0},
		{"unsupported is no failure", jobs.Report{State: jobs.StateDone, Counts: jobs.Counts{Objects: 3, Unsupported: 3}}, false, 0},
		{"one failed", jobs.Report{State: jobs.StateDone, Counts: jobs.Counts{Objects: 3, Compressed: 2, Failed: 1}}, false, 3},
		{"one rejected", jobs.Report{State: jobs.StateDone, Counts: jobs.Counts{Objects: 3, Compressed: 2, Rejected: 1}}, false, 3},
		{"no object", jobs.Report{State: jobs.StateDone}, false, 4},
		{"one does not decode", jobs.Report{State: jobs.StateDone, Counts: jobs.Counts{Objects: 3, Rejected: 1, Failed: 2, Mismatched: 1}}, false, 5},
		{"failure limit", jobs.Report{State: jobs.StateFailed, Counts: jobs.Counts{Objects: 3, Failed: 3, Mismatched: 3}}, true, 6},
		{"failed otherwise", jobs.Report{State: jobs.StateFailed, Counts: good}, false, 1},
		{"cancelled", jobs.Report{State: jobs.StateCancelled, Counts: good}, false, 1},
	} {
		if got := code(t.Context(), (&program{}).ended(tt.report, tt.limit)); got != tt.want {
			t.Errorf("%s: exit code %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestErrorsAreOneLine(t *testing.T) {
	got := sentence(errors.Join(errors.New("one"), errors.New("two"), gpu.ErrNoDevice))
	if strings.Contains(got, "\n") || !strings.HasPrefix(got, "one; two; no usable device (") {
		t.Errorf("%q", got)
	}
}
