#include "go_asm.h"
#include "textflag.h"

// The least of the sixteen lanes of Z1, into AX.
#define LEAST16 \
	VEXTRACTI64X4 $1, Z1, Y2 \
	VPMINUD Y2, Y1, Y1       \
	VEXTRACTI128 $1, Y1, X2  \
	VPMINUD X2, X1, X1       \
	VPSHUFD $0x4e, X1, X2    \
	VPMINUD X2, X1, X1       \
	VPSHUFD $0xb1, X1, X2    \
	VPMINUD X2, X1, X1       \
	VMOVD   X1, AX

// The sum of the sixteen lanes of Z4, into AX.
#define SUM16 \
	VEXTRACTI64X4 $1, Z4, Y2 \
	VPADDD Y2, Y4, Y4        \
	VEXTRACTI128 $1, Y4, X2  \
	VPADDD X2, X4, X4        \
	VPSHUFD $0x4e, X4, X2    \
	VPADDD X2, X4, X4        \
	VPSHUFD $0xb1, X4, X2    \
	VPADDD X2, X4, X4        \
	VMOVD X4, AX

// func sideKeysAVX512(keys, up, left *uint32, sixteens int, minima *[16]uint32) uint32
TEXT ·sideKeysAVX512(SB), NOSPLIT, $0-44
	MOVQ keys+0(FP), DI
	MOVQ up+8(FP), SI
	MOVQ left+16(FP), DX
	MOVQ sixteens+24(FP), CX
	MOVQ minima+32(FP), R8
	VPTERNLOGD $0xff, Z1, Z1, Z1
sum:
	VMOVDQU32 (SI), Z0
	VPADDD (DX), Z0, Z0
	VMOVDQU32 Z0, (DI)
	VPMINUD Z0, Z1, Z1
	ADDQ $64, SI
	ADDQ $64, DX
	ADDQ $64, DI
	DECQ CX
	JNZ  sum
	VMOVDQU32 Z1, (R8)
	LEAST16
	MOVL AX, ret+40(FP)
	VZEROUPPER
	RET

// The edges beside a block from R10 and R11 into Z8 to Z11, what is the same for all keys from R12 into Z12, and the lanes of the last
// sixteen codewords that there are from R13 into K1. Z1 and Z2 become all ones.
#define NEIGHBOURS \
	VPBROADCASTD R10, Z8         \
	SHRQ $32, R10                \
	VPBROADCASTD R10, Z9         \
	VPBROADCASTD R11, Z10        \
	SHRQ $32, R11                \
	VPBROADCASTD R11, Z11        \
	VPBROADCASTD R12, Z12        \
	KMOVW R13, K1                \
	VPTERNLOGD $0xff, Z1, Z1, Z1 \
	VMOVDQA64 Z1, Z2

// The keys of sixteen codewords from their bases, into Z0; PRODUCTS adds the products of their
// edges. SI, DX and DI are edges, bases and keys of some sixteen codewords, and R9 how many bytes of keys
// there are from those to these.
#define EDGEKEYS(PRODUCTS) \
	VMOVDQA32 Z12, Z0    \
	PRODUCTS             \
	VPSLLD $13, Z0, Z0   \
	VPADDD (DX)(R9*1), Z0, Z0

#define ONEQUAD \
	VPDPBUSD (SI)(R9*2), Z8, Z0    \
	VPDPBUSD 64(SI)(R9*2), Z10, Z0

#define TWOQUADS \
	VPDPBUSD (SI)(R9*4), Z8, Z0     \
	VPDPBUSD 64(SI)(R9*4), Z9, Z0   \
	VPDPBUSD 128(SI)(R9*4), Z10, Z0 \
	VPDPBUSD 192(SI)(R9*4), Z11, Z0

#define EDGELOOP(PRODUCTS, TIMES, FROM, LAST) \
	LEAQ (SI)(CX*TIMES), SI \
	TESTQ R9, R9            \
	JZ   LAST               \
