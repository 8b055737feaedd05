package ht

import "golang.org/x/sys/cpu"

// useVectors says whether the machine has what the assembly takes.
var useVectors = cpu.X86.HasAVX2 && cpu.X86.HasBMI2

// The assembly does what the methods of the same names with Go at their end do. What it
// writes beyond a row's quads is zeros, or is not read before it is written anew.

// boundsAVX2 takes quads eight at a time.
//
//go:noescape
func boundsAVX2(r *rowArgs) (most uint32)

// samplesAVX2 takes quads two at a time. U is at most 25, so that 32 bits from the byte of
// a sample's first bit hold them all.
//
//go:noescape
func samplesAVX2(r *rowArgs)

const samplesMostU = 25

// analyseAVX2 takes quads eight at a time. Samples beyond the row have to be 0.
//
//go:noescape
func analyseAVX2(r *quadRow) (any uint32)

// magnitudesAVX2 appends the magnitudes of quads two at a time to out, with what waits
// already, and returns the bytes written and what then waits. U is at most 28, so that two
// samples and seven bits that wait fit a word of 64 bits.
//
//go:noescape
func magnitudesAVX2(r *quadRow, out *byte, bits uint64, wait uint) (n int, newBits uint64, newWait uint)

const magnitudesMostU = 28

// decode decodes the samples of a row, see decodeGo.
func (r *rowArgs) decode() uint32 {
	if !useVectors {
		return r.decodeGo()
	}
	most := boundsAVX2(r)
	switch {
	case most > r.limit:
	case most > samplesMostU:
		r.samplesGo()
	default:
		samplesAVX2(r)
	}
	return most
}

// analyse analyses the samples of a row, see analyseGo.
func (r *quadRow) analyse() uint32 {
	if !useVectors {
		return r.analyseGo()
	}
	return analyseAVX2(r)
}

// putMagnitudes appends the magnitudes of a row; any is the OR of its words, in which
// those of U are set that tell whether one is too large.
func (e *encoder) putMagnitudes(r *quadRow, any uint32) {
	if !useVectors || any>>rowU&63 > magnitudesMostU {
		e.putMagnitudesGo(r)
		return
	}
	p := &e.magsgn
	n, bits, wait := magnitudesAVX2(r, &p.bytes[p.at], p.bits, p.wait)
	p.at, p.bits, p.wait = p.at+n, bits, wait
}
