package vq

import (
	"slices"
	"sync"
)

// edges is one edge of each codeword of a row, two samples in 32 bits: the first two of all
// codewords, then the next two, and so on.
type edges struct {
	row   int
	pairs []uint32
}

func newEdges(row, samples int) *edges { return &edges{row, make([]uint32, row*samples/2)} }

// set takes the edge of codeword x, whose samples are step apart from w[0] on.
func (e *edges) set(x int, w []byte, step int) {
	for i := range len(e.pairs) / e.row {
		e.pairs[i*e.row+x] = pair(w[2*i*step], w[(2*i+1)*step])
	}
}

func pair(a, b byte) uint32 { return uint32(a) | uint32(b)<<16 }

// differences adds to base, for each codeword, the sum of the squared differences of its
// edge to the samples that are step apart from w[0] on, shifted by indexBits.
func (e *edges) differences(out, base []uint32, w []byte, step int) {
	var edge [4]uint32
	n := len(e.pairs) / e.row
	for i := range n {
		edge[i] = pair(w[2*i*step], w[(2*i+1)*step])
	}
	differences(out, base, e.pairs, edge[:n])
}

// differencesGo is edges.differences for pairs of samples.
func differencesGo(out, base, pairs, edge []uint32) {
	for x := range out {
		var s uint32
		for i, v := range edge {
			p := pairs[i*len(out)+x]
			a, b := int32(v&0xffff)-int32(p&0xffff), int32(v>>16)-int32(p>>16)
			s += uint32(a*a) + uint32(b*b)
		}
		out[x] = s<<indexBits + base[x]
	}
}

// edgeVectors are the upper and left edges of codewords for vector instructions, and the lower
// and right ones for when the codeword is a neighbour.
//
// With x for the samples around a block and c for the edges of a codeword, side keys are
//
//	|c|^2 << 12 | index    +    (|x|^2 + odd - 254 (sum of x) + 2 (127 - c).x) << 12
//
// where odd is |x|^2 modulo 2, so that half of what is in brackets is an integer: 127 - c has a
// sign and x has none, as the instruction wants it. All keys beside the same neighbours are
// odd << 12 too great, and in the same order.
type edgeVectors struct {
	quads   int // four samples each, of an edge
	samples int // of both edges
	// words is 127 - c by groups of sixteen codewords: four samples of each, upper edge first. Edges
	// of two samples have two more that are 0, and codewords that there are not have 0.
	words []byte

	// base is |c|^2 << 12 | index of each codeword, without edges where there is no neighbour
	// above (not bit 0 of the first index) or to the left (not bit 1).
	base [4][]uint32

	neighbours []neighbour

	once   sync.Once
	sorted *edgeOrder // made when it is first needed
}

// neighbour is a codeword as the one above or to the left of others, and as one beside such.
type neighbour struct {
	lower, right         uint64 // edges
	upper, left          uint64
	lowerNorm, rightNorm uint32 // sums of their squares
	lowerSum, rightSum   uint32
	span                 uint32
}

func newEdgeVectors(book *codebook) *edgeVectors {
	n, p, q := book.n(), book.p, book.q
	row := rankerRow(n)
	v := &edgeVectors{quads: (max(p, q) + 3) / 4, samples: p + q, neighbours: make([]neighbour, n)}
	v.words = make([]byte, row*8*v.quads)
	for kind := range v.base {
		v.base[kind] = make([]uint32, row)
	}
	for x := range n {
		w := book.word(x)
		b := &v.neighbours[x]
		b.lower, b.lowerNorm, b.lowerSum = edge(w[(p-1)*q:], q, 1)
		b.right, b.rightNorm, b.rightSum = edge(w[q-1:], p, q)
		var upperNorm, leftNorm uint32
		b.upper, upperNorm, _ = edge(w, q, 1)
		b.left, leftNorm, _ = edge(w, p, q)
		b.span = uint32(span(w))
		for i, samples := range [2]int{q, p} {
			e := [2]uint64{b.upper, b.left}[i]
			for j := range samples {
				to := (x/16*2+i)*v.quads + j/4
				v.words[to*64+x%16*4+j%4] = 127 - byte(e>>(8*j))
			}
		}
		for kind := range v.base {
			key := uint32(x)
			if kind&1 != 0 {
				key += upperNorm << indexBits
			}
			if kind&2 != 0 {
				key += leftNorm << indexBits
			}
			v.base[kind][x] = key
		}
	}
	return v
}

// edge packs n samples that are step apart, and gives the sum of their squares and their sum.
func edge(w []byte, n, step int) (packed uint64, norm, sum uint32) {
	for j := range n {
		s := uint32(w[j*step])
		packed |= uint64(s) << (8 * j)
		norm += s * s
		sum += s
	}
	return packed, norm, sum
}

