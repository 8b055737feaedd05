package codestream

import (
	"encoding/binary"
	"image"
	"slices"

	"github.com/pelmill/pelmill/codecs/codec"
)

const (
	maxComponents = 16384
	maxTiles      = 65535
	maxLevels     = 32
	maxBits       = 38
)

// readSize reads SIZ.
func readSize(s *segment) (Size, error) {
	var z Size
	z.Capabilities = uint16(s.u16())
	z.Image.Max = image.Pt(s.u32(), s.u32())
	z.Image.Min = image.Pt(s.u32(), s.u32())
	z.Tile = image.Pt(s.u32(), s.u32())
	z.TileOrigin = image.Pt(s.u32(), s.u32())
	n := s.u16()
	if n < 1 || n > maxComponents {
		return z, codec.Malformedf("jpeg2000: %d components", n)
	}
	if len(s.data) != 3*n {
		return z, codec.Malformedf("jpeg2000: the marker segment SIZ has %d bytes for %d components", len(s.data), n)
	}
	z.Components = make([]Component, n)
	for i := range z.Components {
		c := &z.Components[i]
		ssiz := s.u8()
		c.Signed, c.Bits = ssiz>>7 == 1, ssiz&0x7f+1
		c.Step = image.Pt(s.u8(), s.u8())
		if c.Bits > maxBits || c.Step.X < 1 || c.Step.Y < 1 {
			return z, codec.Malformedf("jpeg2000: component %d has %d bits and a sub-sampling of %d x %d", i, c.Bits, c.Step.X, c.Step.Y)
		}
	}
	return z, z.check()
}

// ImageSize is the size of the image on the reference grid as a codestream begins, with SOC and SIZ, of one to four
// components. Nothing else is read: the rest may be malformed.
func ImageSize(data []byte) (width, height int, ok bool) {
	const components = 40 // where their number is
	if len(data) < components+2 || Marker(binary.BigEndian.Uint16(data)) != SOC || Marker(binary.BigEndian.Uint16(data[2:])) != SIZ {
		return 0, 0, false
	}
	n := binary.BigEndian.Uint16(data[components:])
	number := func(at int) int { return int(binary.BigEndian.Uint32(data[at:])) }
	width, height = number(8)-number(16), number(12)-number(20)
	return width, height, n >= 1 && n <= 4 && width > 0 && height > 0
}

// check holds the rectangles against each other (B.2, B.3).
func (s *Size) check() error {
	im, first := s.Image, s.TileOrigin.Add(s.Tile)
	switch {
	case im.Empty():
		return codec.Malformedf("jpeg2000: an image of %d x %d", im.Dx(), im.Dy())
	case s.Tile.X < 1 || s.Tile.Y < 1 || s.TileOrigin.X > im.Min.X || s.TileOrigin.Y > im.Min.Y || first.X <= im.Min.X || first.Y <= im.Min.Y:
		return codec.Malformedf("jpeg2000: tiles of %v from %v on for an image at %v", s.Tile, s.TileOrigin, im)
	}
	if n := s.Tiles(); n.X > maxTiles || n.Y > maxTiles || n.X*n.Y > maxTiles {
		return codec.Malformedf("jpeg2000: %d x %d tiles; a codestream holds at most %d", n.X, n.Y, maxTiles)
	}
	return nil
}

// builder collects the parameters of a header. What is said of a component (COC, QCC) goes
// before what is said of all (COD, QCD), in whatever order they come.
type builder struct {
	Params
	cod, qcd bool
	coc, qcc []bool // by component
}

func newBuilder(p *Params, components int) *builder {
	b := &builder{Params: *p, coc: make([]bool, components), qcc: make([]bool, components)}
	b.Components = make([]Coding, components)
	copy(b.Components, p.Components)
	b.Changes = slices.Clip(b.Changes) // those of p stay as they are
	return b
}

