#include "textflag.h"

// func listCostsAVX2(sums *uint32, list *uint16, n int, table *uint16, stride int)
//
// Sixteen groups at a time: Y0 sums up twelve symbols in 16 bits, which is what fits,
// and Y1 and Y2 all of them in 32.
TEXT ·listCostsAVX2(SB), NOSPLIT, $0-40
	MOVQ sums+0(FP), DI
	MOVQ list+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ table+24(FP), DX
	MOVQ stride+32(FP), R8
	ADDQ R8, R8
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2

twelve:
	VPXOR Y0, Y0, Y0
	CMPQ CX, $12
	JLT  rest
	SUBQ $12, CX
#define SYMBOL(at, reg) \
	MOVWLZX at(SI), reg      \
	IMULQ   R8, reg          \
	VPADDW  (DX)(reg*1), Y0, Y0
	SYMBOL(0, AX)
	SYMBOL(2, BX)
	SYMBOL(4, R9)
	SYMBOL(6, R10)
	SYMBOL(8, AX)
	SYMBOL(10, BX)
	SYMBOL(12, R9)
	SYMBOL(14, R10)
	SYMBOL(16, AX)
	SYMBOL(18, BX)
	SYMBOL(20, R9)
	SYMBOL(22, R10)
	ADDQ $24, SI
	VPMOVZXWD X0, Y3
	VEXTRACTI128 $1, Y0, X0
	VPMOVZXWD X0, Y4
	VPADDD Y3, Y1, Y1
	VPADDD Y4, Y2, Y2
	JMP  twelve
rest:
	TESTQ CX, CX
	JZ   done
	SYMBOL(0, AX)
	ADDQ $2, SI
	DECQ CX
	JMP  rest
done:
	VPMOVZXWD X0, Y3
	VEXTRACTI128 $1, Y0, X0
	VPMOVZXWD X0, Y4
	VPADDD Y3, Y1, Y1
	VPADDD Y4, Y2, Y2
	VMOVDQU Y1, (DI)
	VMOVDQU Y2, 32(DI)
	VZEROUPPER
	RET
