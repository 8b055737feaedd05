package imageio

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/raster"
)

// appendPNGAttributes writes the density, the XMP packet and the texts of an image, as
// far as PNG can hold them (PNG specification, 11.3.3 and 11.3.4.3).
func appendPNGAttributes(b []byte, m *raster.Meta) []byte {
	if body := pngDensity(m.Density); body != nil {
		b = png.Append(b, "pHYs", body)
	}
	if len(m.XMP) > 0 && len(m.XMP) < png.MaxChunk-64 {
		b = png.Append(b, "iTXt", append([]byte("XML:com.adobe.xmp\x00\x00\x00\x00\x00"), m.XMP...))
	}
	for _, t := range m.Text {
		key := t.Key
		if key == "" {
			key = "Comment"
		}
		if !pngKeyword(key) || strings.ContainsRune(t.Value, 0) {
			continue
		}
		if kind, prefix := "tEXt", key+"\x00"; ascii(t.Value) || !utf8.ValidString(t.Value) {
			b = png.Append(b, kind, []byte(prefix+t.Value))
		} else {
			b = png.Append(b, "iTXt", []byte(prefix+"\x00\x00\x00\x00"+t.Value))
		}
	}
	return b
}

// pngDensity is the body of a pHYs chunk, nil where there is nothing to say or the
// numbers do not fit.
func pngDensity(d raster.Density) []byte {
	perMetre, unit := 1.0, byte(1)
	switch d.Unit {
	case raster.Inch:
		perMetre = 1 / 0.0254
	case raster.Centimetre:
		perMetre = 100
	case raster.Metre:
	default:
		unit = 0
	}
	x, y := math.Round(d.X*perMetre), math.Round(d.Y*perMetre)
	if !(x >= 1 && y >= 1 && x < 1<<31 && y < 1<<31) {
		return nil
	}
	body := binary.BigEndian.AppendUint32(nil, uint32(x))
	return append(binary.BigEndian.AppendUint32(body, uint32(y)), unit)
}

// pngKeyword reports whether s is a keyword: 1 to 79 printable characters of Latin-1.
func pngKeyword(s string) bool {
	if len(s) < 1 || len(s) > 79 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c < 32 || c > 126 && c < 161 {
			return false
		}
	}
	return true
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
