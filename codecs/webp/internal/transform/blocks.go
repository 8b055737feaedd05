package transform

import (
	"math/bits"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// Where the processor looks bytes up in registers, modes are chosen block by block: a block has 8 x 8 pixels, which lie
// in one tile of a prefix code group and in one of the colour transform, and a vector holds one channel of them.
//
//	block   tile 0 | tile 1      of 4 x 4 pixels, each row by row
//	        tile 2 | tile 3
//
// Pixels beyond the image count as residuals of 0 by all modes, which changes no choice.
const (
	blockBits = 3
	blockSide = 1 << blockBits
)

// residualBlock has the residuals of a block by channel, blue, green, red, and mode, and room for sums.
type residualBlock [4][ModeCount][blockSide * blockSide]byte

// byteCosts are costs of the bytes of blue, green and red, in parts that three of fit into a byte: the low 6 bits, and
// those above, at most entropy.MaxCost>>6 = 80.
type byteCosts [3][2][256]byte

const lowCostBits = 6

// newByteCosts are the tables of all groups, or nil where a cost is more than entropy.MaxCost.
func newByteCosts(g *entropy.CostTables) []byteCosts {
	out := make([]byteCosts, max(1, g.Entropy.Groups))
	most := uint16(0)
	for k := range out {
		table := (*entropy.LiteralCosts)(g.Table(k))
		for c, at := range [3]int{format.BlueAt, format.GreenAt, format.RedAt} {
			low, high := &out[k][c][0], &out[k][c][1]
			for i, v := range table[at : at+256] {
				most = max(most, v)
				low[i], high[i] = byte(v&(1<<lowCostBits-1)), byte(v>>lowCostBits)
			}
		}
	}
	if most > entropy.MaxCost {
		return nil
	}
	return out
}

// blockOrder is where the pixels of the upper two tiles of a block lie in memory, two rows of it in 64 bytes.
var blockOrder = func() (order [64]byte) {
	for i := range order {
		half, row, x := i/16%2, i%16/4, i%4
		order[i] = byte(row*32 + (4*half+x)*4)
	}
	return order
}()

// inBlock is where a pixel lies in a vector.
func inBlock(x, y int) int { return (y/4*2+x/4)*16 + y%4*4 + x%4 }

// edgeBlock is a block at an edge of the image, with what its pixels are predicted from.
type edgeBlock struct {
	cur, left, top, topLeft, topRight [blockSide * blockSide]uint32
}

// set reads the block whose first pixel is (x, y). Pixels of the first row and column get what predicts them in all places.
func (e *edgeBlock) set(p *format.Pixels, x, y int) {
	*e = edgeBlock{}
	for j := range min(blockSide, p.H-y) {
		for i := range min(blockSide, p.W-x) {
			at, k := (y+j)*p.W+x+i, j*blockSide+i
			e.cur[k] = p.ARGB[at]
			var all uint32
			switch {
			case at == 0:
				all = format.OpaqueBlack
			case y+j == 0:
				all = p.ARGB[at-1]
			case x+i == 0:
				all = p.ARGB[at-p.W]
			default:
				e.left[k], e.top[k], e.topLeft[k], e.topRight[k] = p.ARGB[at-1], p.ARGB[at-p.W], p.ARGB[at-p.W-1], p.ARGB[at-p.W+1]
				continue
			}
			e.left[k], e.top[k], e.topLeft[k], e.topRight[k] = all, all, all, all
		}
	}
}

// predictFirst makes the residuals by mode 0 of the first row and column those by mode 1.
func predictFirst(r *residualBlock, x, y int) {
	for c := range 3 {
		for i := range blockSide {
			if x == 0 {
				r[c][0][inBlock(0, i)] = r[c][1][inBlock(0, i)]
			}
			if y == 0 {
				r[c][0][inBlock(i, 0)] = r[c][1][inBlock(i, 0)]
			}
		}
	}
}

// chooseBlocks is ChooseModes for opaque images whose rows all count and are literals, with tiles of 4 x 4 or 8 x 8
// pixels. It returns false where it has done nothing.
func chooseBlocks(c *pool.Pool, p *format.Pixels, bits int, modeCosts *[ModeCount]uint32, mul *Multipliers, g *entropy.CostTables, mode []uint8) bool {
	if !hasVBMI || bits > blockBits || mul != nil && mul.Bits < blockBits || g.Entropy.Bits > 0 && g.Entropy.Bits < blockBits {
		return false
	}
	costs := newByteCosts(g)
	if costs == nil {
		return false
	}
	tw, th := format.Tiles(p.W, bits), format.Tiles(p.H, bits)
	c.Spans(format.Tiles(p.H, blockBits), 1, func(by, _ int) {
		r, e := new(residualBlock), new(edgeBlock)
		y := by << blockBits
		for x := 0; x < p.W; x += blockSide {
			if x == 0 || y == 0 || x+blockSide > p.W || y+blockSide > p.H {
				e.set(p, x, y)
				predictBlock(r, &e.cur[0], &e.left[0], &e.top[0], &e.topLeft[0], &e.topRight[0], blockSide)
				predictFirst(r, x, y)
			} else {
				at := y*p.W + x
				_ = p.ARGB[at+(blockSide-1)*(p.W+1)] // the last pixel, behind all that predict
				predictBlock(r, &p.ARGB[at], &p.ARGB[at-1], &p.ARGB[at-p.W], &p.ARGB[at-p.W-1], &p.ARGB[at-p.W+1], p.W)
			}
			if mul != nil {
				if m := mul.Element[y>>mul.Bits*mul.Columns+x>>mul.Bits]; m != NoMultipliers {
					recolourBlock(r, m)
				}
			}
			best := chooseBlock(r, &costs[g.GroupAt(x, y)], modeCosts, bits == blockBits)
			if bits == blockBits {
				mode[by*tw+x>>bits] = best[0]
				continue
			}
			for t := range 4 {
				if tx, ty := x>>bits+t%2, 2*by+t/2; tx < tw && ty < th {
					mode[ty*tw+tx] = best[2*t]
				}
			}
		}
	})
	return true
}

// sampleVector is up to 64 residuals of a tile that lie in one group: their channels, which of them there are, and the costs of
// the group. Kernels know where its parts are.
type sampleVector struct {
	green, red, blue [blockSide * blockSide]byte
	valid            uint64
	table            *byteCosts
}

// add appends residuals of a group to the vectors of a sample.
func (s *tileSample) add(px []uint32, t *byteCosts) {
	for len(px) > 0 {
		last := len(s.vectors) - 1
		if last < 0 || s.vectors[last].table != t || s.vectors[last].valid == ^uint64(0) {
			s.vectors = append(s.vectors, sampleVector{table: t})
			last++
		}
		v := &s.vectors[last]
		at := bits.OnesCount64(v.valid)
		n := min(len(px), blockSide*blockSide-at)
		splitPixels(v, at, px[:n])
		v.valid |= 1<<(at+n) - 1 // of 64 all, as the shift gives 0
		px = px[n:]
	}
}
