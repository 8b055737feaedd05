package bitplane

import (
	"math/bits"
	"slices"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/mq"
)

// An encoder knows all samples beforehand, so that it need not go from one to the next to find
// their contexts. A sliced block holds one bit of 64 samples in a word, in the order of the scan: sample
// r of column c of a stripe is bit 4c+r of the stripe, 16 columns to a word. What is
// significant when a sample is scanned is then a matter of shifts: everything before it as it is after
// the pass, everything behind it as it was before. Contexts come out as words too, one for each bit of
// their numbers, from which decisions are written for all samples of a word at a time.
//
// This is the same coding as that of column words, which stands in encodepass.go for other machines, for blocks that
// are wider, and for styles and measurements that a sliced block does not know.
type sliced struct {
	width   int // words of a stripe
	row     int // words to a row of words, with one on either side that is 0
	stripes int
	last    uint64   // the samples of a column of the last stripe, in all columns
	right   uint64   // the samples of the last word of a stripe
	bits    []uint64 // of magnitudes, by plane, and there as rows of words without those above and below

	// Rows of words, with a row of zeros above the first stripe and below the last.
	sign    []uint64
	refined []uint64 // significant before the bit-plane above
	before  []uint64 // significant before the bit-plane
	after   []uint64 // significant after its significance propagation
	whole   []uint64 // significant after its cleanup
	visited []uint64 // coded by its significance propagation
	inside  []uint64 // samples that the block has

	groups []group
	orient codestream.Orientation
}

// Samples of one row or of the others of a stripe.
const (
	row0 = 0x1111111111111111
	row3 = row0 << 3
)

// slicedWidth and slicedWords are the most columns of a sliced block and the most words of its stripes.
const (
	slicedWidth = 64
	slicedWords = 256
)

// wordsBeyond is the number of words that the assembly may read behind the rows of a block.
const wordsBeyond = 16

// group holds the decisions on 64 samples, in words that have a bit for each of them. A sample has
// up to four, in this order. A context's number and the decision are one number, a [mq.Symbol].
type group struct {
	First  uint64    // samples with a decision of zero coding, refinement, or for a column the run-length
	Second uint64    // samples with a decision on the sign, the last one
	Run    uint64    // first samples of columns with two decisions in between, in the uniform context
	High   uint64    // the first of these
	Low    uint64    // and the second
	Number [6]uint64 // the symbol of the first decision, by bits
	Sign   [4]uint64 // that of the sign less that of sign coding, by bits
	_      uint64
}

// start takes a block of w by h coefficients in and returns the bit-planes of the largest magnitude.
func (b *sliced) start(src []int32, stride, w, h int, o codestream.Orientation) int {
	b.width, b.stripes, b.orient = (w+15)/16, (h+3)/4, o
	b.row = b.width + 2
	b.last = row0 * (1<<(uint(h-1)&3+1) - 1)
	b.right = ^uint64(0) >> (64 - 4*(uint(w-1)&15+1))
	n := b.row*(b.stripes+2) + wordsBeyond
	for _, rows := range []*[]uint64{&b.sign, &b.refined, &b.before, &b.after, &b.whole, &b.visited, &b.inside} {
		*rows = slices.Grow((*rows)[:0], n)[:n]
		clear(*rows)
	}
	for s := range b.stripes {
		for j := range b.width {
			b.at(b.inside, s)[j+1] = b.valid(s, j)
		}
	}
	planes := planesOf(src, stride, w, h)
	words := b.row * b.stripes
	b.bits = slices.Grow(b.bits[:0], planes*words)[:planes*words]
	clear(b.bits)
	b.groups = slices.Grow(b.groups[:0], b.width*b.stripes+1)
	if planes > 0 {
		b.slice(src, stride, w, h, planes)
	}
	return planes
}

// sliceGo is slice: it fills bits and sign.
func (b *sliced) sliceGo(src []int32, stride, w, h, planes int) {
	words := b.row * b.stripes
	for y := range h {
		for x, v := range src[y*stride:][:w] {
			at, shift := y/4*b.row+1+x/16, uint(x%16*4+y%4)
			m := v
			if v < 0 {
				b.sign[(y/4+1)*b.row+1+x/16] |= 1 << shift
				m = -v
			}
			for p := range planes {
				b.bits[p*words+at] |= uint64(m>>p&1) << shift
			}
		}
	}
}

