#include "textflag.h"
#include "go_asm.h"

// One dword of each lane: bits of rho by sample; those of e_k and e_1 lie 4 and 8 higher.
DATA ·patternBits+0(SB)/8, $0x0000000200000001
DATA ·patternBits+8(SB)/8, $0x0000000800000004
DATA ·patternBits+16(SB)/8, $0x0000000200000001
DATA ·patternBits+24(SB)/8, $0x0000000800000004
GLOBL ·patternBits(SB), RODATA|NOPTR, $32

// Lane i takes the word of quad i/4.
DATA ·ofQuad+0(SB)/8, $0x0000000000000000
DATA ·ofQuad+8(SB)/8, $0x0000000000000000
DATA ·ofQuad+16(SB)/8, $0x0000000100000001
DATA ·ofQuad+24(SB)/8, $0x0000000100000001
GLOBL ·ofQuad(SB), RODATA|NOPTR, $32

// The samples of two quads: first those of the upper row, then those of the lower.
DATA ·toRows+0(SB)/8, $0x0000000200000000
DATA ·toRows+8(SB)/8, $0x0000000600000004
DATA ·toRows+16(SB)/8, $0x0000000300000001
DATA ·toRows+24(SB)/8, $0x0000000700000005
GLOBL ·toRows(SB), RODATA|NOPTR, $32

// The low byte of a lane in all its four bytes.
DATA ·lowByte+0(SB)/8, $0x0404040400000000
DATA ·lowByte+8(SB)/8, $0x0c0c0c0c08080808
DATA ·lowByte+16(SB)/8, $0x0404040400000000
DATA ·lowByte+24(SB)/8, $0x0c0c0c0c08080808
GLOBL ·lowByte(SB), RODATA|NOPTR, $32

DATA ·bytes0123+0(SB)/8, $0x0302010003020100
DATA ·bytes0123+8(SB)/8, $0x0302010003020100
DATA ·bytes0123+16(SB)/8, $0x0302010003020100
DATA ·bytes0123+24(SB)/8, $0x0302010003020100
GLOBL ·bytes0123(SB), RODATA|NOPTR, $32

// func boundsAVX2(r *rowArgs) (most uint32)
TEXT ·boundsAVX2(SB), NOSPLIT, $0-12
	MOVQ r+0(FP), BX
	MOVQ rowArgs_quads(BX), DI
	ADDQ $4, DI
	MOVQ rowArgs_above(BX), SI
	MOVQ rowArgs_columns(BX), CX
	VPXOR    Y15, Y15, Y15 // the greatest U
	VPCMPEQD Y14, Y14, Y14
	VPSRLD   $31, Y14, Y13 // 1
	VPSRLD   $28, Y14, Y12 // 15
	VPSRLD   $24, Y14, Y11 // 255
	VPSRLD   $25, Y14, Y10 // 127
	VPXOR    Y9, Y9, Y9

quads:
	// The OR of the four samples above each quad, in the even lanes.
	VMOVDQU 0(SI), Y0
	VPOR    4(SI), Y0, Y0
	VPOR    8(SI), Y0, Y0
	VPOR    12(SI), Y0, Y0
	VMOVDQU 32(SI), Y1
	VPOR    36(SI), Y1, Y1
	VPOR    40(SI), Y1, Y1
	VPOR    44(SI), Y1, Y1
	VSHUFPS $0x88, Y1, Y0, Y0
	VPERMQ  $0xd8, Y0, Y0

	// Its bit length, less one, from the exponent of a float of the highest bit (and of
	// bits that do not touch it, so that it is not rounded up).
	VPSRLD    $1, Y0, Y1
	VPANDN    Y0, Y1, Y0
	VCVTDQ2PS Y0, Y0
	VPSRLD    $23, Y0, Y0
	VPAND     Y11, Y0, Y0
	VPSUBD    Y10, Y0, Y0

	// kappa is 1 where fewer than two samples are significant.
	VMOVDQU  (DI), Y2
	VPAND    Y12, Y2, Y3
	VPADDD   Y14, Y3, Y4
	VPAND    Y3, Y4, Y4
	VPCMPEQD Y9, Y4, Y4
	VPANDN   Y0, Y4, Y0
	VPMAXSD  Y13, Y0, Y0

	VPSLLD  $16, Y0, Y0
	VPADDD  Y0, Y2, Y2
	VMOVDQU Y2, (DI)
	VPMAXUD Y2, Y15, Y15
	ADDQ    $32, DI
	ADDQ    $64, SI
	SUBQ    $8, CX
	JG      quads

	VEXTRACTI128 $1, Y15, X0
	VPMAXUD      X0, X15, X0
	VPSHUFD      $0x4e, X0, X1
	VPMAXUD      X0, X1, X0
	VPSHUFD      $0xb1, X0, X1
	VPMAXUD      X0, X1, X0
	VMOVD        X0, AX
	SHRL         $16, AX
	MOVL         AX, most+8(FP)
	VZEROUPPER
	RET

