package imageio

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/raster"
)

// A profile of CMYK is not given to the RGB that the samples became: a viewer would take these for inks, and JPEG 2000 files
// with it are refused. The header says that it was left out. One of RGB is kept.
func TestProfileOfInks(t *testing.T) {
	m := scene(17, 9, 3, landscape)
	for space, kept := range map[string]bool{"CMYK": false, "RGB ": true} {
		profile := make([]byte, 128)
		copy(profile[16:], space)
		segment := append([]byte{0xff, 0xe2, 0, 0}, "ICC_PROFILE\x00\x01\x01"...)
		segment = append(segment, profile...)
		binary.BigEndian.PutUint16(segment[2:], uint16(len(segment)-2))
		var words []int
		for at := 0; at < len(profile); at += 4 {
			words = append(words, int(binary.LittleEndian.Uint32(profile[at:])))
		}
		for name, data := range map[string][]byte{
			"jpeg": before(encoded(t, m, "convert - -colorspace CMYK jpg:-"), 0xdb, string(segment)),
			"tiff": variantPage(4, tiffCMYK).with(map[int][]int{tagICC: words}).bytes(),
		} {
			h, err := ReadHeader(data, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, err := Decode(data, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if has := got.Meta.ICC != nil; has != kept || slices.Contains(h.Attributes, raster.AttributeICC) != kept || strings.Contains(h.Note, "ICC profile") == kept {
				t.Errorf("%s with a profile of %s: kept %v, header %v, %q", name, space, has, h.Attributes, h.Note)
			}
		}
	}
}
