//go:build !amd64

package entropy

var vectors = false

func listCosts(sums *[groupsAtOnce]uint32, list, table []uint16, stride int) {
	listCostsGo(sums, list, table, stride)
}

func literalSymbols(list []uint16, _ []uint32, _ int) ([]uint16, bool) { return list, false }
