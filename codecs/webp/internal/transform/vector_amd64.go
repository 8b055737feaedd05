package transform

import (
	"golang.org/x/sys/cpu"

	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// hasAVX2 lets tests run both ways.
var hasAVX2 = cpu.X86.HasAVX2

//go:noescape
func predictRowAVX2(cur, up, rows *uint32, n int)

//go:noescape
func transformColourRowsAVX2(rows *uint32, n int, toBlue, greens uint32)

//go:noescape
func transformColourRowAVX2(out, in *uint32, n int, toBlue, greens uint32)

//go:noescape
func opaqueSumsAVX2(sums, rows *uint32, n int, table *uint16)

//go:noescape
func channelCostAVX2(px *uint32, n int, toBlue, greens uint32, table *uint16, shift uint64) uint32

// hasVBMI says whether blocks are worked on with AVX-512; tests run both ways.
var hasVBMI = cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL

//go:noescape
func predictBlockVBMI(out *residualBlock, cur, left, top, topLeft, topRight *uint32, stride int, order *[64]byte)

//go:noescape
func recolourBlockVBMI(r *residualBlock, greenToRed, greenToBlue, redToBlue uint32)

//go:noescape
func chooseBlockVBMI(modes *[8]uint8, r *residualBlock, t *byteCosts, own *uint32, one uint64)

//go:noescape
func redCostVBMI(v *sampleVector, n int, greenToRed uint32) uint32

//go:noescape
func blueCostVBMI(v *sampleVector, n int, greenToBlue, redToBlue uint32) uint32

//go:noescape
func splitEightVBMI(v *sampleVector, at int, px *uint32)

// times8 is a multiplier as the kernels of blocks want it.
func times8(m int) uint32 { return uint32(uint16(m << 3)) }

// redCost is what the red residuals of vectors cost with green-to-red a.
func redCost(list []sampleVector, a int) uint32 {
	return redCostVBMI(&list[0], len(list), times8(a))
}

// blueCost is what the blue ones cost with green-to-blue a and red-to-blue b.
func blueCost(list []sampleVector, a, b int) uint32 {
	return blueCostVBMI(&list[0], len(list), times8(a), times8(b))
}

// splitPixels writes the channels of pixels from place at of a vector on.
func splitPixels(v *sampleVector, at int, px []uint32) {
	for ; len(px) >= 8; px = px[8:] {
		_ = v.green[at+7]
		splitEightVBMI(v, at, &px[0])
		at += 8
	}
	for i, u := range px {
		v.green[at+i], v.red[at+i], v.blue[at+i] = byte(u>>8), byte(u>>16), byte(u)
	}
}

// predictBlock sets out to the residuals of a block by all modes. Of the pixels and of those that predict them, rows are stride
// pixels apart.
func predictBlock(out *residualBlock, cur, left, top, topLeft, topRight *uint32, stride int) {
	predictBlockVBMI(out, cur, left, top, topLeft, topRight, 4*stride, &blockOrder)
}

// recolourBlock transforms the residuals of a block by the multipliers m.
func recolourBlock(r *residualBlock, m uint32) {
	recolourBlockVBMI(r, times8(int(int8(m))), times8(int(int8(m>>8))), times8(int(int8(m>>16))))
}

// chooseBlock returns the mode that costs least of each tile of a block, twice, or of all four together where the block is one
// tile. It may change r.
func chooseBlock(r *residualBlock, t *byteCosts, own *[ModeCount]uint32, one bool) (modes [8]uint8) {
	together := uint64(0)
	if one {
		together = 1
	}
	chooseBlockVBMI(&modes, r, t, &own[0], together)
	return modes
}

// predictRow is predictRowGo.
func predictRow(cur, up []uint32, at int, rows *residualRows) {
	if n := len(cur) - 1; hasAVX2 && n >= 8 {
		predictRowAVX2(&cur[0], &up[0], &rows[0][at], n)
		return
	}
	predictRowGo(cur, up, at, rows)
}

// factors are the multipliers m as the kernels want them: red-to-blue in the upper 16
// bits; green-to-red in the upper, green-to-blue in the lower 16 bits; all signed and
// times 8, so that the upper half of a product with a byte times 256 is the delta.
func factors(m uint32) (toBlue, greens uint32) {
	wide := func(v uint32) uint32 { return uint32(uint16(int16(int8(v)) << 3)) }
	return wide(m>>16) << 16, wide(m)<<16 | wide(m>>8)
}

// transformColourRows is transformColourRowsGo. What lies up to seven pixels after hi is overwritten
// too: tiles that have eight pixels have a multiple of eight, but at the end of the
// image, and there is nothing beyond.
func transformColourRows(rows *residualRows, lo, hi int, m uint32) {
	if !hasAVX2 || hi-lo < 8 {
		transformColourRowsGo(rows, lo, hi, m)
		return
	}
	b, g := factors(m)
	transformColourRowsAVX2(&rows[0][lo], (hi-lo+7)&^7, b, g)
}

// transformColourRow is transformColourRowGo.
func transformColourRow(out, in []uint32, m uint32) {
	n := len(in) &^ 7
	if !hasAVX2 || n == 0 {
		n = 0
	} else {
		b, g := factors(m)
		transformColourRowAVX2(&out[0], &in[0], n, b, g)
	}
	transformColourRowGo(out[n:], in[n:], m)
}

// opaqueSums is opaqueSumsGo.
func opaqueSums(sums *[ModeCount]uint32, rows *residualRows, lo, hi int, t *entropy.LiteralCosts) {
	if n := (hi - lo) &^ 3; hasAVX2 && n > 0 {
		opaqueSumsAVX2(&sums[0], &rows[0][lo], n, &t[0])
		lo += n
	}
	if lo < hi {
		opaqueSumsGo(sums, rows, lo, hi, t)
	}
}

// channelCost is channelCostGo.
func channelCost(px []uint32, m uint32, t *entropy.LiteralCosts, at int) (sum uint32) {
	n := len(px) &^ 7
	if !hasAVX2 {
		n = 0
	}
	if n > 0 {
		shift := uint64(0)
		if at == format.RedAt {
			shift = 16
		}
		b, g := factors(m)
		sum = channelCostAVX2(&px[0], n, b, g, &t[at], shift)
	}
	return sum + channelCostGo(px[n:], m, t, at)
}
