#include "textflag.h"

#define HALF(y) \
	VPSRAD $31, y, Y4 \
	VPSUBD Y4, y, y \
	VPSRAD $1, y, y

// func halvesAVX2(dst *int32, stride int, data *int32, columns int)
//
// Y0 holds columns 0 and 4 of eight, Y1 columns 1 and 5, and so on; transposed they are the rows.
TEXT ·halvesAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ stride+8(FP), AX
	MOVQ data+16(FP), SI
	MOVQ columns+24(FP), CX
	LEAQ (DI)(AX*1), R8
	LEAQ (DI)(AX*2), R9
	LEAQ (R8)(AX*2), R10

eight:
	VMOVDQU     (SI), X0
	VMOVDQU     16(SI), X1
	VMOVDQU     32(SI), X2
	VMOVDQU     48(SI), X3
	VINSERTI128 $1, 64(SI), Y0, Y0
	VINSERTI128 $1, 80(SI), Y1, Y1
	VINSERTI128 $1, 96(SI), Y2, Y2
	VINSERTI128 $1, 112(SI), Y3, Y3
	HALF(Y0)
	HALF(Y1)
	HALF(Y2)
	HALF(Y3)
	VPUNPCKLDQ  Y1, Y0, Y4
	VPUNPCKHDQ  Y1, Y0, Y5
	VPUNPCKLDQ  Y3, Y2, Y6
	VPUNPCKHDQ  Y3, Y2, Y7
	VPUNPCKLQDQ Y6, Y4, Y0
	VPUNPCKHQDQ Y6, Y4, Y1
	VPUNPCKLQDQ Y7, Y5, Y2
	VPUNPCKHQDQ Y7, Y5, Y3
	VMOVDQU     Y0, (DI)
	VMOVDQU     Y1, (R8)
	VMOVDQU     Y2, (R9)
	VMOVDQU     Y3, (R10)
	ADDQ        $128, SI
	ADDQ        $32, DI
	ADDQ        $32, R8
	ADDQ        $32, R9
	ADDQ        $32, R10
	SUBQ        $8, CX
	JG          eight
	VZEROUPPER
	RET
