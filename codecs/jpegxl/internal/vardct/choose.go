package vardct

import (
	mathbits "math/bits"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
)

// mostBuckets is the number of DC buckets that fill the 16 contexts that a map may have:
// 8 of luma, and 4 of each plane of chroma, which shares one between two buckets.
const mostBuckets = 8

// chooseContexts chooses the block contexts: by plane, and by the DC coefficient of luma,
// of which there are so many buckets.
func (m *frame) chooseContexts(buckets int) *blockContexts {
	b := &blockContexts{}
	b.thresholds[1] = m.lumaThresholds(buckets)
	n := b.values()
	half := (n + 1) / 2
	for at := range 3 { // Y, Cb, Cr
		for range orders {
			for i := range n {
				k := i
				if at > 0 {
					k = n + (at-1)*half + i/2
				}
				b.clusters = append(b.clusters, uint8(k))
			}
		}
	}
	if b.count = n + 2*half; m.planes[0].Component == nil {
		b.count = n + 1
		for i := orders * n; i < len(b.clusters); i++ {
			b.clusters[i] = uint8(n)
		}
	}
	return b
}

// lumaBuckets is a number of buckets for the DC coefficients of luma. There are more the
// more blocks there are and the finer the lowest frequencies are quantised, for then the
// more coefficients there are to code.
func (m *frame) lumaBuckets() int {
	p := &m.planes[1]
	blocks := p.Wide * p.High
	fine := 0
	for _, q := range p.quant[1:6] {
		fine += int(q)
	}
	return max(1, min(mathbits.Len(uint(blocks-1))-mathbits.Len(uint(fine-1))-7, mostBuckets))
}

// tryContexts chooses the number of buckets that takes the fewest bits near the one that
// there is: fewer, or else more, one by one, as long as that saves any.
func (e *encoder) tryContexts() {
	cost := func(b *blockContexts) int64 {
		e.blocks = b
		w := &bits.Writer{}
		b.write(w)
		_, code := e.acCode()
		return code.Bits() + int64(w.Len())
	}
	from := e.lumaBuckets()
	best := e.blocks
	lowest := cost(best)
	for _, step := range [2]int{-1, 1} {
		kept := best
		for n := from + step; n >= 1 && n <= mostBuckets; n += step {
			b := e.chooseContexts(n)
			c := cost(b)
			if c >= lowest {
				break
			}
			lowest, best = c, b
		}
		if best != kept {
			break
		}
	}
	e.blocks = best
}

// lumaThresholds divides the DC coefficients of luma into n buckets of equal numbers of
// blocks, or fewer where many are equal.
func (m *frame) lumaThresholds(n int) []int32 {
	p := &m.planes[1]
	blocks := p.Wide * p.High
	offset := m.dcOffsets()[1]
	var counts [2*maxDC + 1]int
	for i := range p.Blocks {
		counts[int32(p.Blocks[i].DC)+offset+maxDC]++
	}
	var list []int32
	sum := 0
	for v, c := range counts {
		if sum += c; sum*n > blocks*(len(list)+1) && len(list) < n-1 {
			list = append(list, int32(v)-maxDC)
			for sum*n > blocks*(len(list)+1) {
				if len(list) == n-1 {
					break
				}
				n--
			}
		}
	}
	return list
}
