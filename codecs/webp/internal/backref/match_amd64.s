#include "textflag.h"

// func equalBeforeAVX2(bits *uint32, argb *uint32, eights, distance int, bit uint32)
//
// Eight pixels at a time: Y0 is all ones where they equal those at distance before them.
TEXT ·equalBeforeAVX2(SB), NOSPLIT, $0-36
	MOVQ bits+0(FP), DI
	MOVQ argb+8(FP), SI
	MOVQ eights+16(FP), CX
	MOVQ distance+24(FP), DX
	SHLQ $2, DX
	MOVQ SI, R8
	SUBQ DX, R8
	MOVL bit+32(FP), AX
	VMOVD AX, X3
	VPBROADCASTD X3, Y3

eight:
	VMOVDQU  (SI), Y0
	VPCMPEQD (R8), Y0, Y0
	VPAND    Y3, Y0, Y0
	VPOR     (DI), Y0, Y0
	VMOVDQU  Y0, (DI)
	ADDQ     $32, SI
	ADDQ     $32, R8
	ADDQ     $32, DI
	DECQ     CX
	JNZ      eight
	VZEROUPPER
	RET
