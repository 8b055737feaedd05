#include "textflag.h"

// func split32AVX2(even, odd, row *int32, eights uint64)
TEXT ·split32AVX2(SB), NOSPLIT, $0-32
	MOVQ even+0(FP), DI
	MOVQ odd+8(FP), R8
	MOVQ row+16(FP), SI
	MOVQ eights+24(FP), CX
split:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VSHUFPS $0x88, Y1, Y0, Y2
	VSHUFPS $0xdd, Y1, Y0, Y3
	VPERMQ $0xd8, Y2, Y2
	VPERMQ $0xd8, Y3, Y3
	VMOVDQU Y2, (DI)
	VMOVDQU Y3, (R8)
	ADDQ $64, SI
	ADDQ $32, DI
	ADDQ $32, R8
	DECQ CX
	JNZ  split
	VZEROUPPER
	RET

// func join32AVX2(row, even, odd *int32, eights uint64)
TEXT ·join32AVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ even+8(FP), SI
	MOVQ odd+16(FP), R8
	MOVQ eights+24(FP), CX
join:
	VMOVDQU (SI), Y0
	VMOVDQU (R8), Y1
	VPUNPCKLDQ Y1, Y0, Y2
	VPUNPCKHDQ Y1, Y0, Y3
	VPERM2I128 $0x20, Y3, Y2, Y0
	VPERM2I128 $0x31, Y3, Y2, Y1
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	ADDQ $64, DI
	ADDQ $32, SI
	ADDQ $32, R8
	DECQ CX
	JNZ  join
	VZEROUPPER
	RET

// func join16AVX2(row, even, odd *int16, sixteens uint64)
TEXT ·join16AVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ even+8(FP), SI
	MOVQ odd+16(FP), R8
	MOVQ sixteens+24(FP), CX
join:
	VMOVDQU (SI), Y0
	VMOVDQU (R8), Y1
	VPUNPCKLWD Y1, Y0, Y2
	VPUNPCKHWD Y1, Y0, Y3
	VPERM2I128 $0x20, Y3, Y2, Y0
	VPERM2I128 $0x31, Y3, Y2, Y1
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	ADDQ $64, DI
	ADDQ $32, SI
	ADDQ $32, R8
	DECQ CX
	JNZ  join
	VZEROUPPER
	RET
