package packet

import (
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// VolumeBand is the part of a volume's precinct in a subband (15444-10, B.7): the numbers
// of its code-blocks along x, y and z, and the magnitude bit-planes of the subband.
type VolumeBand struct {
	X, Y, Z int
	Planes  int
}

// NewVolumePrecinct makes the state of a volume's precinct. Its code-blocks are counted by
// slices and in them by rows, and the tag trees have three dimensions (15444-10, B.9.1).
func NewVolumePrecinct(bands []VolumeBand) *Precinct {
	var m *Memory
	return m.readable(m.newVolumePrecinct(bands))
}

func (m *Memory) newVolumePrecinct(bands []VolumeBand) *Precinct {
	p := &Precinct{Bands: m.takeBands(len(bands))}
	for i, b := range bands {
		p.Bands[i] = m.newBand(grid3{b.X, b.Y, b.Z}, b.Planes)
	}
	return p
}

// NewVolumeWriter is [NewWriter] for the precinct of a volume.
func NewVolumeWriter(bands []VolumeBand, block func(band, k int) (layer, zeroPlanes int)) *Writer {
	return newWriter((*Memory)(nil).newVolumePrecinct(bands), block)
}

// Markers are those that may stand inside of a packet.
type Markers struct{ SOP, EPH bool }

// ReadPacket reads the precinct's packet of a layer, which comes at the front of data,
// and returns what follows it. Layers are read in their order.
func (p *Precinct) ReadPacket(data []byte, layer int, style codestream.BlockStyle, m Markers) ([]byte, error) {
	if m.SOP && len(data) >= sopLength && data[0] == 0xff && data[1] == markerSOP {
		data = data[sopLength:]
	}
	bits := bitReader{data: data}
	var lengths []length
	if bits.bit() == 1 {
		var err error
		if lengths, err = p.readHeader(&bits, layer, style, nil); err != nil {
			return nil, err
		}
	}
	end := bits.end()
	if bits.short {
		return nil, codec.Malformedf("jpeg2000: a packet header is cut short")
	}
	data = data[end:]
	if m.EPH {
		if len(data) < 2 || data[0] != 0xff || data[1] != markerEPH {
			return nil, codec.Malformedf("jpeg2000: a packet header without the marker EPH that the file promises")
		}
		data = data[2:]
	}
	for _, l := range lengths {
		if l.bytes > len(data) {
			return nil, codec.Malformedf("jpeg2000: a packet has %d bytes of a code-block and the tile-part ends after %d", l.bytes, len(data))
		}
		l.block.parts = append(l.block.parts, part{data[:l.bytes:l.bytes], l.passes, l.starts})
		data = data[l.bytes:]
	}
	return data, nil
}
