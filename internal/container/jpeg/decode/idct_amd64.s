#include "textflag.h"

// The transform of inverseWide for eight columns, then for eight rows, at a time. A vector of words holds two rows, with
// their first four columns in the lower lane:
//
//	rows a, b:   a0 a1 a2 a3 b0 b1 b2 b3 | a4 a5 a6 a7 b4 b5 b6 b7
//	pair a, b:   a0 b0 a1 b1 a2 b2 a3 b3 | a4 b4 a5 b5 a6 b6 a7 b7
//
// A pair is the operand of VPMADDWD, which gives the sum of two products for each of the eight columns.

// TRANSFORM takes rows 0, 4 in Y0; 2, 6 in Y1; 1, 3 in Y2; 7, 5 in Y3. It leaves columns 0 and 4 in Y8, 1 and 5 in Y9,
// 2 and 6 in Y10, 3 and 7 in Y11, each of eight words in a lane.
#define TRANSFORM(half, shift) \
	VPSHUFD $0x44, Y0, Y4; \
	VPSHUFD $0xee, Y0, Y5; \
	VPSIGNW signs<>(SB), Y5, Y5; \
	VPADDW Y5, Y4, Y4; \
	VPXOR Y5, Y5, Y5; \
	VPUNPCKLWD Y4, Y5, Y6; \
	VPUNPCKHWD Y4, Y5, Y7; \
	VPSRAD $3, Y6, Y6; \
	VPSRAD $3, Y7, Y7; \
	VPBROADCASTD half, Y5; \
	VPADDD Y5, Y6, Y6; \
	VPADDD Y5, Y7, Y7; \
	VMOVDQU pairs<>(SB), Y12; \
	VPSHUFB Y12, Y1, Y1; \
	VPMADDWD even3<>(SB), Y1, Y4; \
	VPMADDWD even2<>(SB), Y1, Y5; \
	VPADDD Y4, Y6, Y8; \
	VPSUBD Y4, Y6, Y11; \
	VPADDD Y5, Y7, Y9; \
	VPSUBD Y5, Y7, Y10; \
	VPSHUFD $0x4e, Y3, Y4; \
	VPADDW Y4, Y2, Y4; \
	VPSHUFB Y12, Y4, Y4; \
	VPMADDWD sum3<>(SB), Y4, Y5; \
	VPMADDWD sum4<>(SB), Y4, Y6; \
	VPUNPCKLWD Y3, Y2, Y4; \
	VPUNPCKHWD Y3, Y2, Y7; \
	VPMADDWD odd0<>(SB), Y4, Y12; \
	VPMADDWD odd3<>(SB), Y4, Y15; \
	VPMADDWD odd1<>(SB), Y7, Y13; \
	VPMADDWD odd2<>(SB), Y7, Y14; \
	VPADDD Y6, Y12, Y12; \
	VPADDD Y5, Y15, Y15; \
	VPADDD Y5, Y13, Y13; \
	VPADDD Y6, Y14, Y14; \
	VPADDD Y12, Y8, Y0; \
	VPSUBD Y12, Y8, Y7; \
	VPADDD Y13, Y9, Y1; \
	VPSUBD Y13, Y9, Y6; \
	VPADDD Y14, Y10, Y2; \
	VPSUBD Y14, Y10, Y5; \
	VPADDD Y15, Y11, Y3; \
	VPSUBD Y15, Y11, Y4; \
	VPSRAD shift, Y0, Y0; \
	VPSRAD shift, Y1, Y1; \
	VPSRAD shift, Y2, Y2; \
	VPSRAD shift, Y3, Y3; \
	VPSRAD shift, Y4, Y4; \
	VPSRAD shift, Y5, Y5; \
	VPSRAD shift, Y6, Y6; \
	VPSRAD shift, Y7, Y7; \
	VPACKSSDW Y2, Y0, Y0; \
	VPACKSSDW Y3, Y1, Y1; \
	VPACKSSDW Y6, Y4, Y4; \
	VPACKSSDW Y7, Y5, Y5; \
	VPUNPCKLWD Y1, Y0, Y2; \
	VPUNPCKHWD Y1, Y0, Y3; \
	VPUNPCKLWD Y5, Y4, Y6; \
	VPUNPCKHWD Y5, Y4, Y7; \
	VPUNPCKLDQ Y3, Y2, Y0; \
	VPUNPCKHDQ Y3, Y2, Y1; \
	VPUNPCKLDQ Y7, Y6, Y4; \
	VPUNPCKHDQ Y7, Y6, Y5; \
	VPUNPCKLQDQ Y4, Y0, Y8; \
	VPUNPCKHQDQ Y4, Y0, Y9; \
	VPUNPCKLQDQ Y5, Y1, Y10; \
	VPUNPCKHQDQ Y5, Y1, Y11