FROM:                           \
	EDGEKEYS(PRODUCTS)      \
	VMOVDQU32 Z0, (DI)(R9*1) \
	VPMINUD Z0, Z1, Z1      \
	ADDQ $64, R9            \
	JNZ  FROM               \
LAST:                           \
	EDGEKEYS(PRODUCTS)

// func edgeKeysVNNI(keys *uint32, words *byte, base *uint32, sixteens int, last uint32, quads int, lower, right uint64, half uint32, minima *[16]uint32) uint32
TEXT ·edgeKeysVNNI(SB), NOSPLIT, $0-84
	MOVQ keys+0(FP), DI
	MOVQ words+8(FP), SI
	MOVQ base+16(FP), DX
	MOVQ sixteens+24(FP), CX
	MOVQ lower+48(FP), R10
	MOVQ right+56(FP), R11
	MOVL half+64(FP), R12
	MOVL last+32(FP), R13
	NEIGHBOURS
	DECQ CX
	SHLQ $6, CX
	ADDQ CX, DX
	ADDQ CX, DI
	MOVQ CX, R9
	NEGQ R9
	CMPQ quads+40(FP), $1
	JNE  two
	EDGELOOP(ONEQUAD, 2, one16, onelast)
	JMP  last16
two:
	EDGELOOP(TWOQUADS, 4, two16, twolast)
last16:
	VMOVDQA32 Z0, K1, Z2 // all ones behind the codewords
	VMOVDQU32 Z2, (DI)
	VPMINUD Z2, Z1, Z1
	MOVQ minima+72(FP), R8
	VMOVDQU32 Z1, (R8)
	LEAST16
	MOVL AX, ret+80(FP)
	VZEROUPPER
	RET

// Counts in R12 the keys of Z0 that are less than those of Z3, and keeps the least of them by lanes in Z1.
#define PLACES \
	VPMINUD Z0, Z1, Z1       \
	VPCMPUD $1, Z3, Z0, K3   \
	KMOVW   K3, AX           \
	POPCNTL AX, AX           \
	ADDL    AX, R12

// The places of a block among the sixteens of codewords from R9 to CX, but for the last sixteen, whose keys are left in Z0.
#define PLACELOOP(PRODUCTS, FROM, LAST) \
	CMPQ R9, CX                   \
	JEQ  LAST                     \
FROM:                                 \
	EDGEKEYS(PRODUCTS)            \
	PLACES                        \
	ADDQ $64, R9                  \
	CMPQ R9, CX                   \
	JNE  FROM                     \
LAST:                                 \
	EDGEKEYS(PRODUCTS)

// The codeword of index R into R, of the neighbours at N.
#define NEIGHBOUR(N, R) \
	IMUL3Q $neighbour__size, R, R \
	ADDQ N, R

// func mismatchesAVX512(e *expecting, o *edgeOrder, above, left *uint16, first, end int)
//
//	DI, BX    what is worked out, and the block
//	SI        neighbours
//	R14, R15  the indices above and to the left, behind which there is the one of the block
//	CX, AX    the codewords to the left and above
//	DX, R12   that of the block, and its index
TEXT ·mismatchesAVX512(SB), NOSPLIT, $0-48
	MOVQ e+0(FP), DI
	MOVQ o+8(FP), SI
	MOVQ above+16(FP), R14
	MOVQ left+24(FP), R15
	MOVQ first+32(FP), BX
	MOVQ end+40(FP), R11
	MOVQ edgeOrder_neighbours(SI), SI
	MOVWLZX (R15), CX
	NEIGHBOUR(SI, CX)
