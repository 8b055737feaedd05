#include "textflag.h"

// Rows of residuals by mode lie 128 pixels apart.
#define ROW 512

// FLOOR_MEAN sets out to (a + b) / 2, rounded down, of bytes; Y15 holds ones.
#define FLOOR_MEAN(a, b, out, tmp) \
	VPXOR  a, b, tmp     \
	VPAND  Y15, tmp, tmp \
	VPAVGB a, b, out     \
	VPSUBB tmp, out, out

// LEAVE writes the pixels Y0 less their predictions p, of a mode.
#define LEAVE(p, tmp, mode) \
	VPSUBB  p, Y0, tmp \
	VMOVDQU tmp, (mode*ROW)(DI)

// func predictRowAVX2(cur, up, rows *uint32, n int)
//
// Eight pixels at a time, at least 8; the last eight are done again where n is not a
// multiple. Y0 pixels, Y1 left, Y2 top, Y3 top right, Y4 top left.
TEXT ·predictRowAVX2(SB), NOSPLIT, $0-32
	MOVQ cur+0(FP), SI
	MOVQ up+8(FP), DX
	MOVQ rows+16(FP), R8
	MOVQ n+24(FP), CX
	MOVL $0x01010101, AX
	VMOVD AX, X15
	VPBROADCASTD X15, Y15
	VPXOR Y14, Y14, Y14
	MOVL $0xff000000, AX
	VMOVD AX, X13
	VPBROADCASTD X13, Y13
	VPCMPEQW Y12, Y12, Y12
	VPSRLW $15, Y12, Y12      // ones of 16 bits
	XORL BX, BX               // pixel
	SUBQ $8, CX               // the last to start from

eight:
	LEAQ (R8)(BX*4), DI
	VMOVDQU 4(SI)(BX*4), Y0
	VMOVDQU (SI)(BX*4), Y1
	VMOVDQU 4(DX)(BX*4), Y2
	VMOVDQU 8(DX)(BX*4), Y3
	VMOVDQU (DX)(BX*4), Y4

	LEAVE(Y13, Y5, 0)
	LEAVE(Y1, Y5, 1)
	LEAVE(Y2, Y6, 2)
	LEAVE(Y3, Y7, 3)
	LEAVE(Y4, Y5, 4)
	FLOOR_MEAN(Y1, Y3, Y6, Y7)
	FLOOR_MEAN(Y6, Y2, Y6, Y7)
	LEAVE(Y6, Y7, 5)
	FLOOR_MEAN(Y1, Y4, Y8, Y7)   // left, top left
	LEAVE(Y8, Y7, 6)
	FLOOR_MEAN(Y1, Y2, Y9, Y7)   // left, top
	LEAVE(Y9, Y7, 7)
	FLOOR_MEAN(Y4, Y2, Y6, Y7)
	LEAVE(Y6, Y7, 8)
	FLOOR_MEAN(Y2, Y3, Y10, Y7)  // top, top right
	LEAVE(Y10, Y7, 9)
	FLOOR_MEAN(Y8, Y10, Y6, Y7)
	LEAVE(Y6, Y7, 10)

	// Select: the sums over the channels of |top - top left| and |left - top left|.
	VPSUBUSB Y4, Y2, Y5
	VPSUBUSB Y2, Y4, Y6
	VPOR Y5, Y6, Y5
	VPSUBUSB Y4, Y1, Y7
	VPSUBUSB Y1, Y4, Y8
	VPOR Y7, Y8, Y7
	VPMADDUBSW Y15, Y5, Y5
	VPMADDUBSW Y15, Y7, Y7
	VPSUBW Y7, Y5, Y5
	VPMADDWD Y12, Y5, Y5
	VBLENDVPS Y5, Y1, Y2, Y6
	LEAVE(Y6, Y7, 11)

	// Both clamped modes in 16 bits, the lower and the upper half of each lane.
	VPUNPCKLBW Y14, Y1, Y5
	VPUNPCKHBW Y14, Y1, Y6
	VPUNPCKLBW Y14, Y2, Y7
	VPUNPCKHBW Y14, Y2, Y8
	VPUNPCKLBW Y14, Y4, Y10
	VPUNPCKHBW Y14, Y4, Y11
	VPADDW Y7, Y5, Y5
	VPADDW Y8, Y6, Y6
	VPSUBW Y10, Y5, Y5
	VPSUBW Y11, Y6, Y6
	VPACKUSWB Y6, Y5, Y5
	LEAVE(Y5, Y6, 12)
	VPUNPCKLBW Y14, Y9, Y5
	VPUNPCKHBW Y14, Y9, Y6
	VPSUBW Y10, Y5, Y7
	VPSUBW Y11, Y6, Y8
	VPSRLW $15, Y7, Y10          // a half is rounded towards zero
	VPSRLW $15, Y8, Y11
	VPADDW Y10, Y7, Y7
	VPADDW Y11, Y8, Y8
	VPSRAW $1, Y7, Y7
	VPSRAW $1, Y8, Y8
	VPADDW Y7, Y5, Y5
	VPADDW Y8, Y6, Y6
	VPACKUSWB Y6, Y5, Y5
	LEAVE(Y5, Y6, 13)

	CMPQ BX, CX
	JGE  done
	ADDQ $8, BX
	CMPQ BX, CX
	JLE  eight
	MOVQ CX, BX
	JMP  eight