// valid returns the samples that word j of stripe s has.
func (b *sliced) valid(s, j int) uint64 {
	v := ^uint64(0)
	if s == b.stripes-1 {
		v = b.last
	}
	if j == b.width-1 {
		v &= b.right
	}
	return v
}

// at returns stripe s of rows of words, or with -1 and the number of stripes the rows of zeros.
func (b *sliced) at(rows []uint64, s int) []uint64 { return rows[(s+1)*b.row:][:b.row] }

// plane returns the bits of stripe s in bit-plane p.
func (b *sliced) plane(p uint, s int) []uint64 {
	return b.bits[(int(p)*b.stripes+s)*b.row+1:][:b.width]
}

// The samples below, above, left and right of those of a word: those of the same column that come from
// another stripe, and those of the columns that come from the word beside.
func fromAbove(x, above uint64) uint64 { return x<<1&^row0 | above>>3&row0 }
func fromBelow(x, below uint64) uint64 { return x>>1&^row3 | below<<3&row3 }
func fromLeft(x, left uint64) uint64   { return x<<4 | left>>60 }
func fromRight(x, right uint64) uint64 { return x>>4 | right<<60 }

// scanned is what the samples of a word see around them when a pass scans them: of the neighbours that the
// scan has passed those significant after the pass, of the others those significant before.
type scanned struct {
	up, down, left, right                 uint64
	upLeft, upRight, downLeft, downRight  uint64
	columnAbove, columnBelow              uint64 // up and down, of other stripes alone
	signUp, signDown, signLeft, signRight uint64
}

// around fills scanned for word j, 1 more than its number, of a stripe. before and after are its rows of words, above that
// of the stripe above after the pass, below that of the stripe below before it.
func (n *scanned) around(before, after, above, below []uint64, j int) {
	a, al := after[j], after[j-1]
	f, fr := before[j], before[j+1]
	p, pl, pr := above[j], above[j-1], above[j+1]
	q, ql, qr := below[j], below[j-1], below[j+1]
	n.up = fromAbove(a, p)
	n.upLeft = fromLeft(n.up, fromAbove(al, pl))
	n.upRight = fromRight(fromAbove(f, p), fromAbove(fr, pr))
	n.down = fromBelow(f, q)
	n.downRight = fromRight(n.down, fromBelow(fr, qr))
	n.downLeft = fromLeft(fromBelow(a, q), fromBelow(al, ql))
	n.left = fromLeft(a, al)
	n.right = fromRight(f, fr)
	n.columnAbove, n.columnBelow = p>>3&row0, q<<3&row3
}

// zero sets bits 1 to 4 of numbers to those of the contexts of zero coding (Table D.1).
func (n *scanned) zero(number *[6]uint64, o codestream.Orientation) {
	h1, h2 := n.left^n.right, n.left&n.right
	v1, v2 := n.up^n.down, n.up&n.down
	u1, u2 := n.upLeft|n.upRight, n.upLeft&n.upRight
	l1, l2 := n.downLeft|n.downRight, n.downLeft&n.downRight
	d1 := u1 | l1 // at least 1
	d2 := u2 | l2 | u1&l1
	if o == codestream.HH {
		d3 := u2&l1 | l2&u1
		hv := h1 | h2 | v1 | v2 // at least 1
		hv2 := h2 | v2 | h1&v1
		two, one := d2&^d3, d1&^d2
		number[4] = d3
		number[3] = two | one&hv
		number[2] = two | one&^hv | hv2&^d1
		number[1] = two&hv | one&(hv2|^hv) | hv&^hv2&^d1
		return
	}
	if o == codestream.HL {
		h1, h2, v1, v2 = v1, v2, h1, h2
	}
	h, v := h1|h2, v1|v2
	number[4] = h2
	number[3] = h1 | v2&^h
	number[2] = h1&(v|d1) | v1&^h | d2&^h&^v
	number[1] = h1&(v|^d1) | v1&^h | d1&^d2&^h&^v
}

