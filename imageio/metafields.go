package imageio

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/container/tiff"
	"github.com/pelmill/pelmill/raster"
)

// MetaFields describes for people what a file of a format has besides its samples:
// orientation, density, ICC profile and the best known fields of the EXIF block.
func MetaFields(format string, m *raster.Meta) (fields []codec.Field) {
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, codec.Field{Name: name, Value: value})
		}
	}
	if o := m.Orientation; o >= 1 && o <= 8 {
		add("orientation", fmt.Sprintf("%d, %s", o, orientations[o]))
	}
	if d := m.Density; d != (raster.Density{}) {
		unit := map[raster.Unit]string{raster.Inch: " per inch", raster.Centimetre: " per centimetre", raster.Metre: " per metre"}[d.Unit]
		add("density", fmt.Sprintf("%.6g x %.6g%s", d.X, d.Y, unit))
	}
	if len(m.ICC) > 0 {
		add("icc", strings.TrimPrefix(profileName(m.ICC)+", ", ", ")+strconv.Itoa(len(m.ICC))+" bytes")
	}
	if len(m.EXIF) > 0 {
		add("exif", strconv.Itoa(len(m.EXIF))+" bytes")
		for _, f := range exifFields(m.EXIF) {
			add("exif "+f.Name, f.Value)
		}
	}
	if len(m.XMP) > 0 {
		add("xmp", strconv.Itoa(len(m.XMP))+" bytes")
	}
	if len(m.Text) > 0 {
		add("texts", strconv.Itoa(len(m.Text)))
	}
	return fields
}

// orientations say how the stored picture is brought upright (EXIF 2.3, 4.6.4).
var orientations = [...]string{
	1: "as stored", 2: "mirrored", 3: "turned by 180 degrees", 4: "mirrored and turned by 180 degrees",
	5: "mirrored and turned by 270 degrees", 6: "turned by 90 degrees", 7: "mirrored and turned by 90 degrees", 8: "turned by 270 degrees",
}

// profileName is the description of an ICC profile (ICC.1:2022, 9.2.41), empty where it has
// none that can be read.
func profileName(icc []byte) string {
	const head, entry = 128, 12
	if len(icc) < head+4 {
		return ""
	}
	for i := range min(int(binary.BigEndian.Uint32(icc[head:])), 100) {
		at := head + 4 + i*entry
		if at+entry > len(icc) {
			return ""
		}
		if string(icc[at:at+4]) != "desc" {
			continue
		}
		from, size := int64(binary.BigEndian.Uint32(icc[at+4:])), int64(binary.BigEndian.Uint32(icc[at+8:]))
		if from+size > int64(len(icc)) {
			return ""
		}
		return profileText(icc[from : from+size])
	}
	return ""
}

// profileText reads an element of type textDescriptionType (ICC.1:2001, 6.5.17) or
// multiLocalizedUnicodeType (ICC.1:2022, 10.15), of that the first language.
func profileText(data []byte) string {
	switch {
	case len(data) >= 12 && string(data[:4]) == "desc":
		n := int64(binary.BigEndian.Uint32(data[8:]))
		text := data[12:]
		return strings.TrimRight(string(text[:min(n, int64(len(text)))]), "\x00")
	case len(data) >= 28 && string(data[:4]) == "mluc" && binary.BigEndian.Uint32(data[8:]) > 0:
		n, from := int64(binary.BigEndian.Uint32(data[20:])), int64(binary.BigEndian.Uint32(data[24:]))
		if from+n > int64(len(data)) {
			return ""
		}
		units := make([]uint16, n/2)
		for i := range units {
			units[i] = binary.BigEndian.Uint16(data[from+2*int64(i):])
		}
		return strings.TrimRight(string(utf16.Decode(units)), "\x00")
	}
	return ""
}

// exifNames are the fields that are shown, by their tags (EXIF 2.3, 4.6.4 and 4.6.5).
var exifNames = []struct {
	tag  uint16
	name string
}{
	{271, "make"}, {272, "model"}, {42036, "lens"}, {305, "software"}, {315, "artist"}, {33432, "copyright"},
	{36867, "taken"}, {306, "changed"}, {33434, "exposure"}, {33437, "aperture"}, {34855, "sensitivity"}, {37386, "focal length"},
}

// exifDirectory is the tag of the place of the block's second directory, and gpsDirectory of
// that with the position, of which only the presence is shown.
const (
	exifDirectory = 34665
	gpsDirectory  = 34853
)

// exifFields lists what a block has of exifNames, in their order.
func exifFields(block []byte) (fields []codec.Field) {
	s, ok := tiff.Open(block)
	if !ok {
		return nil
	}
	values := map[uint16]string{}
	read := func(at uint32) {
		for f, err := range s.Fields(at) {
			if err != nil {
				return
			}
			if v, err := s.Values(f); err == nil {
				values[f.Tag] = exifText(&s, v)
			}
		}
	}
	read(s.First())
	if at, err := strconv.ParseUint(values[exifDirectory], 10, 32); err == nil && at > 0 {
		read(uint32(at))
	}
	for _, n := range exifNames {
		if v := values[n.tag]; v != "" {
			fields = append(fields, codec.Field{Name: n.name, Value: v})
		}
	}
	if values[gpsDirectory] != "" {
		fields = append(fields, codec.Field{Name: "position", Value: "there is one"})
	}
	return fields
}

// maxExifText bounds a value, in bytes.
const maxExifText = 200

// exifText renders the first value of a field; texts whole.
func exifText(s *tiff.Structure, v tiff.Values) string {
	switch {
	case v.Type == tiff.ASCII:
		text, _, _ := strings.Cut(string(v.Raw[:min(len(v.Raw), maxExifText)]), "\x00")
		return strings.TrimSpace(strings.ToValidUTF8(text, "?"))
	case v.Type == tiff.Short && len(v.Raw) >= 2:
		return strconv.Itoa(int(s.Order.Uint16(v.Raw)))
	case v.Type == tiff.Long && len(v.Raw) >= 4:
		return strconv.FormatUint(uint64(s.Order.Uint32(v.Raw)), 10)
	case v.Type == tiff.Rational && len(v.Raw) >= 8:
		n, d := s.Order.Uint32(v.Raw), s.Order.Uint32(v.Raw[4:])
		if d == 0 {
			return ""
		}
		if n > 0 && n < d {
			return fmt.Sprintf("1/%.4g", float64(d)/float64(n))
		}
		return fmt.Sprintf("%.4g", float64(n)/float64(d))
	}
	return ""
}
