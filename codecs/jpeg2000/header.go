package jpeg2000

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/volume"
	"github.com/pelmill/pelmill/internal/container/jp2"
)

// Header reads the boxes and the headers of the codestream.
func (c Codec) Header(file []byte) (codec.Header, error) { return c.HeaderView(file, codec.View{}) }

// HeaderView is Header for a view.
func (Codec) HeaderView(file []byte, view codec.View) (codec.Header, error) {
	if volume.Is(file) {
		return volumeHeader(file, view)
	}
	p, err := open(file)
	if err != nil {
		return codec.Header{}, err
	}
	area, err := view.In(p.shape, p.resolutions)
	if err != nil {
		return codec.Header{}, err
	}
	o := p.newOutput(area, view.Reduce)
	memory, err := o.memory()
	if err != nil {
		return codec.Header{}, err
	}
	h := codec.Header{Shape: o.shape, Memory: memory, Resolutions: p.resolutions, Fields: p.fields(len(file))}
	if n := p.stream.Size.Tiles(); n.X*n.Y > 1 {
		h.Tile = [2]int{max(1, p.stream.Size.Tile.X/p.step.X), max(1, p.stream.Size.Tile.Y/p.step.Y)}
	}
	return h, nil
}

// fields describe a file of n bytes for people, in the words of the standard.
func (p *picture) fields(n int) []codec.Field {
	size, params := &p.stream.Size, &p.stream.Params
	first := &params.Components[p.channels[0].component]
	list := []codec.Field{
		{Name: "format", Value: p.format()},
		{Name: "width", Value: strconv.Itoa(p.shape.Width)},
		{Name: "height", Value: strconv.Itoa(p.shape.Height)},
		{Name: "components", Value: p.components()},
		{Name: "colour", Value: p.colour()},
		{Name: "wavelet", Value: fmt.Sprintf("%s, %d decomposition levels", wavelets[first.Transform], first.Levels)},
		{Name: "code-blocks", Value: fmt.Sprintf("%dx%d%s", 1<<first.BlockExp.X, 1<<first.BlockExp.Y, styles(first.Style))},
		{Name: "progression", Value: fmt.Sprintf("%v, %d layers", params.Order, params.Layers)},
	}
	if p.slices > 1 {
		list = slices.Insert(list, 3, codec.Field{Name: "slices", Value: strconv.Itoa(p.slices)})
	}
	if t := size.Tiles(); t.X*t.Y > 1 {
		list = append(list, codec.Field{Name: "tiles", Value: fmt.Sprintf("%d of %dx%d", t.X*t.Y, size.Tile.X, size.Tile.Y)})
	}
	list = append(list, codec.Field{Name: "bits per pixel", Value: fmt.Sprintf("%.3f", 8*float64(n)/float64(p.shape.Pixels()))})
	for _, block := range []struct {
		name string
		body []byte
	}{{"ICC profile", p.boxes.Colour.ICC}, {"EXIF block", p.boxes.EXIF}, {"XMP packet", p.boxes.XMP}} {
		if block.body != nil {
			list = append(list, codec.Field{Name: block.name, Value: strconv.Itoa(len(block.body)) + " bytes"})
		}
	}
	return list
}

var wavelets = map[codestream.Transform]string{codestream.Reversible53: "5/3 reversible", codestream.Irreversible97: "9/7 irreversible"}

func (p *picture) format() string {
	name := "JPEG 2000 Part 1"
	if p.stream.Size.Capabilities&codestream.PartFifteen != 0 {
		name = "High Throughput JPEG 2000 (Part 15)"
	}
	switch p.boxes.Brand {
	case "":
		return name + ", raw codestream"
	case "jp2 ":
		return name + ", JP2"
	case "jph ":
		return name + ", JPH"
	}
	return fmt.Sprintf("%s, brand %q", name, p.boxes.Brand)
}

func (p *picture) components() string {
	text := strconv.Itoa(len(p.stream.Size.Components))
	for i, c := range p.stream.Size.Components {
		if i == 4 {
			return text + ", ..."
		}
		text += fmt.Sprintf(", %d bit", c.Bits)
		if c.Signed {
			text += " signed"
		}
		if c.Step.X > 1 || c.Step.Y > 1 {
			text += fmt.Sprintf(" every %dx%d", c.Step.X, c.Step.Y)
		}
	}
	return text
}

func (p *picture) colour() string {
	text := map[jp2.Method]string{0: "not said", jp2.MethodICC: "ICC profile", jp2.MethodEnumerated: map[jp2.ColourSpace]string{
		jp2.SRGB: "sRGB", jp2.Greyscale: "greyscale", jp2.SYCC: "sYCC"}[p.boxes.Colour.Space]}[p.boxes.Colour.Method]
	if p.boxes.Palette != nil {
		text += fmt.Sprintf(", palette of %d entries", len(p.boxes.Palette.Entries)/len(p.boxes.Palette.Columns))
	}
	if p.shape.Alpha() {
		text += ", opacity"
	}
	return text
}

// styles are the flags of a code-block style.
func styles(s codestream.BlockStyle) string {
	text := ""
	for _, f := range []struct {
		flag codestream.BlockStyle
		name string
	}{
		{codestream.HT, "HT"}, {codestream.Mixed, "and Part 1 mixed"}, {codestream.Bypass, "arithmetic coding bypass"}, {codestream.Reset, "reset of contexts"},
		{codestream.Terminate, "termination on each pass"}, {codestream.Causal, "vertically causal"}, {codestream.Predictable, "predictable termination"},
		{codestream.SegmentMark, "segmentation symbols"},
	} {
		if s&f.flag != 0 {
			text += ", " + f.name
		}
	}
	return text
}
