package neuquant

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// optionSets are those of the suite beside the defaults. The comparison of whole files
// with a card takes the same.
var optionSets = [][]string{
	{"colours=2"},
	{"colours=3", "sample=1", "refine=32"},
	{"colours=16", "refine=0", "metadata=strip"},
	{"colours=200", "dither=floyd-steinberg"},
	{"dither=ordered", "refine=1"},
	{"format=gif", "colours=17", "frames=own"},
	{"format=gif", "dither=floyd-steinberg", "colours=5"},
}

func TestConformance(t *testing.T) { conform(t, nil) }

func TestConformanceOnCard(t *testing.T) { conform(t, gputest.Device(t, nil)) }

func conform(t *testing.T, dev *gpu.Device) {
	codectest.Run(t, Codec{}, &codectest.Options{
		Sets:    optionSets,
		MinPSNR: 5, // with two colours for pictures that are partly transparent
		Device:  dev,
	})
}
