package imageio

import (
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/image/bmp"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/container"
	jpeg "github.com/pelmill/pelmill/internal/container/jpeg/decode"
)

// RejectedError says that a file is malformed, cut short or over a limit.
type RejectedError struct {
	Format string // as in [Header], or "file" where it is not known
	Reason string // one sentence without the format
	Limit  bool   // the file is over a limit and may be sound
}

func (e *RejectedError) Error() string { return "imageio: " + e.Format + ": " + e.Reason }

// UnsupportedError says that a file is of a kind that is not read or written
// here. Nothing is said about its health.
type UnsupportedError struct {
	Format string // as in [Header], or "file" where it is not known
	Reason string // one sentence without the format
}

func (e *UnsupportedError) Error() string { return "imageio: " + e.Format + ": " + e.Reason }

func rejected(format, reason string, args ...any) error {
	return &RejectedError{Format: format, Reason: fmt.Sprintf(reason, args...)}
}

func overLimit(format, reason string, args ...any) error {
	return &RejectedError{Format: format, Reason: fmt.Sprintf(reason, args...), Limit: true}
}

func unsupported(format, reason string, args ...any) error {
	return &UnsupportedError{Format: format, Reason: fmt.Sprintf(reason, args...)}
}

func cutShort(format string) error {
	return rejected(format, "the file ends in the middle of its data")
}

// classify turns the error of a decoder into one of ours.
func classify(format string, err error) error {
	var r *RejectedError
	var u *UnsupportedError
	var ju jpeg.UnsupportedError
	var jf jpeg.FormatError
	var cu *container.UnsupportedError
	var cf *container.FormatError
	var du *codec.UnsupportedError
	var df *codec.FormatError
	var corrupt flate.CorruptInputError
	switch {
	case errors.As(err, &r), errors.As(err, &u):
		return err
	case errors.As(err, &ju):
		return unsupported(format, "%s", string(ju))
	case errors.As(err, &jf):
		return rejected(format, "%s", string(jf))
	case errors.As(err, &cu):
		return unsupported(format, "%s", cu.Reason)
	case errors.As(err, &cf):
		return &RejectedError{Format: format, Reason: cf.Reason, Limit: cf.Limit}
	case errors.As(err, &du):
		return unsupported(format, "%s", strings.TrimPrefix(du.Reason, format+": "))
	case errors.As(err, &df):
		return rejected(format, "%s", strings.TrimPrefix(df.Reason, format+": "))
	case errors.Is(err, bmp.ErrUnsupported):
		return unsupported(format, "it uses a header, a compression or a depth that is not read")
	case errors.As(err, &corrupt):
		return rejected(format, "its compressed data are damaged")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return cutShort(format)
	}
	text := err.Error()
	if strings.Contains(text, io.ErrUnexpectedEOF.Error()) {
		return cutShort(format)
	}
	return rejected(format, "it is damaged: %s", strings.TrimPrefix(strings.TrimPrefix(text, format+": "), "invalid format: "))
}