// kindOf is the index of the base for a block that has neighbours above and to the left, or not.
func kindOf(above, left bool) (kind int) {
	if above {
		kind = 1
	}
	if left {
		kind |= 2
	}
	return kind
}

// beside is what edgeKeys needs to know of the codewords above and to the left, which are -1 if
// there is none, and by how much all keys are too great.
func (v *edgeVectors) beside(above, left int) (base []uint32, lower, right uint64, half, over uint32) {
	var norm, sum uint32
	if above >= 0 {
		b := &v.neighbours[above]
		lower, norm, sum = b.lower, b.lowerNorm, b.lowerSum
	}
	if left >= 0 {
		b := &v.neighbours[left]
		right, norm, sum = b.right, norm+b.rightNorm, sum+b.rightSum
	}
	return v.base[kindOf(above >= 0, left >= 0)], lower, right, (norm+1)/2 - 127*sum, norm & 1 << indexBits
}

// edgeKeysGo writes the side keys of n codewords, and the least of sixteen parts of them. It
// returns the least of all.
func edgeKeysGo(keys []uint32, words []byte, base []uint32, n, quads int, lower, right uint64, half uint32, minima *[sortedKeys]uint32) (least uint32) {
	for i := range minima {
		minima[i] = ^uint32(0)
	}
	for x := range keys {
		if keys[x] = ^uint32(0); x >= n {
			continue
		}
		sum := half
		for i, e := range [2]uint64{lower, right} {
			for j := range 4 * quads {
				to := (x/16*2+i)*quads + j/4
				sum += uint32(int32(int8(words[to*64+x%16*4+j%4])) * int32(e>>(8*j)&255))
			}
		}
		keys[x] = base[x] + sum<<(indexBits+1)
		minima[x%16] = min(minima[x%16], keys[x])
	}
	return slices.Min(minima[:])
}

// edgeOrder is the codewords in the order of the sums of the samples along their upper and left edges, by which a decoder that expects an
// index finds its place among a few of them. With x for the p + q samples around a block and c for the edges of a codeword,
//
//	mismatch(c) = |x - c|^2 >= (sum of x - sum of c)^2 / (p + q)
//
// so that a codeword whose mismatch is at most that of the expected one, m, has a sum that differs from that of x by the root of (p + q) m
// at most. Of 256 codewords of a photograph these are 30 to 90, in as many places one after the other. It is for blocks with one above
// and one to the left.
type edgeOrder struct {
	words []byte   // those of edgeVectors, in this order
	base  []uint32 // base[3] of edgeVectors, in this order

	neighbours []neighbour
	quads      int
	samples    uint32 // of both edges
	most       uint32 // greatest sum there can be
	last       uint32 // bits of the last sixteen codewords that there are

	// Of eight sums each, the sixteen with the first codeword of such a sum or a greater one, and those with the last of such a sum or a
	// lesser one.
	first, through [sumClasses]uint16
}

const (
	sumShift   = 3
	sumClasses = 2*8*255>>sumShift + 1
)

// order is the order of the codewords of v.
func (v *edgeVectors) order() *edgeOrder {
	v.once.Do(func() {
		n := len(v.neighbours)
		o := &edgeOrder{
			words: make([]byte, len(v.words)), base: make([]uint32, len(v.base[3])), neighbours: v.neighbours, quads: v.quads,
			samples: uint32(v.samples), most: uint32(v.samples) * 255, last: 1<<((n-1)%16+1) - 1,
		}
		var counts [sumClasses]int
		list := make([]uint32, n)
		for x := range list {
			sum := sumBytes(v.neighbours[x].upper) + sumBytes(v.neighbours[x].left)
			counts[sum>>sumShift]++
			list[x] = sum<<indexBits | uint32(x)
		}
		slices.Sort(list)
		for to, key := range list {
			from := int(key & (1<<indexBits - 1))
			o.base[to] = v.base[3][from]
			for i := range 2 * v.quads {
				copy(o.words[(to/16*2*v.quads+i)*64+to%16*4:][:4], v.words[(from/16*2*v.quads+i)*64+from%16*4:])
			}
		}
		before := 0
		for class, count := range counts {
			o.first[class] = uint16(before / 16)
			before += count
			o.through[class] = uint16(max(before-1, 0) / 16)
		}
		v.sorted = o
	})
	return v.sorted
}

// sumBytes is the sum of the samples of a packed edge.
func sumBytes(e uint64) (sum uint32) {
	for ; e != 0; e >>= 8 {
		sum += uint32(e & 255)
	}
	return sum
}
