package vardct

import "math/bits"

// mostBuckets is the number of DC buckets that fill the 16 contexts that a map may have:
// 8 of luma, and 4 of each plane of chroma, which shares one between two buckets.
const mostBuckets = 8

// chooseContexts chooses the block contexts: by plane, and by the DC coefficient of luma,
// whose buckets hold equal numbers of blocks.
func (m *frame) chooseContexts() *blockContexts {
	b := &blockContexts{}
	b.thresholds[1] = m.lumaThresholds()
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

// lumaThresholds divides the DC coefficients of luma. There are more buckets the more
// blocks there are and the finer the lowest frequencies are quantised, for then the more
// coefficients there are to code.
func (m *frame) lumaThresholds() []int32 {
	p := &m.planes[1]
	blocks := p.Wide * p.High
	fine := 0
	for _, q := range p.quant[1:6] {
		fine += int(q)
	}
	n := max(1, min(bits.Len(uint(blocks-1))-bits.Len(uint(fine-1))-7, mostBuckets))
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
