package entropy

import "golang.org/x/sys/cpu"

// vectors says whether listCosts uses AVX2; tests run both ways.
var vectors = cpu.X86.HasAVX2

//go:noescape
func listCostsAVX2(sums *uint32, list *uint16, n int, table *uint16, stride int)

// listCosts is listCostsGo.
func listCosts(sums *[groupsAtOnce]uint32, list, table []uint16, stride int) {
	if !vectors || len(list) == 0 {
		listCostsGo(sums, list, table, stride)
		return
	}
	listCostsAVX2(&sums[0], &list[0], len(list), &table[0], stride)
}
