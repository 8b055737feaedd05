#include "textflag.h"

// Kernels for blocks of 8 x 8 pixels with AVX-512: see blocks.go. A vector holds a channel of a block, each of its four tiles of
// 4 x 4 pixels in 16 bytes that follow one another.

#define CHANNEL 896 // bytes of a channel of residualBlock: 14 modes of 64 bytes

// ONE sets out to a channel of Z20 to Z23.
#define ONE(which, out) \
	VMOVDQA64    which, out \
	VPERMI2B     Z21, Z20, out \
	VMOVDQA64    which, Z15 \
	VPERMI2B     Z23, Z22, Z15 \
	VINSERTI64X4 $1, Y15, out, out

// GATHER loads eight rows of eight pixels from SI on, R8 bytes apart, and sets three vectors to blue, green and red. Z24 to Z26 say
// where they are.
#define GATHER(blue, green, red) \
	VMOVDQU64    (SI), Y20 \
	VINSERTI64X4 $1, (SI)(R8*1), Z20, Z20 \
	LEAQ         (SI)(R8*2), SI \
	VMOVDQU64    (SI), Y21 \
	VINSERTI64X4 $1, (SI)(R8*1), Z21, Z21 \
	LEAQ         (SI)(R8*2), SI \
	VMOVDQU64    (SI), Y22 \
	VINSERTI64X4 $1, (SI)(R8*1), Z22, Z22 \
	LEAQ         (SI)(R8*2), SI \
	VMOVDQU64    (SI), Y23 \
	VINSERTI64X4 $1, (SI)(R8*1), Z23, Z23 \
	ONE(Z24, blue) \
	ONE(Z25, green) \
	ONE(Z26, red)

// MEAN sets out to (a + b) / 2, rounded down. Z27 holds ones.
#define MEAN(a, b, out, tmp) \
	VMOVDQA64  Z27, tmp          \
	VPTERNLOGQ $0x60, b, a, tmp  \
	VPAVGB     a, b, out         \
	VPSUBB     tmp, out, out

// LEAVE writes the pixels less their predictions.
#define LEAVE(pixels, prediction, at) \
	VPSUBB    prediction, pixels, Z15 \
	VMOVDQU64 Z15, (at)(DI)

// APART sets tmp to |a - b|.
#define APART(a, b, tmp, other) \
	VPSUBUSB b, a, tmp   \
	VPSUBUSB a, b, other \
	VPORQ    tmp, other, tmp

// TOWARDS adds what makes Select take the left or the upper pixel: Z16, Z17 sum up |top - top left| and Z18, Z19 |left - top left|,
// in words.
#define TOWARDS(left, top, corner) \
	APART(top, corner, Z20, Z21)   \
	APART(left, corner, Z22, Z21)  \
	VPUNPCKLBW Z28, Z20, Z21       \
	VPUNPCKHBW Z28, Z20, Z20       \
	VPADDW     Z21, Z16, Z16       \
	VPADDW     Z20, Z17, Z17       \
	VPUNPCKLBW Z28, Z22, Z21       \
	VPUNPCKHBW Z28, Z22, Z22       \
	VPADDW     Z21, Z18, Z18       \
	VPADDW     Z22, Z19, Z19

