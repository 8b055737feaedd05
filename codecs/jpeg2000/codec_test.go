package jpeg2000

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

func TestCodec(t *testing.T) { conform(t, nil) }

// A card makes the same files.
func TestCodecOnACard(t *testing.T) { conform(t, gputest.Device(t, nil)) }

func conform(t *testing.T, dev *gpu.Device) {
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
	codectest.Run(t, Codec{}, &codectest.Options{MinPSNR: 30, Sets: sets, Device: dev})
}