block:
	MOVWLZX (R14), AX
	MOVWLZX 2(R15), R12
	MOVL R12, DX
	NEIGHBOUR(SI, AX)
	NEIGHBOUR(SI, DX)
	VMOVQ neighbour_lower(AX), X0
	VMOVHPS neighbour_right(CX), X0, X0
	VPMOVZXBW X0, Y0
	VPMOVZXBW neighbour_upper(DX), Y1 // and the left edge behind it
	VPSUBW Y1, Y0, Y0
	VPMADDWD Y0, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD X1, X0, X0
	VPSHUFD $0x4e, X0, X1
	VPADDD X1, X0, X0
	VPSHUFD $0xb1, X0, X1
	VPADDD X1, X0, X0
	VMOVD X0, R8
	SHLL $const_indexBits, R8
	ORL R12, R8
	MOVL R8, expecting_keys(DI)(BX*4)
	MOVL neighbour_lowerNorm(AX), R8
	MOVL neighbour_lowerSum(AX), R9
	MOVL neighbour_span(AX), R10
	ADDL neighbour_rightNorm(CX), R8
	ADDL neighbour_rightSum(CX), R9
	ADDL neighbour_span(CX), R10
	MOVL R8, expecting_norms(DI)(BX*4)
	MOVL R9, expecting_sums(DI)(BX*4)
	MOVL R10, expecting_activities(DI)(BX*4)
	MOVQ DX, CX
	ADDQ $2, R14
	ADDQ $2, R15
	INCQ BX
	CMPQ BX, R11
	JNE block
	VZEROUPPER
	RET

// func boundsAVX512(e *expecting, o *edgeOrder, end int)
TEXT ·boundsAVX512(SB), NOSPLIT, $0-24
	MOVQ e+0(FP), DI
	MOVQ o+8(FP), SI
	MOVQ end+16(FP), CX
	VPBROADCASTD edgeOrder_samples(SI), Z16
	VPBROADCASTD edgeOrder_most(SI), Z17
	MOVL $1, AX
	VPBROADCASTD AX, Z18
	VPXORD Z19, Z19, Z19
	XORL BX, BX
sixteen:
	VMOVDQU32 expecting_keys(DI)(BX*4), Z0
	VMOVDQU32 expecting_norms(DI)(BX*4), Z1
	VMOVDQU32 expecting_sums(DI)(BX*4), Z2
	VPSRLD $const_indexBits, Z0, Z3
	VPMULLD Z16, Z3, Z3    // less than 1<<24, which a float32 holds
	VCVTDQ2PS Z3, Z3
	VSQRTPS Z3, Z3
	VCVTTPS2DQ Z3, Z3
	VPSUBD Z3, Z2, Z4
	VPMAXSD Z19, Z4, Z4
	VPSRLD $const_sumShift, Z4, Z4
	VMOVDQU32 Z4, expecting_from(DI)(BX*4)
	VPADDD Z3, Z2, Z4
	VPMINSD Z17, Z4, Z4
	VPSRLD $const_sumShift, Z4, Z4
	VMOVDQU32 Z4, expecting_to(DI)(BX*4)
	VPADDD Z18, Z1, Z4     // (norm + 1) / 2 - 127 x sum
	VPSRLD $1, Z4, Z4
	VPSLLD $7, Z2, Z5
	VPSUBD Z5, Z4, Z4
	VPADDD Z2, Z4, Z4
	VMOVDQU32 Z4, expecting_halves(DI)(BX*4)
	VPANDD Z18, Z1, Z1     // as all keys are too great where the norm is odd, so is the expected one
	VPSLLD $const_indexBits, Z1, Z1
	VPADDD Z1, Z0, Z0
	VMOVDQU32 Z0, expecting_keys(DI)(BX*4)
	ADDQ $16, BX
	CMPQ BX, CX
	JLT sixteen
	VZEROUPPER
	RET

// func placesVNNI(e *expecting, o *edgeOrder, above, left *uint16, first, end int)
//
//	DI, BX    what is worked out, and the block
//	R8        the order
//	R13       neighbours
//	R14, R15  the indices above and to the left
//	R9, CX    the first and the last sixteen codewords that come into question, in bytes of bases
//	R11       the last sixteen that there are
TEXT ·placesVNNI(SB), NOSPLIT, $0-48
	MOVQ e+0(FP), DI
	MOVQ o+8(FP), R8
	MOVQ above+16(FP), R14
	MOVQ left+24(FP), R15
	MOVQ first+32(FP), BX
	MOVQ edgeOrder_words(R8), SI
	MOVQ edgeOrder_base(R8), DX
	MOVQ (edgeOrder_base+8)(R8), R11
	SHLQ $2, R11
	SUBQ $64, R11
	MOVQ edgeOrder_neighbours(R8), R13
