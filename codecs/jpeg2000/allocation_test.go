package jpeg2000

import (
	"fmt"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// A codestream has no more bits for a pixel than bpp says, however many layers there are, and
// little less.
func TestBitsPerPixelAreABound(t *testing.T) {
	for _, s := range []raster.Shape{shape(200, 150, 3, 8, false), shape(64, 65, 1, 12, true), {Width: 60, Height: 50, Depth: 3, Channels: 1, Bits: 8}} {
		m := pattern(s)
		for _, layers := range []int{1, 12} {
			for _, wavelet := range []string{"5/3", "9/7"} {
				for _, bpp := range []float64{0.5, 7} {
					file := encoded(t, m, fmt.Sprint("bpp=", bpp), fmt.Sprint("layers=", layers), "wavelet="+wavelet)
					p, err := open(file)
					if err != nil {
						t.Fatal(err)
					}
					empty, err := open(encoded(t, m, "bpp=0.001", fmt.Sprint("layers=", layers), "wavelet="+wavelet))
					if err != nil {
						t.Fatal(err)
					}
					n, budget := len(p.boxes.Codestream), int(bpp*float64(m.Pixels())/8)
					if n > max(budget, len(empty.boxes.Codestream)) || n < budget*3/4 && bpp < 7 && budget > 2*len(empty.boxes.Codestream) {
						t.Errorf("%s, %d layers, %s: %d bytes of %d; nothing takes %d", s, layers, wavelet, n, budget, len(empty.boxes.Codestream))
					}
					if _, err := decodeOne(t, file, codec.View{}); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
}
