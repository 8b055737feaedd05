package jpeg2000

import (
	"errors"
	"fmt"
	"image"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// Options are the codec's options; see [Codec.Info] for their meaning. The zero value
// is not valid: Codec.Options makes them.
type Options struct {
	block       image.Point // log2 of the sides; 0, 0: chosen by effort
	container   string
	effort      string
	layers      int
	levels      int // automatic: chosen by effort
	mode        string
	separate    bool // no colour transform
	precincts   []image.Point
	progression codestream.Order
	style       codestream.BlockStyle
	syntax      string      // of DICOM files; empty: that of the mode
	plt, tlm    bool        // write lengths of packets, of tile-parts
	tile        image.Point // 0, 0: the whole image
	volume      string      // of files of Part 1 and 15

	// The goal of lossy coding: at most one is not 0.
	bpp     float64
	psnr    float64
	quality int
	wavelet string
}

// The values of mode: which part of the standard has the block coder.
const (
	modePart1 = "part1"
	modeHT    = "ht"
)

// automatic is the value of levels that stands for a choice of the encoder.
const automatic = -1

// The values of effort.
const (
	effortFast    = "fast"
	effortDefault = "default"
	effortBest    = "best"
)

var optionInfo = []codec.OptionInfo{
	{Key: "block", Default: "auto", Values: "auto, WxH in powers of two from 4 to 1024, at most 4096 samples", Help: "size of code-blocks; auto is 64x64 below effort=best"},
	{Key: "bpp", Default: "none", Values: "none, 0.001 to 64", Help: "lossy: at most so many bits of the codestream for each pixel"},
	{Key: "container", Default: "jp2", Values: "jp2, j2k, j2c, jph, jp3d", Help: "boxes of JP2 or JPH around the codestream, or none; jp3d takes volumes (Part 10), without loss, with effort as the only other option"},
	{Key: "effort", Default: effortDefault, Values: "fast, default, best", Help: "how levels and blocks are chosen: fixed, by a sample, by trial of all"},
	{Key: "layers", Default: "1", Values: "1 to 100", Help: "quality layers, each of about twice the bytes of those before it"},
	{Key: "levels", Default: "auto", Values: "auto, 0 to 32", Help: "decomposition levels"},
	{Key: "mct", Default: "true", Values: "false, true", Help: "colour transform of the first three of three channels or more"},
	{Key: "mode", Default: modePart1, Values: "part1, ht", Help: "block coder: that of Part 1, or High Throughput (Part 15), about ten times as fast and a tenth larger; container=jph unless another is given"},
	{Key: "plt", Default: "false", Values: "false, true", Help: "lengths of packets (PLT), by which a reader of a region passes over those that it does not need"},
	{Key: "precincts", Default: "none", Values: "none, WxH[,WxH...] in powers of two from 2 to 32768", Help: "size of precincts, from the highest resolution down; the last holds for all below"},
	{Key: "progression", Default: "LRCP", Values: "LRCP, RLCP, RPCL, PCRL, CPRL", Help: "order of packets"},
	{Key: "psnr", Default: "none", Values: "none, 10 to 120", Help: "lossy: about this PSNR in dB, as the wavelet domain tells"},
	{Key: "quality", Default: "none", Values: "none, 1 to 100", Help: "lossy: a byte is spent where it takes enough error off; half of that with 6 more"},
	{Key: "style", Default: "none", Values: "none, or of bypass, reset, termall, causal, predictable, segsym with + between", Help: "code-block style"},
	{Key: "syntax", Default: "auto", Values: "auto, j2k, htj2k", Help: "transfer syntax of DICOM files: JPEG 2000 (.90), or HTJ2K with RPCL (.202), both without loss; auto is that of the mode"},
	{Key: "tile", Default: "none", Values: "none, WxH of 1x1 or more", Help: "size of tiles"},
	{Key: "tlm", Default: "false", Values: "false, true", Help: "lengths of tile-parts in the main header (TLM), as DICOM's HTJ2K with RPCL has to have them"},
	{Key: "volume", Default: volumeComponents, Values: "components, none", Help: "slices of volumes and frames are components of one codestream in boxes, or are refused; container=jp3d has volumes as Part 10"},
	{Key: "wavelet", Default: "auto", Values: "auto, 5/3, 9/7", Help: "auto is 9/7 for bpp, psnr and quality, and otherwise the reversible 5/3"},
}

var defaults = Options{container: "jp2", effort: effortDefault, layers: 1, levels: automatic, mode: modePart1, volume: volumeComponents, wavelet: "auto"}

// styleNames are those of the flags of a code-block style, in their order.
var styleNames = []string{"bypass", "reset", "termall", "causal", "predictable", "segsym"}

// Options reads key=value pairs. A later pair of the same key wins.
func (Codec) Options(pairs []string) (codec.Options, error) {
	o := defaults
	o.container = ""
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("jpeg2000: option %q: want key=value", pair)
		}
		if err := o.set(name, value); err != nil {
			return nil, err
		}
	}
	return &o, o.complete()
}

