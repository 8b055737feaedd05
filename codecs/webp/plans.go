package webp

// referencePlan is how an effort looks for copies, caches and groups.
type referencePlan struct {
	nearCodes, depth int // of newMatcher
	stopLength       int // a candidate as long as this ends the search
	longReference    int // of an end of such a copy only the last few are tried
	allLengthsTo     int // ends up to this length are all tried

	costPasses  int // by the prices of the parse before
	groupPasses int // and by the prices of groups
	groups      int // to start with at most; 0: none

	tryAll bool // try the best strategies of all, and keep the smallest file
}

// referencePlans by effort.
var referencePlans = [10]referencePlan{
	0: {nearCodes: 4, depth: 2, stopLength: 64, longReference: 16, allLengthsTo: 8},
	1: {nearCodes: 4, depth: 3, stopLength: 64, longReference: 16, allLengthsTo: 8, groups: 12},
	2: {nearCodes: 8, depth: 4, stopLength: 64, longReference: 16, allLengthsTo: 8, costPasses: 1, groups: 32},
	3: {nearCodes: 12, depth: 8, stopLength: 128, longReference: 16, allLengthsTo: 12, costPasses: 1, groups: 32},
	4: {nearCodes: 12, depth: 12, stopLength: 256, longReference: 16, allLengthsTo: 12, costPasses: 1, groups: 32},
	5: {nearCodes: 24, depth: 16, stopLength: 256, longReference: 16, allLengthsTo: 12, costPasses: 1, groups: 32},
	6: {nearCodes: 24, depth: 8, stopLength: 64, longReference: 16, allLengthsTo: 12, costPasses: 1, groupPasses: 1, groups: 32},
	7: {nearCodes: 24, depth: 32, stopLength: 256, longReference: 32, allLengthsTo: 16, costPasses: 2, groupPasses: 2, groups: 32},
	8: {nearCodes: 40, depth: 64, stopLength: 1024, longReference: 64, allLengthsTo: 32, costPasses: 2, groupPasses: 3, groups: 32},
	9: {nearCodes: 60, depth: 128, stopLength: maxLength, longReference: 64, allLengthsTo: 32, costPasses: 2, groupPasses: 3, groups: 32, tryAll: true},
}
