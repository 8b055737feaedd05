package entropy

import (
	"slices"

	"golang.org/x/sys/cpu"
)

// vectors says whether AVX2 is used; tests run both ways.
var vectors = cpu.X86.HasAVX2

//go:noescape
func listCostsAVX2(sums *uint32, list *uint16, n int, table *uint16, stride int)

//go:noescape
func literalSymbolsAVX2(list *uint16, px *uint32, stride, pairs int)

// literalSymbols appends to list the symbols but alpha of 8 x 8 literals, whose rows are stride pixels apart, in any order. It
// returns false where it has done nothing.
func literalSymbols(list []uint16, px []uint32, stride int) ([]uint16, bool) {
	if !vectors {
		return list, false
	}
	const side, symbols = 8, 8 * 8 * 3
	n := len(list)
	list = slices.Grow(list, symbols)[:n+symbols]
	_ = px[(side-1)*stride+side-1]
	literalSymbolsAVX2(&list[n], &px[0], stride, side/2)
	return list, true
}

// listCosts is listCostsGo.
func listCosts(sums *[groupsAtOnce]uint32, list, table []uint16, stride int) {
	if !vectors || len(list) == 0 {
		listCostsGo(sums, list, table, stride)
		return
	}
	listCostsAVX2(&sums[0], &list[0], len(list), &table[0], stride)
}
