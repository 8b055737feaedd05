package neuquant

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// Options are the codec's options; see [Codec.Info] for their meaning. The zero value
// is not valid: Codec.Options makes them.
type Options struct {
	colours, refine, sample int
	dither                  dither
	gif, own, strip         bool // format=gif, frames=own, metadata=strip
	threshold               bool // alpha=threshold
}

// dither is how the colours that a palette lacks are made up for.
type dither int

const (
	noDither dither = iota
	floydSteinberg
	ordered
)

var dithers = []string{noDither: "none", floydSteinberg: "floyd-steinberg", ordered: "ordered"}

func (d dither) String() string { return dithers[d] }

var optionInfo = []codec.OptionInfo{
	{Key: "alpha", Default: "keep", Values: "keep, threshold", Help: "of partly transparent pixels in gif, which has none: refuse the picture, or make them transparent below 128 and opaque from there on"},
	{Key: "colours", Default: "256", Values: "2 to 256", Help: "entries of the palette, at most"},
	{Key: "dither", Default: "none", Values: "none, floyd-steinberg, ordered", Help: "mix colours that the palette lacks from neighbouring pixels"},
	{Key: "format", Default: "png", Values: "png, gif", Help: "of the files; gif has animations, but no partial transparency"},
	{Key: "frames", Default: "shared", Values: "shared, own", Help: "one palette for all frames of an animation, or one for each"},
	{Key: "metadata", Default: "keep", Values: "keep, strip", Help: "ICC profile and EXIF block; GIF has neither"},
	{Key: "refine", Default: "6", Values: "0 to 32", Help: "passes of k-means after the training"},
	{Key: "sample", Default: "10", Values: "1 to 30", Help: "train with one pixel of so many"},
}

var defaults = Options{colours: 256, refine: 6, sample: 10}

// Options reads key=value pairs. A later pair of the same key wins.
func (Codec) Options(pairs []string) (codec.Options, error) {
	o := defaults
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("neuquant: option %q: want key=value", pair)
		}
		if err := o.set(name, value); err != nil {
			return nil, err
		}
	}
	return &o, nil
}

func (o *Options) set(name, value string) error {
	bad := func(want string) error { return fmt.Errorf("neuquant: option %s=%s: want %s", name, value, want) }
	number := func(into *int, least, most int) error {
		v, err := strconv.Atoi(value)
		if err != nil || v < least || v > most {
			return bad(fmt.Sprintf("%d to %d", least, most))
		}
		*into = v
		return nil
	}
	either := func(into *bool, no, yes string) error {
		if value != no && value != yes {
			return bad(no + " or " + yes)
		}
		*into = value == yes
		return nil
	}
	switch name {
	case "alpha":
		return either(&o.threshold, "keep", "threshold")
	case "colours":
		return number(&o.colours, 2, 256)
	case "refine":
		return number(&o.refine, 0, 32)
	case "sample":
		return number(&o.sample, 1, 30)
	case "dither":
		d := slices.Index(dithers, value)
		if d < 0 {
			return bad("none, floyd-steinberg or ordered")
		}
		o.dither = dither(d)
		return nil
	case "format":
		return either(&o.gif, "png", "gif")
	case "frames":
		return either(&o.own, "shared", "own")
	case "metadata":
		return either(&o.strip, "keep", "strip")
	}
	keys := make([]string, len(optionInfo))
	for i, k := range optionInfo {
		keys[i] = k.Key
	}
	return fmt.Errorf("neuquant: option %q is not known; there are %s", name, strings.Join(keys, ", "))
}

// String is the canonical form. It has alpha only where that changes the bytes of files
// with partial transparency, so that results of versions without the option stay done.
func (o *Options) String() string {
	pick := func(yes bool, a, b string) string {
		if yes {
			return b
		}
		return a
	}
	alpha := ""
	if o.gif && o.threshold {
		alpha = "alpha=threshold "
	}
	return fmt.Sprintf(alpha+"colours=%d dither=%s format=%s frames=%s metadata=%s refine=%d sample=%d", o.colours, o.dither,
		pick(o.gif, "png", "gif"), pick(o.own, "shared", "own"), pick(o.strip, "keep", "strip"), o.refine, o.sample)
}

// Files says what GIF files are and hold.
func (o *Options) Files(info codec.Info) codec.Info {
	if o.gif {
		info.Extension, info.MediaType, info.Also = ".gif", "image/gif", []string{".png"}
		info.Accepts.Frames = true
		info.Accepts.Instead.Slices = "a GIF file has frames, but no volumes, so store their slices as pictures of their own first"
	}
	switch {
	case o.gif:
		info.Keeps = []string{raster.AttributeAnimation}
	case o.strip:
		info.Keeps = nil
	}
	return info
}
