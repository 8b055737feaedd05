#include "textflag.h"

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
