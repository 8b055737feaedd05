package backref

import (
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// ReferencePlan is how an effort looks for copies, caches and groups.
type ReferencePlan struct {
	NearCodes, Depth int // of NewMatcher
	StopLength       int // a candidate as long as this ends the search
	LongReference    int // of an end of such a copy only the last few are tried
	AllLengthsTo     int // ends up to this length are all tried

	costPasses  int // by the prices of the parse before
	groupPasses int // and by the prices of groups
	groups      int // to start with at most; 0: none

	TryAll bool // try the best strategies of all, and keep the smallest file
}

// ReferencePlans by effort.
var ReferencePlans = [10]ReferencePlan{
	0: {NearCodes: 4, Depth: 2, StopLength: 64, LongReference: 16, AllLengthsTo: 8},
	1: {NearCodes: 4, Depth: 3, StopLength: 64, LongReference: 16, AllLengthsTo: 8, groups: 12},
	2: {NearCodes: 8, Depth: 4, StopLength: 64, LongReference: 16, AllLengthsTo: 8, costPasses: 1, groups: 32},
	3: {NearCodes: 12, Depth: 8, StopLength: 128, LongReference: 16, AllLengthsTo: 12, costPasses: 1, groups: 32},
	4: {NearCodes: 12, Depth: 12, StopLength: 256, LongReference: 16, AllLengthsTo: 12, costPasses: 1, groups: 32},
	5: {NearCodes: 24, Depth: 16, StopLength: 256, LongReference: 16, AllLengthsTo: 12, costPasses: 1, groups: 32},
	6: {NearCodes: 24, Depth: 8, StopLength: 64, LongReference: 16, AllLengthsTo: 12, costPasses: 1, groupPasses: 1, groups: 32},
	7: {NearCodes: 24, Depth: 32, StopLength: 256, LongReference: 32, AllLengthsTo: 16, costPasses: 2, groupPasses: 2, groups: 32},
	8: {NearCodes: 40, Depth: 64, StopLength: 1024, LongReference: 64, AllLengthsTo: 32, costPasses: 2, groupPasses: 3, groups: 32},
	9: {NearCodes: 60, Depth: 128, StopLength: format.MaxLength, LongReference: 64, AllLengthsTo: 32, costPasses: 2, groupPasses: 3, groups: 32, TryAll: true},
}
