#include "textflag.h"
#include "go_asm.h"

// The samples above, below, left and right of those of words, see fromAbove and what is beside it. Z30 are the first samples
// of columns, Z29 the last ones. FROM_ABOVE and FROM_BELOW change Z28.
#define FROM_ABOVE(x, above, to) \
	VPSLLQ $1, x, to \
	VPSRLQ $3, above, Z28 \
	VPTERNLOGQ $0xD8, Z30, Z28, to

#define FROM_BELOW(x, below, to) \
	VPSRLQ $1, x, to \
	VPSLLQ $3, below, Z28 \
	VPTERNLOGQ $0xD8, Z29, Z28, to

#define FROM_LEFT(x, left, to) VPSHLDQ $4, left, x, to

#define FROM_RIGHT(x, right, to) VPSHRDQ $4, right, x, to

// POLARITY makes positive and negative the samples that are significant with either sign, given those with a minus.
#define POLARITY(significant, minus, positive, negative) \
	VPANDNQ significant, minus, positive \
	VPANDQ significant, minus, negative

// SUM makes positive and negative the signs of the sum of two neighbours' signs. It changes Z28.
#define SUM(positive1, negative1, positive2, negative2, positive, negative) \
	VPANDNQ positive1, negative2, positive \
	VPANDNQ positive2, negative1, Z28 \
	VPORQ Z28, positive, positive \
	VPANDNQ negative1, positive2, negative \
	VPANDNQ negative2, positive1, Z28 \
	VPORQ Z28, negative, negative

// TRANSPOSE makes rows of columns, eight words of each: those of words 0 to 7 are Z16, Z20, Z18, Z22, Z17, Z21, Z19 and
// Z23. It changes Z16 to Z27.
#define TRANSPOSE(a, b, c, d, e, f, g, h) \
	VPUNPCKLQDQ b, a, Z24 \
	VPUNPCKLQDQ d, c, Z25 \
	VPUNPCKLQDQ f, e, Z26 \
	VPUNPCKLQDQ h, g, Z27 \
	VSHUFI64X2 $0x88, Z25, Z24, Z20 \
	VSHUFI64X2 $0xDD, Z25, Z24, Z21 \
	VSHUFI64X2 $0x88, Z27, Z26, Z22 \
	VSHUFI64X2 $0xDD, Z27, Z26, Z23 \
	VSHUFI64X2 $0x88, Z22, Z20, Z16 \
	VSHUFI64X2 $0xDD, Z22, Z20, Z17 \
	VSHUFI64X2 $0x88, Z23, Z21, Z18 \
	VSHUFI64X2 $0xDD, Z23, Z21, Z19 \
	VPUNPCKHQDQ b, a, Z24 \
	VPUNPCKHQDQ d, c, Z25 \
	VPUNPCKHQDQ f, e, Z26 \
	VPUNPCKHQDQ h, g, Z27 \
	VSHUFI64X2 $0x88, Z25, Z24, Z28 \
	VSHUFI64X2 $0xDD, Z25, Z24, Z24 \
	VSHUFI64X2 $0x88, Z27, Z26, Z25 \
	VSHUFI64X2 $0xDD, Z27, Z26, Z26 \
	VSHUFI64X2 $0x88, Z25, Z28, Z20 \
	VSHUFI64X2 $0xDD, Z25, Z28, Z21 \
	VSHUFI64X2 $0x88, Z26, Z24, Z22 \
	VSHUFI64X2 $0xDD, Z26, Z24, Z23

// PUT writes half of a group to CX, and moves on if the next bit of DX says that the group has decisions.
#define PUT(half, at) \
	VMOVDQU64 half, at(CX) \
	SHRL $1, DX \
	SBBQ BP, BP \
	ANDQ $group__size, BP \
	ADDQ BP, CX

// PUTS writes the halves of eight groups behind DI, of which AX has a bit for those with decisions.
#define PUTS(at) \
	MOVQ DI, CX \
	MOVL AX, DX \
	PUT(Z16, at) \
	PUT(Z20, at) \
	PUT(Z18, at) \
	PUT(Z22, at) \
	PUT(Z17, at) \
	PUT(Z21, at) \
	PUT(Z19, at) \
	PUT(Z23, at)

