package webp

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pelmill/pelmill/codecs/codec"
)

// Options are the codec's options; see [Codec.Info] for their meaning. The zero value
// is not valid: Codec.Options makes them.
type Options struct {
	effort       int // 0 to 9
	nearLossless int // 0 to 100; 100: off
	exact        bool
	strip        bool // of metadata
}

var optionInfo = []codec.OptionInfo{
	{Key: "effort", Default: "6", Values: "0 to 9", Help: "time spent on smaller files; README.md of the package says what each level does"},
	{Key: "exact", Default: "true", Values: "true, false", Help: "keep the colours of fully transparent pixels; false clears them"},
	{Key: "metadata", Default: "keep", Values: "keep, strip", Help: "ICC profile, EXIF block and XMP packet"},
	{Key: "near-lossless", Default: "100", Values: "0 to 100", Help: "round samples where neighbours differ, more below; 100 is lossless"},
}

// Options reads key=value pairs. A later pair of the same key wins.
func (Codec) Options(pairs []string) (codec.Options, error) {
	o := defaults
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("webp: option %q: want key=value", pair)
		}
		if err := o.set(name, value); err != nil {
			return nil, err
		}
	}
	return &o, nil
}

var defaults = Options{effort: 6, nearLossless: 100, exact: true}

func (o *Options) set(name, value string) error {
	bad := func(want string) error { return fmt.Errorf("webp: option %s=%s: want %s", name, value, want) }
	switch name {
	case "effort", "near-lossless":
		most, into := 9, &o.effort
		if name == "near-lossless" {
			most, into = 100, &o.nearLossless
		}
		v, err := strconv.Atoi(value)
		if err != nil || v < 0 || v > most {
			return bad(fmt.Sprintf("0 to %d", most))
		}
		*into = v
	case "exact":
		if value != "true" && value != "false" {
			return bad("true or false")
		}
		o.exact = value == "true"
	case "metadata":
		if value != "keep" && value != "strip" {
			return bad("keep or strip")
		}
		o.strip = value == "strip"
	default:
		keys := make([]string, len(optionInfo))
		for i, k := range optionInfo {
			keys[i] = k.Key
		}
		return fmt.Errorf("webp: option %q is not known; there are %s", name, strings.Join(keys, ", "))
	}
	return nil
}

// String is the canonical form.
func (o *Options) String() string {
	metadata := "keep"
	if o.strip {
		metadata = "strip"
	}
	return fmt.Sprintf("effort=%d exact=%t metadata=%s near-lossless=%d", o.effort, o.exact, metadata, o.nearLossless)
}

// Lossy says whether the options change images.
func (o *Options) Lossy() bool { return !o.exact || o.nearLossless < 100 }

// Files implements [codec.FileOptions]: without metadata no attribute is kept.
func (o *Options) Files(info codec.Info) codec.Info {
	if o.strip {
		info.Keeps = nil
	}
	return info
}
