package jpegxl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/vardct"
)

// Options are the codec's options; see [Codec.Info] for their meaning. Codec.Options makes
// them.
type Options struct {
	effort vardct.Effort
}

// efforts are the values of effort, by their numbers.
var efforts = [...]string{vardct.Default: "default", vardct.Fast: "fast", vardct.Best: "best"}

var optionInfo = []codec.OptionInfo{
	{Key: "effort", Default: efforts[vardct.Default], Values: "fast, default, best", Help: "time spent on smaller files; README.md of the package says what each does"},
}

var defaults = Options{effort: vardct.Default}

// Options reads key=value pairs. A later pair of the same key wins.
func (Codec) Options(pairs []string) (codec.Options, error) {
	o := defaults
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		switch {
		case !ok:
			return nil, fmt.Errorf("jpegxl: option %q: want key=value", pair)
		case name != "effort":
			return nil, fmt.Errorf("jpegxl: option %q is not known; there is effort", name)
		}
		n := slices.Index(efforts[:], value)
		if n < 0 {
			return nil, fmt.Errorf("jpegxl: option effort=%s: want %s", value, optionInfo[0].Values)
		}
		o.effort = vardct.Effort(n)
	}
	return &o, nil
}

// String is the canonical form.
func (o *Options) String() string { return "effort=" + efforts[o.effort] }
