// Package transform applies the transforms of RFC 9649, 3.5, and chooses what they need tile
// by tile: modes of the predictor and multipliers of the colour transform by a table of
// costs, palettes and their order. It also has the rounding of near-lossless files, which
// comes before all transforms.
package transform

import (
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// ModeCount is the number of modes of the predictor transform (RFC 9649, 3.5.1).
const ModeCount = 14

// span is how many pixels of a row are worked on at a time: their residuals by all 14 modes
// take 7 KiB, which stay in the first-level cache.
const span = 128

// residualRows holds the residuals of up to span pixels by every mode.
type residualRows [ModeCount][span]uint32

// ChooseModes sets mode to the predictor mode that costs least in each tile of 1<<bits,
// at most 8 bits: the mode itself, and as literals its residuals in every skip-th row of the
// tile, after the colour transform mul where that is not nil. Of modes that cost the same it
// takes the lowest. A tile must not be larger than those of mul and of g. Pixels whose length
// is not 0 are not counted; length may be nil.
func ChooseModes(c *pool.Pool, p *format.Pixels, bits, skip int, modeCosts *[ModeCount]uint32, mul *Multipliers, g *entropy.CostTables, length []uint16, mode []uint8) {
	if g.Opaque && skip == 1 && length == nil && chooseBlocks(c, p, bits, modeCosts, mul, g, mode) {
		return
	}
	tw := format.Tiles(p.W, bits)
	c.Spans(format.Tiles(p.H, bits), 1, func(ty, _ int) {
		sums := make([][ModeCount]uint32, tw)
		rows := new(residualRows)
		for y := ty << bits; y < min(p.H, (ty+1)<<bits); y += skip {
			for x := 0; x < p.W; x += span {
				n := min(span, p.W-x)
				mask := masked(length, y*p.W+x, n)
				some, all := around(p, x, y, n)
				if some == all && y > 0 && mul == nil && mask == nil {
					sumFlat(all, x, y, n, bits, g, sums)
					continue
				}
				residualRow(p, x, y, n, rows)
				mul.transformRows(rows, x, y, n)
				// Where all have alpha 255, it is 0 in all residuals, and costs the same by all modes.
				sumRow(rows, x, y, n, bits, g, g.Opaque || all >= format.OpaqueBlack, mask, sums)
			}
		}
		for tx := range sums {
			best := ^uint32(0)
			for k, s := range sums[tx] {
				if s = s*uint32(skip) + modeCosts[k]; s < best {
					best, mode[ty*tw+tx] = s, uint8(k)
				}
			}
		}
	})
}

// masked returns length[at:at+n], or nil where all of it are literals.
func masked(length []uint16, at, n int) []uint16 {
	if length == nil {
		return nil
	}
	for _, l := range length[at : at+n] {
		if l != 0 {
			return length[at : at+n]
		}
	}
	return nil
}

// around returns the bits that some and that all have of n pixels from (x, y) on and those
// that they are predicted from.
func around(p *format.Pixels, x, y, n int) (some, all uint32) {
	all = ^uint32(0)
	lo := max(0, (y-1)*p.W+x-1)
	for _, v := range p.ARGB[lo:min(lo+n+2, len(p.ARGB))] {
		some, all = some|v, all&v
	}
	for _, v := range p.ARGB[max(0, y*p.W+x-1) : y*p.W+x+n] {
		some, all = some|v, all&v
	}
	return some, all
}

// sumFlat is what sumRow does below the first row where all pixels around are v, and
// without colour transform: there are residuals by the first mode only.
func sumFlat(v uint32, x, y, n, bits int, g *entropy.CostTables, sums [][ModeCount]uint32) {
	for lo := 0; lo < n; {
		tx := (x + lo) >> bits
		hi := min(n, (tx+1)<<bits-x)
		t := g.LiteralsAt(x+lo, y)
		first, other := entropy.LiteralCost(Subtract(v, format.OpaqueBlack), t, g.Opaque), entropy.LiteralCost(0, t, g.Opaque)
		sums[tx][0] += uint32(hi-lo) * first
		if x+lo == 0 { // predicted from above, whatever the mode
			sums[tx][0] += other - first
		}
		for k := 1; k < ModeCount; k++ {
			sums[tx][k] += uint32(hi-lo) * other
		}
		lo = hi
	}
}

// sumRow adds what n residuals from (x, y) on cost by each mode to the sums of their tiles.
// Alpha counts only where not all are opaque.
func sumRow(rows *residualRows, x, y, n, bits int, g *entropy.CostTables, opaque bool, length []uint16, sums [][ModeCount]uint32) {
	for lo := 0; lo < n; {
		tx := (x + lo) >> bits
		hi := min(n, (tx+1)<<bits-x)
		t := g.LiteralsAt(x+lo, y)
		if length == nil && opaque {
			opaqueSums(&sums[tx], rows, lo, hi, t)
			lo = hi
			continue
		}
		for k := range rows {
			for i, v := range rows[k][lo:hi] {
				if length == nil || length[lo+i] == 0 {
					sums[tx][k] += entropy.LiteralCost(v, t, opaque)
				}
			}
		}
		lo = hi
	}
}

// opaqueSumsGo adds what residuals lo to hi-1 cost by each mode to its sum, without alpha.
func opaqueSumsGo(sums *[ModeCount]uint32, rows *residualRows, lo, hi int, t *entropy.LiteralCosts) {
	for k := range rows {
		s := uint32(0)
		for _, v := range rows[k][lo:hi] {
			s += entropy.LiteralCost(v, t, true)
		}
		sums[k] += s
	}
}

// Residuals sets out to the pixels of p less their predictions by the modes of tiles
// of 1<<bits, modulo 256 (RFC 9649, 3.5.1).
func Residuals(c *pool.Pool, p *format.Pixels, bits int, mode []uint8, out []uint32) {
	tw := format.Tiles(p.W, bits)
	c.Spans(p.H, rowsAtOnce, func(from, to int) {
		rows := new(residualRows)
		for y := from; y < to; y++ {
			for x := 0; x < p.W; x += span {
				n := min(span, p.W-x)
				residualRow(p, x, y, n, rows)
				line := out[y*p.W+x:][:n]
				for lo := 0; lo < n; {
					tx := (x + lo) >> bits
					hi := min(n, (tx+1)<<bits-x)
					from, to := rows[mode[y>>bits*tw+tx]][lo:hi], line[lo:hi]
					if len(to) == 4 { // most tiles, for which a call takes long
						*(*[4]uint32)(to) = [4]uint32(from)
					} else {
						copy(to, from)
					}
					lo = hi
				}
			}
		}
	})
}

// rowsAtOnce is how many rows a goroutine takes at a time: enough that handing them
// out costs nothing.
const rowsAtOnce = 16

// residualRow sets rows[k][i] to pixel (x+i, y) less its prediction by mode k, for n
// pixels. The first row is predicted from the left and the first column from above,
// whatever the mode. The pixel above and to the right of a row's last is, as the
// pixels lie in memory, the first of its own row (RFC 9649, 3.5.1).
func residualRow(p *format.Pixels, x, y, n int, rows *residualRows) {
	px := p.ARGB
	at := y*p.W + x
	if y == 0 {
		for i := range n {
			left := uint32(format.OpaqueBlack)
			if x+i > 0 {
				left = px[at+i-1]
			}
			for k := range rows {
				rows[k][i] = Subtract(px[at+i], left)
			}
		}
		return
	}
	first := 0
	if x == 0 {
		for k := range rows {
			rows[k][0] = Subtract(px[at], px[at-p.W])
		}
		first = 1
	}
	if first < n {
		predictRow(px[at+first-1:][:n-first+1], px[at-p.W+first-1:][:n-first+2], first, rows)
	}
}

// predictRowGo does the inner pixels of residualRow: cur starts one pixel to the left
// of them, up one pixel up and to the left, and ends one to the right. The residuals
// go to rows[k][at:].
func predictRowGo(cur, up []uint32, at int, rows *residualRows) {
	l, tl, t := cur[0], up[0], up[1]
	for i, v := range cur[1:] {
		tr := up[i+2]
		ltl, ttr, lt := Average(l, tl), Average(t, tr), Average(l, t)
		o := at + i
		rows[0][o] = Subtract(v, format.OpaqueBlack)
		rows[1][o] = Subtract(v, l)
		rows[2][o] = Subtract(v, t)
		rows[3][o] = Subtract(v, tr)
		rows[4][o] = Subtract(v, tl)
		rows[5][o] = Subtract(v, Average(Average(l, tr), t))
		rows[6][o] = Subtract(v, ltl)
		rows[7][o] = Subtract(v, lt)
		rows[8][o] = Subtract(v, Average(tl, t))
		rows[9][o] = Subtract(v, ttr)
		rows[10][o] = Subtract(v, Average(ltl, ttr))
		d := int32(0)
		var full, half uint32
		for s := 0; s < 32; s += 8 {
			a, b, c := int32(l>>s&255), int32(t>>s&255), int32(tl>>s&255)
			d += abs(b-c) - abs(a-c)
			full |= clip(a+b-c) << s
			m := int32(lt >> s & 255)
			half |= clip(m+(m-c)/2) << s
		}
		pick := t
		if d < 0 {
			pick = l
		}
		rows[11][o] = Subtract(v, pick)
		rows[12][o] = Subtract(v, full)
		rows[13][o] = Subtract(v, half)
		l, tl, t = v, t, tr
	}
}

// Average returns the rounded down mean of each of the four bytes.
func Average(a, b uint32) uint32 { return (a^b)&0xfefefefe>>1 + a&b }

// Subtract returns the four differences of bytes, modulo 256.
func Subtract(a, b uint32) uint32 {
	ag := 0x00ff00ff + a&0xff00ff00 - b&0xff00ff00
	rb := 0xff00ff00 + a&0x00ff00ff - b&0x00ff00ff
	return ag&0xff00ff00 | rb&0x00ff00ff
}

func abs(v int32) int32 {
	m := v >> 31
	return (v ^ m) - m
}

func clip(v int32) uint32 { return uint32(min(max(v, 0), 255)) }