// func samplesAVX2(r *rowArgs)
//
// Lanes are the samples of two quads, each quad in 128 bits.
TEXT ·samplesAVX2(SB), NOSPLIT, $0-8
	MOVQ r+0(FP), BX
	MOVQ rowArgs_quads(BX), DI
	ADDQ $4, DI
	MOVQ rowArgs_lower(BX), SI
	MOVQ rowArgs_magsgn(BX), DX
	MOVQ rowArgs_top(BX), R8
	MOVQ rowArgs_bottom(BX), R9
	MOVQ rowArgs_at(BX), AX
	MOVL $0, (SI)
	ADDQ $4, SI

	VMOVDQU   ·patternBits(SB), Y15
	VPSLLD    $4, Y15, Y14
	VPSLLD    $8, Y15, Y13
	VMOVDQU   ·ofQuad(SB), Y12
	VMOVDQU   ·toRows(SB), Y11
	VMOVDQU   ·lowByte(SB), Y10
	VMOVDQU   ·bytes0123(SB), Y9
	VMOVQ     (rowArgs_scale+scale_shift)(BX), X8
	VPBROADCASTD (rowArgs_scale+scale_offset)(BX), Y7
	MOVQ      rowArgs_columns(BX), CX

pair:
	VMOVQ    (DI), X0
	VPERMD   Y0, Y12, Y0
	VPAND    Y15, Y0, Y1
	VPCMPEQD Y15, Y1, Y1           // significant
	VPAND    Y14, Y0, Y2
	VPCMPEQD Y14, Y2, Y2           // -1 where the top bit is known
	VPSRLD   $16, Y0, Y3
	VPADDD   Y2, Y3, Y3
	VPAND    Y1, Y3, Y3            // m

	// Running sums of m within each quad.
	VPSLLDQ $4, Y3, Y4
	VPADDD  Y3, Y4, Y4
	VPSLLDQ $8, Y4, Y5
	VPADDD  Y4, Y5, Y5
	VPSUBD  Y3, Y5, Y6             // first bit of each sample

	// Where both quads begin.
	VPEXTRD      $3, X5, R10
	VEXTRACTI128 $1, Y5, X4
	VPEXTRD      $3, X4, R11
	MOVQ         AX, R12
	SHRQ         $3, R12
	VMOVDQU      (DX)(R12*1), X2
	MOVQ         AX, R12
	ANDQ         $7, R12
	ADDQ         R10, AX
	MOVQ         AX, R13
	SHRQ         $3, R13
	VINSERTI128  $1, (DX)(R13*1), Y2, Y2
	MOVQ         AX, R13
	ANDQ         $7, R13
	SHLQ         $32, R13
	ORQ          R13, R12
	ADDQ         R11, AX
	VMOVQ        R12, X4
	VPERMD       Y4, Y12, Y4
	VPADDD       Y4, Y6, Y6

	// The four bytes from that of each sample's first bit.
	VPSRLD   $3, Y6, Y4
	VPSHUFB  Y10, Y4, Y4
	VPADDB   Y9, Y4, Y4
	VPSHUFB  Y4, Y2, Y2
	VPSLLD   $29, Y6, Y6
	VPSRLD   $29, Y6, Y6
	VPSRLVD  Y6, Y2, Y2
	VPCMPEQD Y4, Y4, Y4
	VPSLLVD  Y3, Y4, Y6
	VPANDN   Y2, Y6, Y2
	VPAND    Y13, Y0, Y0
	VPCMPEQD Y13, Y0, Y0
	VPSRLD   $31, Y0, Y0
	VPSLLVD  Y3, Y0, Y0
	VPOR     Y0, Y2, Y2            // v

	VPSRLD $31, Y4, Y4
	VPOR   Y2, Y4, Y4
	VPAND  Y1, Y4, Y4              // v|1
	VPSRLD $1, Y2, Y5
	VPSLLD X8, Y5, Y5
	VPADDD Y7, Y5, Y5
	VPSLLD $31, Y2, Y2
	VPSRAD $31, Y2, Y2
	VPXOR  Y2, Y5, Y5
	VPSUBD Y2, Y5, Y5
	VPAND  Y1, Y5, Y5

	VPERMD       Y5, Y11, Y5
	VPERMD       Y4, Y11, Y4
	VMOVDQU      X5, (R8)
	VEXTRACTI128 $1, Y5, (R9)
	VEXTRACTI128 $1, Y4, (SI)
	ADDQ         $8, DI
	ADDQ         $16, SI
	ADDQ         $16, R8
	ADDQ         $16, R9
	SUBQ         $2, CX
	JG           pair

	// What lies beyond the row counts as insignificant.
	MOVL $0, (SI)
	MOVQ AX, rowArgs_at(BX)
	VZEROUPPER
	RET

