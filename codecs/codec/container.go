package codec

import (
	"errors"

	"github.com/pelmill/pelmill/internal/container"
)

// FromContainer returns an error of a walker or decoder below internal/container as
// one of a codec: an [*UnsupportedError] for what is not read, and a [*FormatError]
// for all else. The subject is that of the sentence, "neuquant: the PNG file" say.
func FromContainer(subject string, err error) error {
	var unsupported *container.UnsupportedError
	switch {
	case errors.As(err, &unsupported):
		return Unsupportedf("%s: %s", subject, unsupported.Reason)
	case errors.Is(err, container.ErrCutShort):
		return Malformedf("%s is cut short", subject)
	}
	return Malformedf("%s: %v", subject, err)
}
