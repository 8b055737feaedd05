package jpegxl

import (
	"fmt"

	"github.com/pelmill/pelmill/codecs/codec"
)

// Options are the codec's options: there are none.
type Options struct{}

// Options reads key=value pairs.
func (Codec) Options(pairs []string) (codec.Options, error) {
	if len(pairs) > 0 {
		return nil, fmt.Errorf("jpegxl: option %q is not known; there are none", pairs[0])
	}
	return &Options{}, nil
}

// String is the canonical form.
func (*Options) String() string { return "" }
