package rle

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/pelmill/pelmill/imageio/internal/peer"
)

// TestForeignDecoders has other decoders read what encode writes.
func TestForeignDecoders(t *testing.T) {
	all := tests()
	frames := make([][]byte, len(all))
	for i, c := range all {
		for _, v := range []int{c.s.Height, c.s.Width, c.s.Channels, 8 * c.s.BytesPerSample} {
			frames[i] = binary.BigEndian.AppendUint32(frames[i], uint32(v))
		}
		frames[i] = append(frames[i], c.frame...)
	}
	for _, name := range []string{"pydicom-rle", "pylibjpeg-rle"} {
		t.Run(name, func(t *testing.T) {
			for i, pix := range peer.Decode(t, name, frames) {
				if !bytes.Equal(pix, all[i].pix) {
					t.Errorf("%s: other samples, or %d bytes of %d", all[i].name, len(pix), len(all[i].pix))
				}
			}
		})
	}
}
