#include "textflag.h"

// For each third of the 48 bytes of 16 pixels, and in it for each colour, the pixels
// whose bytes of the colour go there; 0x80 where another colour's do.
DATA ·spread+0x00(SB)/8, $0x8002808001808000
DATA ·spread+0x08(SB)/8, $0x0580800480800380
DATA ·spread+0x10(SB)/8, $0x0280800180800080
DATA ·spread+0x18(SB)/8, $0x8080048080038080
DATA ·spread+0x20(SB)/8, $0x8080018080008080
DATA ·spread+0x28(SB)/8, $0x8004808003808002
DATA ·spread+0x30(SB)/8, $0x8080078080068080
DATA ·spread+0x38(SB)/8, $0x800a808009808008
DATA ·spread+0x40(SB)/8, $0x8007808006808005
DATA ·spread+0x48(SB)/8, $0x0a80800980800880
DATA ·spread+0x50(SB)/8, $0x0780800680800580
DATA ·spread+0x58(SB)/8, $0x8080098080088080
DATA ·spread+0x60(SB)/8, $0x0d80800c80800b80
DATA ·spread+0x68(SB)/8, $0x80800f80800e8080
DATA ·spread+0x70(SB)/8, $0x80800c80800b8080
DATA ·spread+0x78(SB)/8, $0x800f80800e80800d
DATA ·spread+0x80(SB)/8, $0x800c80800b80800a
DATA ·spread+0x88(SB)/8, $0x0f80800e80800d80
GLOBL ·spread(SB), RODATA|NOPTR, $144

// For each colour, the bytes of four pixels as numbers of 32 bits, in both halves.
DATA ·take+0x00(SB)/8, $0x8080800380808000
DATA ·take+0x08(SB)/8, $0x8080800980808006
DATA ·take+0x10(SB)/8, $0x8080800380808000
DATA ·take+0x18(SB)/8, $0x8080800980808006
DATA ·take+0x20(SB)/8, $0x8080800480808001
DATA ·take+0x28(SB)/8, $0x8080800a80808007
DATA ·take+0x30(SB)/8, $0x8080800480808001
DATA ·take+0x38(SB)/8, $0x8080800a80808007
DATA ·take+0x40(SB)/8, $0x8080800580808002
DATA ·take+0x48(SB)/8, $0x8080800b80808008
DATA ·take+0x50(SB)/8, $0x8080800580808002
DATA ·take+0x58(SB)/8, $0x8080800b80808008
GLOBL ·take(SB), RODATA|NOPTR, $96

// HALF makes R, G and B of 8 pixels of Y, Cb and Cr at an offset.
#define HALF(offset, r, g, b) \
	VMOVDQU offset(SI), Y0; \
	VMOVDQU offset(R8), b;  \
	VMOVDQU offset(R9), r;  \
	VPADDD  r, b, g;        \
	VPSRAD  $2, g, g;       \
	VPSUBD  g, Y0, g;       \
	VPADDD  Y15, g, g;      \
	VPADDD  g, r, r;        \
	VPADDD  g, b, b

// BYTES packs 16 numbers to bytes, those that do not fit to the nearest that do.
#define BYTES(low, high, x, y) \
	VPACKSSDW    high, low, y; \
	VPERMQ       $0xd8, y, y;  \
	VEXTRACTI128 $1, y, X0;    \
	VPACKUSWB    X0, x, x

// THIRD writes a third of the bytes of 16 pixels.
#define THIRD(n) \
	VPSHUFB ·spread+(48*n)(SB), X1, X4;    \
	VPSHUFB ·spread+(48*n+16)(SB), X2, X5; \
	VPSHUFB ·spread+(48*n+32)(SB), X3, X6; \
	VPOR    X4, X5, X5;                    \
	VPOR    X5, X6, X6;                    \
	VMOVDQU X6, 16*n(DI)

// func inverseRGB8AVX2(dst *byte, c0, c1, c2 *int32, n int)
TEXT ·inverseRGB8AVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ c0+8(FP), SI
	MOVQ c1+16(FP), R8
	MOVQ c2+24(FP), R9
	MOVQ n+32(FP), CX
	VPCMPEQD Y15, Y15, Y15
	VPSRLD   $31, Y15, Y15
	VPSLLD   $7, Y15, Y15  // 128

pixels:
	HALF(0, Y1, Y2, Y3)
	HALF(32, Y7, Y8, Y9)
	BYTES(Y1, Y7, X1, Y1)
	BYTES(Y2, Y8, X2, Y2)
	BYTES(Y3, Y9, X3, Y3)
	THIRD(0)
	THIRD(1)
	THIRD(2)
	ADDQ $48, DI
	ADDQ $64, SI
	ADDQ $64, R8
	ADDQ $64, R9
	SUBQ $16, CX
	JG   pixels
	VZEROUPPER
	RET

// func forwardRGB8AVX2(c0, c1, c2 *int32, src *byte, n int)
TEXT ·forwardRGB8AVX2(SB), NOSPLIT, $0-40
	MOVQ c0+0(FP), DI
	MOVQ c1+8(FP), R8
	MOVQ c2+16(FP), R9
	MOVQ src+24(FP), SI
	MOVQ n+32(FP), CX
	VMOVDQU  ·take+0(SB), Y15
	VMOVDQU  ·take+32(SB), Y14
	VMOVDQU  ·take+64(SB), Y13
	VPCMPEQD Y12, Y12, Y12
	VPSRLD   $31, Y12, Y12
	VPSLLD   $7, Y12, Y12  // 128

pixels:
	VMOVDQU     (SI), X0
	VINSERTI128 $1, 12(SI), Y0, Y0
	VPSHUFB     Y15, Y0, Y1
	VPSHUFB     Y14, Y0, Y2
	VPSHUFB     Y13, Y0, Y3
	VPADDD      Y1, Y3, Y4
	VPADDD      Y2, Y4, Y4
	VPADDD      Y2, Y4, Y4
	VPSRLD      $2, Y4, Y4
	VPSUBD      Y12, Y4, Y4
	VPSUBD      Y2, Y3, Y3
	VPSUBD      Y2, Y1, Y1
	VMOVDQU     Y4, (DI)
	VMOVDQU     Y3, (R8)
	VMOVDQU     Y1, (R9)
	ADDQ        $24, SI
	ADDQ        $32, DI
	ADDQ        $32, R8
	ADDQ        $32, R9
	SUBQ        $8, CX
	JG          pixels
	VZEROUPPER
	RET
