//go:build !amd64

package transform

import (
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
)

var hasAVX2, hasVBMI = false, false

// Nothing calls these where hasVBMI is false.
func predictBlock(out *residualBlock, cur, left, top, topLeft, topRight *uint32, stride int) {}
func recolourBlock(r *residualBlock, m uint32)                                               {}
func chooseBlock(r *residualBlock, t *byteCosts, own *[ModeCount]uint32, one bool) (modes [8]uint8) {
	return modes
}

func redCost(list []sampleVector, a int) uint32        { return 0 }
func blueCost(list []sampleVector, a, b int) uint32    { return 0 }
func splitPixels(v *sampleVector, at int, px []uint32) {}

func predictRow(cur, up []uint32, at int, rows *residualRows) { predictRowGo(cur, up, at, rows) }

func transformColourRows(rows *residualRows, lo, hi int, m uint32) {
	transformColourRowsGo(rows, lo, hi, m)
}

func transformColourRow(out, in []uint32, m uint32) { transformColourRowGo(out, in, m) }

func opaqueSums(sums *[ModeCount]uint32, rows *residualRows, lo, hi int, t *entropy.LiteralCosts) {
	opaqueSumsGo(sums, rows, lo, hi, t)
}

func channelCost(px []uint32, m uint32, t *entropy.LiteralCosts, at int) uint32 {
	return channelCostGo(px, m, t, at)
}
