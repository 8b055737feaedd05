// Package jpegdata takes JPEG files apart so that they can be put together again byte by
// byte: the coefficients, and everything else that a file is made of. [Read] and [Write]
// are inverses. [File.AppendBox] and [ReadBox] are the form of JPEG XL for all but the
// coefficients and tables of quantisation (ISO/IEC 18181-2, the box jbrd).
//
// # What is held
//
// Huffman-coded frames of 8 bits, sequential or progressive, with one or three components
// and any scans, restart intervals, segments, padding bits, bytes between segments and
// behind the end. What the format cannot hold is an [container.UnsupportedError]: arithmetic
// and lossless coding, 12 bits, four components, tables of quantisation that change.
//
// A file may be damaged: what counts is that the same bytes come back.
package jpegdata

import "github.com/pelmill/pelmill/internal/container"

// Markers (ITU-T T.81, table B.1) as lists of a file have them.
const (
	sof0 = 0xc0
	sof1 = 0xc1
	sof2 = 0xc2
	dht  = 0xc4
	rst0 = 0xd0
	rst7 = 0xd7
	soi  = 0xd8
	eoi  = 0xd9
	sos  = 0xda
	dqt  = 0xdb
	dri  = 0xdd
	app0 = 0xe0
	app1 = 0xe1
	app2 = 0xe2
	com  = 0xfe

	between = 0xff // stands in lists for bytes between two segments
)

// Limits of the format.
const (
	maxMarkers = 16384
	maxTail    = 65793 + 1<<22 - 1
	maxBetween = 65535
	maxRuns    = 65535 + 20 // reset points of a scan, and blocks with extra zero runs
	maxPadding = 1<<24 - 1
	maxTables  = 3       // of quantisation
	maxHuffman = 26 + 63 // tables
	sentinel   = 256     // the symbol of the code of all ones, which no file uses
	maxDC      = 2047    // what a codestream holds
	maxAC      = 4095
	maxValues  = 1 << 31 // AC coefficients that are not zero
	sureDC     = 1023    // what it holds of every image
)

// File is a JPEG file.
type File struct {
	Width, Height int
	Progressive   bool
	Components    []Component

	Markers  []byte   // in their order, without SOI, up to EOI; [between] for other bytes
	Apps     [][]byte // segments APPn: marker byte, length, body
	Kinds    []Kind   // of each of Apps
	Comments [][]byte // segments COM, the same
	Between  [][]byte // bytes between segments
	Tail     []byte   // behind EOI
	Restart  int      // the restart interval; 0: none
	Padding  []byte   // the bits that pad scans and restart intervals, if any is zero

	Large bool // a DC coefficient may be beyond 1023, or another one beyond 4095

	Values []int16 // the AC coefficients that are not zero, those of a block one after another

	Quant   []QuantTable
	Huffman []HuffmanTable
	Scans   []Scan
}

// Kind says what a segment APPn holds that the rest of a JPEG XL file holds too.
type Kind uint8

// The kinds, with the numbers of the box.
const (
	Other Kind = iota
	ICC
	Exif
	XMP
)

// Component is one plane of coefficients.
type Component struct {
	ID     byte
	H, V   int // sampling factors
	Quant  int // the place in File.Quant
	Wide   int // blocks in a row and rows, those included that pad the last MCUs
	High   int
	Blocks []Block
}

// Block is 64 quantised coefficients. Few of them differ from zero in most images: so only
// those are held.
type Block struct {
	Mask  uint64 // bit k is set where AC coefficient k of the zigzag order is not zero
	Start uint32 // the place in File.Values of the first of them
	DC    int16
}

// QuantTable is a table of quantisation.
type QuantTable struct {
	Values    [64]uint16 // in zigzag order
	Precision uint8      // 1: 16 bits
	Index     uint8
	Last      bool // of its segment
}

// HuffmanTable is a table of codes. Counts and Symbols have the sentinel in them; a table
// without symbols stands for an empty segment.
type HuffmanTable struct {
	AC      bool
	Index   uint8
	Last    bool // of its segment
	Counts  [17]int
	Symbols []uint16
}

// Scan is a scan without its coefficients.
type Scan struct {
	Components             []ScanComponent
	First, Last, High, Low int       // Ss, Se, Ah, Al
	Resets                 []int     // blocks before which a run of ends of band ends early
	ZeroRuns               []ZeroRun // blocks that end with needless runs of 16 zeros
}

// ScanComponent is a component of a scan.
type ScanComponent struct {
	Index  int // in File.Components
	DC, AC uint8
}

// ZeroRun is a block by its number in the scan, and its needless runs.
type ZeroRun struct{ Block, Runs int }

// sampling returns the largest sampling factors.
func (f *File) sampling() (h, v int) {
	h, v = 1, 1
	for i := range f.Components {
		h, v = max(h, f.Components[i].H), max(v, f.Components[i].V)
	}
	return h, v
}

func ceil(a, b int) int { return (a + b - 1) / b }

// SetBlocks sets how many blocks each component has, without memory for them.
func (f *File) SetBlocks() {
	h, v := f.sampling()
	for i := range f.Components {
		c := &f.Components[i]
		c.Wide = ceil(f.Width, 8*h) * c.H
		c.High = ceil(f.Height, 8*v) * c.V
	}
}

// units returns the rows of a scan and the units (MCUs, or blocks of a lone component) of
// a row.
func (f *File) units(s *Scan) (wide, high int) {
	h, v := f.sampling()
	if len(s.Components) > 1 {
		return ceil(f.Width, 8*h), ceil(f.Height, 8*v)
	}
	c := &f.Components[s.Components[0].Index]
	return ceil(f.Width*c.H, 8*h), ceil(f.Height*c.V, 8*v)
}

// band returns the parameters that a scan is coded with: those of a sequential scan are
// kept as they stand and mean nothing.
func (f *File) band(s *Scan) (first, last, high, low int) {
	if !f.Progressive {
		return 0, 63, 0, 0
	}
	return s.First, s.Last, s.High, s.Low
}

func unsupported(format string, args ...any) error { return container.Unsupported(format, args...) }

func malformed(format string, args ...any) error { return container.Malformed(format, args...) }
