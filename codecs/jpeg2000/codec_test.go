package jpeg2000

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
)

func TestCodec(t *testing.T) {
	sets := [][]string{
		{"block=4x16", "container=j2c", "layers=2", "levels=3", "precincts=64x32,32x32", "progression=CPRL",
			"style=bypass+reset+termall+causal+predictable+segsym", "tile=100x60"},
		{"mode=ht", "psnr=40", "tile=120x90"},
		{"mode=ht"},
		{"effort=best"},
		{"psnr=40", "layers=2"},
		{"container=jp3d"},
	}
	if testing.Short() {
		sets = sets[:2] // the others share their code paths with these and the defaults, or have tests of their own
	}
	codectest.Run(t, Codec{}, &codectest.Options{MinPSNR: 30, Sets: sets})
}