// MODES writes the residuals of a channel by all modes. K1 says where Select takes the left pixel.
#define MODES(cur, left, top, corner, right, at) \
	VMOVDQU64 cur, (at+0*64)(DI)     \
	LEAVE(cur, left, at+1*64)        \
	LEAVE(cur, top, at+2*64)         \
	LEAVE(cur, right, at+3*64)       \
	LEAVE(cur, corner, at+4*64)      \
	MEAN(left, right, Z16, Z15)      \
	MEAN(Z16, top, Z16, Z15)         \
	LEAVE(cur, Z16, at+5*64)         \
	MEAN(left, corner, Z17, Z15)     \
	LEAVE(cur, Z17, at+6*64)         \
	MEAN(left, top, Z18, Z15)        \
	LEAVE(cur, Z18, at+7*64)         \
	MEAN(corner, top, Z16, Z15)      \
	LEAVE(cur, Z16, at+8*64)         \
	MEAN(top, right, Z19, Z15)       \
	LEAVE(cur, Z19, at+9*64)         \
	MEAN(Z17, Z19, Z16, Z15)         \
	LEAVE(cur, Z16, at+10*64)        \
	VMOVDQA64 top, Z16               \
	VMOVDQU8  left, K1, Z16          \
	LEAVE(cur, Z16, at+11*64)        \
	VPUNPCKLBW Z28, corner, Z20      \
	VPUNPCKHBW Z28, corner, Z21      \
	VPUNPCKLBW Z28, left, Z16        \
	VPUNPCKHBW Z28, left, Z17        \
	VPUNPCKLBW Z28, top, Z22         \
	VPUNPCKHBW Z28, top, Z23         \
	VPADDW     Z22, Z16, Z16         \
	VPADDW     Z23, Z17, Z17         \
	VPSUBW     Z20, Z16, Z16         \
	VPSUBW     Z21, Z17, Z17         \
	VPACKUSWB  Z17, Z16, Z16         \
	LEAVE(cur, Z16, at+12*64)        \
	VPUNPCKLBW Z28, Z18, Z16         \
	VPUNPCKHBW Z28, Z18, Z17         \
	VPSUBW     Z20, Z16, Z20         \
	VPSUBW     Z21, Z17, Z21         \
	VPSRLW     $15, Z20, Z22         \
	VPSRLW     $15, Z21, Z23         \
	VPADDW     Z22, Z20, Z20         \
	VPADDW     Z23, Z21, Z21         \
	VPSRAW     $1, Z20, Z20          \
	VPSRAW     $1, Z21, Z21          \
	VPADDW     Z20, Z16, Z16         \
	VPADDW     Z21, Z17, Z17         \
	VPACKUSWB  Z17, Z16, Z16         \
	LEAVE(cur, Z16, at+13*64)

// func predictBlockVBMI(out *residualBlock, cur, left, top, topLeft, topRight *uint32, stride int, order *[64]byte)
//
// Blue, green and red of the pixels are in Z0 to Z2, of those to the left in Z3 to Z5, above in Z6 to Z8, above left in Z9 to
// Z11, above right in Z12 to Z14.
TEXT ·predictBlockVBMI(SB), NOSPLIT, $0-64
	MOVQ out+0(FP), DI
	MOVQ stride+48(FP), R8
	MOVQ order+56(FP), AX
	MOVL $0x01010101, BX
	VPBROADCASTD BX, Z27
	VMOVDQU64 (AX), Z24
	VPADDB Z27, Z24, Z25
	VPADDB Z27, Z25, Z26
	VPXORQ Z28, Z28, Z28
	MOVQ cur+8(FP), SI
	GATHER(Z0, Z1, Z2)
	MOVQ left+16(FP), SI
	GATHER(Z3, Z4, Z5)
	MOVQ top+24(FP), SI
	GATHER(Z6, Z7, Z8)
	MOVQ topLeft+32(FP), SI
	GATHER(Z9, Z10, Z11)
	MOVQ topRight+40(FP), SI
	GATHER(Z12, Z13, Z14)

	VPXORQ Z16, Z16, Z16
	VPXORQ Z17, Z17, Z17
	VPXORQ Z18, Z18, Z18
	VPXORQ Z19, Z19, Z19
	TOWARDS(Z3, Z6, Z9)
	TOWARDS(Z4, Z7, Z10)
	TOWARDS(Z5, Z8, Z11)
	VPSUBW Z18, Z16, Z16
	VPSUBW Z19, Z17, Z17
	VPACKSSWB Z17, Z16, Z16 // saturated, so that signs stay
	VPMOVB2M Z16, K1

	MODES(Z0, Z3, Z6, Z9, Z12, 0)
	MODES(Z1, Z4, Z7, Z10, Z13, CHANNEL)
	MODES(Z2, Z5, Z8, Z11, Z14, (2*CHANNEL))
	VZEROUPPER
	RET