// read takes a marker segment, if it is one of parameters.
func (b *builder) read(s *segment) error {
	switch s.marker {
	case COD:
		return b.readCOD(s)
	case COC:
		return b.readCOC(s)
	case QCD:
		q, err := readQuantization(s)
		if err != nil {
			return err
		}
		b.qcd = true
		for i := range b.Components {
			if !b.qcc[i] {
				b.Components[i].Quantization = q
			}
		}
	case QCC:
		i, err := b.component(s)
		if err != nil {
			return err
		}
		b.qcc[i] = true
		b.Components[i].Quantization, err = readQuantization(s)
		return err
	case RGN:
		return b.readRGN(s)
	case POC:
		return b.readPOC(s)
	}
	return nil
}

// component reads the index of a component.
func (b *builder) component(s *segment) (int, error) {
	i := s.number(b.indexBytes())
	if s.short || i >= len(b.Components) {
		return 0, codec.Malformedf("jpeg2000: the marker segment %v is about component %d of %d", s.marker, i, len(b.Components))
	}
	return i, nil
}

func (b *builder) indexBytes() int {
	if len(b.Components) < 257 {
		return 1
	}
	return 2
}

// readCOD reads A.6.1.
func (b *builder) readCOD(s *segment) error {
	scod := s.u8()
	order, layers, mct := s.u8(), s.u16(), s.u8()
	switch {
	case s.short:
		return s.end()
	case scod&^7 != 0 || mct > 1:
		return codec.Unsupportedf("jpeg2000: coding styles of Part 2 (Scod %#x, multiple component transform %d)", scod, mct)
	case order > int(CPRL) || layers < 1:
		return codec.Malformedf("jpeg2000: progression order %d with %d layers", order, layers)
	}
	c, err := readCoding(s, scod&1 != 0)
	if err != nil {
		return err
	}
	b.cod = true
	b.SOP, b.EPH, b.Order, b.Layers, b.MCT = scod&2 != 0, scod&4 != 0, Order(order), layers, mct == 1
	for i := range b.Components {
		if !b.coc[i] {
			b.setCoding(i, c)
		}
	}
	return nil
}

// readCOC reads A.6.2.
func (b *builder) readCOC(s *segment) error {
	i, err := b.component(s)
	if err != nil {
		return err
	}
	scoc := s.u8()
	c, err := readCoding(s, scoc&1 != 0)
	if err != nil {
		return err
	}
	b.coc[i] = true
	b.setCoding(i, c)
	return nil
}

// setCoding keeps what QCD, QCC and RGN say of the component.
func (b *builder) setCoding(i int, c Coding) {
	c.Quantization, c.ROIShift = b.Components[i].Quantization, b.Components[i].ROIShift
	b.Components[i] = c
}

// readCoding reads SPcod or SPcoc (Table A.15).
func readCoding(s *segment, precincts bool) (Coding, error) {
	c := Coding{Levels: s.u8()}
	c.BlockExp = image.Pt(s.u8()&15+2, s.u8()&15+2)
	c.Style = BlockStyle(s.u8())
	transform := s.u8()
	c.Transform = Transform(transform)
	switch {
	case s.short:
		return c, s.end()
	case c.Levels > maxLevels:
		return c, codec.Malformedf("jpeg2000: %d decomposition levels", c.Levels)
	case c.BlockExp.X > 10 || c.BlockExp.Y > 10 || c.BlockExp.X+c.BlockExp.Y > 12:
		return c, codec.Malformedf("jpeg2000: code-blocks of 2^%d x 2^%d samples", c.BlockExp.X, c.BlockExp.Y)
	case transform > int(Reversible53):
		return c, codec.Unsupportedf("jpeg2000: wavelet transform %d, of Part 2", transform)
	case c.Style&(HT|Mixed) == Mixed || c.Style&HT != 0 && c.Style&(Bypass|Terminate) != 0 || c.Style&(HT|Mixed) == HT && c.Style&^(HT|Causal) != 0:
		return c, codec.Malformedf("jpeg2000: code-block style %#x", byte(c.Style))
	}
	if precincts {
		c.Precincts = make([]image.Point, c.Levels+1)
		for r := range c.Precincts {
			v := s.u8()
			c.Precincts[r] = image.Pt(v&15, v>>4)
			if r > 0 && (v&15 == 0 || v>>4 == 0) && !s.short {
				return c, codec.Malformedf("jpeg2000: precincts of 2^%d x 2^%d samples at resolution %d", v&15, v>>4, r)
			}
		}
	}
	return c, s.end()
}

