#include "textflag.h"

// Of four pixels of bytes R, G, B the words 0x00RRGGBB, and of four of bytes R, G, B, A the bytes R, G, B.
DATA widen<>+0(SB)/8, $0x8003040580000102
DATA widen<>+8(SB)/8, $0x80090a0b80060708
GLOBL widen<>(SB), RODATA|NOPTR, $16
DATA narrow<>+0(SB)/8, $0x0908060504020100
DATA narrow<>+8(SB)/8, $0x808080800e0d0c0a
GLOBL narrow<>(SB), RODATA|NOPTR, $16

// func loadRGBAVX2(out *uint32, src *byte, eights int)
//
// Four bytes behind the last pixel are read too.
TEXT ·loadRGBAVX2(SB), NOSPLIT, $0-24
	MOVQ out+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ eights+16(FP), CX
	VBROADCASTI128 widen<>(SB), Y1
	VPCMPEQD Y2, Y2, Y2
	VPSLLD $24, Y2, Y2

eight:
	VMOVDQU (SI), X0
	VINSERTI128 $1, 12(SI), Y0, Y0
	VPSHUFB Y1, Y0, Y0
	VPOR Y2, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $24, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  eight
	VZEROUPPER
	RET

// func storeRGBAVX2(out, rgba *byte, eights int)
//
// Both may be the same memory: what is written behind eight pixels has been read.
TEXT ·storeRGBAVX2(SB), NOSPLIT, $0-24
	MOVQ out+0(FP), DI
	MOVQ rgba+8(FP), SI
	MOVQ eights+16(FP), CX
	VBROADCASTI128 narrow<>(SB), Y1

eight:
	VMOVDQU (SI), Y0
	VPSHUFB Y1, Y0, Y0
	VMOVDQU X0, (DI)
	VEXTRACTI128 $1, Y0, 12(DI)
	ADDQ $32, SI
	ADDQ $24, DI
	DECQ CX
	JNZ  eight
	VZEROUPPER
	RET
