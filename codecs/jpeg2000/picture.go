package jpeg2000

import (
	"image"
	"math/bits"
	"slices"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/internal/container/jp2"
	"github.com/pelmill/pelmill/raster"
)

// maxSide is the most samples along a side.
const maxSide = 65535

// maxTileComponents bounds the time that headers take: parameters are for each component of
// each tile.
const maxTileComponents = 1 << 20

// picture is an opened file: its boxes, its codestream, and how the components of this
// become the channels of an image.
type picture struct {
	boxes  *jp2.File
	stream *codestream.Stream

	shape       raster.Shape
	channels    []channel       // of the image, alpha last, slice after slice
	slices      int             // of a volume; each has as many channels
	sycc        bool            // the first three channels are luma and two chroma differences
	step        image.Point     // grid points for each sample of the image
	bounds      image.Rectangle // the image in steps from the origin
	resolutions int
}

// channel says where a channel of the image comes from.
type channel struct {
	component int
	column    int // of the palette; -1 without one
	depth     jp2.Depth
}

// open reads all headers of a file.
func open(data []byte) (*picture, error) {
	boxes, err := jp2.Parse(data)
	if err != nil {
		return nil, codec.FromContainer("jpeg2000: the file", err)
	}
	s, err := codestream.Parse(boxes.Codestream)
	if err != nil {
		return nil, err
	}
	if t := s.Size.Tiles(); t.X*t.Y*len(s.Size.Components) > maxTileComponents {
		return nil, codec.Unsupportedf("jpeg2000: %d x %d tiles of %d components; at most %d tile-components are decoded", t.X, t.Y, len(s.Size.Components), maxTileComponents)
	}
	p := &picture{boxes: boxes, stream: s, slices: 1}
	if boxes.Brand != "" && (boxes.Width != s.Size.Image.Dx() || boxes.Height != s.Size.Image.Dy() || len(boxes.Components) != len(s.Size.Components)) {
		return nil, codec.Malformedf("jpeg2000: the boxes are of %d x %d samples and %d components, and the codestream has %d x %d and %d",
			boxes.Width, boxes.Height, len(boxes.Components), s.Size.Image.Dx(), s.Size.Image.Dy(), len(s.Size.Components))
	}
	if err := p.findChannels(); err != nil {
		return nil, err
	}
	if err := p.findShape(); err != nil {
		return nil, err
	}
	return p, p.findResolutions()
}

// component is where component c goes if nothing else is said.
func (p *picture) component(c int) channel {
	s := p.stream.Size.Components[c]
	return channel{c, -1, jp2.Depth{Bits: s.Bits, Signed: s.Signed}}
}

// findChannels lists the channels of the image in the order of their colours (I.5.3.4 to
// I.5.3.6).
func (p *picture) findChannels() error {
	var list []channel
	for _, m := range p.boxes.Mapping {
		ch := p.component(m.Component)
		if m.Palette {
			ch.column, ch.depth = m.Column, p.boxes.Palette.Columns[m.Column]
		}
		list = append(list, ch)
	}
	if p.boxes.Mapping == nil {
		for c := range p.stream.Size.Components {
			list = append(list, p.component(c))
		}
	}
	colours, err := p.colours(len(list))
	if err != nil {
		return err
	}
	if p.boxes.Channels == nil {
		p.channels = list
		if n := len(list); n != colours && n != colours+1 {
			return codec.Unsupportedf("jpeg2000: %d components for %d colours; images of one or three colours are decoded, with an opacity channel or without", n, colours)
		}
		return nil
	}
	if n := p.sliceChannels(len(list)); n > 0 {
		return p.orderSlices(list, n, colours)
	}
	return p.order(list, p.boxes.Channels, colours)
}

// order puts channels in the order that cdef says.
func (p *picture) order(list []channel, definitions []jp2.Channel, colours int) error {
	p.channels = make([]channel, colours, colours+1)
	seen := make([]bool, colours)
	alpha := false
	for _, d := range definitions {
		if d.Type == jp2.ColourChannel && d.Association == 0 && colours == 1 {
			d.Association = 1 // the only colour there is
		}
		switch {
		case d.Index >= len(list):
			return codec.Malformedf("jpeg2000: the box cdef is about channel %d of %d", d.Index, len(list))
		case d.Type == jp2.ColourChannel && d.Association >= 1 && d.Association <= colours && !seen[d.Association-1]:
			seen[d.Association-1] = true
			p.channels[d.Association-1] = list[d.Index]
		case d.Type == jp2.OpacityChannel && d.Association == 0 && !alpha:
			alpha = true
			p.channels = append(p.channels, list[d.Index])
		case d.Type == jp2.PremultipliedChannel:
			return codec.Unsupportedf("jpeg2000: colours that are premultiplied with their opacity")
		default:
			return codec.Unsupportedf("jpeg2000: a channel of type %d for colour %d; images of one or three colours are decoded, with an opacity channel or without", d.Type, d.Association)
		}
	}
	for i, is := range seen {
		if !is {
			return codec.Malformedf("jpeg2000: the box cdef names no channel for colour %d", i+1)
		}
	}
	if len(definitions) != len(list) {
		return codec.Malformedf("jpeg2000: the box cdef is about %d channels of %d", len(definitions), len(list))
	}
	return nil
}

