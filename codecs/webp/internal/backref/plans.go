package backref

import (
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// ReferencePlan is what an effort does to find backward references, a colour cache and
// prefix code groups for them.
type ReferencePlan struct {
	NearCodes     int // distance codes 1 to NearCodes are tried at every position
	Depth         int // earlier positions of the same key that are tried at every position
	StopLength    int // pixels; a candidate of this length ends the search at its position
	LongReference int // pixels; see Cheapest
	AllLengthsTo  int // pixels; see Cheapest

	costPasses  int // parses by the costs of one prefix code group
	groupPasses int // parses by the costs of the groups
	groups      int // to start with at most; 0: one for all pixels

	TryAll bool // several strategies are tried, and the smallest stream is kept
}

// ReferencePlans are by effort. They were set by the sizes of 32 graphics and the time on one
// core. What the history has of it, in bytes for all of them and ns/pixel of the encoder:
//
//	effort 1  12 instead of 16 groups, Depth 3 instead of 4      2,144,242 to 2,144,052, 41 to 39
//	effort 6  StopLength 64 and Depth 8 instead of 16            2,071,367 to 2,075,633, 248 to 201
//	effort 6  group passes go on with the groups that there are  2,066,006 to 2,060,336, 184 to 165
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
