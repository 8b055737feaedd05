package codec

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pelmill/pelmill/internal/container"
)

// Errors of walkers keep their kind and get the codec's subject.
func TestFromContainer(t *testing.T) {
	for _, c := range []struct {
		err         error
		unsupported bool
		want        string
	}{
		{container.ErrCutShort, false, "x: the file is cut short"},
		{fmt.Errorf("page 2: %w", container.ErrCutShort), false, "x: the file is cut short"},
		{container.Malformed("it holds %d", 2), false, "x: the file: it holds 2"},
		{container.Unsupported("animations are not read"), true, "x: the file: animations are not read"},
		{errors.New("zlib: invalid header"), false, "x: the file: zlib: invalid header"},
	} {
		got := FromContainer("x: the file", c.err)
		var malformed *FormatError
		var unsupported *UnsupportedError
		if errors.As(got, &unsupported) != c.unsupported || errors.As(got, &malformed) == c.unsupported || got.Error() != c.want {
			t.Errorf("%v: %T %q, want %q", c.err, got, got, c.want)
		}
	}
}
