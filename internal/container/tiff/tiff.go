// Package tiff walks the directories of TIFF structures (Adobe, TIFF 6.0): of TIFF
// files, and of EXIF blocks, which are such structures too.
//
//	s, ok := tiff.Open(data)
//	for at := s.First(); at != 0; {
//		next, err := s.Next(at)            // refuses a directory that is cut short
//		for f, err := range s.Fields(at) { // of which values are looked up one by one
//
// Pages may be chained in a circle: callers remember which places they have seen.
// OpenFile also opens BigTIFF files, whose places and counts have 8 bytes. Samples are decoded by package
// imageio.
//
// [Structure.Attributes] yields the ICC profile, the XMP packet, the density and the
// texts of a directory. The EXIF fields of a TIFF file lie in a directory of their
// own, with places counted from the beginning of the file, and are no block that
// could be carried over as it is.
package tiff

import (
	"encoding/binary"
	"iter"
	"math"

	"github.com/pelmill/pelmill/internal/container"
)

// Structure is a TIFF structure in memory.
type Structure struct {
	Data  []byte
	Order binary.ByteOrder
	Big   bool // BigTIFF
}

// headLength is the byte order, the number 42, and the place of the first directory.
const headLength = 8

// Open reads the 8 bytes at the beginning, and reports whether they are right.
func Open(data []byte) (Structure, bool) {
	if len(data) < headLength {
		return Structure{}, false
	}
	switch string(data[:4]) {
	case "II*\x00":
		return Structure{Data: data, Order: binary.LittleEndian}, true
	case "MM\x00*":
		return Structure{Data: data, Order: binary.BigEndian}, true
	}
	return Structure{}, false
}

// bigHeadLength is the byte order, the number 43, the bytes of a place, 8, and 0, and the place of the
// first directory.
const bigHeadLength = 16

// OpenFile is Open for files, which may be BigTIFF files.
func OpenFile(data []byte) (Structure, bool) {
	s := Structure{Data: data, Order: binary.LittleEndian, Big: true}
	switch {
	case len(data) < bigHeadLength:
		return Open(data)
	case string(data[:4]) == "MM\x00+":
		s.Order = binary.BigEndian
	case string(data[:4]) != "II+\x00":
		return Open(data)
	}
	return s, s.Order.Uint16(data[4:]) == 8 && s.Order.Uint16(data[6:]) == 0
}

// First is the place of the first directory, 0 where there is none.
func (s *Structure) First() uint32 {
	if s.Big {
		return s.place(8)
	}
	return s.place(4)
}

// place reads a place in the structure. One that is beyond those of 32 bits lies in no file that is read.
func (s *Structure) place(at int64) uint32 {
	if s.Big {
		return uint32(min(s.Order.Uint64(s.Data[at:]), math.MaxUint32))
	}
	return s.Order.Uint32(s.Data[at:])
}

// MaxFields bounds the fields of a directory, as libtiff does. Directories may
// overlap, so that a small file could otherwise cost hours of parsing.
const MaxFields = 4096

// A directory (TIFF 6.0, section 2) is a count of fields, the fields, and the place
// of the next directory.
const (
	countLength = 2
	fieldLength = 12
	placeLength = 4

	bigCountLength = 8
	bigFieldLength = 20
	bigPlaceLength = 8
)

// lengths are those of the count of fields, of a field and of a place.
func (s *Structure) lengths() (count, field, place int64) {
	if s.Big {
		return bigCountLength, bigFieldLength, bigPlaceLength
	}
	return countLength, fieldLength, placeLength
}

// count is how many fields the directory at a place says that it has, whose count lies in the structure.
func (s *Structure) count(at uint32) int64 {
	if s.Big {
		return int64(min(s.Order.Uint64(s.Data[at:]), math.MaxInt32))
	}
	return int64(s.Order.Uint16(s.Data[at:]))
}

// Next returns the place that the directory at a place says of the next one, 0 for
// the last. libtiff takes a directory without room for that place for the last one.
// Here it is the sign of a file that was cut, and pages may be missing.
func (s *Structure) Next(at uint32) (uint32, error) {
	count, field, place := s.lengths()
	first, size := int64(at)+count, int64(len(s.Data))
	if first > size {
		return 0, container.ErrCutShort
	}
	n := s.count(at)
	if n > MaxFields {
		return 0, container.OverLimit("a page with %d fields is over the limit of %d", n, MaxFields)
	}
	end := first + field*n
	if end+place > size {
		return 0, container.ErrCutShort
	}
	return s.place(end), nil
}

// Field is a field of a directory.
type Field struct {
	Tag   uint16
	Type  uint16
	Count uint32 // of values; the most that it can be where it is more
	At    int    // place of the values, where they fit 4 bytes (8 in BigTIFF), or of their place
}

// Fields yields the fields of the directory at a place. Where it is cut short, the
// last pair has [container.ErrCutShort] and no field. Values are not looked at: those
// that nobody needs may be damaged or huge without harm.
func (s *Structure) Fields(at uint32) iter.Seq2[Field, error] {
	return func(yield func(Field, error) bool) {
		count, length, _ := s.lengths()
		first, size := int64(at)+count, int64(len(s.Data))
		if first > size {
			yield(Field{}, container.ErrCutShort)
			return
		}
		for i := range s.count(at) {
			e := first + length*i
			if e+length > size {
				yield(Field{}, container.ErrCutShort)
				return
			}
			f := s.Data[e:]
			values := s.place(e + 4)
			if !yield(Field{s.Order.Uint16(f), s.Order.Uint16(f[2:]), values, int(e + 4 + (length-4)/2)}, nil) {
				return
			}
		}
	}
}

// Types of values (TIFF 6.0, section 2).
const (
	Byte      = 1
	ASCII     = 2
	Short     = 3
	Long      = 4
	Rational  = 5
	Undefined = 7
	Long8     = 16 // of BigTIFF
)

// widths are the bytes of a value of each type, 13 being a long that is a place, and 16 to 18 those of BigTIFF with
// 8 bytes: a long, one with a sign, and a place.
var widths = [...]int64{1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}

// Values are those of a field, as they lie in the structure, whose bytes they share.
// The zero value is that of a field which is not there.
type Values struct {
	Type  uint16
	Count uint32
	Raw   []byte
}

// Values looks up the values of a field: the zero value where its type is not
// defined.
func (s *Structure) Values(f Field) (Values, error) {
	if int(f.Type) >= len(widths) || widths[f.Type] == 0 || f.Type > 13 && !s.Big {
		return Values{}, nil
	}
	at, length := int64(f.At), int64(f.Count)*widths[f.Type]
	if _, _, place := s.lengths(); length > place {
		at = int64(s.place(at))
	}
	if at+length > int64(len(s.Data)) {
		return Values{}, container.ErrCutShort
	}
	return Values{f.Type, f.Count, s.Data[at : at+length : at+length]}, nil
}

// Int returns value i, and 0 beyond the end or for types that are no integers. The
// types with a sign are taken as those without: fields that are read have none.
func (v *Values) Int(order binary.ByteOrder, i int) int64 {
	if i < 0 || i >= int(v.Count) {
		return 0
	}
	switch v.Type {
	case 1, 6, 7:
		return int64(v.Raw[i])
	case 3, 8:
		return int64(order.Uint16(v.Raw[2*i:]))
	case 4, 9, 13:
		return int64(order.Uint32(v.Raw[4*i:]))
	case 16, 17, 18:
		return int64(min(order.Uint64(v.Raw[8*i:]), 1<<60)) // beyond every file, and two of them can be added
	}
	return 0
}