// func inverseAVX2(coefficients *int16, steps *int16, to *byte, stride int)
TEXT ·inverseAVX2(SB), NOSPLIT, $0-32
	MOVQ coefficients+0(FP), SI
	MOVQ steps+8(FP), DX
	MOVQ to+16(FP), DI
	MOVQ stride+24(FP), BX
	LEAQ (BX)(BX*2), R8  // three rows
	LEAQ (DI)(BX*4), R9  // the fifth row

	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VMOVDQU 64(SI), Y2
	VMOVDQU 96(SI), Y3
	VPOR Y1, Y2, Y4
	VPOR Y3, Y4, Y4
	VEXTRACTI128 $1, Y0, X5
	VPOR Y5, Y4, Y4
	VPTEST Y4, Y4
	JZ   firstRow

	VPMULLW (DX), Y0, Y0
	VPMULLW 32(DX), Y1, Y1
	VPMULLW 64(DX), Y2, Y2
	VPMULLW 96(DX), Y3, Y3
	VPERMQ $0xd8, Y0, Y4 // rows 0, 1
	VPERMQ $0xd8, Y1, Y5 // 2, 3
	VPERMQ $0xd8, Y2, Y6 // 4, 5
	VPERMQ $0xd8, Y3, Y7 // 6, 7
	VPUNPCKLQDQ Y6, Y4, Y0
	VPUNPCKLQDQ Y7, Y5, Y1
	VPUNPCKHQDQ Y5, Y4, Y2
	VPUNPCKHQDQ Y6, Y7, Y3
	TRANSFORM(halfColumns<>(SB), $11)
	VPERMQ $0xd8, Y8, Y0
	VPERMQ $0xd8, Y10, Y1
	VPERMQ $0xd8, Y9, Y4  // columns 1, 5
	VPERMQ $0xd8, Y11, Y5 // 3, 7
	VPUNPCKLQDQ Y5, Y4, Y2
	VPUNPCKHQDQ Y4, Y5, Y3

rows:
	TRANSFORM(halfRows<>(SB), $18)
	VPACKSSWB Y9, Y8, Y8
	VPACKSSWB Y11, Y10, Y10
	VPBROADCASTD level<>(SB), Y0
	VPADDB Y0, Y8, Y8
	VPADDB Y0, Y10, Y10
	VEXTRACTI128 $1, Y8, X9
	VEXTRACTI128 $1, Y10, X11
	VMOVQ X8, (DI)
	VMOVHPS X8, (DI)(BX*1)
	VMOVQ X10, (DI)(BX*2)
	VMOVHPS X10, (DI)(R8*1)
	VMOVQ X9, (R9)
	VMOVHPS X9, (R9)(BX*1)
	VMOVQ X11, (R9)(BX*2)
	VMOVHPS X11, (R9)(R8*1)
	VZEROUPPER
	RET

