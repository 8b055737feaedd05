package webp

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// optionSets are those of the suite beside the defaults.
var optionSets = [][]string{
	{"effort=0"},
	{"effort=1"},
	{"effort=3"},
	{"effort=9"},
	{"exact=false"},
	{"near-lossless=60"},
	{"near-lossless=0", "effort=1"},
	{"metadata=strip", "effort=1"},
}

func TestConformance(t *testing.T) { conform(t, nil) }

func TestConformanceOnCard(t *testing.T) { conform(t, gputest.Device(t, nil)) }

func conform(t *testing.T, dev *gpu.Device) {
	codectest.Run(t, Codec{}, &codectest.Options{
		Sets:    optionSets,
		MinPSNR: 24, // with samples rounded to multiples of 32
		Device:  dev,
	})
}