// signs sets bits to those of the contexts of sign coding and of the decisions (Tables D.2 and D.3). sign
// are the rows of words of the signs.
func (n *scanned) signs(bits *[4]uint64, sign, above, below []uint64, j int) {
	x := sign[j]
	up, down := fromAbove(x, above[j]), fromBelow(x, below[j])
	left, right := fromLeft(x, sign[j-1]), fromRight(x, sign[j+1])
	lp, ln := n.left&^left, n.left&left
	rp, rn := n.right&^right, n.right&right
	up1, un := n.up&^up, n.up&up
	dp, dn := n.down&^down, n.down&down
	hp, hn := lp&^rn|rp&^ln, ln&^rp|rn&^lp
	vp, vn := up1&^dn|dp&^un, un&^dp|dn&^up1
	h := hp | hn
	flip := hn | vn&^h
	vp, vn = vp&^flip|vn&flip, vn&^flip|vp&flip
	bits[0] = flip ^ x
	bits[1] = vp&^h | h&^vp&^vn
	bits[2] = h &^ vp
	bits[3] = h & vp
}

// propagate finds the samples of the significance propagation pass (D.3.1) of bit-plane p and what is significant after it.
func (b *sliced) propagate(p uint) {
	for s := range b.stripes {
		before, after := b.at(b.before, s), b.at(b.after, s)
		above, below := b.at(b.after, s-1), b.at(b.before, s+1)
		visited, plane := b.at(b.visited, s), b.plane(p, s)
		carry := uint64(0) // samples of the first column with one left of them that has become significant
		for i, ones := range plane {
			j := i + 1
			f := before[j]
			candidates := b.valid(s, i) &^ f
			// What has become significant in this stripe makes members of those beside and below it.
			column := f | fromAbove(f, above[j]) | fromBelow(f, below[j])
			l, r := before[j-1], before[j+1]
			members := candidates & (column | carry |
				fromLeft(column, l|fromAbove(l, above[j-1])|fromBelow(l, below[j-1])) |
				fromRight(column, r|fromAbove(r, above[j+1])|fromBelow(r, below[j+1])))
			var fresh, beside uint64
			for {
				fresh = members & ones
				beside = fresh | fresh<<1&^row0 | fresh>>1&^row3
				more := members | candidates&(beside<<4|fresh<<1&^row0)
				if more == members {
					break
				}
				members = more
			}
			carry = beside >> 60
			visited[j] = members
			after[j] = f | fresh
		}
	}
}

// propagationGo is propagation: it finds the decisions of the pass behind propagate.
func (b *sliced) propagationGo(p uint) {
	b.groups = b.groups[:0]
	for s := range b.stripes {
		before, after := b.at(b.before, s), b.at(b.after, s)
		above, below := b.at(b.after, s-1), b.at(b.before, s+1)
		sign, signAbove, signBelow := b.at(b.sign, s), b.at(b.sign, s-1), b.at(b.sign, s+1)
		visited := b.at(b.visited, s)
		for i, ones := range b.plane(p, s) {
			j := i + 1
			members := visited[j]
			if members == 0 {
				continue
			}
			var n scanned
			n.around(before, after, above, below, j)
			b.groups = b.groups[:len(b.groups)+1]
			g := &b.groups[len(b.groups)-1]
			g.First, g.Second, g.Run = members, members&ones, 0
			g.Number[0], g.Number[5] = ones, 0
			n.zero(&g.Number, b.orient)
			if g.Second != 0 {
				n.signs(&g.Sign, sign, signAbove, signBelow, j)
			}
		}
	}
}

// refinement finds the decisions of the magnitude refinement pass (D.3.3) of bit-plane p.
func (b *sliced) refinement(p uint) {
	b.groups = b.groups[:0]
	for s := range b.stripes {
		before, refined := b.at(b.before, s), b.at(b.refined, s)
		row, above, below := b.at(b.after, s), b.at(b.after, s-1), b.at(b.after, s+1)
		plane := b.plane(p, s)
		for i, ones := range plane {
			j := i + 1
			members := before[j]
			if members == 0 {
				continue
			}
			b.groups = b.groups[:len(b.groups)+1]
			g := &b.groups[len(b.groups)-1]
			g.First, g.Second, g.Run = members, 0, 0
			first := ^refined[j]
			near := uint64(0)
			if members&first != 0 {
				x, l, r := row[j], row[j-1], row[j+1]
				column := fromAbove(x, above[j]) | fromBelow(x, below[j])
				near = column | fromLeft(x|column, l|fromAbove(l, above[j-1])|fromBelow(l, below[j-1])) |
					fromRight(x|column, r|fromAbove(r, above[j+1])|fromBelow(r, below[j+1]))
			}
			// Contexts 14 and 15 the first time, then 16.
			g.Number = [6]uint64{ones, first & near, first, first, first, ^first}
		}
	}
}

