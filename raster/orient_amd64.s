#include "textflag.h"

// LANES puts four rows from (SI), R8 bytes apart, into the lower halves of Y0 to Y3, and the next four rows, from (R10),
// into the upper halves. R9 is three times R8.
#define LANES \
	VMOVDQU (SI), X0         \
	VMOVDQU (SI)(R8*1), X1   \
	VMOVDQU (SI)(R8*2), X2   \
	VMOVDQU (SI)(R9*1), X3   \
	VINSERTI128 $1, (R10), Y0, Y0       \
	VINSERTI128 $1, (R10)(R8*1), Y1, Y1 \
	VINSERTI128 $1, (R10)(R8*2), Y2, Y2 \
	VINSERTI128 $1, (R10)(R9*1), Y3, Y3

// WORDS transposes the four words of 32 bits of four rows: the columns are in Y0 to Y3, of which the lower half has those
// of the first four rows.
#define WORDS \
	VPUNPCKLDQ Y1, Y0, Y4  \
	VPUNPCKHDQ Y1, Y0, Y5  \
	VPUNPCKLDQ Y3, Y2, Y6  \
	VPUNPCKHDQ Y3, Y2, Y7  \
	VPUNPCKLQDQ Y6, Y4, Y0 \
	VPUNPCKHQDQ Y6, Y4, Y1 \
	VPUNPCKLQDQ Y7, Y5, Y2 \
	VPUNPCKHQDQ Y7, Y5, Y3

// ARGUMENTS loads those of all kernels that transpose.
#define ARGUMENTS \
	MOVQ dst+0(FP), DI        \
	MOVQ src+8(FP), SI        \
	MOVQ dstStride+16(FP), R11 \
	MOVQ srcStride+24(FP), R8 \
	MOVQ blocks+32(FP), CX    \
	LEAQ (R8)(R8*2), R9       \
	LEAQ (R11)(R11*2), R12    \
	LEAQ (SI)(R8*4), R10

// THREES writes the eight pixels of three bytes in Y to 24 bytes.
#define THREES(Y, X, TO) \
	VPSHUFB Y14, Y, Y          \
	VPERMD  Y, Y13, Y          \
	VMOVDQU X, TO              \
	VEXTRACTI128 $1, Y, X

// func transpose3AVX2(dst, src *byte, dstStride, srcStride, blocks int)
TEXT ·transpose3AVX2(SB), NOSPLIT, $0-40
	ARGUMENTS
	VBROADCASTI128 spread<>(SB), Y15
	VBROADCASTI128 pack<>(SB), Y14
	VMOVDQU close<>(SB), Y13

threes:
	LANES
	VPSHUFB Y15, Y0, Y0
	VPSHUFB Y15, Y1, Y1
	VPSHUFB Y15, Y2, Y2
	VPSHUFB Y15, Y3, Y3
	WORDS
	THREES(Y0, X0, (DI))
	VMOVQ X0, 16(DI)
	THREES(Y1, X1, (DI)(R11*1))
	VMOVQ X1, 16(DI)(R11*1)
	THREES(Y2, X2, (DI)(R11*2))
	VMOVQ X2, 16(DI)(R11*2)
	THREES(Y3, X3, (DI)(R12*1))
	VMOVQ X3, 16(DI)(R12*1)
	ADDQ $12, SI
	ADDQ $12, R10
	LEAQ (DI)(R11*4), DI
	DECQ CX
	JNZ  threes
	VZEROUPPER
	RET

// func transpose4AVX2(dst, src *byte, dstStride, srcStride, blocks int)
TEXT ·transpose4AVX2(SB), NOSPLIT, $0-40
	ARGUMENTS

fours:
	LANES
	WORDS
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, (DI)(R11*1)
	VMOVDQU Y2, (DI)(R11*2)
	VMOVDQU Y3, (DI)(R12*1)
	ADDQ $16, SI
	ADDQ $16, R10
	LEAQ (DI)(R11*4), DI
	DECQ CX
	JNZ  fours
	VZEROUPPER
	RET

// func transpose2AVX2(dst, src *byte, dstStride, srcStride, blocks int)
TEXT ·transpose2AVX2(SB), NOSPLIT, $0-40
	ARGUMENTS

