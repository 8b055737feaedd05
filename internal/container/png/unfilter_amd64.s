#include "textflag.h"

// func subAVX2(dst, src *byte, steps, back int)
//
// Four pixels at a time: the sums within the vector, and the last pixel of the vector before, in X3,
// added to all.
TEXT ·subAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ steps+16(FP), CX
	MOVQ back+24(FP), DX
	VPXOR X3, X3, X3
	TESTQ CX, CX
	JLE  done
	CMPQ DX, $4
	JEQ  sub4

	VMOVDQU last3<>(SB), X5

sub3:
	VMOVDQU (SI), X0
	VPSLLDQ $3, X0, X1
	VPADDB X1, X0, X0
	VPSLLDQ $6, X0, X1
	VPADDB X1, X0, X0
	VPADDB X3, X0, X0
	VMOVDQU X0, (DI)
	VPSHUFB X5, X0, X3
	ADDQ $12, SI
	ADDQ $12, DI
	DECQ CX
	JNZ  sub3
	RET

sub4:
	VMOVDQU (SI), X0
	VPSLLDQ $4, X0, X1
	VPADDB X1, X0, X0
	VPSLLDQ $8, X0, X1
	VPADDB X1, X0, X0
	VPADDB X3, X0, X0
	VMOVDQU X0, (DI)
	VPSHUFD $0xff, X0, X3
	ADDQ $16, SI
	ADDQ $16, DI
	DECQ CX
	JNZ  sub4

done:
	RET

// The fourth pixel of three bytes, five times.
DATA last3<>+0(SB)/8, $0x0a090b0a090b0a09
DATA last3<>+8(SB)/8, $0x090b0a090b0a090b
GLOBL last3<>(SB), RODATA|NOPTR, $16

// func aboveAVX2(dst, src, up *byte, blocks int)
TEXT ·aboveAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ blocks+24(FP), CX

above:
	VMOVDQU (SI), Y0
	VPADDB (DX), Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $32, SI
	ADDQ $32, DX
	ADDQ $32, DI
	DECQ CX
	JNZ  above
	VZEROUPPER
	RET

DATA ones<>+0(SB)/4, $0x01010101
GLOBL ones<>(SB), RODATA|NOPTR, $4

// func averageAVX2(dst, src, up *byte, pixels, back int)
//
// The instruction rounds up, so one is taken away where the sum is odd. X0 is the pixel to the left.
TEXT ·averageAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ pixels+24(FP), CX
	MOVQ back+32(FP), BX
	VPXOR X0, X0, X0
	VPBROADCASTD ones<>(SB), X7

average:
	VMOVD (DX), X1
	VMOVD (SI), X2
	VPXOR X1, X0, X3
	VPAND X7, X3, X3
	VPAVGB X1, X0, X0
	VPSUBB X3, X2, X2
	VPADDB X2, X0, X0
	VMOVD X0, (DI)
	ADDQ BX, SI
	ADDQ BX, DX
	ADDQ BX, DI
	DECQ CX
	JNZ  average
	RET

// PAETH computes in bytes which of X0 (left), X1 (above) and X2 (above left) is nearest to left + above - above
// left. It adds X3, the residuals, to each of them first, and puts the one chosen plus its residual into X4.
//
// With pa = |above - above left| and pb = |left - above left|, the third distance is their sum where both
// differences have the same sign, and else their difference. A sum that is cut off at 255 is not less than pa
// and pb, as the sum itself.
#define PAETH \
	VPSUBUSB X2, X1, X4     \
	VPSUBUSB X1, X2, X5     \
	VPOR     X4, X5, X6     \ // pa
	VPSUBUSB X2, X0, X7     \
	VPSUBUSB X0, X2, X8     \
	VPOR     X7, X8, X9     \ // pb
	VPMAXUB  X0, X2, X7     \
	VPCMPEQB X0, X7, X7     \ // left >= above left
	VPMAXUB  X1, X2, X4     \
	VPCMPEQB X1, X4, X4     \ // above >= above left
	VPXOR    X4, X7, X7     \ // the signs differ
	VPADDUSB X6, X9, X4     \
	VPSUBUSB X6, X9, X5     \
	VPSUBUSB X9, X6, X8     \
	VPOR     X5, X8, X5     \
	VPBLENDVB X7, X5, X4, X5 \ // pc
	VPMINUB  X6, X9, X7     \
	VPMINUB  X5, X7, X5     \
	VPADDB   X3, X2, X2     \
	VPADDB   X3, X1, X4     \
	VPCMPEQB X5, X9, X9     \
	VPBLENDVB X9, X4, X2, X4 \
	VPADDB   X3, X0, X0     \
	VPCMPEQB X5, X6, X6     \
	VPBLENDVB X6, X0, X4, X4