// func analyseAVX2(r *quadRow) (any uint32)
TEXT ·analyseAVX2(SB), NOSPLIT, $0-12
	MOVQ r+0(FP), BX
	MOVQ quadRow_quads(BX), DI
	ADDQ $4, DI
	MOVQ quadRow_v(BX), DX
	MOVQ quadRow_top(BX), R8
	MOVQ quadRow_bottom(BX), R9
	MOVQ quadRow_lower(BX), SI
	MOVL $0, (SI)
	ADDQ $4, SI
	MOVQ quadRow_columns(BX), CX

	VMOVDQU  ·patternBits(SB), Y15
	VPSLLD   $4, Y15, Y14
	VMOVDQU  ·toRows(SB), Y13
	VPCMPEQD Y12, Y12, Y12
	VPSRLD   $31, Y12, Y11         // 1
	VPSRLD   $24, Y12, Y10         // 255
	VPXOR    Y9, Y9, Y9
	VMOVD    quadRow_greatest(BX), X7

	// Two quads at a time: rho, eps and the exponent of the greatest known, in one word.
pair:
	VMOVDQU     (R8), X0
	VMOVDQU     (R9), X1
	VPUNPCKLDQ  X1, X0, X2
	VPUNPCKHDQ  X1, X0, X3
	VINSERTI128 $1, X3, Y2, Y0
	VPCMPEQD    Y9, Y0, Y1         // insignificant
	VPABSD      Y0, Y2
	VPADDD      Y12, Y2, Y2
	VPADDD      Y2, Y2, Y2
	VPSRLD      $31, Y0, Y0
	VPOR        Y0, Y2, Y2
	VPANDN      Y2, Y1, Y2         // v
	VPMAXUD     Y2, Y7, Y7
	VMOVDQU     Y2, (DX)
	VPOR        Y11, Y2, Y3
	VPANDN      Y3, Y1, Y3         // v|1

	VPERMD       Y3, Y13, Y4
	VEXTRACTI128 $1, Y4, (SI)

	// Of a number with bit 31, a negative integer, only that bit is left.
	VPSRAD    $31, Y3, Y4
	VPOR      Y3, Y4, Y4
	VPSRLD    $1, Y4, Y4
	VPANDN    Y3, Y4, Y4
	VCVTDQ2PS Y4, Y4
	VPSRLD    $23, Y4, Y4
	VPAND     Y10, Y4, Y4          // bit length + 126, or 0
	VPSHUFD   $0x4e, Y4, Y5
	VPMAXUD   Y4, Y5, Y5
	VPSHUFD   $0xb1, Y5, Y6
	VPMAXUD   Y5, Y6, Y5           // the greatest of the quad

	VPCMPEQD Y5, Y4, Y4
	VPAND    Y14, Y4, Y4           // eps
	VPOR     Y15, Y4, Y4           // rho
	VPANDN   Y4, Y1, Y4
	VPSHUFD  $0x4e, Y4, Y6
	VPOR     Y4, Y6, Y4
	VPSHUFD  $0xb1, Y4, Y6
	VPOR     Y4, Y6, Y4
	VPSLLD   $16, Y5, Y5
	VPOR     Y5, Y4, Y4

	VEXTRACTI128 $1, Y4, X5
	VPUNPCKLDQ   X5, X4, X4
	VMOVQ        X4, (DI)
	ADDQ         $8, DI
	ADDQ         $16, SI
	ADDQ         $16, R8
	ADDQ         $16, R9
	ADDQ         $32, DX
	SUBQ         $2, CX
	JG           pair
	MOVL         $0, (SI)
	MOVQ         $0, (DI)          // words for whole vectors below
	MOVQ         $0, 8(DI)
	MOVQ         $0, 16(DI)
	MOVQ         $0, 24(DI)

	VEXTRACTI128 $1, Y7, X0
	VPMAXUD      X0, X7, X0
	VPSHUFD      $0x4e, X0, X1
	VPMAXUD      X0, X1, X0
	VPSHUFD      $0xb1, X0, X1
	VPMAXUD      X0, X1, X0
	VMOVD        X0, quadRow_greatest(BX)

	// Eight quads at a time: kappa, U and u.
	MOVQ   quadRow_quads(BX), DI
	ADDQ   $4, DI
	MOVQ   quadRow_above(BX), SI
	MOVQ   quadRow_columns(BX), CX
	VPSRLD $28, Y12, Y15           // 15
	VPSLLD $4, Y15, Y14            // eps
	VPSRLD $25, Y12, Y13           // 127
	VPXOR  Y8, Y8, Y8              // the OR of all words

