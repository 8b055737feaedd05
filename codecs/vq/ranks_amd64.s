#include "textflag.h"

// The least of the eight lanes of Y1, into AX.
#define LEAST \
	VEXTRACTI128 $1, Y1, X2 \
	VPMINUD X2, X1, X1      \
	VPSHUFD $0x4e, X1, X2   \
	VPMINUD X2, X1, X1      \
	VPSHUFD $0xb1, X1, X2   \
	VPMINUD X2, X1, X1      \
	VMOVD   X1, AX

// func sideKeysAVX2(keys, up, left *uint32, eights int) uint32
TEXT ·sideKeysAVX2(SB), NOSPLIT, $0-36
	MOVQ keys+0(FP), DI
	MOVQ up+8(FP), SI
	MOVQ left+16(FP), DX
	MOVQ eights+24(FP), CX
	VPCMPEQD Y1, Y1, Y1
sum:
	VMOVDQU (SI), Y0
	VPADDD (DX), Y0, Y0
	VMOVDQU Y0, (DI)
	VPMINUD Y0, Y1, Y1
	ADDQ $32, SI
	ADDQ $32, DX
	ADDQ $32, DI
	DECQ CX
	JNZ  sum
	LEAST
	MOVL AX, ret+32(FP)
	VZEROUPPER
	RET

// func nextAVX2(keys *uint32, eights int, from uint32) uint32
TEXT ·nextAVX2(SB), NOSPLIT, $0-28
	MOVQ keys+0(FP), SI
	MOVQ eights+8(FP), CX
	MOVL from+16(FP), AX
	VMOVD AX, X3
	VPBROADCASTD X3, Y3
	VPCMPEQD Y1, Y1, Y1
next:
	VMOVDQU (SI), Y0
	VPSUBD Y3, Y0, Y0
	VPMINUD Y0, Y1, Y1
	ADDQ $32, SI
	DECQ CX
	JNZ  next
	LEAST
	MOVL AX, ret+24(FP)
	VZEROUPPER
	RET

// func rankAVX2(up, left *uint32, eights int, mine uint32) (lesser int, least uint32)
TEXT ·rankAVX2(SB), NOSPLIT, $0-44
	MOVQ up+0(FP), SI
	MOVQ left+8(FP), DX
	MOVQ eights+16(FP), CX
	LEAQ (CX*8), R8
	MOVL mine+24(FP), AX
	VMOVD AX, X3
	VPBROADCASTD X3, Y3
	VPCMPEQD Y1, Y1, Y1
	VPXOR Y4, Y4, Y4       // -1 for every side key that is not less
count:
	VMOVDQU (SI), Y0
	VPADDD (DX), Y0, Y0
	VPMINUD Y0, Y1, Y1
	VPMAXUD Y0, Y3, Y2
	VPCMPEQD Y0, Y2, Y2
	VPADDD Y2, Y4, Y4
	ADDQ $32, SI
	ADDQ $32, DX
	DECQ CX
	JNZ  count
	LEAST
	MOVL AX, least+40(FP)
	VEXTRACTI128 $1, Y4, X2
	VPADDD X2, X4, X4
	VPSHUFD $0x4e, X4, X2
	VPADDD X2, X4, X4
	VPSHUFD $0xb1, X4, X2
	VPADDD X2, X4, X4
	VMOVD X4, AX
	MOVLQSX AX, AX
	ADDQ AX, R8
	MOVQ R8, lesser+32(FP)
	VZEROUPPER
	RET

// func belowAVX2(keys *uint32, eights int, t uint32) int
TEXT ·belowAVX2(SB), NOSPLIT, $0-32
	MOVQ keys+0(FP), SI
	MOVQ eights+8(FP), CX
	LEAQ (CX*8), R8
	MOVL t+16(FP), AX
	VMOVD AX, X3
	VPBROADCASTD X3, Y3
	VPXOR Y4, Y4, Y4       // -1 for every key that is not less
below:
	VMOVDQU (SI), Y0
	VPMAXUD Y0, Y3, Y2
	VPCMPEQD Y0, Y2, Y2
	VPADDD Y2, Y4, Y4
	ADDQ $32, SI
	DECQ CX
	JNZ  below
	VEXTRACTI128 $1, Y4, X2
	VPADDD X2, X4, X4
	VPSHUFD $0x4e, X4, X2
	VPADDD X2, X4, X4
	VPSHUFD $0xb1, X4, X2
	VPADDD X2, X4, X4
	VMOVD X4, AX
	MOVLQSX AX, AX
	ADDQ AX, R8
	MOVQ R8, ret+24(FP)
	VZEROUPPER
	RET

// func keysInAVX2(hits *uint8, keys *uint32, eights int, lo, span uint32)
TEXT ·keysInAVX2(SB), NOSPLIT, $0-32
	MOVQ hits+0(FP), DI
	MOVQ keys+8(FP), SI
	MOVQ eights+16(FP), CX
	MOVL lo+24(FP), AX
	VMOVD AX, X3
	VPBROADCASTD X3, Y3
	MOVL span+28(FP), AX
	VMOVD AX, X4
	VPBROADCASTD X4, Y4
from:
	VMOVDQU (SI), Y0
	VPSUBD Y3, Y0, Y0
	VPMAXUD Y0, Y4, Y1
	VPCMPEQD Y0, Y1, Y1    // -1 for every key that is not in the span
	VMOVMSKPS Y1, AX
	NOTL AX
	MOVB AX, (DI)
	ADDQ $32, SI
	INCQ DI
	DECQ CX
	JNZ  from
	VZEROUPPER
	RET
