//go:build !amd64

package webp

var hasAVX2 = false

func predictRow(cur, up []uint32, at int, rows *residualRows) { predictRowGo(cur, up, at, rows) }

func transformColourRows(rows *residualRows, lo, hi int, m uint32) {
	transformColourRowsGo(rows, lo, hi, m)
}

func transformColourRow(out, in []uint32, m uint32) { transformColourRowGo(out, in, m) }

func opaqueSums(sums *[modeCount]uint32, rows *residualRows, lo, hi int, t *literalCosts) {
	opaqueSumsGo(sums, rows, lo, hi, t)
}

func channelCost(px []uint32, m uint32, t *literalCosts, at int) uint32 {
	return channelCostGo(px, m, t, at)
}