quads:
	VMOVDQU   0(SI), Y0
	VPOR      4(SI), Y0, Y0
	VPOR      8(SI), Y0, Y0
	VPOR      12(SI), Y0, Y0
	VMOVDQU   32(SI), Y1
	VPOR      36(SI), Y1, Y1
	VPOR      40(SI), Y1, Y1
	VPOR      44(SI), Y1, Y1
	VSHUFPS   $0x88, Y1, Y0, Y0
	VPERMQ    $0xd8, Y0, Y0
	VPSRAD    $31, Y0, Y1
	VPOR      Y0, Y1, Y1
	VPSRLD    $1, Y1, Y1
	VPANDN    Y0, Y1, Y0
	VCVTDQ2PS Y0, Y0
	VPSRLD    $23, Y0, Y0
	VPAND     Y10, Y0, Y0
	VPSUBD    Y13, Y0, Y0
	VMOVDQU   (DI), Y2
	VPAND     Y15, Y2, Y3          // rho
	VPADDD    Y12, Y3, Y4
	VPAND     Y3, Y4, Y4
	VPCMPEQD  Y9, Y4, Y4
	VPANDN    Y0, Y4, Y0
	VPMAXSD   Y11, Y0, Y0          // kappa

	VPSRLD   $16, Y2, Y4
	VPSUBD   Y13, Y4, Y4
	VPADDD   Y11, Y4, Y4           // bit length of the greatest, below 0 if there is none
	VPMAXSD  Y0, Y4, Y4            // U
	VPSUBD   Y0, Y4, Y0            // u
	VPCMPEQD Y9, Y0, Y5
	VPAND    Y14, Y2, Y2
	VPANDN   Y2, Y5, Y2            // eps, if there is u
	VPOR     Y3, Y2, Y2
	VPSLLD   $16, Y4, Y4
	VPOR     Y4, Y2, Y2
	VPSLLD   $24, Y0, Y0
	VPOR     Y0, Y2, Y2
	VMOVDQU  Y2, (DI)
	VPOR     Y2, Y8, Y8
	ADDQ     $32, DI
	ADDQ     $64, SI
	SUBQ     $8, CX
	JG       quads

	VEXTRACTI128 $1, Y8, X0
	VPOR         X0, X8, X0
	VPSHUFD      $0x4e, X0, X1
	VPOR         X0, X1, X0
	VPSHUFD      $0xb1, X0, X1
	VPOR         X0, X1, X0
	VMOVD        X0, AX
	MOVL         AX, any+8(FP)
	VZEROUPPER
	RET

