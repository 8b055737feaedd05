package format

import (
	"slices"
	"testing"
)

func TestRenumberKeepsTheOrderOfFirstAppearance(t *testing.T) {
	g := EntropyImage{Bits: 2, Groups: 7, Group: []uint16{4, 4, 0, 6, 0, 4}}
	g.Renumber()
	if want := []uint16{0, 0, 1, 2, 1, 0}; g.Groups != 3 || !slices.Equal(g.Group, want) {
		t.Errorf("%d groups %v, want 3 %v", g.Groups, g.Group, want)
	}
}
