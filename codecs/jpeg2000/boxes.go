package jpeg2000

import (
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/internal/container/jp2"
	"github.com/pelmill/pelmill/raster"
)

// wrap puts a codestream of an image into the boxes that the options ask for. palette is
// that of a codestream of indices, and otherwise nil.
func (o *Options) wrap(m *raster.Image, stream []byte, palette *jp2.Palette) []byte {
	if !o.boxed() {
		return stream
	}
	f := &jp2.File{Brand: o.container + " ", Codestream: stream, Width: m.Width, Height: m.Height, Palette: palette,
		Components: make([]jp2.Depth, m.Channels*m.Depth), EXIF: exif.Upright(m.Meta.EXIF), XMP: m.Meta.XMP}
	for c := range f.Components {
		f.Components[c] = jp2.Depth{Bits: m.Bits, Signed: m.Signed}
	}
	if palette != nil {
		f.Components = []jp2.Depth{{Bits: indexBits(palette)}}
		for c := range m.Channels {
			f.Mapping = append(f.Mapping, jp2.Mapping{Palette: true, Column: c})
		}
	}
	switch {
	case m.Meta.ICC != nil:
		f.Colour = jp2.Colour{Method: jp2.MethodICC, ICC: m.Meta.ICC}
	case m.Channels <= 2:
		f.Colour = jp2.Colour{Method: jp2.MethodEnumerated, Space: jp2.Greyscale}
	default:
		f.Colour = jp2.Colour{Method: jp2.MethodEnumerated, Space: jp2.SRGB}
	}
	if m.Depth > 1 {
		f.Channels = sliceChannels(m.Shape)
	} else if m.Alpha() {
		for c := range m.Channels - 1 {
			f.Channels = append(f.Channels, jp2.Channel{Index: c, Association: c + 1})
		}
		f.Channels = append(f.Channels, jp2.Channel{Index: m.Channels - 1, Type: jp2.OpacityChannel})
	}
	if r, ok := jp2.NewResolution(m.Meta.Density); ok {
		f.Resolution = r
	}
	return jp2.Append(make([]byte, 0, len(stream)+boxBytes+metaBytes(m)), f)
}

// boxBytes are more than boxes take besides the attributes and a palette.
const boxBytes = 512

// metaBytes is the size of the attributes that files keep.
func metaBytes(m *raster.Image) int { return len(m.Meta.ICC) + len(m.Meta.EXIF) + len(m.Meta.XMP) }

// indexBits is the depth of the indices of a palette.
func indexBits(p *jp2.Palette) int {
	bits := 1
	for len(p.Entries)/len(p.Columns) > 1<<bits {
		bits++
	}
	return bits
}
