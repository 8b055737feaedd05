#include "textflag.h"

// func hitsOfColoursAVX2(out, number *uint8, n int, t *hitTables, first *[mostColours]uint8)
//
// Y0 and Y1 have what a pixel of each colour would have as its hit if it came next.
TEXT ·hitsOfColoursAVX2(SB), NOSPLIT, $64-40
	MOVQ    out+0(FP), DI
	MOVQ    number+8(FP), SI
	MOVQ    n+16(FP), CX
	MOVQ    t+24(FP), R8
	LEAQ    4096(R8), R9
	MOVQ    first+32(FP), R10
	VMOVDQU (R10), Y0
	VMOVDQU 32(R10), Y1

pixel:
	MOVBLZX (SI), AX
	VMOVDQU Y0, hits-64(SP)
	VMOVDQU Y1, hits-32(SP)
	MOVBLZX hits-64(SP)(AX*1), BX
	MOVB    BX, (DI)
	SHLQ    $6, AX
	VPAND   (R8)(AX*1), Y0, Y0
	VPAND   32(R8)(AX*1), Y1, Y1
	VPMAXUB (R9)(AX*1), Y0, Y0
	VPMAXUB 32(R9)(AX*1), Y1, Y1
	INCQ    SI
	INCQ    DI
	DECQ    CX
	JNZ     pixel
	VZEROUPPER
	RET
