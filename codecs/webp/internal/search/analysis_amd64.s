#include "textflag.h"

// func analysisKeysAVX512(keys, row, above *uint32, sixteens int) int
//
// Sixteen pixels at a time from row on, before and behind which there are others. K1 says which equal neither the one
// before nor the one above; their keys are written one after the other.
TEXT ·analysisKeysAVX512(SB), NOSPLIT, $0-40
	MOVQ keys+0(FP), DI
	MOVQ row+8(FP), SI
	MOVQ above+16(FP), DX
	MOVQ sixteens+24(FP), CX
	MOVL $0x9e3779b1, AX
	VPBROADCASTD AX, Z10
	MOVL $0x85ebca6b, AX
	VPBROADCASTD AX, Z11
	MOVL $0xc2b2ae35, AX
	VPBROADCASTD AX, Z12
	MOVL $0x27d4eb2f, AX
	VPBROADCASTD AX, Z13
	MOVL $0x2c1b3c6d, AX
	VPBROADCASTD AX, Z14
	MOVQ DI, R8

sixteen:
	VMOVDQU32 (SI), Z0
	VPCMPD $4, -4(SI), Z0, K1
	VPCMPD $4, (DX), Z0, K1, K1
	VPMULLD Z10, Z0, Z0
	VPMULLD 4(SI), Z11, Z1
	VPMULLD 8(SI), Z12, Z2
	VPMULLD 12(SI), Z13, Z3
	VPTERNLOGD $0x96, Z2, Z1, Z0
	VPXORD Z3, Z0, Z0
	VPSRLD $15, Z0, Z1
	VPXORD Z1, Z0, Z0
	VPMULLD Z14, Z0, Z0
	VPCOMPRESSD Z0, K1, Z1
	VMOVDQU32 Z1, (DI)
	KMOVW K1, AX
	POPCNTL AX, AX
	LEAQ (DI)(AX*4), DI
	ADDQ $64, SI
	ADDQ $64, DX
	DECQ CX
	JNZ  sixteen
	SUBQ R8, DI
	SHRQ $2, DI
	MOVQ DI, ret+32(FP)
	VZEROUPPER
	RET
