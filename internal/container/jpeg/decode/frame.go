package decode

import (
	"encoding/binary"

	segments "github.com/pelmill/pelmill/internal/container/jpeg"
)

// maxBlocks is the most that an interleaved MCU may hold (T.81, B.2.3).
const maxBlocks = 10

// decoder holds the state of one file.
type decoder struct {
	data []byte
	pos  int // of the next segment

	// What segments set.
	quant             [4]*quantTable
	huffman           [2][4]*huffmanTable // of DC and of AC coefficients
	dcLower, dcUpper  [16]byte            // L and U of T.81, F.1.4.4.1.2
	acMiddle          [16]byte            // Kx of T.81, F.1.4.4.2
	restartInterval   int                 // in MCUs; 0 for none
	jfif, adobe       bool
	adobeTransform    byte
	progressive       bool
	arithmetic        bool
	multiple          bool // scans may follow the first one
	width, height     int
	hMax, vMax        int // the largest sampling factors
	mcusWide, mcuRows int // of interleaved MCUs
	components        []component

	s   scanState
	out output
	pix []byte
}

// component is one component of the frame (T.81, B.2.2).
type component struct {
	id     byte
	h, v   int // sampling factors
	table  byte
	quant  *quantTable // latched by the component's first scan
	dc, ac byte        // tables of the scan at hand

	width, height          int // in samples
	blocksWide, blocksHigh int // in blocks that hold samples
	paddedWide, paddedHigh int // in blocks, whole MCUs
	coefficients           []int16
	known                  []uint64 // by block: a bit for each AC coefficient that is not 0, in zigzag order; of progressive Huffman scans
	lowestBit              [64]int8 // lowest bit decoded of each coefficient, in zigzag order; -1 for none
	rows                   []byte   // the samples of two rows of MCUs, used as a ring
	stride, ringRows       int
	method                 upsampling
	hExpand, vExpand       int
	line                   []byte // an upsampled row
}

// sof reads a frame header (T.81, B.2.2).
func (d *decoder) sof(marker byte, body []byte) error {
	switch marker {
	case segments.SOF0, segments.SOF1:
	case segments.SOF2:
		d.progressive = true
	case segments.SOF9:
		d.arithmetic = true
	case segments.SOF10:
		d.progressive, d.arithmetic = true, true
	case 0xc3, 0xc7, 0xcb, 0xcf:
		return unsupported("lossless JPEG is not read")
	case segments.JPG:
		return unsupported("a segment with the reserved marker %02x is not read", marker)
	default:
		return unsupported("hierarchical JPEG is not read")
	}
	switch {
	case d.components != nil:
		return malformed("it holds two frames")
	case len(body) < 6 || len(body) != 6+3*int(body[5]):
		return malformed("its frame header is malformed")
	case body[0] != 8:
		return unsupported("samples of %d bits are not read", body[0])
	}
	n := int(body[5])
	if n != 1 && n != 3 && n != 4 {
		return unsupported("%d components are not read", n)
	}
	d.height = int(binary.BigEndian.Uint16(body[1:]))
	d.width = int(binary.BigEndian.Uint16(body[3:]))
	if d.height == 0 {
		return unsupported("a height that is told after the first scan is not read")
	}
	if d.width == 0 {
		return malformed("its frame has no width")
	}
	d.components = make([]component, n)
	d.hMax, d.vMax = 1, 1
	for i := range d.components {
		c := &d.components[i]
		c.id, c.h, c.v, c.table = body[6+3*i], int(body[7+3*i]>>4), int(body[7+3*i]&15), body[8+3*i]
		if c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4 {
			return malformed("a sampling factor of %d x %d is not defined", c.h, c.v)
		}
		d.hMax, d.vMax = max(d.hMax, c.h), max(d.vMax, c.v)
	}
	d.mcusWide, d.mcuRows = divUp(d.width, 8*d.hMax), divUp(d.height, 8*d.vMax)
	for i := range d.components {
		if err := d.components[i].measure(d); err != nil {
			return err
		}
	}
	return nil
}

// measure computes the sizes of a component (T.81, A.1.1 and A.2.4) and how it
// is brought to the size of the frame.
func (c *component) measure(d *decoder) error {
	c.width, c.height = divUp(d.width*c.h, d.hMax), divUp(d.height*c.v, d.vMax)
	c.blocksWide, c.blocksHigh = divUp(d.width*c.h, 8*d.hMax), divUp(d.height*c.v, 8*d.vMax)
	c.paddedWide, c.paddedHigh = d.mcusWide*c.h, d.mcuRows*c.v
	c.stride, c.ringRows = 8*c.blocksWide, 16*c.v
	if d.hMax%c.h != 0 || d.vMax%c.v != 0 {
		return unsupported("a component of %d x %d samples for %d x %d pixels is not read", c.h, c.v, d.hMax, d.vMax)
	}
	c.hExpand, c.vExpand = d.hMax/c.h, d.vMax/c.v
	c.method = chooseUpsampling(c.hExpand, c.vExpand, c.width)
	for k := range c.lowestBit {
		c.lowestBit[k] = -1
	}
	return nil
}

// memory bounds what Decode holds besides its result: two rows of MCUs, and the
// coefficients of all components, with the masks of those that are not 0, where there may be several scans.
func (d *decoder) memory() int64 {
	var n int64
	for i := range d.components {
		c := &d.components[i]
		n += int64(c.stride)*int64(c.ringRows) + int64(d.width+16)
		if d.multiple {
			n += (2*64 + 8) * int64(c.paddedWide) * int64(c.paddedHigh)
		}
	}
	return n
}

// start takes the memory for a file.
func (d *decoder) start() {
	for i := range d.components {
		c := &d.components[i]
		c.rows = make([]byte, c.stride*c.ringRows)
		c.line = make([]byte, d.width+16)
		if d.multiple {
			c.coefficients = make([]int16, 64*c.paddedWide*c.paddedHigh)
			if d.progressive && !d.arithmetic {
				c.known = make([]uint64, c.paddedWide*c.paddedHigh)
			}
		}
	}
	if !d.progressive && !d.arithmetic {
		d.standardTables()
	}
	d.out.convert = d.chooseConversion()
}

func divUp(a, b int) int { return (a + b - 1) / b }
