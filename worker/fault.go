package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/storage"
)

// fault is what went wrong with one object. Any other error on the way of an
// object is one of its whole chunk.
type fault struct {
	outcome jobs.Outcome
	class   string
	err     error
	again   bool // another attempt may end differently
	alone   bool // and has to be made alone, as others may be to blame
	here    bool // another process may judge otherwise: the object has no verdict
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

func faultf(o jobs.Outcome, class, format string, args ...any) *fault {
	return &fault{outcome: o, class: class, err: fmt.Errorf(format, args...)}
}

// judges reports whether the fault is a verdict on the object that would be the same
// again.
func (f *fault) judges() bool {
	return (f.outcome == jobs.OutcomeUnsupported || f.outcome == jobs.OutcomeRejected) && !f.again && !f.here
}

// maxText bounds the text of an error in a record, in bytes.
const maxText = 500

// text is the error as one line for a record.
func (f *fault) text() string {
	s := plain.Line(strings.Join(strings.Fields(f.err.Error()), " "))
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "..."
	}
	return s
}

// readFault classifies an error of package imageio.
func readFault(err error) *fault {
	var rejected *imageio.RejectedError
	var unsupported *imageio.UnsupportedError
	switch {
	case errors.As(err, &unsupported):
		return &fault{outcome: jobs.OutcomeUnsupported, class: class.Format, err: err}
	case errors.As(err, &rejected) && rejected.Limit:
		return &fault{outcome: jobs.OutcomeRejected, class: class.Limit, err: err}
	}
	return &fault{outcome: jobs.OutcomeRejected, class: class.Malformed, err: err}
}

// codecFault classifies an error of a codec's Encode.
func codecFault(err error) *fault {
	var unsupported *codec.UnsupportedError
	switch {
	case errors.As(err, &unsupported):
		return &fault{outcome: jobs.OutcomeUnsupported, class: class.Image, err: err}
	case errors.Is(err, gpu.ErrNoDevice):
		return &fault{outcome: jobs.OutcomeFailed, class: class.Device, err: err, again: true}
	}
	return &fault{outcome: jobs.OutcomeFailed, class: class.Codec, err: err, again: true}
}

// storageFault classifies an error of package storage after its retries. A store that
// cannot be reached at all is no fault of the object.
func storageFault(ctx context.Context, err error) error {
	var large *storage.TooLargeError
	var exists *storage.ExistsError
	var f *fault
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &f):
		return f
	case errors.As(err, &large):
		return &fault{outcome: jobs.OutcomeRejected, class: class.Limit, err: err}
	case errors.As(err, &exists):
		return &fault{outcome: jobs.OutcomeFailed, class: class.Exists, err: err}
	case storage.Unreachable(err) && storage.Temporary(err):
		return err
	}
	return &fault{outcome: jobs.OutcomeFailed, class: class.Storage, err: err}
}
