package search

import (
	"math/bits"

	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// PredictorPlan is what an effort does to find the modes, multipliers and prefix code groups
// of a photograph, or of a graphic whose transforms have tiles.
type PredictorPlan struct {
	// log2 of the sides of tiles in pixels. Those of the predictor are tried from
	// PredictorMost down to Predictor, as long as smaller ones pay; PredictorMost 0 tries
	// Predictor alone. Colour 0 is no colour transform, Group 0 no entropy image.
	Predictor, PredictorMost, Colour, Group int

	// Groups is how many prefix code groups an image of 2^19 pixels or less starts with at
	// most.
	Groups int

	// Passes over modes and over multipliers while there is one group. Of ModeSkip, or
	// ColourSkip, rows of a tile one counts.
	ModePasses, ModeSkip, ColourPasses, ColourSkip int

	// GroupPasses are passes that only move tiles between groups. The number of a tile's
	// group changes by at most Near in each; Near 0 is no limit.
	GroupPasses, Near int

	// Joint passes follow. Each chooses modes anew by the costs of the groups, and the
	// first JointColours of them multipliers too, and then moves tiles between groups.
	Joint, JointColours int
}

// startGroups is how many groups an image starts with: at most one for 16 tiles, and twice
// as many for each factor of four by which the image has more than 2^19 pixels. More than
// pay are taken at first; those whose codes take more bits than their tiles would lose in
// other groups are given up on the way.
func (p *PredictorPlan) startGroups(w, h int) int {
	most := p.Groups
	for n := bits.Len(uint(w*h)) - 20; n > 0; n -= 2 {
		most *= 2
	}
	return max(1, min(most, maxGroups, format.Tiles(w, p.Group)*format.Tiles(h, p.Group)/16))
}

// maxGroups bounds the cost tables, 2 KiB a group, and with them the time of passes in which
// tiles look at all groups.
const maxGroups = 256

// PredictorPlans are by effort. They were set by the sizes of twelve Kodak photographs and
// the time on one core, search and writing, as they were then:
//
//	effort      0      1      2      3      4      5      6      7      8      9
//	kB       5909   5598   5555   5492   5438   5420   5414   5409   5406   5404
//	ns/pixel   26     60     70     83    134    197    300    470    625   1000
var PredictorPlans = [10]PredictorPlan{
	0: {Predictor: 4, Colour: 6, Groups: 1, ModePasses: 1, ModeSkip: 4, ColourPasses: 1, ColourSkip: 16},
	1: {Predictor: 3, Colour: 6, Group: 3, Groups: 16, ModePasses: 1, ModeSkip: 2, ColourPasses: 1, ColourSkip: 8, GroupPasses: 1, Near: 7},
	2: {Predictor: 3, Colour: 5, Group: 3, Groups: 16, ModePasses: 1, ModeSkip: 1, ColourPasses: 1, ColourSkip: 4, GroupPasses: 1, Near: 7},
	3: {Predictor: 2, Colour: 5, Group: 3, Groups: 24, ModePasses: 1, ModeSkip: 1, ColourPasses: 1, ColourSkip: 4, GroupPasses: 2, Near: 7},
	4: {Predictor: 2, Colour: 5, Group: 3, Groups: 32, ModePasses: 1, ModeSkip: 2, ColourPasses: 1, ColourSkip: 4, GroupPasses: 2, Near: 7, Joint: 1, JointColours: 1},
	5: {Predictor: 2, Colour: 5, Group: 3, Groups: 32, ModePasses: 1, ModeSkip: 1, ColourPasses: 1, ColourSkip: 4, GroupPasses: 3, Near: 7, Joint: 2, JointColours: 1},
	6: {Predictor: 2, PredictorMost: 3, Colour: 5, Group: 3, Groups: 32, ColourPasses: 1, ColourSkip: 2, GroupPasses: 3, Near: 7, Joint: 3, JointColours: 2},
	7: {Predictor: 2, PredictorMost: 4, Colour: 5, Group: 3, Groups: 48, ColourPasses: 1, ColourSkip: 2, GroupPasses: 3, Joint: 4, JointColours: 3},
	8: {Predictor: 2, PredictorMost: 4, Colour: 5, Group: 3, Groups: 48, ModePasses: 1, ModeSkip: 1, ColourPasses: 1, ColourSkip: 1, GroupPasses: 4, Joint: 6, JointColours: 4},
	9: {Predictor: 2, PredictorMost: 4, Colour: 5, Group: 3, Groups: 64, ModePasses: 2, ModeSkip: 1, ColourPasses: 2, ColourSkip: 1, GroupPasses: 8, Joint: 10, JointColours: 6},
}