// func contextsAVX512(a *contextArgs) (n int)
//
// SI is the place of the eight words in rows of words. Z31 are the samples of the pass, Z15 the bits of the bit-plane, and
// the significant neighbours Z10 up, Z11 up left, Z12 up right, Z13 down, Z14 down right, Z9 down left, Z18 left and
// Z19 right. Contexts come out as the bits of their numbers, see group: Z0 to Z5 are Number and Z6 to Z9 Sign.
TEXT ·contextsAVX512(SB), NOSPLIT, $8-16
	MOVQ a+0(FP), BX
	MOVQ contextArgs_before(BX), R8
	MOVQ contextArgs_after(BX), R9
	MOVQ contextArgs_sign(BX), R10
	MOVQ contextArgs_ones(BX), R11
	MOVQ contextArgs_members(BX), R12
	MOVQ contextArgs_visited(BX), R13
	MOVQ contextArgs_row(BX), AX
	MOVQ R9, R14 // after, of the stripe above
	SUBQ AX, R14
	LEAQ (R8)(AX*1), R15 // before, of the stripe below
	MOVQ contextArgs_groups(BX), DI
	MOVQ $0x1111111111111111, AX
	VPBROADCASTQ AX, Z30
	VPSLLQ $3, Z30, Z29
	XORL SI, SI

words:
	MOVQ contextArgs_words(BX), CX
	MOVQ SI, AX
	SHRQ $3, AX
	SUBQ AX, CX // words that are left
	MOVL $8, AX
	CMPQ CX, AX
	CMOVQGT AX, CX
	MOVL $1, AX
	SHLXL CX, AX, AX
	DECL AX
	KMOVW AX, K7
	VMOVDQU64.Z (R12)(SI*1), K7, Z31
	CMPQ contextArgs_cleanup(BX), $0
	JEQ members
	VMOVDQU64 (R8)(SI*1), Z2
	VMOVDQU64 (R13)(SI*1), Z3
	VPANDNQ Z31, Z2, Z31
	VPANDNQ Z31, Z3, Z31

members:
	VPTESTMQ Z31, Z31, K1
	KORTESTW K1, K1
	JEQ next
	VMOVDQU64 (R9)(SI*1), Z0
	VMOVDQU64 -8(R9)(SI*1), Z1
	VMOVDQU64 (R8)(SI*1), Z2
	VMOVDQU64 8(R8)(SI*1), Z3
	VMOVDQU64 (R14)(SI*1), Z4
	VMOVDQU64 -8(R14)(SI*1), Z5
	VMOVDQU64 8(R14)(SI*1), Z6
	VMOVDQU64 (R15)(SI*1), Z7
	VMOVDQU64 8(R15)(SI*1), Z8
	VMOVDQU64 -8(R15)(SI*1), Z9
	VMOVDQU64.Z (R11)(SI*1), K7, Z15
	FROM_ABOVE(Z0, Z4, Z10)
	FROM_ABOVE(Z1, Z5, Z16)
	FROM_LEFT(Z10, Z16, Z11)
	FROM_ABOVE(Z2, Z4, Z16)
	FROM_ABOVE(Z3, Z6, Z17)
	FROM_RIGHT(Z16, Z17, Z12)
	FROM_BELOW(Z2, Z7, Z13)
	FROM_BELOW(Z3, Z8, Z16)
	FROM_RIGHT(Z13, Z16, Z14)
	FROM_BELOW(Z0, Z7, Z16)
	FROM_BELOW(Z1, Z9, Z17)
	FROM_LEFT(Z16, Z17, Z9)
	FROM_LEFT(Z0, Z1, Z18)
	FROM_RIGHT(Z2, Z3, Z19)

	// Zero coding (Table D.1): one and two horizontal neighbours are Z20 and Z21, vertical ones Z22 and Z23, at least one, at
	// least two and three diagonal ones Z24, Z25 and Z26.
	VPXORQ Z18, Z19, Z20
	VPANDQ Z18, Z19, Z21
	VPXORQ Z10, Z13, Z22
	VPANDQ Z10, Z13, Z23
	VPORQ Z11, Z12, Z4
	VPANDQ Z11, Z12, Z5
	VPORQ Z9, Z14, Z6
	VPANDQ Z9, Z14, Z7
	VPORQ Z4, Z6, Z24
	VPANDQ Z4, Z6, Z25
	VPTERNLOGQ $0xFE, Z5, Z7, Z25 // or
	VPANDQ Z5, Z6, Z26
	VPANDQ Z7, Z4, Z28
	VPORQ Z28, Z26, Z26
	CMPQ contextArgs_orientation(BX), $3
	JEQ diagonal
	CMPQ contextArgs_orientation(BX), $1
	JNE low
	VMOVDQA64 Z20, Z28
	VMOVDQA64 Z22, Z20
	VMOVDQA64 Z28, Z22
	VMOVDQA64 Z21, Z28
	VMOVDQA64 Z23, Z21
	VMOVDQA64 Z28, Z23

