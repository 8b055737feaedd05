// Package ht is the High Throughput block coder of JPEG 2000 (ISO/IEC 15444-15, T.814):
// it turns a code-block into its coefficients and back.
//
// # A cleanup segment
//
// A code-block is cut into quads of 2x2 samples, which are coded in rows of quads from
// left to right. Three bit streams share the segment of Lcup bytes:
//
//	0                Pcup                          Lcup
//	| MagSgn ->      | MEL ->            <- VLC | Scup |
//
//	MagSgn   the low bits of magnitudes and the signs
//	MEL      of quads without significant neighbours, whether they are significant
//	VLC      significance patterns and exponents
//	Scup     Lcup - Pcup, in the last 12 bits
//
// After a byte that ends a run of ones a stream leaves out one bit, so that no two bytes
// look like a marker; here a stream is freed of those gaps (or gets them) in one go, and
// everything between works on plain bits.
//
// # Names
//
// They are those of the standard: rho is the significance pattern of a quad, its bits in
// the order of samples
//
//	0 2
//	1 3
//
// E the exponent of a sample, the bit length of 2m-1 for magnitude m > 0 and else 0; U
// the bound of E within a quad, kappa the prediction of U from the row of quads above and
// u = U - kappa; a sample's v is 2(m-1) with its sign in bit 0; e_k and e_1 say for which
// samples the top bit of v is known, and what it is.
//
// # What is here
//
// [Decode] takes the cleanup pass and both refinement passes (SigProp, MagRef) of any
// block style that Part 15 allows. [Encoder] writes a cleanup pass. Everything is integer
// arithmetic; assembly for AVX2 gives the same results as the Go beside it.
package ht
