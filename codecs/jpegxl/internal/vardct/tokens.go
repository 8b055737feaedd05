package vardct

import (
	mathbits "math/bits"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/entropy"
)

// blockTokens is how many tokens a block has at most: the number of its coefficients, and
// each of them.
const blockTokens = 64

// acTokens returns the tokens of the AC coefficients of all groups, and an integer that is
// not below that of any. Rooms for the tokens of a group are used again for the next one.
func (e *encoder) acTokens(groups, along int) (tokens [][]entropy.Token, largest uint32) {
	tokens = make([][]entropy.Token, groups)
	all := make([]uint32, groups)
	rooms := make(chan []entropy.Token, groups)
	e.workers.Each(groups, func(i int) {
		a := e.area(i, along, groupBlocks)
		var room []entropy.Token
		select {
		case room = <-rooms:
		default:
		}
		if n := 3 * blockTokens * a.wide() * a.high(); len(room) < n {
			room = make([]entropy.Token, n)
		}
		var n int
		n, all[i] = e.groupTokens(a, room)
		tokens[i] = append([]entropy.Token(nil), room[:n]...)
		rooms <- room
	})
	for _, v := range all {
		largest |= v
	}
	return tokens, largest
}

// groupTokens writes the tokens of a group to room, which has place for as many as there
// may be, and returns their number and their integers joined by or.
func (e *encoder) groupTokens(a area, room []entropy.Token) (n int, largest uint32) {
	buckets := make([]uint8, a.wide()*a.high())
	offsets := e.dcOffsets()
	e.buckets(e.blocks, a, buckets, &offsets)
	var counts [3][2][groupBlocks]uint8 // of coefficients, in this row and the one above
	var maps [3][]uint8
	var d dense
	var list scanned
	for c := range maps {
		maps[c] = e.blocks.of(c)
	}
	for y := a.y0; y < a.y1; y++ {
		for x := a.x0; x < a.x1; x++ {
			for _, c := range codingOrder {
				p := &e.planes[c]
				sx, sy := x>>p.hshift, y>>p.vshift
				if sx<<p.hshift != x || sy<<p.vshift != y {
					continue
				}
				gx, gy := sx-a.x0>>p.hshift, sy-a.y0>>p.vshift
				row := counts[c][gy&1][:]
				var above []uint8
				if gy > 0 {
					above = counts[c][1-gy&1][:]
				}
				context := int(maps[c][buckets[(y-a.y0)*a.wide()+x-a.x0]])
				predicted := predictCount(row, above, gx)
				if p.Component == nil {
					room[n] = entropy.MakeToken(context+e.blocks.count*countContext(predicted), 0)
					n++
					continue
				}
				b := &p.Blocks[sy*p.Wide+sx]
				if factor := e.chroma.of(c, x, y); factor != 0 {
					d.load(b, e.values(b))
					luma := &e.planes[1].Blocks[sy*p.Wide+sx]
					d.addLuma(luma, e.values(luma), factor, &e.chroma.scale[index(c)], -1)
					list.scan(d.mask, &d.values, &e.places[c])
				} else {
					list.scanBlock(b.Mask, e.values(b), &e.places[c])
				}
				row[gx] = uint8(mathbits.OnesCount64(list.mask))
				k, or := list.tokens((*[blockTokens]entropy.Token)(room[n:]), e.blocks.count, context, predicted)
				n += k
				largest |= or
			}
		}
	}
	return n, largest
}

// scanned is the AC coefficients of a block by their places in the order of coding.
type scanned struct {
	mask   uint64
	values [64]int16 // those that the mask names
}

func (s *scanned) scanBlock(mask uint64, values []int16, places *[64]uint8) {
	s.mask = 0
	for i := 0; mask != 0; mask, i = mask&(mask-1), i+1 {
		at := places[mathbits.TrailingZeros64(mask)&63] & 63
		s.values[at] = values[i]
		s.mask |= 1 << at
	}
}

func (s *scanned) scan(mask uint64, values *[64]int16, places *[64]uint8) {
	s.mask = 0
	for ; mask != 0; mask &= mask - 1 {
		k := mathbits.TrailingZeros64(mask) & 63
		at := places[k] & 63
		s.values[at] = values[k]
		s.mask |= 1 << at
	}
}

// tokens writes the tokens of the block: the number of its coefficients, then all up to
// the last that is not zero, each at its place in the order. It returns their number and
// their integers joined by or.
func (s *scanned) tokens(out *[blockTokens]entropy.Token, blocks, context, predicted int) (n int, or uint32) {
	left := mathbits.OnesCount64(s.mask)
	out[0] = entropy.MakeToken(context+blocks*countContext(predicted), uint32(left))
	or = uint32(left)
	base := blocks*countContexts + coefContexts*context
	before := 1
	if left > 4 {
		before = 0
	}
	k := 1
	for m := s.mask; m != 0; m &= m - 1 {
		at := mathbits.TrailingZeros64(m) & 63
		own := base + int(leftContext[left&63])
		for ; k < at; k++ {
			out[k&63] = entropy.MakeToken(own+int(placeContext[k&63])+before, 0)
			before = 0
		}
		v := bits.Unsigned(int32(s.values[at]))
		or |= v
		out[at] = entropy.MakeToken(own+int(placeContext[at])+before, v)
		before = 1
		left--
		k = at + 1
	}
	return k, or
}