low:
	VPORQ Z20, Z21, Z16 // any horizontal
	VPORQ Z22, Z23, Z17 // any vertical
	VPANDNQ Z22, Z16, Z5
	VPORQ Z16, Z17, Z6
	VMOVDQA64 Z21, Z4
	VPANDNQ Z23, Z16, Z3
	VPORQ Z20, Z3, Z3
	VPORQ Z17, Z24, Z2
	VPANDQ Z20, Z2, Z2
	VPANDNQ Z25, Z6, Z28
	VPTERNLOGQ $0xFE, Z5, Z28, Z2
	VPANDNQ Z24, Z17, Z1
	VPANDNQ Z20, Z1, Z1
	VPORQ Z25, Z6, Z28
	VPANDNQ Z24, Z28, Z28
	VPTERNLOGQ $0xFE, Z5, Z28, Z1
	JMP zero

diagonal:
	VPORQ Z20, Z21, Z16
	VPTERNLOGQ $0xFE, Z22, Z23, Z16 // any beside
	VPANDQ Z20, Z22, Z17
	VPTERNLOGQ $0xFE, Z21, Z23, Z17 // at least two beside
	VPANDNQ Z25, Z26, Z5 // two diagonal
	VPANDNQ Z24, Z25, Z6 // one diagonal
	VMOVDQA64 Z26, Z4
	VPANDQ Z6, Z16, Z3
	VPORQ Z5, Z3, Z3
	VPANDNQ Z6, Z16, Z2
	VPANDNQ Z17, Z24, Z28
	VPTERNLOGQ $0xFE, Z5, Z28, Z2
	VPANDNQ Z16, Z17, Z7 // one beside
	VPANDQ Z5, Z16, Z1
	VPANDNQ Z6, Z7, Z28
	VPORQ Z28, Z1, Z1
	VPANDNQ Z7, Z24, Z28
	VPORQ Z28, Z1, Z1

zero:
	VPANDQ Z31, Z15, Z20 // Second
	CMPQ contextArgs_cleanup(BX), $0
	JNE runs
	VMOVDQA64 Z31, Z21 // First
	VPXORQ Z22, Z22, Z22 // Run
	VPXORQ Z23, Z23, Z23 // High
	VPXORQ Z24, Z24, Z24 // Low
	VMOVDQA64 Z15, Z0
	VPXORQ Z5, Z5, Z5
	JMP signs

	// Columns of four samples of the pass with nothing significant around them have a run-length.