firstRow:
	// All columns are flat, and their results wrap.
	VPTEST notDC<>(SB), X0
	JZ   flat
	VPMULLW (DX), X0, X0
	VPSLLW $2, X0, X0
	VINSERTI128 $1, X0, Y0, Y4
	VPSHUFB flat04<>(SB), Y4, Y0
	VPSHUFB flat26<>(SB), Y4, Y1
	VPSHUFB flat13<>(SB), Y4, Y2
	VPSHUFB flat75<>(SB), Y4, Y3
	JMP  rows

flat:
	MOVWLSX (SI), AX
	MOVWLSX (DX), CX
	IMULL CX, AX
	SHLL $2, AX
	MOVWLSX AX, AX
	ADDL $16, AX
	SARL $5, AX
	ADDL $128, AX
	VMOVD AX, X0
	VPACKSSDW X0, X0, X0
	VPACKUSWB X0, X0, X0
	VPBROADCASTB X0, X0
	VMOVQ X0, (DI)
	VMOVQ X0, (DI)(BX*1)
	VMOVQ X0, (DI)(BX*2)
	VMOVQ X0, (DI)(R8*1)
	VMOVQ X0, (R9)
	VMOVQ X0, (R9)(BX*1)
	VMOVQ X0, (R9)(BX*2)
	VMOVQ X0, (R9)(R8*1)
	VZEROUPPER
	RET

#define LANES(name, a, b) \
	DATA name<>+0(SB)/8, a; \
	DATA name<>+8(SB)/8, b; \
	DATA name<>+16(SB)/8, a; \
	DATA name<>+24(SB)/8, b; \
	GLOBL name<>(SB), RODATA|NOPTR, $32

// Words 0 and 4, 1 and 5 and so on of a lane side by side.
LANES(pairs, $0x0b0a030209080100, $0x0f0e07060d0c0504)
// The second row of two is subtracted.
LANES(signs, $0x0001000100010001, $0xffffffffffffffff)
// Rows 0, 4 and so on of a transposed block whose columns are flat.
LANES(flat04, $0x0100010001000100, $0x0908090809080908)
LANES(flat26, $0x0504050405040504, $0x0d0c0d0c0d0c0d0c)
LANES(flat13, $0x0302030203020302, $0x0706070607060706)
LANES(flat75, $0x0f0e0f0e0f0e0f0e, $0x0b0a0b0a0b0a0b0a)

// Two factors for a pair, the first one lower.
#define FACTORS(name, ab) LANES(name, ab, ab)

FACTORS(even2, $0xd6301151d6301151) // fix0541196100, fix0541196100-fix1847759065
FACTORS(even3, $0x115129cf115129cf) // fix0541196100+fix0765366865, fix0541196100
FACTORS(sum3, $0xe6dc25a1e6dc25a1)  // fix1175875602, fix1175875602-fix1961570560, for rows 5+1, 7+3
FACTORS(sum4, $0x25a1192525a11925)  // fix1175875602-fix0390180644, fix1175875602, for the same
FACTORS(odd0, $0xe333133ee333133e)  // fix1501321110-fix0899976223, -fix0899976223, for rows 1, 7
FACTORS(odd3, $0xecc1e333ecc1e333)  // -fix0899976223, fix0298631336-fix0899976223
FACTORS(odd1, $0xadfd1051adfd1051)  // fix3072711026-fix2562915447, -fix2562915447, for rows 3, 5
FACTORS(odd2, $0xefb0adfdefb0adfd)  // -fix2562915447, fix2053119869-fix2562915447

DATA halfColumns<>+0(SB)/4, $0x400
GLOBL halfColumns<>(SB), RODATA|NOPTR, $4
DATA halfRows<>+0(SB)/4, $0x20000
GLOBL halfRows<>(SB), RODATA|NOPTR, $4
DATA level<>+0(SB)/4, $0x80808080
GLOBL level<>(SB), RODATA|NOPTR, $4
DATA notDC<>+0(SB)/8, $0xffffffffffff0000
DATA notDC<>+8(SB)/8, $0xffffffffffffffff
GLOBL notDC<>(SB), RODATA|NOPTR, $16
