package pcwt

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// Options are the codec's options; see [Codec.Info] for their meaning. The zero value
// is not valid: Codec.Options makes them.
type Options struct {
	effort    int // 0 to 2
	fast      bool
	near      int // the bound of near-lossless coding
	profile   int
	qmin      int
	tile      int // log2 of the side, 0: by the image
	zeroSigns bool
}

var optionInfo = []codec.OptionInfo{
	{Key: "effort", Default: "1", Values: "0 to 2", Help: "0 takes what is best for photographs; 1 tries, for volumes and more than 8 bits, constants of the file's own, offsets of contexts and levels along z; 2 tries them for all images, and more wavelets"},
	{Key: "fast", Default: "false", Values: "true, false", Help: "code without prediction: faster, and files some percent larger"},
	{Key: "near-lossless", Default: "0", Values: "0 to 32767", Help: "change samples by at most that, unless qmin changes them more; 0 is lossless"},
	{Key: "profile", Default: "1", Values: "0, 1", Help: "0 is the paper's coding, larger; the other options but near-lossless and zero-signs do not apply to it"},
	{Key: "qmin", Default: "0", Values: "0 to 8", Help: "lowest bits of wavelet coefficients that are dropped; 0 is lossless"},
	{Key: "tile", Default: "auto", Values: "auto, 64, 128, 256", Help: "side of tiles in coefficients; larger ones make files a little smaller and decode with less in parallel; auto is 128 for volumes, else 64"},
	{Key: "zero-signs", Default: "false", Values: "true, false", Help: "for profile 0: a sign for zeros too, as the paper prints it"},
}

// Options reads key=value pairs. A later pair of the same key wins.
func (Codec) Options(pairs []string) (codec.Options, error) {
	o := defaults
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("pcwt: option %q: want key=value", pair)
		}
		if err := o.set(name, value); err != nil {
			return nil, err
		}
	}
	if o.profile == 0 && (o.qmin > 0 || o.fast) {
		return nil, fmt.Errorf("pcwt: options qmin and fast: profile 0 has neither")
	}
	return &o, nil
}

var defaults = Options{effort: 1, profile: 1}

func (o *Options) set(name, value string) error {
	bad := func(want string) error { return fmt.Errorf("pcwt: option %s=%s: want %s", name, value, want) }
	number := func(into *int, most int) error {
		v, err := strconv.Atoi(value)
		if err != nil || v < 0 || v > most {
			return bad(fmt.Sprintf("0 to %d", most))
		}
		*into = v
		return nil
	}
	flag := func(into *bool) error {
		if value != "true" && value != "false" {
			return bad("true or false")
		}
		*into = value == "true"
		return nil
	}
	switch name {
	case "effort":
		return number(&o.effort, 2)
	case "fast":
		return flag(&o.fast)
	case "near-lossless":
		return number(&o.near, maxNear)
	case "profile":
		return number(&o.profile, 1)
	case "qmin":
		return number(&o.qmin, maxQmin)
	case "tile":
		side, ok := map[string]int{"auto": 0, "64": 6, "128": 7, "256": 8}[value]
		if !ok {
			return bad("auto, 64, 128 or 256")
		}
		o.tile = side
		return nil
	case "zero-signs":
		return flag(&o.zeroSigns)
	}
	keys := make([]string, len(optionInfo))
	for i, k := range optionInfo {
		keys[i] = k.Key
	}
	return fmt.Errorf("pcwt: option %q is not known; there are %s", name, strings.Join(keys, ", "))
}

// String is the canonical form.
func (o *Options) String() string {
	tile := "auto"
	if o.tile > 0 {
		tile = strconv.Itoa(1 << o.tile)
	}
	return fmt.Sprintf("effort=%d fast=%t near-lossless=%d profile=%d qmin=%d tile=%s zero-signs=%t",
		o.effort, o.fast, o.near, o.profile, o.qmin, tile, o.zeroSigns)
}

// layout is log2 of the side of tiles and of the number of lanes for images of shape s. A lane costs some three bytes for
// each tile: slices of a volume are decoded beside each other, so that few lanes keep a device busy.
func (o *Options) layout(s raster.Shape) (tileLog, laneLog int) {
	tileLog, laneLog = 6, 3
	switch {
	case s.Depth > 1:
		tileLog, laneLog = 7, 1
	case s.Bits > 8:
		laneLog = 2
	}
	if o.tile > 0 {
		tileLog = o.tile
	}
	return tileLog, laneLog
}

// Lossy says whether the options change images.
func (o *Options) Lossy() bool { return o.near > 0 || o.qmin > 0 }

func resolve(opts codec.Options) (*Options, error) {
	if opts == nil {
		return &defaults, nil
	}
	o, ok := opts.(*Options)
	if !ok {
		return nil, fmt.Errorf("pcwt: options of another codec: %T", opts)
	}
	return o, nil
}