// func paethAVX2(dst, src, up *byte, pixels, back int)
TEXT ·paethAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ pixels+24(FP), CX
	MOVQ back+32(FP), BX
	VPXOR X0, X0, X0
	VPXOR X2, X2, X2

paeth:
	VMOVD (DX), X1
	VMOVD (SI), X3
	VMOVDQA X1, X10
	PAETH
	VMOVD X4, (DI)
	VMOVDQA X4, X0
	VMOVDQA X10, X2
	ADDQ BX, SI
	ADDQ BX, DX
	ADDQ BX, DI
	DECQ CX
	JNZ  paeth
	RET

// func fourRowsAVX2(dst, src, up *byte, dstStride, srcStride, steps, back int, masks *rowMasks)
//
// X0 has the pixels that the step before computed, one for each row: these are the pixels to the left, and, moved by
// one row, those above.
TEXT ·fourRowsAVX2(SB), NOSPLIT, $16-64
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ dstStride+24(FP), R10
	MOVQ srcStride+32(FP), R8
	MOVQ steps+40(FP), CX
	MOVQ back+48(FP), BX
	MOVQ masks+56(FP), AX
	VMOVDQU (AX), X11   // sub
	VMOVDQU 16(AX), X12 // up
	VMOVDQU 32(AX), X13 // average
	VMOVDQU 48(AX), X14 // paeth
	VPBROADCASTD ones<>(SB), X15
	SUBQ BX, R8
	LEAQ (R8)(R8*2), R9
	SUBQ BX, R10
	LEAQ (R10)(R10*2), R11

	// The fourth pixel of the first row, and one less in each row below; above each, the one to the left of what the
	// first step has above.
	LEAQ (BX)(BX*2), AX
	ADDQ AX, DI
	ADDQ AX, SI
	ADDQ AX, DX
	VMOVD (DI), X0
	VPINSRD $1, (DI)(R10*1), X0, X0
	VPINSRD $2, (DI)(R10*2), X0, X0
	VPINSRD $3, (DI)(R11*1), X0, X0
	VMOVD (DX), X2
	SUBQ BX, DI
	VPINSRD $1, (DI), X2, X2
	VPINSRD $2, (DI)(R10*1), X2, X2
	VPINSRD $3, (DI)(R10*2), X2, X2
	ADDQ BX, DI

rows:
	ADDQ BX, DI
	ADDQ BX, SI
	ADDQ BX, DX
	VMOVD (SI), X3
	VPINSRD $1, (SI)(R8*1), X3, X3
	VPINSRD $2, (SI)(R8*2), X3, X3
	VPINSRD $3, (SI)(R9*1), X3, X3
	VMOVD (DX), X4
	VPSLLDQ $4, X0, X1
	VPOR X4, X1, X1
	VMOVDQA X1, X10

	// The rows with other filters.
	VPXOR X1, X0, X4
	VPAND X15, X4, X4
	VPAVGB X1, X0, X5
	VPSUBB X4, X5, X5
	VPAND X13, X5, X5
	VPAND X11, X0, X4
	VPOR X4, X5, X5
	VPAND X12, X1, X4
	VPOR X4, X5, X5
	VPADDB X3, X5, X5
	VMOVDQU X5, other-16(SP)
	PAETH
	VMOVDQU other-16(SP), X5
	VPBLENDVB X14, X4, X5, X0
	VMOVDQA X10, X2
	VMOVD X0, (DI)
	VPEXTRD $1, X0, (DI)(R10*1)
	VPEXTRD $2, X0, (DI)(R10*2)
	VPEXTRD $3, X0, (DI)(R11*1)
	DECQ CX
	JNZ  rows
	RET
