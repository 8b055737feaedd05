//go:build !amd64

package webp

var hasAVX2 = false

func predictRow(cur, up []uint32, at int, rows *residualRows) { predictRowGo(cur, up, at, rows) }

func recolourRows(rows *residualRows, lo, hi int, m uint32) { recolourRowsGo(rows, lo, hi, m) }

func recolourRow(out, in []uint32, m uint32) { recolourRowGo(out, in, m) }

func opaqueSums(sums *[predictors]uint32, rows *residualRows, lo, hi int, t *literals) {
	opaqueSumsGo(sums, rows, lo, hi, t)
}

func listPrices(sums *[lanes]uint32, list, table []uint16, stride int) {
	listPricesGo(sums, list, table, stride)
}

func channelPrice(px []uint32, m uint32, t *literals, at int) uint32 {
	return channelPriceGo(px, m, t, at)
}