// complete sets the container that follows from the mode, and refuses what does not go
// together.
func (o *Options) complete() error {
	if o.container == "" {
		o.container = defaults.container
		if o.ht() {
			o.container = "jph"
		}
	}
	switch {
	case o.part10():
		return o.checkVolume()
	case !o.ht():
	case o.container == "jp2":
		return errors.New("jpeg2000: option container=jp2: with mode=ht want jph, j2k, j2c")
	case o.style&^codestream.Causal != 0:
		return fmt.Errorf("jpeg2000: option style=%s: with mode=ht want none, causal", o.styleString())
	case o.layers > 1:
		return fmt.Errorf("jpeg2000: option layers=%d: with mode=ht want 1", o.layers)
	case o.goal() && !o.irreversible():
		return errors.New("jpeg2000: option wavelet=5/3: with mode=ht and bpp, psnr or quality want auto, 9/7")
	}
	return nil
}

// ht says whether code-blocks are those of Part 15.
func (o *Options) ht() bool { return o.mode == modeHT }

func (o *Options) set(name, value string) (err error) {
	i := slices.IndexFunc(optionInfo, func(i codec.OptionInfo) bool { return i.Key == name })
	if i < 0 {
		keys := make([]string, len(optionInfo))
		for i, k := range optionInfo {
			keys[i] = k.Key
		}
		return fmt.Errorf("jpeg2000: option %q is not known; there are %s", name, strings.Join(keys, ", "))
	}
	ok := true
	switch name {
	case "bpp":
		if o.bpp = 0; value != "none" {
			o.bpp, ok = parseFloat(value, 0.001, 64)
			o.psnr, o.quality = 0, 0
		}
	case "psnr":
		if o.psnr = 0; value != "none" {
			o.psnr, ok = parseFloat(value, 10, 120)
			o.bpp, o.quality = 0, 0
		}
	case "quality":
		if o.quality = 0; value != "none" {
			o.quality, ok = parseNumber(value, 1, 100)
			o.bpp, o.psnr = 0, 0
		}
	case "wavelet":
		o.wavelet, ok = value, slices.Contains([]string{"auto", "5/3", "9/7"}, value)
	case "block":
		o.block, ok = parseBlock(value)
	case "container":
		o.container, ok = value, slices.Contains([]string{"jp2", "j2k", "j2c", "jph", containerVolume}, value)
	case "effort":
		o.effort, ok = value, slices.Contains([]string{effortFast, effortDefault, effortBest}, value)
	case "layers":
		o.layers, ok = parseNumber(value, 1, 100)
	case "levels":
		if o.levels = automatic; value != "auto" {
			o.levels, ok = parseNumber(value, 0, 32)
		}
	case "mode":
		o.mode, ok = value, slices.Contains([]string{modePart1, modeHT}, value)
	case "mct":
		o.separate, ok = parseBool(value)
		o.separate = !o.separate
	case "syntax":
		if o.syntax = value; value == "auto" {
			o.syntax = ""
		}
		ok = slices.Contains([]string{"", syntaxPart1, syntaxHT}, o.syntax)
	case "plt":
		o.plt, ok = parseBool(value)
	case "tlm":
		o.tlm, ok = parseBool(value)
	case "precincts":
		o.precincts, ok = parsePrecincts(value)
	case "progression":
		o.progression, ok = parseOrder(value)
	case "style":
		o.style, ok = parseStyle(value)
	case "tile":
		if o.tile = (image.Point{}); value != "none" {
			o.tile, ok = parseSize(value)
		}
	case "volume":
		o.volume, ok = value, slices.Contains([]string{volumeComponents, "none"}, value)
	}
	if !ok {
		return fmt.Errorf("jpeg2000: option %s=%s: want %s", name, value, optionInfo[i].Values)
	}
	return nil
}

func parseNumber(s string, lo, hi int) (int, bool) {
	v, err := strconv.Atoi(s)
	return v, err == nil && v >= lo && v <= hi
}

func parseBool(s string) (v, ok bool) { return s == "true", s == "true" || s == "false" }

func parseFloat(s string, lo, hi float64) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && v >= lo && v <= hi
}

// parseSize reads WxH.
func parseSize(s string) (image.Point, bool) {
	a, b, ok := strings.Cut(s, "x")
	w, okW := parseNumber(a, 1, 1<<30)
	h, okH := parseNumber(b, 1, 1<<30)
	return image.Pt(w, h), ok && okW && okH
}

// parsePowers reads WxH, both powers of two, as log2.
func parsePowers(s string) (image.Point, bool) {
	p, ok := parseSize(s)
	if !ok || p.X&(p.X-1) != 0 || p.Y&(p.Y-1) != 0 {
		return p, false
	}
	return image.Pt(bits.TrailingZeros(uint(p.X)), bits.TrailingZeros(uint(p.Y))), true
}

