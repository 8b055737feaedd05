package vq

import (
	"fmt"
	"strings"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// Header reads the header of a file.
func (Codec) Header(data []byte) (codec.Header, error) {
	h, err := parseHeader(data)
	if err != nil {
		return codec.Header{}, err
	}
	return codec.Header{
		Shape: raster.Shape{Width: h.w, Height: h.h, Depth: h.d, Channels: h.channels(), Bits: 8,
			Frames: h.flags&flagFrames != 0},
		Memory:      h.decodeMemory(),
		Resolutions: 1,
		Fields:      h.fields(),
	}, nil
}

// fields describe the file for people.
func (h *header) fields() []codec.Field {
	kind := "grey"
	if h.colour() {
		kind = "RGB, chroma 4:4:4"
		if h.half() {
			kind = "RGB, chroma 4:2:0"
		}
	}
	size := fmt.Sprintf("%d x %d", h.w, h.h)
	if h.d > 1 {
		what := "slices"
		if h.flags&flagFrames != 0 {
			what = "frames"
		}
		size += fmt.Sprintf(", %d %s", h.d, what)
	}
	words := fmt.Sprint(h.n)
	if h.colour() {
		words += fmt.Sprintf(" and %d for chroma", h.chroma)
	}
	book := fmt.Sprintf("in the file, %d bytes", h.bookSize)
	if h.shared() {
		book = "shared, sha256:" + h.codebook
	}
	index := "side-match ranks"
	if h.raw() {
		index = "plain"
	}
	f := []codec.Field{
		{Name: "format", Value: fmt.Sprintf("vq, version %d", formatVersion)},
		{Name: "size", Value: size},
		{Name: "samples", Value: "8 bit, " + kind},
		{Name: "block", Value: h.block.String()},
		{Name: "codewords", Value: words},
		{Name: "codebook", Value: book},
		{Name: "index table", Value: fmt.Sprintf("%s, %d bytes", index, h.tableSize)},
	}
	if h.spacing != [3]float64{} {
		f = append(f, codec.Field{Name: "spacing", Value: strings.Trim(fmt.Sprint(h.spacing), "[]") + " mm"})
	}
	return f
}
