package neuquant

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// optionSets are those of the suite beside the defaults, and coarseSets those with so few
// colours, or none that are partly transparent, that little is left of smooth images.
var (
	optionSets = [][]string{
		{"colours=16", "refine=0", "metadata=strip"},
		{"colours=200", "dither=floyd-steinberg"},
		{"dither=ordered", "refine=1"},
	}
	coarseSets = [][]string{
		{"colours=2"},
		{"colours=3", "sample=1", "refine=32"},
		{"format=gif", "colours=17", "frames=own", "alpha=threshold"},
		{"format=gif", "dither=floyd-steinberg", "colours=5", "alpha=threshold"},
	}
)

func TestConformance(t *testing.T) { conform(t, nil) }

func TestConformanceOnCard(t *testing.T) { conform(t, gputest.Device(t, nil)) }

func conform(t *testing.T, dev *gpu.Device) {
	t.Run("Fine", func(t *testing.T) {
		codectest.Run(t, Codec{}, &codectest.Options{Sets: optionSets, MinPSNR: 22, Device: dev})
	})
	t.Run("Coarse", func(t *testing.T) {
		codectest.Run(t, Codec{}, &codectest.Options{Sets: coarseSets, MinPSNR: 11, Device: dev})
	})
}