func parseBlock(s string) (image.Point, bool) {
	if s == "auto" {
		return image.Point{}, true
	}
	p, ok := parsePowers(s)
	return p, ok && min(p.X, p.Y) >= 2 && max(p.X, p.Y) <= 10 && p.X+p.Y <= 12
}

func parsePrecincts(s string) ([]image.Point, bool) {
	if s == "none" {
		return nil, true
	}
	var list []image.Point
	for _, size := range strings.Split(s, ",") {
		p, ok := parsePowers(size)
		if !ok || min(p.X, p.Y) < 1 || max(p.X, p.Y) > 15 || len(list) == 33 {
			return nil, false
		}
		list = append(list, p)
	}
	return list, true
}

func parseOrder(s string) (codestream.Order, bool) {
	for o := codestream.LRCP; o <= codestream.CPRL; o++ {
		if strings.EqualFold(o.String(), s) {
			return o, true
		}
	}
	return 0, false
}

func parseStyle(s string) (style codestream.BlockStyle, ok bool) {
	if s == "none" {
		return 0, true
	}
	for _, name := range strings.Split(s, "+") {
		i := slices.Index(styleNames, name)
		if i < 0 {
			return 0, false
		}
		style |= 1 << i
	}
	return style, true
}

// String is the canonical form. Options that came later are in it where they are not at
// their defaults, so that what was made before them has the fingerprint that it had.
func (o *Options) String() string {
	mct, syntax := "", ""
	if o.separate {
		mct = " mct=false"
	}
	if o.syntax != "" {
		syntax = " syntax=" + o.syntax
	}
	levels := "auto"
	if o.levels != automatic {
		levels = strconv.Itoa(o.levels)
	}
	return fmt.Sprintf("block=%s bpp=%s container=%s effort=%s layers=%d levels=%s%s mode=%s plt=%t precincts=%s progression=%v psnr=%s quality=%s style=%s%s tile=%s tlm=%t volume=%s wavelet=%s",
		powers("auto", o.block), optional(o.bpp), o.container, o.effort, o.layers, levels, mct, o.mode, o.plt, powers("none", o.precincts...), o.progression,
		optional(o.psnr), optional(float64(o.quality)), o.styleString(), syntax, size(o.tile), o.tlm, o.volume, o.wavelet)
}

// optional renders the goal of lossy coding.
func optional(v float64) string {
	if v == 0 {
		return "none"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Lossy says whether images come back changed.
func (o *Options) Lossy() bool { return o.goal() || o.irreversible() }

func (o *Options) goal() bool { return o.bpp > 0 || o.psnr > 0 || o.quality > 0 }

// irreversible says whether the wavelet is 9/7.
func (o *Options) irreversible() bool {
	return o.wavelet == "9/7" || o.wavelet == "auto" && o.goal()
}

// step is the quantization step before it is divided among subbands: half of what is a
// unit at 8 bits, which alone leaves 64 dB, and less where more is asked for.
func (o *Options) step(bits int) float64 {
	step := math.Ldexp(1, bits-9)
	for db := 58.0; db < o.psnr; db += 6 {
		step /= 2
	}
	return step
}

// powers renders sizes whose sides are given as log2.
func powers(none string, list ...image.Point) string {
	var parts []string
	for _, p := range list {
		if p != (image.Point{}) {
			parts = append(parts, fmt.Sprintf("%dx%d", 1<<p.X, 1<<p.Y))
		}
	}
	if len(parts) == 0 {
		return none
	}
	return strings.Join(parts, ",")
}

func size(p image.Point) string {
	if p == (image.Point{}) {
		return "none"
	}
	return fmt.Sprintf("%dx%d", p.X, p.Y)
}

func (o *Options) styleString() string {
	var names []string
	for i, name := range styleNames {
		if o.style>>i&1 != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, "+")
}

// Files implements [codec.FileOptions].
func (o *Options) Files(info codec.Info) codec.Info {
	info.Extension = "." + o.container
	if o.volume != volumeComponents {
		info.Accepts.Slices, info.Accepts.Instead.Slices = false, "-o volume=components takes volumes"
	}
	switch o.container {
	case "j2k", "j2c":
		info.MediaType, info.Keeps = "image/j2c", nil
		info.Accepts.Slices, info.Accepts.Instead.Slices = false, "-o container=jp2, jph and jp3d take volumes"
	case "jph":
		info.MediaType = "image/jph"
	case containerVolume:
		volumeFiles(&info)
	}
	if o.psnr > 0 {
		info.Floor = min(info.Floor, o.psnr-3) // what is asked for is met within a decibel or two
	}
	return info
}

// boxed says whether files have boxes around the codestream.
func (o *Options) boxed() bool { return o.container == "jp2" || o.container == "jph" }