// func recolourBlockVBMI(r *residualBlock, greenToRed, greenToBlue, redToBlue uint32)
//
// The multipliers are times 8, so that the upper half of a product with a byte times 256 is the delta.
TEXT ·recolourBlockVBMI(SB), NOSPLIT, $0-20
	MOVQ r+0(FP), DI
	MOVL greenToRed+8(FP), AX
	VPBROADCASTW AX, Z10
	MOVL greenToBlue+12(FP), AX
	VPBROADCASTW AX, Z11
	MOVL redToBlue+16(FP), AX
	VPBROADCASTW AX, Z12
	MOVL $0x00ff00ff, AX
	VPBROADCASTD AX, Z13
	VPXORQ Z14, Z14, Z14
	MOVL $14, CX

mode:
	VMOVDQU64 CHANNEL(DI), Z0
	VMOVDQU64 (2*CHANNEL)(DI), Z1
	VPUNPCKLBW Z0, Z14, Z2
	VPUNPCKHBW Z0, Z14, Z3
	VPUNPCKLBW Z1, Z14, Z4
	VPUNPCKHBW Z1, Z14, Z5
	VPMULHW Z10, Z2, Z6
	VPMULHW Z10, Z3, Z7
	VPANDQ Z13, Z6, Z6
	VPANDQ Z13, Z7, Z7
	VPACKUSWB Z7, Z6, Z6
	VPSUBB Z6, Z1, Z1
	VMOVDQU64 Z1, (2*CHANNEL)(DI)
	VPMULHW Z11, Z2, Z6
	VPMULHW Z11, Z3, Z7
	VPMULHW Z12, Z4, Z8
	VPMULHW Z12, Z5, Z9
	VPADDW Z8, Z6, Z6
	VPADDW Z9, Z7, Z7
	VPANDQ Z13, Z6, Z6
	VPANDQ Z13, Z7, Z7
	VPACKUSWB Z7, Z6, Z6
	VMOVDQU64 (DI), Z0
	VPSUBB Z6, Z0, Z0
	VMOVDQU64 Z0, (DI)
	ADDQ $64, DI
	DECL CX
	JNZ  mode
	VZEROUPPER
	RET

// LOOKUP sets Z23 to the low and Z25 to the high parts of the costs of the bytes in Z22, by the tables in Z0 to Z7.
#define LOOKUP \
	VPMOVB2M  Z22, K1            \
	VMOVDQA64 Z22, Z23           \
	VPERMI2B  Z1, Z0, Z23        \
	VMOVDQA64 Z22, Z24           \
	VPERMI2B  Z3, Z2, Z24        \
	VMOVDQU8  Z24, K1, Z23       \
	VMOVDQA64 Z22, Z25           \
	VPERMI2B  Z5, Z4, Z25        \
	VPERMI2B  Z7, Z6, Z22        \
	VMOVDQU8  Z22, K1, Z25

// LOOK is LOOKUP for the residuals of a mode.
#define LOOK(at) \
	VMOVDQU64 (at)(DI), Z22      \
	LOOKUP

#define TABLES(at) /* of a channel */ \
	VMOVDQU64 (at+0)(SI), Z0     \
	VMOVDQU64 (at+64)(SI), Z1    \
	VMOVDQU64 (at+128)(SI), Z2   \
	VMOVDQU64 (at+192)(SI), Z3   \
	VMOVDQU64 (at+256)(SI), Z4   \
	VMOVDQU64 (at+320)(SI), Z5   \
	VMOVDQU64 (at+384)(SI), Z6   \
	VMOVDQU64 (at+448)(SI), Z7