// complete finds what is significant after the cleanup pass (D.3.4) of bit-plane p.
func (b *sliced) complete(p uint) {
	n := b.row * b.stripes
	ones, before, whole := b.bits[int(p)*n:][:n], b.after[b.row:][:n], b.whole[b.row:][:n]
	for k, w := range ones {
		whole[k] = before[k] | w
	}
}

// cleanupGo is cleanup: it finds the decisions of the pass behind complete.
func (b *sliced) cleanupGo(p uint) {
	b.groups = b.groups[:0]
	for s := range b.stripes {
		before, after := b.at(b.after, s), b.at(b.whole, s)
		above, below := b.at(b.whole, s-1), b.at(b.after, s+1)
		sign, signAbove, signBelow := b.at(b.sign, s), b.at(b.sign, s-1), b.at(b.sign, s+1)
		visited, plane := b.at(b.visited, s), b.plane(p, s)
		for i, ones := range plane {
			j := i + 1
			members := b.valid(s, i) &^ before[j] &^ visited[j]
			if members == 0 {
				continue
			}
			var n scanned
			n.around(before, after, above, below, j)
			b.groups = b.groups[:len(b.groups)+1]
			g := &b.groups[len(b.groups)-1]
			n.zero(&g.Number, b.orient)
			g.Number[0] = ones

			// Columns of four members without anything significant around them have a decision on all.
			other := ^members | n.columnAbove | n.columnBelow | n.left | n.right | n.upLeft | n.upRight | n.downLeft | n.downRight
			other |= other >> 2
			runs := ^(other | other>>1) & row0
			inRuns := runs * 15
			behind := (ones<<1&^row0 | ones<<2&(row3|row3>>1) | ones<<3&row3) // samples behind a one of their column
			first := ones & inRuns &^ behind
			some := first | first>>2
			some = (some | some>>1) & row0
			zero := members &^ (inRuns &^ behind)
			g.First, g.Second = zero|runs, members&ones
			g.Run = some
			g.High = (first>>2 | first>>3) & row0
			g.Low = (first>>1 | first>>3) & row0
			if runs != 0 { // 17<<1 | some
				g.Number[0] = ones&zero | some
				g.Number[1] = g.Number[1]&zero | runs
				g.Number[2] &= zero
				g.Number[3] &= zero
				g.Number[4] &= zero
			}
			g.Number[5] = runs
			if g.Second != 0 {
				n.signs(&g.Sign, sign, signAbove, signBelow, j)
			}
		}
	}
}

// ended moves on to the bit-plane below.
func (b *sliced) ended() {
	b.refined, b.before, b.after, b.whole = b.before, b.whole, b.refined, b.after
	clear(b.visited)
}

// mostSymbols is the most decisions of a group, of which every column has three more than two for each sample, and what the assembly
// may write beyond the last.
const mostSymbols = 2*64 + 3*16 + 64

// writeGo is write: it appends the decisions of groups to out, which has room for them.
func writeGo(out []mq.Symbol, groups []group) []mq.Symbol {
	for i := range groups {
		g := &groups[i]
		for k := range 64 {
			bit := func(w uint64, place int) mq.Symbol { return mq.Symbol(w>>k&1) << place }
			if g.First>>k&1 != 0 {
				first := mq.Symbol(0)
				for place, w := range g.Number {
					first |= bit(w, place)
				}
				out = append(out, first)
			}
			if g.Run>>k&1 != 0 {
				out = append(out, mq.Uniform<<1|bit(g.High, 0), mq.Uniform<<1|bit(g.Low, 0))
			}
			if g.Second>>k&1 != 0 {
				sign := mq.Symbol(0)
				for place, w := range g.Sign {
					sign |= bit(w, place)
				}
				out = append(out, mq.SignCoding<<1+sign)
			}
		}
	}
	return out
}

// planesOfGo is planesOf: the bit-planes of the largest magnitude.
func planesOfGo(src []int32, stride, w, h int) int {
	all := uint32(0)
	for y := range h {
		for _, v := range src[y*stride:][:w] {
			sign := v >> 31
			all |= uint32(v ^ sign - sign)
		}
	}
	return bits.Len32(all)
}
