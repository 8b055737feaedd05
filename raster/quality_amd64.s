#include "textflag.h"

// func squaresAVX2(a, b *byte, blocks int) uint64
//
// The sum of squared differences of blocks of 32 bytes. A block adds at most four squares to each of the eight sums of
// 32 bits, so that 16,000 blocks fit.
TEXT ·squaresAVX2(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DX
	MOVQ blocks+16(FP), CX
	VPXOR Y7, Y7, Y7
	VPXOR Y8, Y8, Y8

block:
	VPMOVZXBW (SI), Y0
	VPMOVZXBW (DX), Y1
	VPMOVZXBW 16(SI), Y2
	VPMOVZXBW 16(DX), Y3
	VPSUBW Y1, Y0, Y0
	VPSUBW Y3, Y2, Y2
	VPMADDWD Y0, Y0, Y0
	VPMADDWD Y2, Y2, Y2
	VPADDD Y0, Y7, Y7
	VPADDD Y2, Y8, Y8
	ADDQ $32, SI
	ADDQ $32, DX
	DECQ CX
	JNZ  block

	// Each of the two sums is below 2^31, and the eight of them together below 2^35.
	VPXOR Y6, Y6, Y6
	VPUNPCKLDQ Y6, Y7, Y0
	VPUNPCKHDQ Y6, Y7, Y1
	VPUNPCKLDQ Y6, Y8, Y2
	VPUNPCKHDQ Y6, Y8, Y3
	VPADDQ Y1, Y0, Y0
	VPADDQ Y3, Y2, Y2
	VPADDQ Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDQ X1, X0, X0
	VPSRLDQ $8, X0, X1
	VPADDQ X1, X0, X0
	VMOVQ X0, ret+24(FP)
	VZEROUPPER
	RET

// func fourRowsAVX2(sums *uint32, quantity int, a, b *byte, row, blocks int)
//
// For eight columns of bytes at a time, the sums over four rows, which are row bytes apart, of both images, their
// squares and their products: five arrays of sums that are quantity bytes apart.
TEXT ·fourRowsAVX2(SB), NOSPLIT, $0-48
	MOVQ sums+0(FP), DI
	MOVQ quantity+8(FP), R9
	MOVQ a+16(FP), SI
	MOVQ b+24(FP), DX
	MOVQ row+32(FP), BX
	MOVQ blocks+40(FP), CX
	LEAQ (BX)(BX*2), R8
	LEAQ (R9)(R9*2), R10

columns:
	// Rows 0 and 1, 2 and 3 as pairs of words.
	VPMOVZXBW (SI), X0
	VPMOVZXBW (SI)(BX*1), X1
	VPMOVZXBW (SI)(BX*2), X2
	VPMOVZXBW (SI)(R8*1), X3
	VPMOVZXBW (DX), X4
	VPMOVZXBW (DX)(BX*1), X5
	VPMOVZXBW (DX)(BX*2), X6
	VPMOVZXBW (DX)(R8*1), X7
	VPADDW X1, X0, X8
	VPADDW X3, X2, X9
	VPADDW X9, X8, X8
	VPMOVZXWD X8, Y8
	VPADDW X5, X4, X9
	VPADDW X7, X6, X10
	VPADDW X10, X9, X9
	VPMOVZXWD X9, Y9
	VMOVDQU Y8, (DI)
	VMOVDQU Y9, (DI)(R9*1)

	VPUNPCKLWD X1, X0, X8
	VPUNPCKHWD X1, X0, X9
	VINSERTI128 $1, X9, Y8, Y0
	VPUNPCKLWD X3, X2, X8
	VPUNPCKHWD X3, X2, X9
	VINSERTI128 $1, X9, Y8, Y1
	VPUNPCKLWD X5, X4, X8
	VPUNPCKHWD X5, X4, X9
	VINSERTI128 $1, X9, Y8, Y2
	VPUNPCKLWD X7, X6, X8
	VPUNPCKHWD X7, X6, X9
	VINSERTI128 $1, X9, Y8, Y3
	VPMADDWD Y0, Y0, Y4
	VPMADDWD Y1, Y1, Y5
	VPMADDWD Y2, Y2, Y6
	VPMADDWD Y3, Y3, Y7
	VPMADDWD Y2, Y0, Y0
	VPMADDWD Y3, Y1, Y1
	VPADDD Y5, Y4, Y4
	VPADDD Y7, Y6, Y6
	VPADDD Y1, Y0, Y0
	VMOVDQU Y4, (DI)(R9*2)
	VMOVDQU Y6, (DI)(R10*1)
	VMOVDQU Y0, (DI)(R9*4)
	ADDQ $8, SI
	ADDQ $8, DX
	ADDQ $32, DI
	DECQ CX
	JNZ  columns
	VZEROUPPER
	RET

// func cellsAVX2(cells, sums *uint32, channels, n int)
//
// Adds up four pixels of two to four channels, n times: a cell has a word for each channel, and one that means nothing
// where they are three.
TEXT ·cellsAVX2(SB), NOSPLIT, $0-32
	MOVQ cells+0(FP), DI
	MOVQ sums+8(FP), SI
	MOVQ channels+16(FP), BX
	MOVQ n+24(FP), CX
	SHLQ $2, BX
	LEAQ (BX)(BX*2), R8

cell:
	VMOVDQU (SI), X0
	VMOVDQU (SI)(BX*1), X1
	VPADDD (SI)(BX*2), X0, X0
	VPADDD (SI)(R8*1), X1, X1
	VPADDD X1, X0, X0
	VMOVDQU X0, (DI)
	LEAQ (SI)(BX*4), SI
	ADDQ $16, DI
	DECQ CX
	JNZ  cell
	RET

// func greyCellsAVX2(cells, sums *uint32, n int)
//
// Adds up four times four pixels, n times.
TEXT ·greyCellsAVX2(SB), NOSPLIT, $0-24
	MOVQ cells+0(FP), DI
	MOVQ sums+8(FP), SI
	MOVQ n+16(FP), CX

grey:
	VMOVDQU (SI), X0
	VMOVDQU 32(SI), X1
	VPHADDD 16(SI), X0, X0
	VPHADDD 48(SI), X1, X1
	VPHADDD X1, X0, X0
	VMOVDQU X0, (DI)
	ADDQ $64, SI
	ADDQ $16, DI
	DECQ CX
	JNZ  grey
	RET

// WINDOW adds the four cells of four windows up, of the quantity at offset of both rows of cells, and divides by 64.
#define WINDOW(offset, to) \
	VMOVDQU (SI)(offset*1), X0; \
	VPADDD (R11)(offset*1), X0, X0; \
	VPADDD (DX)(offset*1), X0, X0; \
	VPADDD (R12)(offset*1), X0, X0; \
	VCVTDQ2PD X0, to; \
	VMULPD Y15, to, to

// func windowsAVX2(indices *float64, above, cells *uint32, quantity, next int, constants *[2]float64, n int)
//
// The index of four windows, n times, in the steps of ssimSums.index. A window's right cells are next bytes behind its
// left ones. A division by 64 is exact, as is the product with its inverse.
TEXT ·windowsAVX2(SB), NOSPLIT, $0-56
	MOVQ indices+0(FP), DI
	MOVQ above+8(FP), SI
	MOVQ cells+16(FP), DX
	MOVQ quantity+24(FP), R9
	MOVQ next+32(FP), BX
	MOVQ constants+40(FP), R8
	MOVQ n+48(FP), CX
	LEAQ (SI)(BX*1), R11
	LEAQ (DX)(BX*1), R12
	XORQ AX, AX
	LEAQ (R9)(R9*1), R10
	LEAQ (R9)(R9*2), R13
	LEAQ (R10)(R10*1), BX
	VBROADCASTSD perWindow<>(SB), Y15
	VBROADCASTSD (R8), Y14
	VBROADCASTSD 8(R8), Y13

windows:
	WINDOW(AX, Y1)
	WINDOW(R9, Y2)
	WINDOW(R10, Y3)
	WINDOW(R13, Y4)
	WINDOW(BX, Y5)
	VMULPD Y1, Y1, Y6  // m1*m1
	VMULPD Y2, Y2, Y7  // m2*m2
	VMULPD Y2, Y1, Y8  // m1*m2
	VSUBPD Y6, Y3, Y3  // v1
	VSUBPD Y7, Y4, Y4  // v2
	VSUBPD Y8, Y5, Y5  // cov
	VADDPD Y1, Y1, Y9  // 2*m1
	VMULPD Y2, Y9, Y9  // 2*m1*m2
	VADDPD Y14, Y9, Y9
	VADDPD Y5, Y5, Y5
	VADDPD Y13, Y5, Y5
	VMULPD Y5, Y9, Y9
	VADDPD Y7, Y6, Y6
	VADDPD Y14, Y6, Y6
	VADDPD Y4, Y3, Y3
	VADDPD Y13, Y3, Y3
	VMULPD Y3, Y6, Y6
	VDIVPD Y6, Y9, Y9
	VMOVUPD Y9, (DI)
	ADDQ $32, DI
	ADDQ $16, SI
	ADDQ $16, DX
	ADDQ $16, R11
	ADDQ $16, R12
	DECQ CX
	JNZ  windows
	VZEROUPPER
	RET

// WINDOW512 is WINDOW for eight windows.
#define WINDOW512(offset, to) \
	VMOVDQU (SI)(offset*1), Y0; \
	VPADDD (R11)(offset*1), Y0, Y0; \
	VPADDD (DX)(offset*1), Y0, Y0; \
	VPADDD (R12)(offset*1), Y0, Y0; \
	VCVTDQ2PD Y0, to; \
	VMULPD Z15, to, to

// func windowsAVX512(indices *float64, above, cells *uint32, quantity, next int, constants *[2]float64, n int)
//
// What windowsAVX2 does, of eight windows n times.
TEXT ·windowsAVX512(SB), NOSPLIT, $0-56
	MOVQ indices+0(FP), DI
	MOVQ above+8(FP), SI
	MOVQ cells+16(FP), DX
	MOVQ quantity+24(FP), R9
	MOVQ next+32(FP), BX
	MOVQ constants+40(FP), R8
	MOVQ n+48(FP), CX
	LEAQ (SI)(BX*1), R11
	LEAQ (DX)(BX*1), R12
	XORQ AX, AX
	LEAQ (R9)(R9*1), R10
	LEAQ (R9)(R9*2), R13
	LEAQ (R10)(R10*1), BX
	VBROADCASTSD perWindow<>(SB), Z15
	VBROADCASTSD (R8), Z14
	VBROADCASTSD 8(R8), Z13

windows8:
	WINDOW512(AX, Z1)
	WINDOW512(R9, Z2)
	WINDOW512(R10, Z3)
	WINDOW512(R13, Z4)
	WINDOW512(BX, Z5)
	VMULPD Z1, Z1, Z6  // m1*m1
	VMULPD Z2, Z2, Z7  // m2*m2
	VMULPD Z2, Z1, Z8  // m1*m2
	VSUBPD Z6, Z3, Z3  // v1
	VSUBPD Z7, Z4, Z4  // v2
	VSUBPD Z8, Z5, Z5  // cov
	VADDPD Z1, Z1, Z9  // 2*m1
	VMULPD Z2, Z9, Z9  // 2*m1*m2
	VADDPD Z14, Z9, Z9
	VADDPD Z5, Z5, Z5
	VADDPD Z13, Z5, Z5
	VMULPD Z5, Z9, Z9
	VADDPD Z7, Z6, Z6
	VADDPD Z14, Z6, Z6
	VADDPD Z4, Z3, Z3
	VADDPD Z13, Z3, Z3
	VMULPD Z3, Z6, Z6
	VDIVPD Z6, Z9, Z9
	VMOVUPD Z9, (DI)
	ADDQ $64, DI
	ADDQ $32, SI
	ADDQ $32, DX
	ADDQ $32, R11
	ADDQ $32, R12
	DECQ CX
	JNZ  windows8
	VZEROUPPER
	RET

// FOURTH adds the samples of a row of both images, their squares and their products to Z0 to Z4: four samples of one
// channel to each word. A sample has no sign and the one it is multiplied by has one, as the instruction wants it, when
// 128 is taken from that.
#define FOURTH(rowA, rowB) \
	VMOVDQU8.Z rowA, K1, Z5; \
	VMOVDQU8.Z rowB, K1, Z6; \
	VPERMB Z5, Z15, Z5; \
	VPERMB Z6, Z15, Z6; \
	VPXORD Z14, Z5, Z7; \
	VPXORD Z14, Z6, Z8; \
	VPDPBUSD Z13, Z5, Z0; \
	VPDPBUSD Z13, Z6, Z1; \
	VPDPBUSD Z7, Z5, Z2; \
	VPDPBUSD Z8, Z6, Z3; \
	VPDPBUSD Z8, Z5, Z4

// func cellsVNNI(cells *uint32, quantity int, a, b *byte, row, step, n int, full, last uint64, places *[64]byte)
//
// The sums of sixteen words of cells, n times, from step bytes of four rows, which are row bytes apart: five arrays that
// are quantity bytes apart. full has a bit for each of these bytes and last for those that there are the last time. places
// says where the samples of a word lie.
TEXT ·cellsVNNI(SB), NOSPLIT, $0-80
	MOVQ cells+0(FP), DI
	MOVQ quantity+8(FP), R9
	MOVQ a+16(FP), SI
	MOVQ b+24(FP), DX
	MOVQ row+32(FP), BX
	MOVQ step+40(FP), R12
	MOVQ n+48(FP), CX
	KMOVQ full+56(FP), K1
	KMOVQ last+64(FP), K2
	MOVQ places+72(FP), AX
	VMOVDQU64 (AX), Z15
	LEAQ (BX)(BX*2), R8
	LEAQ (R9)(R9*2), R10
	MOVL $128, AX
	VPBROADCASTB AX, Z14
	MOVL $1, AX
	VPBROADCASTB AX, Z13

words16:
	CMPQ CX, $1
	JNE  whole
	KMOVQ K2, K1

whole:
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	VPXORD Z4, Z4, Z4
	FOURTH((SI), (DX))
	FOURTH((SI)(BX*1), (DX)(BX*1))
	FOURTH((SI)(BX*2), (DX)(BX*2))
	FOURTH((SI)(R8*1), (DX)(R8*1))
	VPSLLD $7, Z0, Z5 // what the 128 took
	VPSLLD $7, Z1, Z6
	VPADDD Z5, Z2, Z2
	VPADDD Z6, Z3, Z3
	VPADDD Z5, Z4, Z4
	VMOVDQU32 Z0, (DI)
	VMOVDQU32 Z1, (DI)(R9*1)
	VMOVDQU32 Z2, (DI)(R9*2)
	VMOVDQU32 Z3, (DI)(R10*1)
	VMOVDQU32 Z4, (DI)(R9*4)
	ADDQ R12, SI
	ADDQ R12, DX
	ADDQ $64, DI
	DECQ CX
	JNZ  words16
	VZEROUPPER
	RET

DATA perWindow<>+0(SB)/8, $0.015625
GLOBL perWindow<>(SB), RODATA|NOPTR, $8
