package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/api/client"
	"github.com/pelmill/pelmill/storage"
)

// The exit codes. Scripts depend on them; they never change.
const (
	exitOK          = 0   // all well, also where everything had been done before
	exitError       = 1   // an error
	exitUsage       = 2   // unknown verb, flag, codec or option, or a value that is not allowed
	exitFailures    = 3   // finished, but objects failed or were rejected
	exitNothing     = 4   // nothing to do: no object in the source after the filters
	exitMismatch    = 5   // a result did not decode to its image, or is not what was recorded
	exitLimit       = 6   // the job stopped itself at its failure limit
	exitNoDevice    = 7   // the requested device does not exist
	exitUnreachable = 8   // storage or queue cannot be reached, or takes no more
	exitLostCard    = 9   // the card failed in the middle of the work; a new process can go on
	exitInterrupted = 130 // SIGINT or SIGTERM
)

const exitHelp = `Exit codes: 0 all well (also when everything had been done before), 1 error, 2 usage,
3 finished with failed or rejected objects, 4 nothing to do (no object in the source
after the filters), 5 verification mismatch, 6 failure limit reached, 7 no usable
device, 8 storage or queue unreachable or full, 9 card lost (run it again), 130 interrupted.`

// exit ends the program with a code of its own. Without an error nothing more
// is printed: the verb has said all there is to say.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// usagef is an error in how the program was called.
func usagef(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

// nothingf says why there is nothing to do.
func nothingf(format string, args ...any) error {
	return &exit{exitNothing, fmt.Errorf(format, args...)}
}

// code returns the exit code for what a verb returned.
func code(ctx context.Context, err error) int {
	var e *exit
	var signal *interrupted
	var temp *scheduler.TempError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		return e.code
	case errors.As(context.Cause(ctx), &signal):
		return exitInterrupted
	case errors.Is(err, scheduler.ErrNothing):
		return exitNothing
	case errors.Is(err, gpu.ErrNoDevice):
		return exitNoDevice
	case errors.Is(err, gpu.ErrFatal):
		return exitLostCard
	case errors.Is(err, queue.ErrUnreachable), errors.Is(err, client.ErrUnreachable), errors.Is(err, queue.ErrFull), storage.Unreachable(err), storage.Full(err), errors.As(err, &temp):
		return exitUnreachable
	}
	return exitError
}

// outcome is the error for the totals of a job or run that has ended: nil, or
// an exit code without a text, because the summary has shown the numbers.
func outcome(c jobs.Counts) error {
	switch {
	case c.Mismatched > 0:
		return &exit{code: exitMismatch}
	case c.Bad() > 0:
		return &exit{code: exitFailures}
	}
	return nil
}

// sentence renders an error in one line, with what to do next where that
// depends on its kind alone.
func sentence(err error) string {
	s := strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	var temp *scheduler.TempError
	switch {
	case errors.As(err, &temp):
	case errors.Is(err, gpu.ErrNoDevice):
		s += " (--device auto or cpu runs without one)"
	case errors.Is(err, queue.ErrUnreachable):
		s += " (is Redis running there? pelmill doctor --redis URL tells more)"
	case storage.Full(err):
		s += " (make room; the same command continues)"
	case storage.Unreachable(err):
		s += " (pelmill doctor SRC DST tells more)"
	}
	return plain.Line(s)
}
