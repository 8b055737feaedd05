package jpegls

import (
	"bytes"
	"testing"

	"github.com/pelmill/pelmill/imageio/internal/peer"
)

// TestForeignDecoders has other decoders read what encode writes. libjpeg reads all of
// it; CharLS refuses a MAXVAL below what the precision allows and some restart
// intervals, and its Python packages two and four components. What they read has to be
// the same.
func TestForeignDecoders(t *testing.T) {
	all := tests()
	files := make([][]byte, len(all))
	for i, c := range all {
		files[i] = c.file
	}
	for name, refuses := range map[string]bool{"libjpeg": false, "charls": true, "jpegls": true} {
		t.Run(name, func(t *testing.T) {
			read := 0
			for i, pix := range peer.Decode(t, name, files) {
				if pix == nil && refuses {
					continue
				}
				read++
				if !bytes.Equal(pix, all[i].pix) {
					t.Errorf("%s: other samples, or %d bytes of %d", all[i].name, len(pix), len(all[i].pix))
				}
			}
			if read < len(all)*2/3 {
				t.Errorf("it read %d of %d files", read, len(all))
			}
		})
	}
}
