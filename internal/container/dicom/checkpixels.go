package dicom

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// pixelHead is what a data set says of its pixel data, as the checking parser reads it.
type pixelHead struct {
	rows, columns, samples, planar int
	allocated, stored, sign        int
}

// pixelHead reads what stands before the pixel data.
func (s *side) pixelHead() pixelHead {
	number := func(tag uint32) int {
		v := s.values[tag]
		switch {
		case len(v) != 2:
			return 0
		case s.big:
			return int(binary.BigEndian.Uint16(v))
		}
		return int(binary.LittleEndian.Uint16(v))
	}
	return pixelHead{rows: number(0x00280010), columns: number(0x00280011), samples: number(0x00280002), planar: number(0x00280006),
		allocated: number(0x00280100), stored: number(0x00280101), sign: number(0x00280103)}
}

// SourceHas reports whether frame z of the source's native pixel data, as they stand in its file, has the given
// samples, which are interleaved and little-endian, of BitsAllocated bits. Of a source whose pixel data are fragments
// it cannot say anything: the result is true.
func (p *Proof) SourceHas(z int, pix []byte) bool {
	if p.source == nil {
		return true
	}
	h := &p.image
	n, size := h.rows*h.columns, h.allocated/8
	frame := n * h.samples * size
	if len(pix) != frame || len(p.source) < (z+1)*frame {
		return false
	}
	if !p.words && (h.planar == 0 || h.samples == 1) {
		return bytes.Equal(p.source[z*frame:(z+1)*frame], pix)
	}
	for i, v := range pix {
		sample := i / size
		if h.planar == 1 {
			sample = sample%h.samples*n + sample/h.samples
		}
		at := z*frame + sample*size + i%size
		if p.words && at|1 < len(p.source) {
			at ^= 1
		}
		if p.source[at] != v {
			return false
		}
	}
	return true
}

// Codestreams reads the main headers of the result's codestreams and says in what they differ from what the data set
// and its transfer syntax say (PS3.5 8.2.4, A.4.4): a raw codestream of one tile that is coded without loss, has the
// shape, the precision and the sign of the data set, and a colour transform where the photometric interpretation says so;
// for High Throughput with RPCL also that order, lengths of tile-parts, and enough levels.
func (p *Proof) Codestreams() error {
	for i, frame := range p.Frames {
		c, err := readCodestream(frame)
		if err == nil {
			err = c.check(&p.image, p.expected)
		}
		if err != nil {
			return fmt.Errorf("frame %d: %w", i+1, err)
		}
	}
	return nil
}

// codestream is what the main header of a codestream of JPEG 2000 says (ITU-T T.800, annex A).
type codestream struct {
	width, height, tileWidth, tileHeight int
	components                           []byte // Ssiz, XRsiz and YRsiz of each
	order, mct, levels, style            int
	transforms                           []byte // of COD and of each COC: 1 is 5/3
	high, lengths                        bool   // CAP, TLM
}

// readCodestream reads a main header.
func readCodestream(b []byte) (*codestream, error) {
	if !bytes.HasPrefix(b, []byte{0xff, 0x4f, 0xff, 0x51}) {
		return nil, fmt.Errorf("it does not begin with SOC and SIZ")
	}
	if end := bytes.TrimSuffix(b, []byte{0}); !bytes.HasSuffix(b, []byte{0xff, 0xd9}) && !bytes.HasSuffix(end, []byte{0xff, 0xd9}) {
		return nil, fmt.Errorf("it does not end with EOC")
	}
	c := &codestream{}
	for at := 2; ; {
		if at+4 > len(b) {
			return nil, fmt.Errorf("its main header has no end")
		}
		marker, n := int(binary.BigEndian.Uint16(b[at:])), int(binary.BigEndian.Uint16(b[at+2:]))
		if marker == 0xff90 { // SOT
			return c, nil
		}
		if n < 2 || at+2+n > len(b) {
			return nil, fmt.Errorf("segment %04x is too long", marker)
		}
		if !c.segment(marker, b[at+4:at+2+n]) {
			return nil, fmt.Errorf("segment %04x is too short", marker)
		}
		at += 2 + n
	}
}

// segment reads a segment of the main header; false where it is too short.
func (c *codestream) segment(marker int, v []byte) bool {
	u32 := func(at int) int { return int(binary.BigEndian.Uint32(v[at:])) }
	switch marker {
	case 0xff51: // SIZ
		if len(v) < 36 {
			return false
		}
		c.width, c.height = u32(2)-u32(10), u32(6)-u32(14)
		c.tileWidth, c.tileHeight = u32(18), u32(22)
		c.components = v[36:]
	case 0xff52: // COD
		if len(v) < 10 {
			return false
		}
		c.order, c.mct, c.levels, c.style = int(v[1]), int(v[4]), int(v[5]), int(v[8])
		c.transforms = append(c.transforms, v[9])
	case 0xff53: // COC: of fewer than 257 components
		if len(v) < 7 {
			return false
		}
		c.transforms = append(c.transforms, v[6])
	case 0xff50:
		c.high = true
	case 0xff55:
		c.lengths = true
	}
	return true
}

func (c *codestream) check(h *pixelHead, x *Expected) error {
	const rpcl, ht, base = 2, 0x40, 64
	component := []byte{byte(h.sign<<7 | h.stored - 1), 1, 1}
	switch {
	case c.width != h.columns || c.height != h.rows || !bytes.Equal(c.components, bytes.Repeat(component, h.samples)):
		return fmt.Errorf("the codestream is not of the shape of the data set")
	case c.tileWidth < c.width || c.tileHeight < c.height:
		return fmt.Errorf("the codestream has tiles")
	case len(c.transforms) == 0 || strings.Trim(string(c.transforms), "\x01") != "":
		return fmt.Errorf("the codestream is not of the reversible transform")
	case (c.mct == 1) != (x.Photometric == "YBR_RCT"):
		return fmt.Errorf("the colour transform is not what the photometric interpretation says")
	case x.Syntax == JPEG2000 && (c.high || c.style&ht != 0):
		return fmt.Errorf("the codestream is of High Throughput")
	case x.Syntax == HTJ2KRPCL && (!c.high || c.style&ht == 0 || c.order != rpcl || !c.lengths):
		return fmt.Errorf("the codestream is not of High Throughput with RPCL and TLM")
	case x.Syntax == HTJ2KRPCL && (c.width-1)>>c.levels >= base && (c.height-1)>>c.levels >= base:
		return fmt.Errorf("the codestream has %d levels, too few", c.levels)
	}
	return nil
}