runs:
	VPANDQ Z10, Z30, Z16
	VPANDQ Z13, Z29, Z17
	VPTERNLOGQ $0xFE, Z18, Z19, Z16
	VPTERNLOGQ $0xFE, Z11, Z12, Z17
	VPTERNLOGQ $0xFE, Z14, Z9, Z16
	VPTERNLOGQ $0xFD, Z31, Z17, Z16 // or what is not of the pass
	VPSRLQ $2, Z16, Z17
	VPORQ Z17, Z16, Z16
	VPSRLQ $1, Z16, Z17
	VPORQ Z17, Z16, Z16
	VPANDNQ Z30, Z16, Z5 // runs, by the first sample
	VPSLLQ $1, Z5, Z16
	VPORQ Z5, Z16, Z16
	VPSLLQ $2, Z16, Z17
	VPORQ Z17, Z16, Z16 // all samples of the columns
	VPSLLQ $1, Z15, Z17 // behind a one of their column
	VPANDNQ Z17, Z30, Z17
	VPSLLQ $2, Z15, Z6
	VPSRLQ $1, Z29, Z7
	VPORQ Z29, Z7, Z7
	VPANDQ Z6, Z7, Z6
	VPSLLQ $3, Z15, Z7
	VPANDQ Z7, Z29, Z7
	VPTERNLOGQ $0xFE, Z6, Z7, Z17
	VPANDNQ Z16, Z17, Z16 // up to the first one of a column
	VPANDQ Z15, Z16, Z6 // that one
	VPANDNQ Z31, Z16, Z7 // samples with zero coding
	VPSRLQ $1, Z6, Z24
	VPSRLQ $2, Z6, Z23
	VPSRLQ $3, Z6, Z28
	VPORQ Z6, Z23, Z22
	VPORQ Z28, Z23, Z23
	VPORQ Z28, Z24, Z24
	VPANDQ Z30, Z23, Z23 // High
	VPSRLQ $1, Z22, Z28
	VPORQ Z28, Z22, Z22
	VPANDQ Z30, Z22, Z22 // Run
	VPANDQ Z30, Z24, Z24 // Low
	VPORQ Z5, Z7, Z21 // First
	VPANDQ Z15, Z7, Z0
	VPORQ Z22, Z0, Z0
	VPANDQ Z7, Z1, Z1
	VPORQ Z5, Z1, Z1
	VPANDQ Z7, Z2, Z2
	VPANDQ Z7, Z3, Z3
	VPANDQ Z7, Z4, Z4

	// Sign coding (Tables D.2 and D.3).
signs:
	MOVQ contextArgs_row(BX), CX
	LEAQ (R10)(CX*1), DX
	MOVQ R10, AX
	SUBQ CX, AX
	VMOVDQU64 (R10)(SI*1), Z15
	VMOVDQU64 (AX)(SI*1), Z6
	VMOVDQU64 (DX)(SI*1), Z7
	VMOVDQU64 -8(R10)(SI*1), Z8
	VMOVDQU64 8(R10)(SI*1), Z9
	FROM_ABOVE(Z15, Z6, Z16)
	FROM_BELOW(Z15, Z7, Z17)
	FROM_LEFT(Z15, Z8, Z6)
	FROM_RIGHT(Z15, Z9, Z7)
	POLARITY(Z18, Z6, Z8, Z9)
	POLARITY(Z19, Z7, Z11, Z12)
	SUM(Z8, Z9, Z11, Z12, Z18, Z19)   // horizontal
	POLARITY(Z10, Z16, Z8, Z9)
	POLARITY(Z13, Z17, Z11, Z12)
	SUM(Z8, Z9, Z11, Z12, Z10, Z13)   // vertical
	VPORQ Z18, Z19, Z14               // any horizontal
	VPANDNQ Z13, Z14, Z16
	VPORQ Z19, Z16, Z16               // the sign is coded relative to minus
	VPXORQ Z16, Z15, Z6
	VMOVDQA64 Z10, Z17
	VPTERNLOGQ $0xD8, Z16, Z13, Z17   // vertical plus, relative to that
	VPTERNLOGQ $0xD8, Z16, Z10, Z13   // vertical minus
	VPORQ Z17, Z13, Z28
	VPANDNQ Z14, Z28, Z28
	VPANDNQ Z17, Z14, Z7
	VPORQ Z28, Z7, Z7
	VPANDNQ Z14, Z17, Z8
	VPANDQ Z14, Z17, Z9

	VPTESTMQ Z21, Z21, K1
	KMOVW K1, AX
	VMOVDQA64 Z21, Z10
	VMOVDQA64 Z20, Z11
	VMOVDQA64 Z22, Z12
	VMOVDQA64 Z23, Z13
	VMOVDQA64 Z24, Z14
	TRANSPOSE(Z10, Z11, Z12, Z13, Z14, Z0, Z1, Z2)
	PUTS(0)
	TRANSPOSE(Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z9)
	PUTS(64)
	MOVQ CX, DI

next:
	ADDQ $64, SI
	MOVQ contextArgs_words(BX), AX
	SHLQ $3, AX
	CMPQ SI, AX
	JLT words
	SUBQ contextArgs_groups(BX), DI
	SHRQ $7, DI
	MOVQ DI, n+8(FP)
	VZEROUPPER
	RET