block:
	MOVWLZX (R14), AX
	NEIGHBOUR(R13, AX)
	VPBROADCASTD neighbour_lower(AX), Z8
	VPBROADCASTD (neighbour_lower+4)(AX), Z9
	MOVWLZX (R15), AX
	NEIGHBOUR(R13, AX)
	VPBROADCASTD neighbour_right(AX), Z10
	VPBROADCASTD (neighbour_right+4)(AX), Z11
	VPBROADCASTD expecting_halves(DI)(BX*4), Z12
	VPBROADCASTD expecting_keys(DI)(BX*4), Z3
	MOVL expecting_from(DI)(BX*4), R9
	MOVL expecting_to(DI)(BX*4), CX
	MOVWLZX edgeOrder_first(R8)(R9*2), R9
	MOVWLZX edgeOrder_through(R8)(CX*2), CX
	SHLQ $6, R9
	SHLQ $6, CX
	MOVL edgeOrder_last(R8), R10
	MOVL $0xffff, AX
	CMPQ CX, R11
	CMOVLNE AX, R10
	KMOVW R10, K1
	XORL R12, R12
	VPTERNLOGD $0xff, Z1, Z1, Z1
	VPTERNLOGD $0xff, Z2, Z2, Z2
	CMPQ edgeOrder_quads(R8), $1
	JNE  two
	PLACELOOP(ONEQUAD, one16, onelast)
	JMP  last16
two:
	PLACELOOP(TWOQUADS, two16, twolast)
last16:
	VMOVDQA32 Z0, K1, Z2 // all ones behind the codewords
	VMOVDQA64 Z2, Z0
	PLACES
	MOVW R12, expecting_places(DI)(BX*2)
	LEAST16
	MOVL expecting_norms(DI)(BX*4), R10
	ANDL $1, R10
	SHLL $const_indexBits, R10
	SUBL R10, AX
	MOVL AX, expecting_leasts(DI)(BX*4)
	ADDQ $2, R14
	ADDQ $2, R15
	INCQ BX
	CMPQ BX, end+40(FP)
	JNE block
	VZEROUPPER
	RET

// The bit lengths of the lanes of A, of 32 bits, into Z; Z20 holds 32 in each.
#define LENGTHS(A, Z) \
	VPLZCNTD A, Z    \
	VPSUBD Z, Z20, Z

// func contextsAVX512(e *expecting, above, row *uint8, shift, end int)
//
//	SI, DX    bit lengths of ranks above and of those of this row, from the column to the left on
//	Z21-Z23   activities' and mismatches' lengths, and the surrounding ranks'
//	Z24       the lengths of the ranks of this row, and in its last lane that of the one before
TEXT ·contextsAVX512(SB), NOSPLIT, $0-40
	MOVQ e+0(FP), DI
	MOVQ above+8(FP), SI
	MOVQ row+16(FP), DX
	MOVQ end+32(FP), CX
	MOVL $32, AX
	VPBROADCASTD AX, Z20
	MOVL $2, AX
	VPBROADCASTD AX, Z25
	MOVL $(const_surrounds-1), AX
	VPBROADCASTD AX, Z26
	MOVL $const_mismatches, AX
	VPBROADCASTD AX, Z27
	MOVL $const_surrounds, AX
	VPBROADCASTD AX, Z28
	MOVL $(const_activities*const_mismatches), AX
	VPBROADCASTD AX, Z29
	MOVL $(const_mismatches*const_surrounds), AX
	VPBROADCASTD AX, Z30
	MOVL $(const_activities*const_surrounds), AX
	VPBROADCASTD AX, Z31
	MOVL $((1<<const_indexBits)-1), AX
	VPBROADCASTD AX, Z19
	VPBROADCASTD shift+24(FP), Z18
	MOVBLZX (DX), AX
	VPBROADCASTD AX, Z24
	XORL BX, BX
