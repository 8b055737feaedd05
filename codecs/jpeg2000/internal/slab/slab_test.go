package slab

import "testing"

func TestWhatIsTakenIsZeroAndApart(t *testing.T) {
	var s Slab[int]
	for round := range 3 {
		var all [][]int
		for n := range 40 {
			piece := s.Take(n)
			if len(piece) != n || cap(piece) != n {
				t.Fatalf("%d elements with room for %d instead of %d", len(piece), cap(piece), n)
			}
			for i, v := range piece {
				if v != 0 {
					t.Fatalf("round %d: element %d of %d is %d", round, i, n, v)
				}
				piece[i] = n
			}
			all = append(all, piece)
		}
		for n, piece := range all {
			for _, v := range piece {
				if v != n {
					t.Fatalf("round %d: a piece of %d elements was taken twice", round, n)
				}
			}
		}
		s.Reset()
	}
}