// func chooseBlockVBMI(modes *[8]uint8, r *residualBlock, t *byteCosts, own *uint32, one uint64)
//
// The residuals of a mode give way to the low parts of its costs in the first channel and to the high ones in the second.
TEXT ·chooseBlockVBMI(SB), NOSPLIT, $0-40
	MOVQ r+8(FP), DI
	MOVQ t+16(FP), SI
	MOVQ own+24(FP), R9
	MOVQ one+32(FP), R10
	VPXORQ Z28, Z28, Z28

	TABLES(0)
	MOVL $14, CX
blue:
	LOOK(0)
	VMOVDQU64 Z23, (DI)
	VMOVDQU64 Z25, (3*CHANNEL)(DI)
	ADDQ $64, DI
	DECL CX
	JNZ  blue

	TABLES(512)
	MOVQ r+8(FP), DI
	MOVL $14, CX
green:
	LOOK(CHANNEL)
	VPADDB (DI), Z23, Z23
	VPADDB (3*CHANNEL)(DI), Z25, Z25
	VMOVDQU64 Z23, (DI)
	VMOVDQU64 Z25, (3*CHANNEL)(DI)
	ADDQ $64, DI
	DECL CX
	JNZ  green

	TABLES(1024)
	MOVQ r+8(FP), DI
	XORL CX, CX
	VPTERNLOGD $0xff, Y30, Y30, Y30 // the least sums
	VPXORQ Z31, Z31, Z31            // and their modes
red:
	LOOK((2*CHANNEL))
	VPADDB (DI), Z23, Z23
	VPADDB (3*CHANNEL)(DI), Z25, Z25
	VPSADBW Z28, Z23, Z23
	VPSADBW Z28, Z25, Z25
	VPSLLQ $6, Z25, Z25
	VPADDQ Z25, Z23, Z23
	VPSHUFD $0x4e, Z23, Z24
	VPADDQ Z24, Z23, Z23
	VPMOVQD Z23, Y23 // each tile's sum twice
	TESTQ R10, R10
	JZ   compare
	VPERMQ $0x4e, Y23, Y24
	VPADDD Y24, Y23, Y23
	VPSHUFD $0x4e, Y23, Y24
	VPADDD Y24, Y23, Y23
compare:
	VPADDD.BCST (R9)(CX*4), Y23, Y23
	VPCMPUD $1, Y30, Y23, K2
	VMOVDQA32 Y23, K2, Y30
	VPBROADCASTD CX, Y24
	VMOVDQA32 Y24, K2, Y31
	ADDQ $64, DI
	INCL CX
	CMPL CX, $14
	JNE  red
	MOVQ modes+0(FP), DI
	VPMOVDB Y31, X31
	VMOVQ X31, (DI)
	VZEROUPPER
	RET

// SAMPLE goes to the tables of the vector at SI where they are others than those in the registers.
#define SAMPLE(at, same) \
	MOVQ 200(SI), R8             \
	CMPQ R8, R9                  \
	JEQ  same                    \
	MOVQ R8, R9                  \
	VMOVDQU64 (at+0)(R8), Z0     \
	VMOVDQU64 (at+64)(R8), Z1    \
	VMOVDQU64 (at+128)(R8), Z2   \
	VMOVDQU64 (at+192)(R8), Z3   \
	VMOVDQU64 (at+256)(R8), Z4   \
	VMOVDQU64 (at+320)(R8), Z5   \
	VMOVDQU64 (at+384)(R8), Z6   \
	VMOVDQU64 (at+448)(R8), Z7

// ADDUP adds the costs of the bytes in Z22, as far as they are valid, to Z20 and Z21, and goes to the next vector.
#define ADDUP(next) \
	KMOVQ      192(SI), K2       \
	LOOKUP                       \
	VMOVDQU8.Z Z23, K2, Z23      \
	VMOVDQU8.Z Z25, K2, Z25      \
	VPSADBW    Z14, Z23, Z23     \
	VPSADBW    Z14, Z25, Z25     \
	VPADDQ     Z23, Z20, Z20     \
	VPADDQ     Z25, Z21, Z21     \
	ADDQ       $208, SI          \
	DECQ       CX                \
	JNZ        next              \
	VPSLLQ     $6, Z21, Z21      \
	VPADDQ     Z21, Z20, Z20     \
	VEXTRACTI64X4 $1, Z20, Y21   \
	VPADDQ     Y21, Y20, Y20     \
	VEXTRACTI64X2 $1, Y20, X21   \
	VPADDQ     X21, X20, X20     \
	VPSHUFD    $0x4e, X20, X21   \
	VPADDQ     X21, X20, X20     \
	VMOVQ      X20, AX

