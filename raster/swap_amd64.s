#include "textflag.h"

// func swapBytesAVX2(to, from *byte, blocks int) uint64
//
// A block is 64 bytes. The result is four words, the OR of all words at every fourth place.
TEXT ·swapBytesAVX2(SB), NOSPLIT, $0-32
	MOVQ to+0(FP), DI
	MOVQ from+8(FP), SI
	MOVQ blocks+16(FP), CX
	VBROADCASTI128 exchanged<>(SB), Y3
	VPXOR Y2, Y2, Y2

swap:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VPSHUFB Y3, Y0, Y0
	VPSHUFB Y3, Y1, Y1
	VPOR Y0, Y2, Y2
	VPOR Y1, Y2, Y2
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	ADDQ $64, SI
	ADDQ $64, DI
	DECQ CX
	JNZ  swap
	VEXTRACTI128 $1, Y2, X0
	VPOR X0, X2, X2
	VPUNPCKHQDQ X2, X2, X0
	VPOR X0, X2, X2
	VMOVQ X2, AX
	MOVQ AX, ret+24(FP)
	VZEROUPPER
	RET

DATA exchanged<>+0(SB)/8, $0x0607040502030001
DATA exchanged<>+8(SB)/8, $0x0e0f0c0d0a0b0809
GLOBL exchanged<>(SB), RODATA|NOPTR, $16
