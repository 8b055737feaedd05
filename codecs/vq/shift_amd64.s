#include "textflag.h"

// func sumBeyond16AVX2(sums *uint32, samples *byte, members *int32, count int, way *int16, limit int32) uint32
//
// Y6 and Y7 hold the sums of samples 0-7 and 8-15, Y8 less the count in every lane.
TEXT ·sumBeyond16AVX2(SB), NOSPLIT, $0-52
	MOVQ sums+0(FP), DI
	MOVQ samples+8(FP), SI
	MOVQ members+16(FP), DX
	MOVQ count+24(FP), CX
	MOVQ way+32(FP), BX
	MOVL limit+40(FP), AX
	VMOVD AX, X9
	VPBROADCASTD X9, Y9
	VMOVDQU (BX), Y10
	VMOVDQU (DI), Y6
	VMOVDQU 32(DI), Y7
	VPXOR Y8, Y8, Y8

member:
	MOVLQSX (DX), AX
	SHLQ $4, AX
	VPMOVZXBW (SI)(AX*1), Y0
	VPMADDWD Y10, Y0, Y1
	VEXTRACTI128 $1, Y1, X2
	VPADDD X2, X1, X1
	VPSHUFD $0x4e, X1, X2
	VPADDD X2, X1, X1
	VPSHUFD $0xb1, X1, X2
	VPADDD X2, X1, X1
	VPBROADCASTD X1, Y1
	VPCMPGTD Y9, Y1, Y2    // -1 where the product is greater than the limit
	VPMOVZXBD (SI)(AX*1), Y3
	VPMOVZXBD 8(SI)(AX*1), Y4
	VPAND Y2, Y3, Y3
	VPAND Y2, Y4, Y4
	VPADDD Y3, Y6, Y6
	VPADDD Y4, Y7, Y7
	VPADDD Y2, Y8, Y8
	ADDQ $4, DX
	DECQ CX
	JNZ  member

	VMOVDQU Y6, (DI)
	VMOVDQU Y7, 32(DI)
	VMOVD X8, AX
	NEGL AX
	MOVL AX, ret+48(FP)
	VZEROUPPER
	RET
