#include "textflag.h"

// func doubleWidthAVX2(to, from *byte, blocks int)
//
// Sixteen samples a block, with one before and one behind them.
TEXT ·doubleWidthAVX2(SB), NOSPLIT, $0-24
	MOVQ to+0(FP), DI
	MOVQ from+8(FP), SI
	MOVQ blocks+16(FP), CX
	VPBROADCASTW three<>(SB), Y15
	VPBROADCASTW one<>(SB), Y14
	VPADDW Y14, Y14, Y13 // two

width:
	VPMOVZXBW (SI), Y1
	VPMOVZXBW -1(SI), Y0
	VPMOVZXBW 1(SI), Y2
	VPMULLW Y15, Y1, Y1
	VPADDW Y14, Y0, Y0
	VPADDW Y13, Y2, Y2
	VPADDW Y1, Y0, Y0
	VPADDW Y1, Y2, Y2
	VPSRLW $2, Y0, Y0
	VPSRLW $2, Y2, Y2
	VPSLLW $8, Y2, Y2
	VPOR Y2, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $16, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  width
	VZEROUPPER
	RET

// func doubleHeightAVX2(to, near, far *byte, blocks, bias int)
TEXT ·doubleHeightAVX2(SB), NOSPLIT, $0-40
	MOVQ to+0(FP), DI
	MOVQ near+8(FP), SI
	MOVQ far+16(FP), DX
	MOVQ blocks+24(FP), CX
	VPBROADCASTW three<>(SB), Y15
	MOVQ bias+32(FP), AX
	VMOVD AX, X14
	VPBROADCASTW X14, Y14

height:
	VPMOVZXBW (SI), Y0
	VPMOVZXBW (DX), Y1
	VPMULLW Y15, Y0, Y0
	VPADDW Y14, Y1, Y1
	VPADDW Y1, Y0, Y0
	VPSRLW $2, Y0, Y0
	VPACKUSWB Y0, Y0, Y0
	VPERMQ $0xd8, Y0, Y0
	VMOVDQU X0, (DI)
	ADDQ $16, SI
	ADDQ $16, DX
	ADDQ $16, DI
	DECQ CX
	JNZ  height
	VZEROUPPER
	RET

// func doubleBothAVX2(to, near, far *byte, blocks int)
//
// As doubleWidthAVX2, of columns of two rows.
TEXT ·doubleBothAVX2(SB), NOSPLIT, $0-32
	MOVQ to+0(FP), DI
	MOVQ near+8(FP), SI
	MOVQ far+16(FP), DX
	MOVQ blocks+24(FP), CX
	VPBROADCASTW three<>(SB), Y15
	VPBROADCASTW seven<>(SB), Y14
	VPBROADCASTW eight<>(SB), Y13

both:
	VPMOVZXBW (SI), Y1
	VPMOVZXBW -1(SI), Y0
	VPMOVZXBW 1(SI), Y2
	VPMOVZXBW (DX), Y4
	VPMOVZXBW -1(DX), Y3
	VPMOVZXBW 1(DX), Y5
	VPMULLW Y15, Y1, Y1
	VPMULLW Y15, Y0, Y0
	VPMULLW Y15, Y2, Y2
	VPADDW Y4, Y1, Y1
	VPADDW Y3, Y0, Y0
	VPADDW Y5, Y2, Y2
	VPMULLW Y15, Y1, Y1
	VPADDW Y13, Y0, Y0
	VPADDW Y14, Y2, Y2
	VPADDW Y1, Y0, Y0
	VPADDW Y1, Y2, Y2
	VPSRLW $4, Y0, Y0
	VPSRLW $4, Y2, Y2
	VPSLLW $8, Y2, Y2
	VPOR Y2, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $16, SI
	ADDQ $16, DX
	ADDQ $32, DI
	DECQ CX
	JNZ  both
	VZEROUPPER
	RET

// func yCbCrAVX2(to, y, cb, cr *byte, blocks int)
//
// Sixteen pixels a block. The products of Q16 are split so that their factors fit into words:
//
//	r = y + cr + 26345/65536 cr
//	g = y - cr - 22554/65536 cb + 18734/65536 cr
//	b = y + 2 cb - 14942/65536 cb
//
// The upper word of a product with 2 cr, plus one and halved, is that with cr, rounded.
TEXT ·yCbCrAVX2(SB), NOSPLIT, $0-40
	MOVQ to+0(FP), DI
	MOVQ y+8(FP), SI
	MOVQ cb+16(FP), DX
	MOVQ cr+24(FP), R8
	MOVQ blocks+32(FP), CX
	VPBROADCASTW centre<>(SB), Y15
	VPBROADCASTW one<>(SB), Y14
	VPBROADCASTW red<>(SB), Y13
	VPBROADCASTW blue<>(SB), Y12
	VPBROADCASTD green<>(SB), Y11
	VPBROADCASTD half<>(SB), Y10

