package search

import (
	"math/bits"

	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// predictorPlan is what the search for an image's transforms and groups does.
type predictorPlan struct {
	// log2 of the sides of tiles. The predictor's are tried from predictorMost down;
	// colour 0: no colour transform.
	predictor, predictorMost int
	colour, group            int

	// Groups to start with at most, in an image of 2^19 pixels or less.
	groups int

	// Passes before there are groups, and of which rows of a tile they look at one.
	modePasses, modeSkip, colourPasses, ColourSkip int

	// Passes over groups, and how far a tile moves in each; 0: to any group.
	groupPasses, near int

	// Passes, after those, in which modes, and in the first of them also multipliers,
	// are chosen again by the prices of the groups before tiles move.
	joint, jointColours int
}

// StartGroups is how many groups an image starts with: one for 16 tiles, and beyond
// 2^19 pixels as many more as the image is wider and higher.
func (p *predictorPlan) startGroups(w, h int) int {
	most := p.groups
	for n := bits.Len(uint(w*h)) - 20; n > 0; n -= 2 {
		most *= 2
	}
	return max(1, min(most, maxGroups, format.Tiles(w, p.group)*format.Tiles(h, p.group)/16))
}

// maxGroups bounds the tables, and with them the passes that look at all groups.
const maxGroups = 256

// PredictorPlans by effort.
var PredictorPlans = [10]predictorPlan{
	0: {predictor: 4, colour: 6, groups: 1, modePasses: 1, modeSkip: 4, colourPasses: 1, ColourSkip: 16},
	1: {predictor: 3, colour: 6, group: 3, groups: 16, modePasses: 1, modeSkip: 2, colourPasses: 1, ColourSkip: 8, groupPasses: 1, near: 7},
	2: {predictor: 3, colour: 5, group: 3, groups: 16, modePasses: 1, modeSkip: 1, colourPasses: 1, ColourSkip: 4, groupPasses: 1, near: 7},
	3: {predictor: 2, colour: 5, group: 3, groups: 24, modePasses: 1, modeSkip: 1, colourPasses: 1, ColourSkip: 4, groupPasses: 2, near: 7},
	4: {predictor: 2, colour: 5, group: 3, groups: 32, modePasses: 1, modeSkip: 2, colourPasses: 1, ColourSkip: 4, groupPasses: 2, near: 7, joint: 1, jointColours: 1},
	5: {predictor: 2, colour: 5, group: 3, groups: 32, modePasses: 1, modeSkip: 1, colourPasses: 1, ColourSkip: 4, groupPasses: 3, near: 7, joint: 2, jointColours: 1},
	6: {predictor: 2, predictorMost: 3, colour: 5, group: 3, groups: 32, colourPasses: 1, ColourSkip: 2, groupPasses: 3, near: 7, joint: 3, jointColours: 2},
	7: {predictor: 2, predictorMost: 4, colour: 5, group: 3, groups: 48, colourPasses: 1, ColourSkip: 2, groupPasses: 3, joint: 4, jointColours: 3},
	8: {predictor: 2, predictorMost: 4, colour: 5, group: 3, groups: 48, modePasses: 1, modeSkip: 1, colourPasses: 1, ColourSkip: 1, groupPasses: 4, joint: 6, jointColours: 4},
	9: {predictor: 2, predictorMost: 4, colour: 5, group: 3, groups: 64, modePasses: 2, modeSkip: 1, colourPasses: 2, ColourSkip: 1, groupPasses: 8, joint: 10, jointColours: 6},
}
