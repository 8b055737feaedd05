package jpeglossless

import (
	"bytes"
	"testing"

	"github.com/pelmill/pelmill/imageio/internal/peer"
)

// TestForeignDecoders has other decoders read what encode writes. They know less than
// we: libjpeg forgets the point transform (dcmtk does not), and those of imagecodecs do
// neither that nor restart intervals.
func TestForeignDecoders(t *testing.T) {
	var all, plain []test
	for _, c := range tests() {
		if c.h.PointTransform > 0 {
			continue
		}
		all = append(all, c)
		if !bytes.Contains(c.file, []byte{0xff, 0xdd, 0, 4}) {
			plain = append(plain, c)
		}
	}
	for name, those := range map[string][]test{"libjpeg": all, "jpegsof3": plain, "ljpeg": plain} {
		t.Run(name, func(t *testing.T) {
			files := make([][]byte, len(those))
			for i, c := range those {
				files[i] = c.file
			}
			for i, pix := range peer.Decode(t, name, files) {
				if !bytes.Equal(pix, those[i].pix) {
					t.Errorf("%s: other samples, or %d bytes of %d", those[i].name, len(pix), len(those[i].pix))
				}
			}
		})
	}
}
