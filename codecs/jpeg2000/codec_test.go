package jpeg2000

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
)

func TestCodec(t *testing.T) {
	codectest.Run(t, Codec{}, &codectest.Options{MinPSNR: 30, Sets: [][]string{
		{"block=4x16", "container=j2c", "layers=2", "levels=3", "precincts=64x32,32x32", "progression=CPRL",
			"style=bypass+reset+termall+causal+predictable+segsym", "tile=100x60"},
		{"effort=best"},
		{"mode=ht"},
		{"mode=ht", "psnr=40", "tile=120x90"},
		{"psnr=40", "layers=2"},
		{"container=jp3d"},
	}})
}
