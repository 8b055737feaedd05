package pcwt

import (
	"fmt"
	"image"
	"strconv"

	"github.com/pelmill/pelmill/codecs/codec"
)

// Header reads what stands before the sections.
func (Codec) Header(file []byte) (codec.Header, error) {
	h, err := readHeader(file)
	if err != nil {
		return codec.Header{}, err
	}
	if len(file) != h.size {
		return codec.Header{}, codec.Malformedf("pcwt: %d bytes of a file of %d", len(file), h.size)
	}
	return h.describe(), nil
}

// describe is the header for the seam.
func (h *header) describe() codec.Header {
	out := codec.Header{Shape: h.shape, Resolutions: h.resolutions(), Fields: h.fields()}
	out.Memory = h.decodeMemory(0, image.Rect(0, 0, h.shape.Width, h.shape.Height))
	if h.profile == 1 && !h.stored() && h.levels > 0 {
		out.Tile = [2]int{2 * h.side(), 2 * h.side()}
	}
	return out
}

func (h *header) resolutions() int { return h.levels + 1 }

// fields describe the file for people.
func (h *header) fields() []codec.Field {
	fields := []codec.Field{{Name: "format", Value: fmt.Sprintf("PCWT profile %d", h.profile)}}
	add := func(name, value string) { fields = append(fields, codec.Field{Name: name, Value: value}) }
	add("size", h.shape.String())
	switch {
	case h.stored():
		add("coding", "stored")
	case h.profile == 1:
		kind := "with prediction"
		if h.fast() {
			kind = "fast"
		}
		add("coding", kind)
		add("levels", strconv.Itoa(h.levels))
		if h.zLevels > 0 {
			add("levels along z", strconv.Itoa(h.zLevels))
		}
		add("own constants", strconv.Itoa(len(h.own)))
		if h.qmin > 0 {
			add("qmin", strconv.Itoa(h.qmin))
		}
	}
	if h.near > 0 {
		add("near-lossless", strconv.Itoa(h.near))
	}
	add("bits per sample", fmt.Sprintf("%.3f", 8*float64(h.size)/float64(h.shape.Samples())))
	return fields
}