// readQuantization reads Sqcd and SPqcd (A.6.4).
func readQuantization(s *segment) (Quantization, error) {
	sqcd := s.u8()
	q := Quantization{Style: QuantizationStyle(sqcd & 31), Guard: sqcd >> 5}
	if q.Style > ScalarExpounded {
		return q, codec.Unsupportedf("jpeg2000: quantization style %d, of Part 2", q.Style)
	}
	for len(s.data) > 0 && len(q.Steps) < 3*maxLevels+1 {
		if q.Style == NoQuantization {
			q.Steps = append(q.Steps, Step{Exponent: s.u8() >> 3})
			continue
		}
		v := s.u16()
		q.Steps = append(q.Steps, Step{v >> 11, v & 0x7ff})
	}
	if s.short || len(q.Steps) == 0 {
		return q, codec.Malformedf("jpeg2000: the marker segment %v is too short", s.marker)
	}
	return q, nil
}

// readRGN reads A.6.3.
func (b *builder) readRGN(s *segment) error {
	i, err := b.component(s)
	if err != nil {
		return err
	}
	style, shift := s.u8(), s.u8()
	if style != 0 {
		return codec.Unsupportedf("jpeg2000: region of interest of style %d, of Part 2", style)
	}
	if shift > maxROIShift {
		return codec.Unsupportedf("jpeg2000: a region of interest that is shifted by %d bit-planes", shift)
	}
	b.Components[i].ROIShift = shift
	return s.end()
}

// maxROIShift is the most that the bit-planes of a subband, Mb, can ask for.
const maxROIShift = 37

// readPOC reads A.6.6. What it says comes behind what POC said before in the same header.
func (b *builder) readPOC(s *segment) error {
	if len(b.Changes)+len(s.data)/(5+2*b.indexBytes()) > maxChanges {
		return codec.Malformedf("jpeg2000: more than %d progression changes", maxChanges)
	}
	for len(s.data) > 0 {
		p := Progression{FirstResolution: s.u8(), FirstComponent: s.number(b.indexBytes())}
		p.EndLayer, p.EndResolution, p.EndComponent = s.u16(), s.u8(), s.number(b.indexBytes())
		order := s.u8()
		if p.EndComponent == 0 && b.indexBytes() == 1 {
			p.EndComponent = 256
		}
		if s.short {
			return s.end()
		}
		if order > int(CPRL) || p.FirstResolution >= p.EndResolution || p.FirstComponent >= p.EndComponent || p.EndLayer < 1 {
			return codec.Malformedf("jpeg2000: a progression change from resolution %d to %d, component %d to %d, %d layers in order %d",
				p.FirstResolution, p.EndResolution, p.FirstComponent, p.EndComponent, p.EndLayer, order)
		}
		p.Order = Order(order)
		b.Changes = append(b.Changes, p)
	}
	return nil
}

// maxChanges are the progression changes of one marker segment, and a header has one of them.
const maxChanges = 65535 / 7

// check holds what is known of a tile against itself, and leaves out a multiple component
// transform of too few components.
func (p *Params) check() error {
	for i := range p.Components {
		c := &p.Components[i]
		if n := len(c.Quantization.Steps); n < 3*c.Levels+1 && c.Quantization.Style != ScalarDerived {
			return codec.Malformedf("jpeg2000: component %d has %d quantization steps for %d decomposition levels", i, n, c.Levels)
		}
	}
	if len(p.Components) < 3 {
		p.MCT = false // files that ask for it are read as if they did not
	}
	return nil
}
