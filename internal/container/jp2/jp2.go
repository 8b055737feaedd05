// Package jp2 reads and writes the boxes of the file formats JP2 (ISO/IEC 15444-1 Annex I)
// and JPH (ISO/IEC 15444-15 Annex D) around a codestream.
//
// Of the boxes those count that say how components become an image: ihdr, bpcc, colr, pclr,
// cmap, cdef and res; besides them an EXIF block and an XMP packet in boxes "uuid", where
// other software keeps them. All others are left out.
package jp2

// File is what the boxes of a file say. In a raw codestream only Codestream is set.
type File struct {
	Brand      string // "jp2 " or "jph "; empty for a raw codestream
	Codestream []byte

	Width, Height int
	Components    []Depth // by component of the codestream; those of ihdr or bpcc
	Colour        Colour
	Palette       *Palette
	Mapping       []Mapping // cmap: by channel; nil: each component is a channel
	Channels      []Channel // cdef; nil: each channel is a colour, in the order of the colour space
	Resolution    Resolution

	EXIF []byte // a TIFF structure, without prefix
	XMP  []byte
}

// Depth is the bit depth and sign of a component or of a column of a palette.
type Depth struct {
	Bits   int // 1 to 38; 0 where components have several
	Signed bool
}

// Colour is the box colr (I.5.3.3).
type Colour struct {
	Method Method
	Space  ColourSpace // of MethodEnumerated
	ICC    []byte      // of MethodICC
}

// Method says how a colour space is given.
type Method byte

// The methods; 0 stands for a file without colr. Those of JPX with a full ICC profile
// count as MethodICC.
const (
	MethodEnumerated Method = 1
	MethodICC        Method = 2
)

// ColourSpace is an enumerated colour space.
type ColourSpace uint32

// The colour spaces of JP2.
const (
	SRGB      ColourSpace = 16
	Greyscale ColourSpace = 17
	SYCC      ColourSpace = 18
)

// Palette is the box pclr (I.5.3.4).
type Palette struct {
	Columns []Depth
	Entries []int32 // of entry e and column c at e*len(Columns)+c
}

// Mapping makes a channel of a component (I.5.3.5).
type Mapping struct {
	Component int
	Palette   bool // the component's samples are indices of the palette's Column
	Column    int
}

// Channel is an entry of cdef (I.5.3.6).
type Channel struct {
	Index       int
	Type        ChannelType
	Association int // 0: the whole image; 1, 2, ...: the colours of the colour space
}

// ChannelType says what a channel holds.
type ChannelType uint16

// The types of channels.
const (
	ColourChannel        ChannelType = 0
	OpacityChannel       ChannelType = 1
	PremultipliedChannel ChannelType = 2
	UnspecifiedChannel   ChannelType = 65535
)

// The identifiers of boxes "uuid".
var (
	uuidEXIF = [16]byte{'J', 'p', 'g', 'T', 'i', 'f', 'f', 'E', 'x', 'i', 'f', '-', '>', 'J', 'P', '2'}
	uuidXMP  = [16]byte{0xbe, 0x7a, 0xcf, 0xcb, 0x97, 0xa9, 0x42, 0xe8, 0x9c, 0x71, 0x99, 0x94, 0x91, 0xe3, 0xaf, 0xac}
)

// signature is the contents of the first box, "jP  ".
const signature = "\r\n\x87\n"
