package format

import "testing"

func TestDistanceCodesStandForDistances(t *testing.T) {
	for _, w := range []int{1, 2, 3, 7, 8, 9, 16, 100, 16383} {
		codes := NewDistanceCodes(w)
		for d := 1; d < 9*w+20; d++ {
			code := int(codes.Code(d))
			got := code - 120
			if code <= 120 {
				got = NearDistance(code, w)
			}
			if got != d {
				t.Fatalf("width %d: distance %d has code %d, which stands for %d", w, d, code, got)
			}
			for lower := 1; lower < min(code, 121); lower++ {
				if NearDistance(lower, w) == d {
					t.Fatalf("width %d: distance %d has code %d, not %d", w, d, code, lower)
				}
			}
		}
	}
}