sixteen:
	VPMOVZXWD expecting_places(DI)(BX*2), Z0
	LENGTHS(Z0, Z0)
	VALIGND $15, Z24, Z0, Z1                   // left
	VMOVDQA64 Z0, Z24
	VPMOVDB Z0, 1(DX)(BX*1)
	VPMOVZXBD 1(SI)(BX*1), Z2                  // up
	VPADDD Z2, Z1, Z1
	VPADDD Z1, Z1, Z1
	VPMOVZXBD (SI)(BX*1), Z2                   // to the left of that
	VPADDD Z2, Z1, Z1
	VPMOVZXBD 2(SI)(BX*1), Z2                  // and to the right
	VPADDD Z2, Z1, Z1
	VPADDD Z25, Z1, Z1
	VPSRLD $2, Z1, Z1
	VPMINUD Z26, Z1, Z23
	VMOVDQU32 expecting_activities(DI)(BX*4), Z2
	LENGTHS(Z2, Z21)
	VMOVDQU32 expecting_leasts(DI)(BX*4), Z3
	VPSRLD $const_indexBits, Z3, Z2
	LENGTHS(Z2, Z22)
	VPANDD Z19, Z3, Z3
	VPSRLVD Z18, Z3, Z3                        // the codeword of the least mismatch
	VPMULLD Z27, Z21, Z0
	VPADDD Z22, Z0, Z0
	VMOVDQU32 Z0, (expecting_contexts+0)(DI)(BX*4)
	VPMULLD Z28, Z22, Z0
	VPADDD Z23, Z0, Z0
	VPADDD Z29, Z0, Z0
	VMOVDQU32 Z0, (expecting_contexts+4*const_expectBlocks)(DI)(BX*4)
	VPADDD Z30, Z29, Z1
	VPMULLD Z28, Z21, Z0
	VPADDD Z23, Z0, Z0
	VPADDD Z1, Z0, Z0
	VMOVDQU32 Z0, (expecting_contexts+8*const_expectBlocks)(DI)(BX*4)
	VPADDD Z31, Z1, Z1
	VPADDD Z1, Z3, Z3
	VMOVDQU32 Z3, (expecting_contexts+12*const_expectBlocks)(DI)(BX*4)
	ADDQ $16, BX
	CMPQ BX, CX
	JLT sixteen
	VZEROUPPER
	RET

// func nextAVX512(keys *uint32, sixteens int, from uint32) uint32
TEXT ·nextAVX512(SB), NOSPLIT, $0-28
	MOVQ keys+0(FP), SI
	MOVQ sixteens+8(FP), CX
	MOVL from+16(FP), AX
	VPBROADCASTD AX, Z3
	VPTERNLOGD $0xff, Z1, Z1, Z1
next:
	VMOVDQU32 (SI), Z0
	VPSUBD Z3, Z0, Z0
	VPMINUD Z0, Z1, Z1
	ADDQ $64, SI
	DECQ CX
	JNZ  next
	LEAST16
	MOVL AX, ret+24(FP)
	VZEROUPPER
	RET

// func rankAVX512(up, left *uint32, sixteens int, mine uint32) (lesser int, least uint32)
TEXT ·rankAVX512(SB), NOSPLIT, $0-44
	MOVQ up+0(FP), SI
	MOVQ left+8(FP), DX
	MOVQ sixteens+16(FP), CX
	MOVL mine+24(FP), AX
	VPBROADCASTD AX, Z3
	VPTERNLOGD $0xff, Z1, Z1, Z1
	VMOVDQA64 Z1, Z5       // -1
	VPXORQ Z4, Z4, Z4      // -1 for every side key that is less