pixels:
	VPMOVZXBW (SI), Y0
	VPMOVZXBW (DX), Y1
	VPMOVZXBW (R8), Y2
	VPSUBW Y15, Y1, Y1
	VPSUBW Y15, Y2, Y2
	VPADDW Y1, Y1, Y3
	VPADDW Y2, Y2, Y4

	VPUNPCKLWD Y2, Y1, Y7
	VPUNPCKHWD Y2, Y1, Y8
	VPMADDWD Y11, Y7, Y7
	VPMADDWD Y11, Y8, Y8
	VPADDD Y10, Y7, Y7
	VPADDD Y10, Y8, Y8
	VPSRAD $16, Y7, Y7
	VPSRAD $16, Y8, Y8
	VPACKSSDW Y8, Y7, Y7

	VPMULHW Y13, Y4, Y5
	VPMULHW Y12, Y3, Y6
	VPADDW Y14, Y5, Y5
	VPADDW Y14, Y6, Y6
	VPSRAW $1, Y5, Y5
	VPSRAW $1, Y6, Y6
	VPADDW Y3, Y0, Y3
	VPADDW Y2, Y0, Y4
	VPSUBW Y2, Y0, Y0
	VPADDW Y5, Y4, Y5 // red
	VPADDW Y6, Y3, Y6 // blue
	VPADDW Y7, Y0, Y7 // green

	VPACKUSWB Y7, Y5, Y5
	VPACKUSWB Y6, Y6, Y6
	VPSHUFB firstRG<>(SB), Y5, Y0
	VPSHUFB firstB<>(SB), Y6, Y1
	VPSHUFB lastRG<>(SB), Y5, Y2
	VPSHUFB lastB<>(SB), Y6, Y3
	VPOR Y1, Y0, Y0
	VPOR Y3, Y2, Y2
	VMOVDQU X0, (DI)
	VMOVQ X2, 16(DI)
	VEXTRACTI128 $1, Y0, 24(DI)
	VEXTRACTI128 $1, Y2, X2
	VMOVQ X2, 40(DI)
	ADDQ $16, SI
	ADDQ $16, DX
	ADDQ $16, R8
	ADDQ $48, DI
	DECQ CX
	JNZ  pixels
	VZEROUPPER
	RET

DATA one<>+0(SB)/2, $1
GLOBL one<>(SB), RODATA|NOPTR, $2
DATA three<>+0(SB)/2, $3
GLOBL three<>(SB), RODATA|NOPTR, $2
DATA seven<>+0(SB)/2, $7
GLOBL seven<>(SB), RODATA|NOPTR, $2
DATA eight<>+0(SB)/2, $8
GLOBL eight<>(SB), RODATA|NOPTR, $2
DATA centre<>+0(SB)/2, $128
GLOBL centre<>(SB), RODATA|NOPTR, $2
DATA red<>+0(SB)/2, $26345
GLOBL red<>(SB), RODATA|NOPTR, $2
DATA blue<>+0(SB)/2, $-14942
GLOBL blue<>(SB), RODATA|NOPTR, $2
DATA green<>+0(SB)/2, $-22554
DATA green<>+2(SB)/2, $18734
GLOBL green<>(SB), RODATA|NOPTR, $4
DATA half<>+0(SB)/4, $32768
GLOBL half<>(SB), RODATA|NOPTR, $4

// Places of the samples of eight pixels, red and green in one vector, blue in the other, in 24 bytes.
DATA firstRG<>+0(SB)/8, $0x0a02ff0901ff0800
DATA firstRG<>+8(SB)/8, $0x05ff0c04ff0b03ff
DATA firstRG<>+16(SB)/8, $0x0a02ff0901ff0800
DATA firstRG<>+24(SB)/8, $0x05ff0c04ff0b03ff
GLOBL firstRG<>(SB), RODATA|NOPTR, $32
DATA firstB<>+0(SB)/8, $0xffff01ffff00ffff
DATA firstB<>+8(SB)/8, $0xff04ffff03ffff02
DATA firstB<>+16(SB)/8, $0xffff01ffff00ffff
DATA firstB<>+24(SB)/8, $0xff04ffff03ffff02
GLOBL firstB<>(SB), RODATA|NOPTR, $32
DATA lastRG<>+0(SB)/8, $0xff0f07ff0e06ff0d
DATA lastRG<>+8(SB)/8, $0xffffffffffffffff
DATA lastRG<>+16(SB)/8, $0xff0f07ff0e06ff0d
DATA lastRG<>+24(SB)/8, $0xffffffffffffffff
GLOBL lastRG<>(SB), RODATA|NOPTR, $32
DATA lastB<>+0(SB)/8, $0x07ffff06ffff05ff
DATA lastB<>+8(SB)/8, $0xffffffffffffffff
DATA lastB<>+16(SB)/8, $0x07ffff06ffff05ff
DATA lastB<>+24(SB)/8, $0xffffffffffffffff
GLOBL lastB<>(SB), RODATA|NOPTR, $32