// func redCostVBMI(v *sampleVector, n int, greenToRed uint32) uint32
TEXT ·redCostVBMI(SB), NOSPLIT, $0-28
	MOVQ v+0(FP), SI
	MOVQ n+8(FP), CX
	MOVL greenToRed+16(FP), AX
	VPBROADCASTW AX, Z10
	MOVL $0x00ff00ff, AX
	VPBROADCASTD AX, Z13
	VPXORQ Z14, Z14, Z14
	VPXORQ Z20, Z20, Z20
	VPXORQ Z21, Z21, Z21
	XORL R9, R9

next:
	SAMPLE(1024, same)
same:
	VMOVDQU64 (SI), Z22
	VPUNPCKLBW Z22, Z14, Z23
	VPUNPCKHBW Z22, Z14, Z24
	VPMULHW Z10, Z23, Z23
	VPMULHW Z10, Z24, Z24
	VPANDQ Z13, Z23, Z23
	VPANDQ Z13, Z24, Z24
	VPACKUSWB Z24, Z23, Z23
	VMOVDQU64 64(SI), Z22
	VPSUBB Z23, Z22, Z22
	ADDUP(next)
	MOVL AX, ret+24(FP)
	VZEROUPPER
	RET

// func blueCostVBMI(v *sampleVector, n int, greenToBlue, redToBlue uint32) uint32
TEXT ·blueCostVBMI(SB), NOSPLIT, $0-28
	MOVQ v+0(FP), SI
	MOVQ n+8(FP), CX
	MOVL greenToBlue+16(FP), AX
	VPBROADCASTW AX, Z11
	MOVL redToBlue+20(FP), AX
	VPBROADCASTW AX, Z12
	MOVL $0x00ff00ff, AX
	VPBROADCASTD AX, Z13
	VPXORQ Z14, Z14, Z14
	VPXORQ Z20, Z20, Z20
	VPXORQ Z21, Z21, Z21
	XORL R9, R9

next:
	SAMPLE(0, same)
same:
	VMOVDQU64 (SI), Z22
	VPUNPCKLBW Z22, Z14, Z23
	VPUNPCKHBW Z22, Z14, Z24
	VMOVDQU64 64(SI), Z22
	VPUNPCKLBW Z22, Z14, Z25
	VPUNPCKHBW Z22, Z14, Z26
	VPMULHW Z11, Z23, Z23
	VPMULHW Z11, Z24, Z24
	VPMULHW Z12, Z25, Z25
	VPMULHW Z12, Z26, Z26
	VPADDW Z25, Z23, Z23
	VPADDW Z26, Z24, Z24
	VPANDQ Z13, Z23, Z23
	VPANDQ Z13, Z24, Z24
	VPACKUSWB Z24, Z23, Z23
	VMOVDQU64 128(SI), Z22
	VPSUBB Z23, Z22, Z22
	ADDUP(next)
	MOVL AX, ret+24(FP)
	VZEROUPPER
	RET

// func splitEightVBMI(v *sampleVector, at int, px *uint32)
TEXT ·splitEightVBMI(SB), NOSPLIT, $0-24
	MOVQ v+0(FP), DI
	ADDQ at+8(FP), DI
	MOVQ px+16(FP), SI
	VMOVDQU (SI), Y0
	VPMOVDB Y0, 128(DI)
	VPSRLD $8, Y0, Y0
	VPMOVDB Y0, (DI)
	VPSRLD $8, Y0, Y0
	VPMOVDB Y0, 64(DI)
	VZEROUPPER
	RET
