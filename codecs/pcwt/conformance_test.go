package pcwt

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// optionSets are those of the suite beside the defaults.
var optionSets = [][]string{
	{"effort=0"},
	{"tile=128"},
	{"fast=true"},
	{"near-lossless=2"},
	{"qmin=2", "effort=0"},
	{"profile=0"},
	{"profile=0", "zero-signs=true", "near-lossless=1"},
}

func TestConformance(t *testing.T) { conform(t, nil) }

func TestConformanceOnCard(t *testing.T) { conform(t, gputest.Device(t, nil)) }

func conform(t *testing.T, dev *gpu.Device) {
	sets := optionSets
	if testing.Short() {
		// Constants of a file's own are fitted with the defaults only.
		sets = [][]string{{"effort=0", "fast=true", "tile=128"}, {"effort=0", "qmin=2"}, {"profile=0", "near-lossless=2"}}
	}
	codectest.Run(t, Codec{}, &codectest.Options{Sets: sets, MinPSNR: 24, Checksummed: true, Device: dev})
}
