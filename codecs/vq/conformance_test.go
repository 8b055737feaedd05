package vq

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// The option sets of the suite beside the defaults, and the one with a shared codebook.
// The comparison of whole files with a device takes the same.
var (
	optionSets = [][]string{
		{"index=raw"},
		{"block=2x2", "n=16"},
		{"block=4x2", "chroma=444"},
		{"block=8x8", "n=2", "chroma-n=2"},
		{"n=4096", "train=split", "passes=3"},
	}
	sharedSet = []string{"codebook=job", "n=64"}
)

func TestConformance(t *testing.T) { conform(t, nil) }

func TestConformanceOnCard(t *testing.T) { conform(t, gputest.Device(t, nil)) }

func conform(t *testing.T, dev *gpu.Device) {
	codectest.Run(t, Codec{}, &codectest.Options{
		Sets:        optionSets,
		Shared:      sharedSet,
		MinPSNR:     18, // with two codewords for the whole image
		Checksummed: true,
		Device:      dev,
	})
}
