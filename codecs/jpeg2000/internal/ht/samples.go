package ht

import (
	"encoding/binary"
	"math/bits"
)

// rowArgs is what decoding the samples of a row of quads takes and changes.
type rowArgs struct {
	quads  *[maxSide/2 + slack]uint32 // from 1 on; u becomes U
	above  *[maxSide + slack]uint32   // v|1 of the samples above, from 1 on
	lower  *[maxSide + slack]uint32   // likewise of the lower row, to be written
	top    []int32                    // the samples, to be written: those of whole pairs of quads
	bottom []int32
	magsgn *[maxMagSgn + slack]byte

	columns int    // of quads
	at      uint   // in bits of magsgn; moves on
	limit   uint32 // U above it is malformed
	scale
}

// scale makes a coefficient of v: (v/2 << shift) + offset, with the sign in front.
type scale struct {
	shift  uint
	offset uint32
}

// withFraction scales to coefficients with a fractional bit, in the middle of their
// interval, where plane is the last bit-plane.
func withFraction(plane uint) scale { return scale{plane + 1, 3 << plane} }

// toIndex scales to what is left of those after division by two, towards zero.
func toIndex(plane uint) scale { return scale{plane, 3 << plane >> 1} }

// decodeGo decodes the samples of a row of quads (T.814, 7.3.7 and 7.3.8) and returns the
// greatest U. If it is above the limit, no samples are decoded.
func (r *rowArgs) decodeGo() uint32 {
	most := r.boundsGo()
	if most <= r.limit {
		r.samplesGo()
	}
	return most
}

// boundsGo adds the prediction kappa to u. In the first row, with nothing above, it is 1.
func (r *rowArgs) boundsGo() (most uint32) {
	for q := range r.columns {
		word := r.quads[q+1]
		kappa := 1
		if rho := word & 15; rho&(rho-1) != 0 {
			above := r.above[2*q:][:4]
			kappa = max(1, bits.Len32(above[0]|above[1]|above[2]|above[3])-1)
		}
		word += uint32(kappa) << quadU
		r.quads[q+1] = word
		most = max(most, word>>quadU)
	}
	return most
}

// samplesGo reads v of the significant samples.
func (r *rowArgs) samplesGo() {
	for q := range r.columns {
		word := r.quads[q+1]
		u := word >> quadU
		var v, value [4]uint32
		for i := range v {
			if word>>i&1 == 0 {
				continue
			}
			m := u - word>>(quadKnown+i)&1
			s := binary.LittleEndian.Uint64(r.magsgn[r.at>>3:]) >> (r.at & 7)
			r.at += uint(m)
			x := uint32(s) & uint32(1<<m-1)
			x |= word >> (quadOnes + i) & 1 << m
			v[i] = x | 1
			value[i] = x>>1<<r.shift + r.offset
			if x&1 != 0 {
				value[i] = -value[i]
			}
		}
		r.top[2*q], r.top[2*q+1] = int32(value[0]), int32(value[2])
		r.bottom[2*q], r.bottom[2*q+1] = int32(value[1]), int32(value[3])
		r.lower[2*q+1], r.lower[2*q+2] = v[1], v[3]
	}
	// What lies beyond the row counts as insignificant.
	r.lower[0], r.lower[2*r.columns+1] = 0, 0
}
