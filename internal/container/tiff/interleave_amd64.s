#include "textflag.h"

// func interleave3AVX2(dst, a, b, c *byte, places *[most][most][lane]byte, blocks int)
//
// A block is 16 bytes of each plane. Places has a row of vectors for each vector of pixels, with one for each plane.
TEXT ·interleave3AVX2(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ c+24(FP), R8
	MOVQ places+32(FP), AX
	MOVQ blocks+40(FP), CX
	VMOVDQU 0(AX), X4
	VMOVDQU 16(AX), X5
	VMOVDQU 32(AX), X6
	VMOVDQU 64(AX), X7
	VMOVDQU 80(AX), X8
	VMOVDQU 96(AX), X9
	VMOVDQU 128(AX), X10
	VMOVDQU 144(AX), X11
	VMOVDQU 160(AX), X12

three:
	VMOVDQU (SI), X0
	VMOVDQU (DX), X1
	VMOVDQU (R8), X2
	VPSHUFB X4, X0, X3
	VPSHUFB X5, X1, X13
	VPSHUFB X6, X2, X14
	VPOR X13, X3, X3
	VPOR X14, X3, X3
	VMOVDQU X3, (DI)
	VPSHUFB X7, X0, X3
	VPSHUFB X8, X1, X13
	VPSHUFB X9, X2, X14
	VPOR X13, X3, X3
	VPOR X14, X3, X3
	VMOVDQU X3, 16(DI)
	VPSHUFB X10, X0, X3
	VPSHUFB X11, X1, X13
	VPSHUFB X12, X2, X14
	VPOR X13, X3, X3
	VPOR X14, X3, X3
	VMOVDQU X3, 32(DI)
	ADDQ $16, SI
	ADDQ $16, DX
	ADDQ $16, R8
	ADDQ $48, DI
	DECQ CX
	JNZ  three
	RET

// FOUR writes a vector of pixels, whose places are at AT.
#define FOUR(AT, TO) \
	VPSHUFB AT+0(AX), X0, X4  \
	VPSHUFB AT+16(AX), X1, X5 \
	VPSHUFB AT+32(AX), X2, X6 \
	VPSHUFB AT+48(AX), X3, X7 \
	VPOR X5, X4, X4        \
	VPOR X7, X6, X6        \
	VPOR X6, X4, X4        \
	VMOVDQU X4, TO(DI)

// func interleave4AVX2(dst, a, b, c, d *byte, places *[most][most][lane]byte, blocks int)
TEXT ·interleave4AVX2(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ c+24(FP), R8
	MOVQ d+32(FP), R9
	MOVQ places+40(FP), AX
	MOVQ blocks+48(FP), CX

four:
	VMOVDQU (SI), X0
	VMOVDQU (DX), X1
	VMOVDQU (R8), X2
	VMOVDQU (R9), X3
	FOUR(0, 0)
	FOUR(64, 16)
	FOUR(128, 32)
	FOUR(192, 48)
	ADDQ $16, SI
	ADDQ $16, DX
	ADDQ $16, R8
	ADDQ $16, R9
	ADDQ $64, DI
	DECQ CX
	JNZ  four
	RET