// colours is the number of colours, of n channels.
func (p *picture) colours(n int) (int, error) {
	if p.boxes.Channels != nil {
		n = 0
		for _, d := range p.boxes.Channels {
			if d.Type == jp2.ColourChannel {
				n++
			}
		}
	}
	of := n - (n+1)%2 // 1, 2 with opacity, 3, 4 with opacity
	switch c := p.boxes.Colour; {
	case c.Method == jp2.MethodEnumerated && c.Space == jp2.Greyscale:
		return 1, nil
	case c.Method == jp2.MethodEnumerated && c.Space == jp2.SRGB:
		return 3, nil
	case c.Method == jp2.MethodEnumerated && c.Space == jp2.SYCC:
		p.sycc = true
		return 3, nil
	case c.Method == jp2.MethodEnumerated:
		return 0, codec.Unsupportedf("jpeg2000: the enumerated colour space %d; sRGB, greyscale and sYCC are decoded", c.Space)
	case c.Method == jp2.MethodICC && checkProfile(c.ICC) != nil:
		return 0, checkProfile(c.ICC)
	case of != 1 && of != 3:
		return 0, codec.Unsupportedf("jpeg2000: %d components; images of 1 to 4 are decoded", n)
	}
	return of, nil
}

// checkProfile refuses a profile of other colours than the samples of grey and RGB that are coded here. A file may
// hold one for its samples by mistake; decoders of JPEG 2000 would take these for inks.
func checkProfile(icc []byte) error {
	if len(icc) < 20 || !slices.Contains(otherSpaces, string(icc[16:20])) {
		return nil
	}
	return codec.Unsupportedf("jpeg2000: an ICC profile of the colour space %q; those of grey and RGB are coded", icc[16:20])
}

// otherSpaces are colour spaces of ICC profiles that are neither grey nor RGB (ICC.1:2022,
// table 19).
var otherSpaces = []string{"XYZ ", "Lab ", "Luv ", "YCbr", "Yxy ", "HSV ", "HLS ", "CMYK", "CMY ", "2CLR", "3CLR", "4CLR"}

// findShape derives the shape of the image.
func (p *picture) findShape() error {
	size := &p.stream.Size
	first := p.channels[0]
	for i, ch := range p.channels {
		s := size.Components[ch.component]
		switch alpha := i == len(p.channels)-1 && i%2 == 1 && p.slices == 1; {
		case p.slices > 1 && (s.Step != size.Components[first.component].Step || p.sycc):
			return codec.Unsupportedf("jpeg2000: slices that are sub-sampled, or of sYCC")
		case ch.depth.Bits > 16 || s.Bits > 16 && ch.column >= 0:
			return codec.Unsupportedf("jpeg2000: %d-bit samples; 1 to 16 bits are decoded", max(ch.depth.Bits, s.Bits))
		case ch.depth.Signed != first.depth.Signed || ch.depth.Bits != first.depth.Bits && (!alpha || first.depth.Signed):
			return codec.Unsupportedf("jpeg2000: channels of different depth or sign: %+v and %+v", first.depth, ch.depth)
		case p.sycc && ch.depth.Signed && !alpha:
			return codec.Unsupportedf("jpeg2000: signed samples of sYCC")
		}
		if i == 0 {
			p.step = s.Step
		}
		p.step = image.Pt(min(p.step.X, s.Step.X), min(p.step.Y, s.Step.Y))
	}
	p.bounds = codestream.Divide(size.Image, p.step)
	p.shape = raster.Shape{Width: p.bounds.Dx(), Height: p.bounds.Dy(), Depth: p.slices, Channels: len(p.channels) / p.slices, Bits: first.depth.Bits, Signed: first.depth.Signed}
	if max(p.shape.Width, p.shape.Height) > maxSide {
		return codec.Unsupportedf("jpeg2000: %s; at most %d samples along a side are decoded", p.shape, maxSide)
	}
	if err := p.shape.Check(); err != nil {
		return codec.Malformedf("jpeg2000: %v", err)
	}
	for _, ch := range p.channels {
		if size.ComponentBounds(size.Image, ch.component).Empty() {
			return codec.Malformedf("jpeg2000: component %d has no sample", ch.component)
		}
	}
	return nil
}

// findResolutions counts the resolutions that all tile-components have, and at which the
// samples are those of a grid that begins with the image: an image that begins at an odd
// point of the reference grid has only one.
func (p *picture) findResolutions() error {
	levels := 32
	for t := range p.stream.Size.Tiles().X * p.stream.Size.Tiles().Y {
		if !p.hasSamples(t) {
			continue // the codestream may leave it out
		}
		params, _, err := p.stream.Tile(t)
		if err != nil {
			return err
		}
		for _, ch := range p.channels {
			levels = min(levels, params.Components[ch.component].Levels)
		}
	}
	size := &p.stream.Size
	origin := uint(p.bounds.Min.X | p.bounds.Min.Y)
	for _, ch := range p.channels {
		min := size.ComponentBounds(size.Image, ch.component).Min
		origin |= uint(min.X | min.Y)
	}
	if origin != 0 {
		levels = min(levels, bits.TrailingZeros(origin))
	}
	p.resolutions = levels + 1
	return nil
}

// hasSamples says whether a tile has a sample of any component: sub-sampling may leave
// none.
func (p *picture) hasSamples(t int) bool {
	bounds := p.stream.Size.TileBounds(t)
	for c := range p.stream.Size.Components {
		if !p.stream.Size.ComponentBounds(bounds, c).Empty() {
			return true
		}
	}
	return false
}
