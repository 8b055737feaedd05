package webp

// plan is what the search for a picture's transforms and groups does.
type plan struct {
	predictor, colour, group int // log2 of tiles' sides; colour 0: no colour transform

	groups int // at most, of a picture of 2^19 pixels; see groupsFor

	// Passes before there are groups.
	modePasses, colourPasses, skip int

	groupPasses, near int // group passes, and how far a tile moves in each; 0: anywhere

	// Passes in which modes, multipliers and groups are chosen again by the prices of
	// the groups.
	joint, jointColours int
}

// plans by effort.
var plans = [10]plan{
	0: {predictor: 4, group: 5, groups: 1},
	1: {predictor: 4, group: 4, groups: 8, modePasses: 1, groupPasses: 1, near: 2},
	2: {predictor: 3, colour: 5, group: 4, groups: 16, modePasses: 1, colourPasses: 1, skip: 4, groupPasses: 1, near: 4},
	3: {predictor: 3, colour: 5, group: 3, groups: 32, modePasses: 1, colourPasses: 1, skip: 4, groupPasses: 2, near: 4},
	4: {predictor: 2, colour: 5, group: 3, groups: 32, modePasses: 1, colourPasses: 1, skip: 4, groupPasses: 2, near: 4},
	5: {predictor: 2, colour: 5, group: 3, groups: 32, modePasses: 1, colourPasses: 1, skip: 4, groupPasses: 2, near: 4},
	6: {predictor: 2, colour: 5, group: 3, groups: 32, modePasses: 1, colourPasses: 1, skip: 4, groupPasses: 2, near: 4, joint: 1},
	7: {predictor: 2, colour: 4, group: 3, groups: 32, modePasses: 1, colourPasses: 1, skip: 2, groupPasses: 2, near: 4, joint: 2},
	8: {predictor: 2, colour: 4, group: 3, groups: 32, modePasses: 2, colourPasses: 1, skip: 1, groupPasses: 2, near: 6, joint: 4, jointColours: 1},
	9: {predictor: 2, colour: 4, group: 3, groups: 32, modePasses: 2, colourPasses: 1, skip: 1, groupPasses: 2, joint: 8, jointColours: 2},
}