count:
	VMOVDQU32 (SI), Z0
	VPADDD (DX), Z0, Z0
	VPMINUD Z0, Z1, Z1
	VPCMPUD $1, Z3, Z0, K1
	VPADDD Z5, Z4, K1, Z4
	ADDQ $64, SI
	ADDQ $64, DX
	DECQ CX
	JNZ  count
	LEAST16
	MOVL AX, least+40(FP)
	SUM16
	NEGL AX
	MOVQ AX, lesser+32(FP)
	VZEROUPPER
	RET

// func belowAVX512(keys *uint32, sixteens int, t uint32) int
TEXT ·belowAVX512(SB), NOSPLIT, $0-32
	MOVQ keys+0(FP), SI
	MOVQ sixteens+8(FP), CX
	MOVL t+16(FP), AX
	VPBROADCASTD AX, Z3
	XORL DX, DX
below:
	VPCMPUD $6, (SI), Z3, K1 // t is greater
	KMOVW K1, AX
	POPCNTL AX, AX
	ADDQ AX, DX
	ADDQ $64, SI
	DECQ CX
	JNZ  below
	MOVQ DX, ret+24(FP)
	VZEROUPPER
	RET

// func compressAVX512(out, keys *uint32, sixteens int, lo, span uint32) int
TEXT ·compressAVX512(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ keys+8(FP), SI
	MOVQ sixteens+16(FP), CX
	MOVL lo+24(FP), AX
	VPBROADCASTD AX, Z3
	MOVL span+28(FP), AX
	VPBROADCASTD AX, Z4
	VPTERNLOGD $0xff, Z5, Z5, Z5
	MOVQ DI, R8
from:
	VMOVDQU32 (SI), Z0
	VPSUBD Z3, Z0, Z1
	VPCMPUD $1, Z4, Z1, K1
	VMOVDQA64 Z5, Z2
	VPCOMPRESSD Z0, K1, Z2 // with all ones behind the keys
	VMOVDQU32 Z2, (DI)
	KMOVW K1, AX
	POPCNTL AX, AX
	LEAQ (DI)(AX*4), DI
	ADDQ $64, SI
	DECQ CX
	JNZ  from
	VMOVDQU32 Z5, (DI)
	SUBQ R8, DI
	SHRQ $2, DI
	MOVQ DI, ret+32(FP)
	VZEROUPPER
	RET

// Counts in Z1, for each lane of Z0, the key n lanes further on where that is less.
#define LESS(n, K, T, C) \
	VALIGND $n, Z0, Z0, T  \
	VPCMPUD $1, Z0, T, K   \
	VPSUBD  Z5, C, K, C

// func selectAVX512(keys *uint32, r uint32) uint32
TEXT ·selectAVX512(SB), NOSPLIT, $0-20
	MOVQ keys+0(FP), SI
	MOVL r+8(FP), AX
	VPBROADCASTD AX, Z4
	VMOVDQU32 (SI), Z0
	VPTERNLOGD $0xff, Z5, Z5, Z5 // -1
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	LESS(1, K1, Z6, Z1)
	LESS(2, K2, Z7, Z2)
	LESS(3, K3, Z8, Z1)
	LESS(4, K4, Z9, Z2)
	LESS(5, K1, Z6, Z1)
	LESS(6, K2, Z7, Z2)
	LESS(7, K3, Z8, Z1)
	LESS(8, K4, Z9, Z2)
	LESS(9, K1, Z6, Z1)
	LESS(10, K2, Z7, Z2)
	LESS(11, K3, Z8, Z1)
	LESS(12, K4, Z9, Z2)
	LESS(13, K1, Z6, Z1)
	LESS(14, K2, Z7, Z2)
	LESS(15, K3, Z8, Z1)
	VPADDD Z2, Z1, Z1
	VPCMPEQD Z4, Z1, K1
	VPCOMPRESSD Z0, K1, Z5 // all ones where no lane has r less
	VMOVD X5, AX
	MOVL AX, ret+16(FP)
	VZEROUPPER
	RET
