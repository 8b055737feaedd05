package ht

import "math/bits"

// quadRow is what analysing the samples of a row of quads takes and gives.
type quadRow struct {
	top    *[maxSide + slack]int32
	bottom *[maxSide + slack]int32

	quads *[maxSide/2 + slack]uint32 // from 1 on
	v     *[2*maxSide + slack]uint32 // of the samples, quad after quad
	above *[maxSide + slack]uint32   // v|1 of the samples above, from 1 on
	lower *[maxSide + slack]uint32   // likewise of the lower row

	columns  int    // of quads
	greatest uint32 // v so far
}

// A quad of the encoder is a word
//
//	bit  29     24 21     16 15     12 11       8 7        4 3      0
//	    |    u    |    U    |         |   e_k    |   eps    |  rho   |
//
// e_k comes from the codeword.
const (
	rowEps   = 4
	rowKnown = 8
	rowU     = 16
	rowExtra = 24
)

// analyseGo computes v, rho, eps, U and u of a row of quads (T.814, 7.3.4) and returns the
// OR of all words.
func (r *quadRow) analyseGo() (any uint32) {
	for q := range r.columns {
		samples := [4]int32{r.top[2*q], r.bottom[2*q], r.top[2*q+1], r.bottom[2*q+1]}
		var known [4]uint32 // v|1, or 0
		var rho, all uint32
		for i, s := range samples {
			if s == 0 {
				r.v[4*q+i] = 0
				continue
			}
			m, sign := uint32(s), uint32(0)
			if s < 0 {
				m, sign = -m, 1
			}
			v := 2*(m-1) | sign
			r.v[4*q+i] = v
			r.greatest = max(r.greatest, v)
			known[i] = v | 1
			all |= v | 1
			rho |= 1 << i
		}
		greatest := uint32(bits.Len32(all))
		eps := uint32(0)
		for i, k := range known {
			if k != 0 && uint32(bits.Len32(k)) == greatest {
				eps |= 1 << i
			}
		}
		kappa := uint32(1)
		if rho&(rho-1) != 0 {
			above := r.above[2*q:][:4]
			kappa = uint32(max(1, bits.Len32(above[0]|above[1]|above[2]|above[3])-1))
		}
		bound := max(greatest, kappa)
		if bound == kappa {
			eps = 0
		}
		r.quads[q+1] = rho | eps<<rowEps | bound<<rowU | (bound-kappa)<<rowExtra
		r.lower[2*q+1], r.lower[2*q+2] = known[1], known[3]
		any |= r.quads[q+1]
	}
	// What lies beyond the row counts as insignificant.
	r.lower[0], r.lower[2*r.columns+1] = 0, 0
	return any
}
