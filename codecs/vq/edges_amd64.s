#include "textflag.h"

// func edgesAVX2(out, base, pairs, edge *uint32, n, eights int)
TEXT ·edgesAVX2(SB), NOSPLIT, $0-48
	MOVQ out+0(FP), DI
	MOVQ base+8(FP), SI
	MOVQ pairs+16(FP), DX
	MOVQ eights+40(FP), CX
	MOVQ CX, R9
	SHLQ $5, R9             // from one pair of a codeword to the next
codewords:
	MOVQ edge+24(FP), R8
	MOVQ n+32(FP), BX
	MOVQ DX, R10
	VPXOR Y0, Y0, Y0
pair:
	VPBROADCASTD (R8), Y1
	VPSUBW (R10), Y1, Y1
	VPMADDWD Y1, Y1, Y1
	VPADDD Y1, Y0, Y0
	ADDQ $4, R8
	ADDQ R9, R10
	DECQ BX
	JNZ  pair
	VPSLLD $12, Y0, Y0
	VPADDD (SI), Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $32, DI
	ADDQ $32, SI
	ADDQ $32, DX
	DECQ CX
	JNZ  codewords
	VZEROUPPER
	RET
