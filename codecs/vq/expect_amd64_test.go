package vq

import "testing"

// The decisions are the same whether log odds are looked up together or one by one.
func TestDecisionsWithOtherLookups(t *testing.T) {
	needsVectorRanks(t)
	defer func(slow bool) { slowGathers = slow }(slowGathers)
	slowGathers = !slowGathers
	TestDecisions(t)
	TestExpectSegment(t)
}
