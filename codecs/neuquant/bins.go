package neuquant

import (
	"math/bits"

	"github.com/pelmill/pelmill/codecs/pool"
)

// binBits is how many bits of a colour its bin has.
const binBits = 18

// binOf is the bin of a colour: 6 bits each of red, green and blue of an opaque one;
// 5 bits of red, green and blue and 3 of alpha of another.
func binOf(v uint32, opaque bool) uint32 {
	if opaque {
		return v<<10&(63<<12) | v>>4&(63<<6) | v>>18&63
	}
	return v<<10&(31<<13) | v>>3&(31<<8) | v>>16&(31<<3) | v>>29
}

// bin is the colours of a problem that lie in a bin.
type bin struct {
	sum [4]uint64 // of the components
	w   uint64    // colours
}

// histogram is the bins in which colours lie, in rising order of their numbers.
type histogram struct {
	bins   []bin
	number []uint32
	colour []uint32 // the rounded mean of each
	at     []uint32 // of a number, where its bin is; where there is one
	seen   []uint64 // of opaque colours: which of the 64 of each bin there are
}

// inBin is the place of an opaque colour in its bin: the 2 lowest bits each of red, green
// and blue.
func inBin(v uint32) uint32 { return v<<4&48 | v>>6&12 | v>>16&3 }

// binPart is the most colours of a table, so that no sum outgrows 32 bits.
const binPart = 1 << 24

// collect sorts the colours of a problem into bins.
func collect(c *pool.Pool, p *problem) *histogram {
	// A table for each of the goroutines that may be free, but none for a few colours.
	n := p.n()
	parts := max(min(c.Size(), max(1, n>>18)), (n+binPart-1)/binPart)
	tables := make([]*binTable, parts)
	size := (n + parts - 1) / parts
	c.Each(parts, func(i int) {
		t := new(binTable)
		tables[i] = t
		var room [piece]uint32
		for lo, end := i*size, min(n, (i+1)*size); lo < end; lo += piece {
			t.add(p.span(lo, min(end, lo+piece), room[:]), p.opaque)
		}
	})
	return merge(tables)
}

// merge makes one histogram of the tables, of which the first gives its places away.
func merge(tables []*binTable) *histogram {
	var seen [1 << binBits / 64]uint64
	n := 0
	for _, t := range tables {
		for _, number := range t.number {
			bit := uint64(1) << (number % 64)
			if seen[number/64]&bit == 0 {
				seen[number/64] |= bit
				n++
			}
		}
	}
	h := &histogram{
		bins: make([]bin, n), number: make([]uint32, 0, n), colour: make([]uint32, n),
		at: make([]uint32, 1<<binBits), seen: make([]uint64, n),
	}
	for i, word := range seen {
		for ; word != 0; word &= word - 1 {
			h.number = append(h.number, uint32(i*64+bits.TrailingZeros64(word)))
		}
	}
	for i, number := range h.number {
		h.at[number] = uint32(i)
	}
	for _, t := range tables {
		for i, number := range t.number {
			at := h.at[number]
			b, s := &h.bins[at], &t.sums[i]
			b.w += s[0] >> 32
			b.sum[0] += s[0] & (1<<32 - 1)
			b.sum[1] += s[1] & (1<<32 - 1)
			b.sum[2] += s[1] >> 32
			b.sum[3] += s[2]
			h.seen[at] |= s[3]
		}
	}
	for i := range h.bins {
		h.colour[i] = h.bins[i].mean()
	}
	return h
}

// binTable is bins in the order in which they are met.
type binTable struct {
	at     [1 << binBits]uint32 // of a number, one more than the place of its bin
	number []uint32
	sums   [][4]uint64 // colours and red; green and blue; alpha: two numbers of 32 bits; seen
}

func (t *binTable) add(values []uint32, opaque bool) {
	for _, v := range values {
		number := binOf(v, opaque)
		at := t.at[number]
		if at == 0 {
			t.number = append(t.number, number)
			t.sums = append(t.sums, [4]uint64{})
			at = uint32(len(t.sums))
			t.at[number] = at
		}
		s := &t.sums[at-1]
		s[0] += 1<<32 | uint64(v&255)
		s[1] += uint64(v>>8&255) | uint64(v>>16&255)<<32
		s[2] += uint64(v >> 24)
		s[3] |= 1 << inBin(v) // means nothing where alpha is not 255
	}
}

// mean is the rounded mean of the colours.
func (b *bin) mean() uint32 {
	m := uint32(0)
	for t, s := range b.sum {
		m |= uint32((s+b.w/2)/b.w) << (8 * t)
	}
	return m
}