twos:
	LANES
	VPUNPCKLWD Y1, Y0, Y4
	VPUNPCKHWD Y1, Y0, Y5
	VPUNPCKLWD Y3, Y2, Y6
	VPUNPCKHWD Y3, Y2, Y7
	VPUNPCKLDQ Y6, Y4, Y0
	VPUNPCKHDQ Y6, Y4, Y1
	VPUNPCKLDQ Y7, Y5, Y2
	VPUNPCKHDQ Y7, Y5, Y3
	VPERMQ $0xd8, Y0, Y0
	VPERMQ $0xd8, Y1, Y1
	VPERMQ $0xd8, Y2, Y2
	VPERMQ $0xd8, Y3, Y3
	VMOVDQU X0, (DI)
	VEXTRACTI128 $1, Y0, (DI)(R11*1)
	VMOVDQU X1, (DI)(R11*2)
	VEXTRACTI128 $1, Y1, (DI)(R12*1)
	LEAQ (DI)(R11*4), DI
	VMOVDQU X2, (DI)
	VEXTRACTI128 $1, Y2, (DI)(R11*1)
	VMOVDQU X3, (DI)(R11*2)
	VEXTRACTI128 $1, Y3, (DI)(R12*1)
	LEAQ (DI)(R11*4), DI
	ADDQ $16, SI
	ADDQ $16, R10
	DECQ CX
	JNZ  twos
	VZEROUPPER
	RET

// func transpose1AVX2(dst, src *byte, dstStride, srcStride, blocks int)
TEXT ·transpose1AVX2(SB), NOSPLIT, $0-40
	ARGUMENTS

ones:
	VMOVQ (SI), X0
	VMOVQ (SI)(R8*1), X1
	VMOVQ (SI)(R8*2), X2
	VMOVQ (SI)(R9*1), X3
	VMOVQ (R10), X4
	VMOVQ (R10)(R8*1), X5
	VMOVQ (R10)(R8*2), X6
	VMOVQ (R10)(R9*1), X7
	VPUNPCKLBW X1, X0, X0
	VPUNPCKLBW X3, X2, X2
	VPUNPCKLBW X5, X4, X4
	VPUNPCKLBW X7, X6, X6
	VPUNPCKLWD X2, X0, X1
	VPUNPCKHWD X2, X0, X3
	VPUNPCKLWD X6, X4, X5
	VPUNPCKHWD X6, X4, X7
	VPUNPCKLDQ X5, X1, X0
	VPUNPCKHDQ X5, X1, X2
	VPUNPCKLDQ X7, X3, X4
	VPUNPCKHDQ X7, X3, X6
	VMOVQ   X0, (DI)
	VMOVHPS X0, (DI)(R11*1)
	VMOVQ   X2, (DI)(R11*2)
	VMOVHPS X2, (DI)(R12*1)
	LEAQ (DI)(R11*4), DI
	VMOVQ   X4, (DI)
	VMOVHPS X4, (DI)(R11*1)
	VMOVQ   X6, (DI)(R11*2)
	VMOVHPS X6, (DI)(R12*1)
	LEAQ (DI)(R11*4), DI
	ADDQ $8, SI
	ADDQ $8, R10
	DECQ CX
	JNZ  ones
	RET

// func mirrorAVX2(dst, last *byte, places *[16]byte, step, blocks int)
//
// A block is the 16 bytes that end with last, of which the last step bytes are whole pixels. Places of dst behind these bytes
// are written too, by the next block once more.
TEXT ·mirrorAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ last+8(FP), SI
	MOVQ places+16(FP), AX
	MOVQ step+24(FP), DX
	MOVQ blocks+32(FP), CX
	VMOVDQU (AX), X1

pixels:
	VMOVDQU -15(SI), X0
	VPSHUFB X1, X0, X0
	VMOVDQU X0, (DI)
	SUBQ DX, SI
	ADDQ DX, DI
	DECQ CX
	JNZ  pixels
	RET

// Four pixels of three bytes to words of four bytes, and back.
DATA spread<>+0(SB)/8, $0xff050403ff020100
DATA spread<>+8(SB)/8, $0xff0b0a09ff080706
GLOBL spread<>(SB), RODATA|NOPTR, $16
DATA pack<>+0(SB)/8, $0x0908060504020100
DATA pack<>+8(SB)/8, $0xffffffff0e0d0c0a
GLOBL pack<>(SB), RODATA|NOPTR, $16

// The words of both halves, closed up.
DATA close<>+0(SB)/8, $0x0000000100000000
DATA close<>+8(SB)/8, $0x0000000400000002
DATA close<>+16(SB)/8, $0x0000000600000005
DATA close<>+24(SB)/8, $0x0000000700000007
GLOBL close<>(SB), RODATA|NOPTR, $32
