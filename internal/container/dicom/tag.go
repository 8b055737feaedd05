package dicom

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Tag is the tag of an element: the group in the upper and the element number in the lower
// 16 bits.
type Tag uint32

// Tags by the keywords of PS3.6.
const (
	metaLength             Tag = 0x00020000
	metaVersion            Tag = 0x00020001
	metaClass              Tag = 0x00020002
	metaInstance           Tag = 0x00020003
	metaSyntax             Tag = 0x00020010
	metaImplementation     Tag = 0x00020012
	metaImplementationName Tag = 0x00020013

	directoryRecords Tag = 0x00041220
	sopClass         Tag = 0x00080016
	sopInstance      Tag = 0x00080018

	samplesPerPixel     Tag = 0x00280002
	photometric         Tag = 0x00280004
	planarConfiguration Tag = 0x00280006
	numberOfFrames      Tag = 0x00280008
	rows                Tag = 0x00280010
	columns             Tag = 0x00280011
	bitsAllocated       Tag = 0x00280100
	bitsStored          Tag = 0x00280101
	highBit             Tag = 0x00280102
	pixelRepresentation Tag = 0x00280103

	extendedOffsets Tag = 0x7fe00001
	extendedLengths Tag = 0x7fe00002
	floatPixelData  Tag = 0x7fe00008
	doublePixelData Tag = 0x7fe00009
	PixelData       Tag = 0x7fe00010

	digitalSignatures Tag = 0xfffafffa
	trailingPadding   Tag = 0xfffcfffc
	itemTag           Tag = 0xfffee000
	itemEnd           Tag = 0xfffee00d
	sequenceEnd       Tag = 0xfffee0dd
)

// Group is the group number.
func (t Tag) Group() uint16 { return uint16(t >> 16) }

// Private reports whether the group is private (PS3.5 7.8).
func (t Tag) Private() bool { return t.Group()&1 == 1 }

// groupLength reports whether t is the length of its group (PS3.5 7.2).
func (t Tag) groupLength() bool { return t&0xffff == 0 }

// String is the tag as the standard writes it: "(7FE0,0010)".
func (t Tag) String() string { return fmt.Sprintf("(%04X,%04X)", uint16(t>>16), uint16(t)) }

// VR is a value representation: two letters, or none where the transfer syntax does not say
// it and the dictionary does not know it.
type VR string

// vrs are the value representations of PS3.5 6.2. Those with true have a length of 32 bits
// behind two reserved bytes, the others one of 16 bits (PS3.5 7.1.2).
var vrs = map[VR]bool{
	"AE": false, "AS": false, "AT": false, "CS": false, "DA": false, "DS": false, "DT": false, "FL": false, "FD": false, "IS": false,
	"LO": false, "LT": false, "PN": false, "SH": false, "SL": false, "SS": false, "ST": false, "TM": false, "UI": false, "UL": false, "US": false,
	"OB": true, "OD": true, "OF": true, "OL": true, "OV": true, "OW": true, "SQ": true, "SV": true, "UC": true, "UN": true, "UR": true, "UT": true, "UV": true,
}

// long reports whether the length has 32 bits. Value representations that a later edition may
// have do too (PS3.5 7.1.2).
func (v VR) long() bool {
	long, known := vrs[v]
	return long || !known
}

// letters reports whether v consists of two capital letters.
func (v VR) letters() bool {
	return len(v) == 2 && v[0] >= 'A' && v[0] <= 'Z' && v[1] >= 'A' && v[1] <= 'Z'
}

// Encoding is how a data set is written: with value representations or without, and in which
// order of bytes.
type Encoding struct {
	Implicit bool
	Order    binary.ByteOrder
}

var (
	explicitLittle = Encoding{Order: binary.LittleEndian}
	implicitLittle = Encoding{Implicit: true, Order: binary.LittleEndian}
	explicitBig    = Encoding{Order: binary.BigEndian}
)

// text is a value without the padding at its end.
func text(value []byte) string { return strings.TrimRight(string(value), "\x00 ") }
