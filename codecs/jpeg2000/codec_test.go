package jpeg2000

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
)

func TestCodec(t *testing.T) {
	codectest.Run(t, Codec{}, &codectest.Options{MinPSNR: 30, Sets: [][]string{
		{"effort=fast", "container=j2c", "layers=3", "progression=RPCL", "tile=100x60", "levels=3"},
		{"effort=best"},
		{"block=4x16", "precincts=64x32,32x32", "progression=CPRL", "style=bypass+reset+termall+causal+predictable+segsym"},
		{"psnr=40", "layers=2"},
	}})
}