// APPEND appends the count bits of word to R10, of which CX wait, and writes whole bytes.
#define APPEND(word, count) \
	SHLXQ CX, word, R11; \
	ORQ   R11, R10;      \
	MOVQ  R10, (DX);     \
	ADDQ  count, CX;     \
	MOVQ  CX, R11;       \
	SHRQ  $3, R11;       \
	ADDQ  R11, DX;       \
	SHLQ  $3, R11;       \
	SHRXQ R11, R10, R10; \
	ANDQ  $7, CX

// func magnitudesAVX2(r *quadRow, out *byte, bits uint64, wait uint) (n int, newBits uint64, newWait uint)
TEXT ·magnitudesAVX2(SB), NOSPLIT, $0-56
	MOVQ r+0(FP), BX
	MOVQ quadRow_quads(BX), DI
	ADDQ $4, DI
	MOVQ quadRow_v(BX), SI
	MOVQ out+8(FP), DX
	MOVQ bits+16(FP), R10
	MOVQ wait+24(FP), CX
	MOVQ quadRow_columns(BX), AX

	VMOVDQU  ·patternBits(SB), Y15
	VPSLLD   $8, Y15, Y14
	VMOVDQU  ·ofQuad(SB), Y13
	VPCMPEQD Y12, Y12, Y12
	VPSRLQ   $32, Y12, Y11         // the even lanes
	VPSRLD   $26, Y12, Y10         // 63

pair:
	VMOVQ    (DI), X0
	VPERMD   Y0, Y13, Y0
	VPAND    Y15, Y0, Y1
	VPCMPEQD Y15, Y1, Y1           // significant
	VPAND    Y14, Y0, Y2
	VPCMPEQD Y14, Y2, Y2           // -1 where the top bit is known
	VPSRLD   $16, Y0, Y3
	VPAND    Y10, Y3, Y3           // U
	VPADDD   Y2, Y3, Y3
	VPAND    Y1, Y3, Y3            // m
	VPSLLVD  Y3, Y12, Y4
	VPANDN   (SI), Y4, Y4          // its bits of v

	// Two samples in 64 bits.
	VPAND    Y11, Y3, Y5
	VPSRLQ   $32, Y3, Y3
	VPAND    Y11, Y4, Y6
	VPSRLQ   $32, Y4, Y4
	VPSLLVQ  Y5, Y4, Y4
	VPOR     Y6, Y4, Y4
	VPADDD   Y5, Y3, Y3

	VMOVQ        X4, R8
	VMOVQ        X3, R9
	APPEND(R8, R9)
	VPEXTRQ      $1, X4, R8
	VPEXTRQ      $1, X3, R9
	APPEND(R8, R9)
	VEXTRACTI128 $1, Y4, X4
	VEXTRACTI128 $1, Y3, X3
	VMOVQ        X4, R8
	VMOVQ        X3, R9
	APPEND(R8, R9)
	VPEXTRQ      $1, X4, R8
	VPEXTRQ      $1, X3, R9
	APPEND(R8, R9)
	ADDQ $8, DI
	ADDQ $32, SI
	SUBQ $2, AX
	JG   pair

	SUBQ out+8(FP), DX
	MOVQ DX, n+32(FP)
	MOVQ R10, newBits+40(FP)
	MOVQ CX, newWait+48(FP)
	VZEROUPPER
	RET
