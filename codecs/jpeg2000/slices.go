package jpeg2000

import (
	"slices"

	"github.com/pelmill/pelmill/internal/container/jp2"
	"github.com/pelmill/pelmill/raster"
)

// volumeComponents is the value of volume with which slices are components: component
// z * channels + c has channel c of slice z. The box cdef gives the channels of slice 0 their
// meaning and says of the others that theirs is not specified (I.5.3.6).
const volumeComponents = "components"

// maxComponents is the most that a codestream has (A.5.1).
const maxComponents = 16384

// unassociated is the association of a channel that belongs to no colour.
const unassociated = 65535

// sliceChannels are the definitions of the channels of a volume.
func sliceChannels(s raster.Shape) []jp2.Channel {
	list := make([]jp2.Channel, s.Channels*s.Depth)
	for i := range list {
		list[i] = jp2.Channel{Index: i, Association: i + 1}
		switch {
		case i >= s.Channels:
			list[i].Type, list[i].Association = jp2.UnspecifiedChannel, unassociated
		case s.Alpha() && i == s.Channels-1:
			list[i].Type, list[i].Association = jp2.OpacityChannel, 0
		}
	}
	return list
}

// sliceChannels is the number of channels of a slice, where the box cdef is that of a volume,
// and otherwise 0. n is the number of channels of all.
func (p *picture) sliceChannels(n int) int {
	list := p.boxes.Channels
	per := slices.IndexFunc(list, func(d jp2.Channel) bool { return d.Type == jp2.UnspecifiedChannel })
	if per < 1 || len(list) != n || n%per != 0 || p.boxes.Mapping != nil {
		return 0
	}
	for i, d := range list {
		if d.Index != i || i >= per && (d.Type != jp2.UnspecifiedChannel || d.Association != unassociated) {
			return 0
		}
	}
	return per
}

// orderSlices is order for a volume with n channels in a slice.
func (p *picture) orderSlices(list []channel, n, colours int) error {
	if err := p.order(list[:n], p.boxes.Channels[:n], colours); err != nil {
		return err
	}
	first := p.channels
	p.slices = len(list) / n
	for z := 1; z < p.slices; z++ {
		for _, ch := range first {
			p.channels = append(p.channels, list[z*n+ch.component])
		}
	}
	return nil
}