done:
	VZEROUPPER
	RET

// RECOLOUR transforms the residuals in, to out: Y13 and Y14 are the factors, Y12 masks
// green in both halves of a pixel, Y11 red and blue.
#define RECOLOUR(in, out, a, b) \
	VPAND    Y12, in, a       \
	VPSHUFLW $0xa0, a, a      \
	VPSHUFHW $0xa0, a, a      \
	VPMULHW  Y14, a, a        \
	VPSLLW   $8, in, b        \
	VPMULHW  Y13, b, b        \
	VPSRLD   $16, b, b        \
	VPADDB   a, b, b          \
	VPAND    Y11, b, b        \
	VPSUBB   b, in, out

#define FACTORS(toBlue, greens) \
	VMOVD        toBlue, X13    \
	VPBROADCASTD X13, Y13       \
	VMOVD        greens, X14    \
	VPBROADCASTD X14, Y14       \
	MOVL         $0x0000ff00, AX \
	VMOVD        AX, X12        \
	VPBROADCASTD X12, Y12       \
	MOVL         $0x00ff00ff, AX \
	VMOVD        AX, X11        \
	VPBROADCASTD X11, Y11

// func transformColourRowsAVX2(rows *uint32, n int, toBlue, greens uint32)
//
// n pixels, a multiple of 8, of all 14 modes.
TEXT ·transformColourRowsAVX2(SB), NOSPLIT, $0-24
	MOVQ rows+0(FP), DI
	MOVQ n+8(FP), CX
	FACTORS(toBlue+16(FP), greens+20(FP))
	MOVL $14, DX
mode:
	XORL BX, BX
pixels:
	VMOVDQU (DI)(BX*4), Y0
	RECOLOUR(Y0, Y0, Y1, Y2)
	VMOVDQU Y0, (DI)(BX*4)
	ADDQ $8, BX
	CMPQ BX, CX
	JLT  pixels
	ADDQ $ROW, DI
	DECL DX
	JNZ  mode
	VZEROUPPER
	RET

// func transformColourRowAVX2(out, in *uint32, n int, toBlue, greens uint32)
//
// n pixels, a multiple of 8.
TEXT ·transformColourRowAVX2(SB), NOSPLIT, $0-32
	MOVQ out+0(FP), DI
	MOVQ in+8(FP), SI
	MOVQ n+16(FP), CX
	FACTORS(toBlue+24(FP), greens+28(FP))
	XORL BX, BX
