package bitplane

import (
	"golang.org/x/sys/cpu"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/mq"
)

// useAssembly says whether the machine has what the assembly of the decoder takes. LZCNT came with BMI1.
var useAssembly = cpu.X86.HasBMI1 && cpu.X86.HasBMI2

// Contexts for the assembly.
const (
	refinementContexts = mq.Refinement
	runLengthContext   = mq.RunLength
	uniformContext     = mq.Uniform
)

// passArgs is a coding pass for the assembly, which keeps the arithmetic decoder in registers. Pointers move on with
// the pass.
type passArgs struct {
	// The arithmetic decoder, see [mq.Registers], with A and C as in the standard.
	a, c uint64
	t    int
	from *byte
	left int
	ff   int // 0xFF was the byte read last: 1

	contexts  *mq.Contexts
	following *[512]mq.State
	zero      *[512]uint8
	sign      *[256]uint8

	// The 16 columns at work, and the bytes that each of the pointers moves on by behind those of a stripe.
	word                          *uint64
	flags                         *flags
	data                          *int32
	nextWord, nextFlags, nextData int
	columns, row                  int    // bytes from the word and from flags to those of the stripe below
	width                         int    // flags of a stripe
	rest                          int    // of them that are left
	stripes                       int    // that are left
	last, right                   uint64 // samples that the last stripe has, and the last flags of each stripe
	valid                         uint64 // samples that the flags at work have

	value int64  // of a sample that becomes significant, or half of the bit-plane
	flip  uint64 // bit 0 is what the sign is coded relative to
	runs  uint64 // the first samples of columns with a run-length

	_      uint64
	unread [2]uint64 // with the word in front: in place of words of other stripes
}

// inAssembly runs a pass of a block of one slice whose contexts look into all stripes; false if it is not one.
func (d *decoder) inAssembly(k kind, value int64) bool {
	if !useAssembly || d.causal || d.slice != d.stripes {
		return false
	}
	d.toFlags()
	r := d.mq.Registers()
	n, w := d.flagsWidth(), d.columns-2
	p := passArgs{
		a: r.A, c: r.C, t: r.T, left: len(r.Data),
		contexts: &d.contexts, following: mq.Following(), zero: d.zero, sign: &signTable,
		word: &d.word[d.row(0)+1], flags: &d.flags[d.flagsRow(0)], data: &d.data[0],
		nextWord: 8 * (d.columns - 16*n), nextFlags: 2 * flagsBytes, nextData: 16 * (w - 16*n),
		columns: 8 * d.columns, row: flagsBytes * (n + 2), width: n, stripes: d.stripes,
		last: d.lastRows(), right: ^uint64(0) >> (64*n - 4*w), value: value,
	}
	if len(r.Data) > 0 {
		p.from = &r.Data[0]
	}
	if r.FF {
		p.ff = 1
	}
	switch k {
	case propagation:
		propagationBMI(&p)
	case refinement:
		refinementBMI(&p)
	default:
		cleanupBMI(&p)
	}
	r.A, r.C, r.T, r.FF, r.Data = p.a, p.c, p.t, p.ff != 0, r.Data[len(r.Data)-p.left:]
	d.mq.SetRegisters(r)
	return true
}

func (d *decoder) propagation(p uint) {
	if !d.inAssembly(propagation, 3<<p) {
		d.propagationGo(p)
	}
}

func (d *decoder) refinement(p uint) {
	if !d.inAssembly(refinement, 1<<p) {
		d.refinementGo(p)
	}
}

func (d *decoder) cleanup(p uint) {
	if !d.inAssembly(cleanup, 3<<p) {
		d.cleanupGo(p)
	}
}

// The passes are those of the methods with Go at their end.

//go:noescape
func propagationBMI(p *passArgs)

//go:noescape
func refinementBMI(p *passArgs)

//go:noescape
func cleanupBMI(p *passArgs)
