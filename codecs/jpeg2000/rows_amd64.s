#include "textflag.h"

// func loadWordsAVX2(row *int32, samples *uint16, n int, flip, shift int32)
TEXT ·loadWordsAVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ samples+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS flip+24(FP), Y6
	VBROADCASTSS shift+28(FP), Y7
	XORQ AX, AX

sixteen:
	VPMOVZXWD (SI)(AX*2), Y0
	VPMOVZXWD 16(SI)(AX*2), Y1
	VPXOR     Y6, Y0, Y0
	VPXOR     Y6, Y1, Y1
	VPSUBD    Y7, Y0, Y0
	VPSUBD    Y7, Y1, Y1
	VMOVDQU   Y0, (DI)(AX*4)
	VMOVDQU   Y1, 32(DI)(AX*4)
	ADDQ      $16, AX
	CMPQ      AX, CX
	JLT       sixteen
	VZEROUPPER
	RET

// func clampIntsAVX2(row *int32, n int, shift, lo, hi int32)
TEXT ·clampIntsAVX2(SB), NOSPLIT, $0-28
	MOVQ row+0(FP), DI
	MOVQ n+8(FP), CX
	VBROADCASTSS shift+16(FP), Y5
	VBROADCASTSS lo+20(FP), Y6
	VBROADCASTSS hi+24(FP), Y7
	XORQ AX, AX

sixteen:
	VPADDD  (DI)(AX*4), Y5, Y0
	VPADDD  32(DI)(AX*4), Y5, Y1
	VPMAXSD Y6, Y0, Y0
	VPMAXSD Y6, Y1, Y1
	VPMINSD Y7, Y0, Y0
	VPMINSD Y7, Y1, Y1
	VMOVDQU Y0, (DI)(AX*4)
	VMOVDQU Y1, 32(DI)(AX*4)
	ADDQ    $16, AX
	CMPQ    AX, CX
	JLT     sixteen
	VZEROUPPER
	RET

// func putWordsAVX2(dst *uint16, samples *int32, n int)
//
// Only the low halves are packed, so that nothing saturates. Packing works in halves of 128 bits, whose order is
// then put right.
TEXT ·putWordsAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ samples+8(FP), SI
	MOVQ n+16(FP), CX
	VPCMPEQD Y7, Y7, Y7
	VPSRLD   $16, Y7, Y7
	XORQ AX, AX

sixteen:
	VPAND     (SI)(AX*4), Y7, Y0
	VPAND     32(SI)(AX*4), Y7, Y1
	VPACKUSDW Y1, Y0, Y0
	VPERMQ    $0xd8, Y0, Y0
	VMOVDQU   Y0, (DI)(AX*2)
	ADDQ      $16, AX
	CMPQ      AX, CX
	JLT       sixteen
	VZEROUPPER
	RET
