package ht

import "testing"

// The Go that machines without the vector instructions run has to pass the same tests.
func TestWithoutVectors(t *testing.T) {
	if !withoutVectors(t) {
		t.Skip("this machine has no assembly: the other tests have tested the Go")
	}
	t.Run("segments", TestRandomSegmentsDecodeLikeTheReference)
	t.Run("sizes", TestRoundTripsOfAllSizes)
	t.Run("sources", TestRoundTrips)
	t.Run("values", TestRoundTripsOfOneValue)
}
