package jobs

import (
	"slices"

	"github.com/pelmill/pelmill/raster"
)

// Animation says how the frames of an image follow each other.
type Animation struct {
	Plays   int       `json:"plays"`   // how often they are shown; 0: for ever
	Seconds []float64 `json:"seconds"` // for which each is shown; one number where it is the same for all
}

// NewAnimation is nil where a says nothing.
func NewAnimation(a raster.Animation) *Animation {
	if len(a.Delays) == 0 {
		return nil
	}
	out := &Animation{Plays: a.Plays}
	for _, d := range a.Delays {
		out.Seconds = append(out.Seconds, d.Seconds())
	}
	if same := slices.Compact(slices.Clone(out.Seconds)); len(same) == 1 {
		out.Seconds = same
	}
	return out
}
