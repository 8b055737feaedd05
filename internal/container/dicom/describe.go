package dicom

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

// Text is the value of an element of the top of the data set for people, shortened to about limit bytes.
// It is empty for sequences, bytes and values that are not known.
func (f *File) Text(e *Element, limit int) string {
	if e.Undefined {
		return ""
	}
	return valueText(f.Set[e.Value:e.End], e.VR, f.Syntax.Encoding, limit)
}

// MetaText is Text for an element of the file meta information.
func (f *File) MetaText(e *Element, limit int) string {
	return valueText(f.Data[e.Value:e.End], e.VR, explicitLittle, limit)
}

func valueText(value []byte, vr VR, enc Encoding, limit int) string {
	size := 0
	switch vr {
	case "SQ", "OB", "OW", "OF", "OD", "OL", "OV", "UN":
		return ""
	case "US", "SS":
		size = 2
	case "UL", "SL", "FL", "AT":
		size = 4
	case "FD", "UV", "SV":
		size = 8
	default:
		value = bytes.TrimRight(value, " \x00")
		if len(value) > limit {
			return strings.ToValidUTF8(string(value[:limit]), "?") + "..."
		}
		return strings.ToValidUTF8(string(value), "?")
	}
	var parts []string
	o := enc.Order
	for at, length := 0, 0; at+size <= len(value); at += size {
		if length > limit {
			parts = append(parts, "...")
			break
		}
		b, s := value[at:], ""
		switch vr {
		case "US":
			s = fmt.Sprint(o.Uint16(b))
		case "SS":
			s = fmt.Sprint(int16(o.Uint16(b)))
		case "UL":
			s = fmt.Sprint(o.Uint32(b))
		case "SL":
			s = fmt.Sprint(int32(o.Uint32(b)))
		case "FL":
			s = fmt.Sprint(math.Float32frombits(o.Uint32(b)))
		case "AT":
			s = (Tag(o.Uint16(b))<<16 | Tag(o.Uint16(b[2:]))).String()
		case "FD":
			s = fmt.Sprint(math.Float64frombits(o.Uint64(b)))
		case "UV":
			s = fmt.Sprint(o.Uint64(b))
		case "SV":
			s = fmt.Sprint(int64(o.Uint64(b)))
		}
		parts, length = append(parts, s), length+len(s)
	}
	return strings.Join(parts, `\`)
}