next:
	VMOVDQU (SI)(BX*4), Y0
	RECOLOUR(Y0, Y0, Y1, Y2)
	VMOVDQU Y0, (DI)(BX*4)
	ADDQ $8, BX
	CMPQ BX, CX
	JLT  next
	VZEROUPPER
	RET

// func channelCostAVX2(px *uint32, n int, toBlue, greens uint32, table *uint16, shift uint64) uint32
//
// n pixels, a multiple of 8. Prices are added as in opaqueSumsAVX2, eight at a time.
TEXT ·channelCostAVX2(SB), NOSPLIT, $0-44
	MOVQ px+0(FP), SI
	MOVQ n+8(FP), R8
	FACTORS(toBlue+16(FP), greens+20(FP))
	MOVQ table+24(FP), R9
	VMOVQ shift+32(FP), X10
	MOVL $0x000000ff, AX
	VMOVD AX, X9
	VPBROADCASTD X9, Y9
	XORL R15, R15
next:
	VMOVDQU (SI), Y0
	ADDQ $32, SI
	RECOLOUR(Y0, Y0, Y1, Y2)
	VPSRLD X10, Y0, Y0
	VPAND Y9, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VMOVQ X0, AX
	VPEXTRQ $1, X0, BX
	VMOVQ X1, CX
	VPEXTRQ $1, X1, DX
	MOVL AX, R10
	SHRQ $32, AX
	MOVL BX, R11
	SHRQ $32, BX
	MOVL CX, R12
	SHRQ $32, CX
	MOVL DX, R13
	SHRQ $32, DX
	MOVL (R9)(R10*2), R10
	ADDL (R9)(AX*2), R10
	ADDL (R9)(R11*2), R10
	ADDL (R9)(BX*2), R10
	MOVL (R9)(R12*2), R12
	ADDL (R9)(CX*2), R12
	ADDL (R9)(R13*2), R12
	ADDL (R9)(DX*2), R12
	ADDL R12, R10
	MOVWLZX R10, R10
	ADDL R10, R15
	SUBQ $8, R8
	JNZ  next
	MOVL R15, ret+40(FP)
	VZEROUPPER
	RET

// Where the codes' prices lie in a table, in bytes: see stream.go.
#define RED 512
#define BLUE 1024
#define GREEN 1616

// func opaqueSumsAVX2(sums, rows *uint32, n int, table *uint16)
//
// n pixels, a multiple of 4, of all 14 modes: no vectors, but no instruction either
// that is not needed. Prices are added as 32 bits, of which the upper half belongs to
// the next symbol; the lower half of the sum of twelve is exact, as 12 * 5120 < 65536.
TEXT ·opaqueSumsAVX2(SB), NOSPLIT, $0-32
	MOVQ sums+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ n+16(FP), R8
	MOVQ table+24(FP), R9
	MOVL $14, R10

#define TWO(at) \
	MOVQ    at(SI)(R11*4), AX \
	MOVBLZX AL, BX            \
	MOVBLZX AH, CX            \
	SHRQ    $16, AX           \
	MOVBLZX AL, DX            \
	SHRQ    $16, AX           \
	ADDL    BLUE(R9)(BX*2), R12 \
	ADDL    GREEN(R9)(CX*2), R13 \
	ADDL    RED(R9)(DX*2), R12 \
	MOVBLZX AL, BX            \
	MOVBLZX AH, CX            \
	SHRQ    $16, AX           \
	MOVBLZX AL, DX            \
	ADDL    BLUE(R9)(BX*2), R13 \
	ADDL    GREEN(R9)(CX*2), R12 \
	ADDL    RED(R9)(DX*2), R13

mode:
	MOVL (DI), R15
	XORL R11, R11
four:
	XORL R12, R12
	XORL R13, R13
	TWO(0)
	TWO(8)
	ADDL R13, R12
	MOVWLZX R12, R12
	ADDL R12, R15
	ADDQ $4, R11
	CMPQ R11, R8
	JLT  four
	MOVL R15, (DI)
	ADDQ $4, DI
	ADDQ $ROW, SI
	DECL R10
	JNZ  mode
	RET
