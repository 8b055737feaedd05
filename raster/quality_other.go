//go:build !amd64

package raster

func squares(a, b []byte) uint64 { return squaresGo(a, b) }

func ssimBytes(_, _ *Image, _, _ float64) (totals [4]float64, windows int, ok bool) {
	return totals, 0, false
}
