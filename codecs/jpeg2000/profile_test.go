package jpeg2000

import (
	"errors"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// A profile of inks on samples of RGB is refused before anything is encoded, because no decoder would take the file, this one
// neither. A codestream has no place for a profile. One that says nothing known is kept.
func TestProfilesOfOtherColours(t *testing.T) {
	for space, refused := range map[string]bool{"CMYK": true, "Lab ": true, "RGB ": false, "GRAY": false, "\x00\x00\x00\x00": false} {
		profile := make([]byte, 128)
		copy(profile[16:], space)
		m := raster.New(3, 2, 1, 3, 8)
		m.Meta.ICC = profile
		for _, container := range []string{"jp2", "j2k"} {
			o, err := Codec{}.Options([]string{"container=" + container})
			if err != nil {
				t.Fatal(err)
			}
			e := Codec{}.Encode(t.Context(), codec.Run{}, codec.Items(m), o)
			var unsupported *codec.UnsupportedError
			if want := refused && container == "jp2"; errors.As(e[0].Err, &unsupported) != want || (e[0].Err != nil) != want {
				t.Errorf("%q in %s: %v, refused %v", space, container, e[0].Err, want)
			}
			if e[0].Err != nil {
				continue
			}
			if _, err := decodeOne(t, e[0].Data, codec.View{}); err != nil {
				t.Errorf("%q in %s: %v", space, container, err)
			}
		}
	}
}
