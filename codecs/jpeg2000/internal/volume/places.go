package volume

import (
	"iter"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/raster"
)

// Place is where a code-block lies among the coefficients of its component, which have the
// size of the volume and in front, along each axis, the low-pass part of each level.
type Place struct {
	Component      int
	Origin, Extent [axes]int
	Orientation    codestream.Orientation // in x and y
}

func (h *header) place(component int, b *subband, k int) Place {
	origin, extent := h.Coding.block(b, k)
	return Place{component, origin, extent, b.orientation.planar()}
}

// Places are the code-blocks of a volume of the shape s, by components, resolutions,
// subbands and their numbers in these.
func (c *Coding) Places(s raster.Shape) iter.Seq[Place] {
	h := newHeader(s, c)
	return func(yield func(Place) bool) {
		for i := range s.Channels {
			for _, r := range c.resolutions(size{s.Width, s.Height, s.Depth}) {
				for b := range r {
					for k := range r[b].blocks.samples() {
						if !yield(h.place(i, &r[b], k)) {
							return
						}
					}
				}
			}
		}
	}
}

// File is the codestream of a volume, of whose code-blocks the list has one for each of
// [Coding.Places].
func (c *Coding) File(m *raster.Image, list []Block) []byte {
	h := newHeader(m.Shape, c)
	h.space = spaceOf(&m.Meta)
	all := h.arrange()
	for _, resolutions := range all {
		for _, bands := range resolutions {
			for i := range bands {
				n := len(bands[i].list)
				bands[i].list, list = list[:n:n], list[n:]
			}
		}
	}
	h.quantization(all)
	return h.file(all)
}

// Transformed says whether a file that is written of a volume of the shape has the first
// three components transformed by RCT (15444-1, G.2).
func Transformed(s raster.Shape) bool { return s.Channels >= 3 }

// Packets are a file whose packets are read and whose code-blocks are still to be decoded.
type Packets struct {
	raster.Shape
	Coding      Coding
	Transformed bool // as the function of this name says

	decoder *decoder
}

// ReadPackets reads the headers and packets of a file.
func ReadPackets(file []byte) (*Packets, error) {
	h, body, err := parse(file)
	if err != nil {
		return nil, err
	}
	d := &decoder{header: h}
	if err := d.read(body); err != nil {
		return nil, err
	}
	return &Packets{h.Shape, h.Coding, h.transform, d}, nil
}

// Attach gives an image the attributes that the file has.
func (p *Packets) Attach(m *raster.Image) { p.decoder.space.attach(&m.Meta) }

// Blocks calls f for the code-blocks that are in the file. The block is f's until it
// returns, but for the segments' data.
func (p *Packets) Blocks(f func(at Place, b *codestream.Block) error) error {
	d := p.decoder
	for c := range d.Channels {
		for r := range d.resolutions {
			for b := range d.resolutions[r] {
				band := &d.resolutions[r][b]
				for k := range band.blocks.samples() {
					var block codestream.Block
					some, _, err := d.precincts[c][r].Bands[b].Coded(k, d.style, d.planes(band), &block, nil)
					if err != nil {
						return err
					}
					if !some {
						continue
					}
					at := d.place(c, band, k)
					block.Width, block.Height, block.Orientation = at.Extent[axisX], at.Extent[axisY], at.Orientation
					if err := f(at, &block); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}
