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

// func addBlocksAVX2(sums, count *uint32, samples *byte, keys *key, blocks, eights int)
TEXT ·addBlocksAVX2(SB), NOSPLIT, $0-48
	MOVQ sums+0(FP), DI
	MOVQ count+8(FP), R8
	MOVQ samples+16(FP), SI
	MOVQ keys+24(FP), DX
	MOVQ blocks+32(FP), CX
	MOVQ eights+40(FP), R9
	CMPQ R9, $2
	JEQ  sixteen
	MOVQ R9, R10
	SHLQ $5, R10           // bytes of the sums of a cell

block:
	MOVL (DX), AX
	ANDL $0xfff, AX        // indexBits
	INCL (R8)(AX*4)
	IMULQ R10, AX
	ADDQ DI, AX
	MOVQ R9, BX
eight:
	VPMOVZXBD (SI), Y0
	VPADDD (AX), Y0, Y0
	VMOVDQU Y0, (AX)
	ADDQ $8, SI
	ADDQ $32, AX
	DECQ BX
	JNZ  eight
	ADDQ $8, DX
	DECQ CX
	JNZ  block
	VZEROUPPER
	RET

sixteen:
	MOVL (DX), AX
	ANDL $0xfff, AX
	INCL (R8)(AX*4)
	SHLQ $6, AX
	VPMOVZXBD (SI), Y0
	VPMOVZXBD 8(SI), Y1
	VPADDD (DI)(AX*1), Y0, Y0
	VPADDD 32(DI)(AX*1), Y1, Y1
	VMOVDQU Y0, (DI)(AX*1)
	VMOVDQU Y1, 32(DI)(AX*1)
	ADDQ $16, SI
	ADDQ $8, DX
	DECQ CX
	JNZ  sixteen
	VZEROUPPER
	RET
