//go:build !amd64

package raster

func squares(a, b []byte) uint64 { return squaresGo(a, b) }

func qualityBytes(_, _ *Image, _, _ float64) (totals [4]float64, windows int, squared uint64, ok bool) {
	return totals, 0, 0, false
}
