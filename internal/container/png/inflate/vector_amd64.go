package inflate

import "golang.org/x/sys/cpu"

// vector lets tests run both ways.
var vector = cpu.X86.HasAVX2 && cpu.X86.HasBMI2

// manyLiterals is how many entries with literals follow one another before more of them are likely
// enough for a branch.
const manyLiterals = 6

//go:noescape
func fastBMI2(r *Reader, limit int) fastResult

//go:noescape
func pairsAVX2(table *uint32)

//go:noescape
func adlerAVX2(p *byte, blocks int) (a, b uint32)

// fast decodes symbols as long as the piece has inputSlack bytes and the output is below limit.
func (r *Reader) fast(limit int) fastResult { return fastBMI2(r, limit) }

// pairs is pairsGo.
func pairs(table []uint32) {
	if !vector {
		pairsGo(table)
		return
	}
	pairsAVX2(&table[:1<<litBits][0])
}

// adlerBlock is how many bytes the kernel sums at once.
const adlerBlock = 32

// adler is adlerGo.
func adler(sum uint32, p []byte) uint32 {
	if !vector {
		return adlerGo(sum, p)
	}
	for len(p) >= adlerBlock {
		blocks := min(len(p), adlerMost) / adlerBlock
		n := blocks * adlerBlock
		a, b := adlerAVX2(&p[0], blocks)
		b += sum>>16 + (sum&0xffff)*uint32(n)
		a += sum & 0xffff
		sum = b%adlerModulus<<16 | a%adlerModulus
		p = p[n:]
	}
	return adlerGo(sum, p)
}
