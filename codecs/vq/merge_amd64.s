#include "textflag.h"

// Where the bytes of red, then of green, then of blue of sixteen pixels go in three times 16
// bytes; 0x80 leaves the place to another colour.
DATA spread<>+0(SB)/8, $0x8002808001808000
DATA spread<>+8(SB)/8, $0x0580800480800380
DATA spread<>+16(SB)/8, $0x8080078080068080
DATA spread<>+24(SB)/8, $0x800a808009808008
DATA spread<>+32(SB)/8, $0x0d80800c80800b80
DATA spread<>+40(SB)/8, $0x80800f80800e8080
DATA spread<>+48(SB)/8, $0x0280800180800080
DATA spread<>+56(SB)/8, $0x8080048080038080
DATA spread<>+64(SB)/8, $0x8007808006808005
DATA spread<>+72(SB)/8, $0x0a80800980800880
DATA spread<>+80(SB)/8, $0x80800c80800b8080
DATA spread<>+88(SB)/8, $0x800f80800e80800d
DATA spread<>+96(SB)/8, $0x8080018080008080
DATA spread<>+104(SB)/8, $0x8004808003808002
DATA spread<>+112(SB)/8, $0x0780800680800580
DATA spread<>+120(SB)/8, $0x8080098080088080
DATA spread<>+128(SB)/8, $0x800c80800b80800a
DATA spread<>+136(SB)/8, $0x0f80800e80800d80
GLOBL spread<>(SB), RODATA|NOPTR, $144

DATA middle<>+0(SB)/2, $128
GLOBL middle<>(SB), RODATA|NOPTR, $2

// Stores part N of the pixels, whose colours are in X0 to X2.
#define PART(N) \
	VPSHUFB spread<>+(16*N)(SB), X0, X3    \
	VPSHUFB spread<>+(48+16*N)(SB), X1, X4 \
	VPSHUFB spread<>+(96+16*N)(SB), X2, X5 \
	VPOR X4, X3, X3                        \
	VPOR X5, X3, X3                        \
	VMOVDQU X3, (16*N)(DI)

// The sums of words in Y as bytes in X, limited to 0 to 255.
#define BYTES(Y, X, HIGH) \
	VEXTRACTI128 $1, Y, HIGH \
	VPACKUSWB HIGH, X, X

// func mergeAVX2(rgb, luma, co, cg *byte, sixteens, shift int)
TEXT ·mergeAVX2(SB), NOSPLIT, $0-48
	MOVQ rgb+0(FP), DI
	MOVQ luma+8(FP), SI
	MOVQ co+16(FP), R8
	MOVQ cg+24(FP), R9
	MOVQ sixteens+32(FP), CX
	MOVQ shift+40(FP), AX
	VPBROADCASTW middle<>(SB), Y15
	TESTQ AX, AX
	JZ full
half:
	VMOVQ (R8), X6
	VMOVQ (R9), X7
	VPUNPCKLBW X6, X6, X6 // each twice
	VPUNPCKLBW X7, X7, X7
	ADDQ $8, R8
	ADDQ $8, R9
	JMP pixels
full:
	VMOVDQU (R8), X6
	VMOVDQU (R9), X7
	ADDQ $16, R8
	ADDQ $16, R9
pixels:
	VPMOVZXBW (SI), Y1
	VPMOVZXBW X6, Y6
	VPMOVZXBW X7, Y7
	VPSUBW Y15, Y6, Y6 // Co and Cg less 128: half of what was put in
	VPSUBW Y15, Y7, Y7
	VPSUBW Y7, Y1, Y2  // t
	VPADDW Y7, Y1, Y1  // G = t + 2 Cg
	VPADDW Y6, Y2, Y0  // R = B + 2 Co
	VPSUBW Y6, Y2, Y2  // B = t - Co
	BYTES(Y0, X0, X3)
	BYTES(Y1, X1, X4)
	BYTES(Y2, X2, X5)
	PART(0)
	PART(1)
	PART(2)
	ADDQ $16, SI
	ADDQ $48, DI
	DECQ CX
	JZ done
	TESTQ AX, AX
	JNZ half
	JMP full
done:
	VZEROUPPER
	RET
