#include "textflag.h"

// func widenAVX2(out *int16, pix *byte, shift, sixteens uint64)
TEXT ·widenAVX2(SB), NOSPLIT, $0-32
	MOVQ out+0(FP), DI
	MOVQ pix+8(FP), SI
	MOVQ shift+16(FP), AX
	MOVQ sixteens+24(FP), CX
	VMOVD AX, X1
	VPBROADCASTW X1, Y1
sixteen:
	VPMOVZXBW (SI), Y0
	VPSUBW Y1, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $16, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  sixteen
	VZEROUPPER
	RET

// func narrowAVX2(out *byte, in *int16, mid, thirtytwos uint64) (outside uint64)
//
// Sums wrap around: those that are bytes are right, and the others are outside either way.
TEXT ·narrowAVX2(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ in+8(FP), SI
	MOVQ mid+16(FP), AX
	MOVQ thirtytwos+24(FP), CX
	VMOVD AX, X2
	VPBROADCASTW X2, Y2
	VPXOR Y3, Y3, Y3          // OR of all
thirtytwo:
	VPADDW (SI), Y2, Y0
	VPADDW 32(SI), Y2, Y1
	VPOR Y0, Y3, Y3
	VPOR Y1, Y3, Y3
	VPACKUSWB Y1, Y0, Y0
	VPERMQ $0xd8, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $64, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  thirtytwo
	XORL AX, AX
	VPSRLW $8, Y3, Y3
	VPTEST Y3, Y3
	SETNE AX
	MOVQ AX, outside+32(FP)
	VZEROUPPER
	RET
