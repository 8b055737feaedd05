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

DATA blueGreenAt<>+0(SB)/4, $0x03280200 // GreenAt, BlueAt
GLOBL blueGreenAt<>(SB), RODATA|NOPTR, $4
DATA redsAt<>+0(SB)/4, $0x01000100 // RedAt, twice
GLOBL redsAt<>(SB), RODATA|NOPTR, $4

// func literalSymbolsAVX2(list *uint16, px *uint32, stride, pairs int)
//
// Two rows of eight pixels at a time: blue and green of each row, and red of both.
TEXT ·literalSymbolsAVX2(SB), NOSPLIT, $0-32
	MOVQ list+0(FP), DI
	MOVQ px+8(FP), SI
	MOVQ stride+16(FP), R8
	SHLQ $2, R8
	MOVQ pairs+24(FP), CX
	VPBROADCASTD blueGreenAt<>(SB), Y8
	VPBROADCASTD redsAt<>(SB), Y9
	VPCMPEQD Y10, Y10, Y10
	VPSRLD $24, Y10, Y10 // 0x000000ff
	VPSLLD $8, Y10, Y11  // 0x0000ff00

pair:
	VMOVDQU (SI), Y0
	VMOVDQU (SI)(R8*1), Y1
	VPAND  Y11, Y0, Y2
	VPSLLD $8, Y2, Y2
	VPAND  Y10, Y0, Y3
	VPOR   Y2, Y3, Y3
	VPADDW Y8, Y3, Y3
	VMOVDQU Y3, (DI)
	VPAND  Y11, Y1, Y2
	VPSLLD $8, Y2, Y2
	VPAND  Y10, Y1, Y3
	VPOR   Y2, Y3, Y3
	VPADDW Y8, Y3, Y3
	VMOVDQU Y3, 32(DI)
	VPSRLD $16, Y0, Y0
	VPAND  Y10, Y0, Y0
	VPSRLD $16, Y1, Y1
	VPAND  Y10, Y1, Y1
	VPSLLD $16, Y1, Y1
	VPOR   Y1, Y0, Y0
	VPADDW Y9, Y0, Y0
	VMOVDQU Y0, 64(DI)
	LEAQ (SI)(R8*2), SI
	ADDQ $96, DI
	DECQ CX
	JNZ  pair
	VZEROUPPER
	RET
