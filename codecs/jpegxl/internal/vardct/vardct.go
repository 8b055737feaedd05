// Package vardct writes and reads the codestreams of JPEG XL (ISO/IEC 18181-1) that hold
// the quantised coefficients of a JPEG file: one frame of 8 x 8 DCTs with the file's own
// tables of quantisation, its subsampling and no filters.
//
//	stream, err := vardct.Encode(workers, file, &vardct.Metadata{ICC: icc}, vardct.Default)
//	meta, err := vardct.Decode(workers, stream, file, limit)
//
// # Parts of a frame
//
//	LfGlobal   steps of quantisation, map of block contexts, tree of the planes
//	LF group   of 256 x 256 blocks: DC coefficients, factors of chroma from luma
//	HfGlobal   tables of quantisation, order and distributions of AC coefficients
//	group      of 32 x 32 blocks: AC coefficients
//
// Planes are numbered as the standard does: 0 is Cb, 1 is Y, 2 is Cr; or R, G, B. A grey
// image is plane 1. Samples are coded in the order 1, 0, 2.
package vardct

import (
	"fmt"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/jpegdata"
)

// Metadata is what a codestream holds besides the coefficients.
type Metadata struct {
	ICC         []byte // nil: sRGB, or grey with its curve
	Orientation int    // as in EXIF; 0 and 1: upright
}

const (
	groupBlocks   = 32  // blocks along a side of a group
	lfGroupBlocks = 256 // of an LF group
	tileBlocks    = 8   // of a tile with one factor of chroma from luma
)

// codingOrder is the order of planes in a stream.
var codingOrder = [3]int{1, 0, 2}

// plane is a component in the numbering of the standard.
type plane struct {
	*jpegdata.Component // nil: all coefficients are zero
	quant               *[64]uint16
	hshift, vshift      uint // halvings against the whole image
}

// frame is the geometry of an image.
type frame struct {
	file          *jpegdata.File
	width, height int
	wide, high    int // blocks of the whole image, those included that pad the last MCUs
	ycbcr         bool
	planes        [3]plane
}

// component returns the place in a JPEG file of plane c.
func component(c, components int, ycbcr bool) int {
	switch {
	case components == 1:
		return 0
	case ycbcr:
		return [3]int{1, 0, 2}[c]
	}
	return c
}

// newFrame lays the components of a file out. All tables are there.
func newFrame(f *jpegdata.File, ycbcr bool) *frame {
	m := &frame{file: f, width: f.Width, height: f.Height, ycbcr: ycbcr}
	h, v := 1, 1
	for _, c := range f.Components {
		h, v = max(h, c.H), max(v, c.V)
	}
	if len(f.Components) == 1 {
		// A lone component is not subsampled, whatever its factors say, but its blocks
		// pad to them.
		h, v = f.Components[0].H, f.Components[0].V
	}
	m.wide, m.high = ceil(f.Width, 8*h)*h, ceil(f.Height, 8*v)*v
	for c := range m.planes {
		p := &m.planes[c]
		own := &f.Components[component(c, len(f.Components), ycbcr)]
		p.quant = &f.Quant[own.Quant].Values
		if len(f.Components) == 1 && c != 1 {
			continue
		}
		p.Component = own
		p.hshift, p.vshift = log2(h/own.H), log2(v/own.V)
	}
	return m
}

func log2(n int) uint {
	if n == 2 {
		return 1
	}
	return 0
}

// whole says whether no plane is subsampled.
func (m *frame) whole() bool {
	for _, p := range m.planes {
		if p.Component == nil || p.hshift+p.vshift > 0 {
			return false
		}
	}
	return true
}

func ceil(a, b int) int { return (a + b - 1) / b }

// groups are the numbers of groups along and down.
func (m *frame) groups() (along, down int) {
	return ceil(m.width, 8*groupBlocks), ceil(m.height, 8*groupBlocks)
}

func (m *frame) lfGroups() (along, down int) {
	return ceil(m.width, 8*lfGroupBlocks), ceil(m.height, 8*lfGroupBlocks)
}

// area is a rectangle of blocks of the whole image.
type area struct{ x0, y0, x1, y1 int }

func (m *frame) area(index, along, size int) area {
	x, y := index%along*size, index/along*size
	return area{x, y, min(x+size, m.wide), min(y+size, m.high)}
}

// of is the area in a plane.
func (a area) of(p *plane) area {
	return area{a.x0 >> p.hshift, a.y0 >> p.vshift, (a.x1 + 1<<p.hshift - 1) >> p.hshift, (a.y1 + 1<<p.vshift - 1) >> p.vshift}
}

func (a area) wide() int { return a.x1 - a.x0 }
func (a area) high() int { return a.y1 - a.y0 }

// Streams of planes (H.2): each has a number that trees may decide on.
func (m *frame) streams() (lf, metadata, tables int) {
	along, down := m.lfGroups()
	n := along * down
	return 1, 1 + 2*n, 1 + 3*n
}

// zigzag[i] is the row-major place of the coefficient i of a JPEG file (T.81, figure A.6).
var zigzag = func() (table [64]uint8) {
	x, y := 0, 0
	for i := range table {
		table[i] = uint8(y*8 + x)
		switch {
		case (x+y)%2 == 0 && x == 7:
			y++
		case (x+y)%2 == 0 && y == 0:
			x++
		case (x+y)%2 == 0:
			x, y = x+1, y-1
		case y == 7:
			x++
		case x == 0:
			y++
		default:
			x, y = x-1, y+1
		}
	}
	return table
}()

// placeOf is the inverse of zigzag.
var placeOf = func() (table [64]uint8) {
	for i, p := range zigzag {
		table[p] = uint8(i)
	}
	return table
}()

// transposed[i] is the place in the zigzag order of a JPEG file of what stands at i in
// the order of the standard, whose blocks are transposed.
var transposed = func() (table [64]uint8) {
	for i, p := range zigzag {
		table[i] = placeOf[p&7<<3|p>>3]
	}
	return table
}()

// values are the AC coefficients of a block that are not zero.
func (m *frame) values(b *jpegdata.Block) []int16 { return m.file.Values[b.Start:] }

func malformed(format string, args ...any) error { return fmt.Errorf(format, args...) }
