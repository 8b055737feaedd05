#include "textflag.h"

// Constants of eight lanes.
DATA iota<>+0(SB)/8, $0x0000000100000000
DATA iota<>+8(SB)/8, $0x0000000300000002
DATA iota<>+16(SB)/8, $0x0000000500000004
DATA iota<>+24(SB)/8, $0x0000000700000006
GLOBL iota<>(SB), RODATA|NOPTR, $32
DATA k2p18<>+0(SB)/8, $0x0004000000040000
DATA k2p18<>+8(SB)/8, $0x0004000000040000
DATA k2p18<>+16(SB)/8, $0x0004000000040000
DATA k2p18<>+24(SB)/8, $0x0004000000040000
GLOBL k2p18<>(SB), RODATA|NOPTR, $32
DATA k1<>+0(SB)/8, $0x0000000100000001
DATA k1<>+8(SB)/8, $0x0000000100000001
DATA k1<>+16(SB)/8, $0x0000000100000001
DATA k1<>+24(SB)/8, $0x0000000100000001
GLOBL k1<>(SB), RODATA|NOPTR, $32
DATA k43<>+0(SB)/8, $0x0000002b0000002b
DATA k43<>+8(SB)/8, $0x0000002b0000002b
DATA k43<>+16(SB)/8, $0x0000002b0000002b
DATA k43<>+24(SB)/8, $0x0000002b0000002b
GLOBL k43<>(SB), RODATA|NOPTR, $32
DATA k40<>+0(SB)/8, $0x0000002800000028
DATA k40<>+8(SB)/8, $0x0000002800000028
DATA k40<>+16(SB)/8, $0x0000002800000028
DATA k40<>+24(SB)/8, $0x0000002800000028
GLOBL k40<>(SB), RODATA|NOPTR, $32
DATA k3<>+0(SB)/8, $0x0000000300000003
DATA k3<>+8(SB)/8, $0x0000000300000003
DATA k3<>+16(SB)/8, $0x0000000300000003
DATA k3<>+24(SB)/8, $0x0000000300000003
GLOBL k3<>(SB), RODATA|NOPTR, $32
DATA k44<>+0(SB)/8, $0x0000002c0000002c
DATA k44<>+8(SB)/8, $0x0000002c0000002c
DATA k44<>+16(SB)/8, $0x0000002c0000002c
DATA k44<>+24(SB)/8, $0x0000002c0000002c
GLOBL k44<>(SB), RODATA|NOPTR, $32
DATA k15<>+0(SB)/8, $0x0000000f0000000f
DATA k15<>+8(SB)/8, $0x0000000f0000000f
DATA k15<>+16(SB)/8, $0x0000000f0000000f
DATA k15<>+24(SB)/8, $0x0000000f0000000f
GLOBL k15<>(SB), RODATA|NOPTR, $32
DATA k246<>+0(SB)/8, $0x000000f6000000f6
DATA k246<>+8(SB)/8, $0x000000f6000000f6
DATA k246<>+16(SB)/8, $0x000000f6000000f6
DATA k246<>+24(SB)/8, $0x000000f6000000f6
GLOBL k246<>(SB), RODATA|NOPTR, $32
DATA k128<>+0(SB)/8, $0x0000008000000080
DATA k128<>+8(SB)/8, $0x0000008000000080
DATA k128<>+16(SB)/8, $0x0000008000000080
DATA k128<>+24(SB)/8, $0x0000008000000080
GLOBL k128<>(SB), RODATA|NOPTR, $32
DATA k87<>+0(SB)/8, $0x0000005700000057
DATA k87<>+8(SB)/8, $0x0000005700000057
DATA k87<>+16(SB)/8, $0x0000005700000057
DATA k87<>+24(SB)/8, $0x0000005700000057
GLOBL k87<>(SB), RODATA|NOPTR, $32
DATA k88<>+0(SB)/8, $0x0000005800000058
DATA k88<>+8(SB)/8, $0x0000005800000058
DATA k88<>+16(SB)/8, $0x0000005800000058
DATA k88<>+24(SB)/8, $0x0000005800000058
GLOBL k88<>(SB), RODATA|NOPTR, $32
DATA k32<>+0(SB)/8, $0x0000002000000020
DATA k32<>+8(SB)/8, $0x0000002000000020
DATA k32<>+16(SB)/8, $0x0000002000000020
DATA k32<>+24(SB)/8, $0x0000002000000020
GLOBL k32<>(SB), RODATA|NOPTR, $32
DATA k16383<>+0(SB)/8, $0x00003fff00003fff
DATA k16383<>+8(SB)/8, $0x00003fff00003fff
DATA k16383<>+16(SB)/8, $0x00003fff00003fff
DATA k16383<>+24(SB)/8, $0x00003fff00003fff
GLOBL k16383<>(SB), RODATA|NOPTR, $32
DATA k63<>+0(SB)/8, $0x0000003f0000003f
DATA k63<>+8(SB)/8, $0x0000003f0000003f
DATA k63<>+16(SB)/8, $0x0000003f0000003f
DATA k63<>+24(SB)/8, $0x0000003f0000003f
GLOBL k63<>(SB), RODATA|NOPTR, $32
DATA k16<>+0(SB)/8, $0x0000001000000010
DATA k16<>+8(SB)/8, $0x0000001000000010
DATA k16<>+16(SB)/8, $0x0000001000000010
DATA k16<>+24(SB)/8, $0x0000001000000010
GLOBL k16<>(SB), RODATA|NOPTR, $32
DATA k255<>+0(SB)/8, $0x000000ff000000ff
DATA k255<>+8(SB)/8, $0x000000ff000000ff
DATA k255<>+16(SB)/8, $0x000000ff000000ff
DATA k255<>+24(SB)/8, $0x000000ff000000ff
GLOBL k255<>(SB), RODATA|NOPTR, $32
DATA k65535<>+0(SB)/8, $0x0000ffff0000ffff
DATA k65535<>+8(SB)/8, $0x0000ffff0000ffff
DATA k65535<>+16(SB)/8, $0x0000ffff0000ffff
DATA k65535<>+24(SB)/8, $0x0000ffff0000ffff
GLOBL k65535<>(SB), RODATA|NOPTR, $32
DATA k2<>+0(SB)/8, $0x0000000200000002
DATA k2<>+8(SB)/8, $0x0000000200000002
DATA k2<>+16(SB)/8, $0x0000000200000002
DATA k2<>+24(SB)/8, $0x0000000200000002
GLOBL k2<>(SB), RODATA|NOPTR, $32
DATA k99<>+0(SB)/8, $0x0000006300000063
DATA k99<>+8(SB)/8, $0x0000006300000063
DATA k99<>+16(SB)/8, $0x0000006300000063
DATA k99<>+24(SB)/8, $0x0000006300000063
GLOBL k99<>(SB), RODATA|NOPTR, $32

// CONTEXT takes contexts in Y0 and fractions in Y1 and leaves the numbers of tables in Y2 and of the raw bits of the scale in
// Y3. Y13 is the q offset. It changes Y4 to Y6.
#define CONTEXT \
	VPXOR Y6, Y6, Y6          \
	VPCMPEQD Y6, Y0, Y6       \
	VPADDD Y13, Y0, Y0        \
	VPMAXSD k1<>(SB), Y0, Y0  \
	VPMINSD k99<>(SB), Y0, Y0 \
	VPANDN Y0, Y6, Y0         \
	VPCMPGTD k43<>(SB), Y0, Y4 \
	VPSUBD k40<>(SB), Y0, Y3  \
	VPSRAD $2, Y3, Y3         \
	VPAND Y4, Y3, Y3          \
	VPAND k3<>(SB), Y0, Y5    \
	VPADDD k40<>(SB), Y5, Y5  \
	VPBLENDVB Y4, Y5, Y0, Y0  \
	VPABSD Y1, Y2             \
	VPSRLD $9, Y2, Y2         \
	VPMINUD k3<>(SB), Y2, Y2  \
	VPMULLD k44<>(SB), Y2, Y2 \
	VPADDD Y0, Y2, Y2

// func symbolsAVX2(c *symbolCall)
//
// The entries of tables, raw bits and residuals of a half row, eight at a time. Y15 and Y14 gather the residuals and
// the values, Y12 the numbers of raw bits.
TEXT ·symbolsAVX2(SB), NOSPLIT, $0-8
	MOVQ c+0(FP), DI
	MOVQ 0(DI), R8            // values
	MOVQ 8(DI), R9            // predictions
	MOVQ 16(DI), R10          // fractions
	MOVQ 24(DI), R11          // contexts
	MOVQ 32(DI), R12          // entries
	MOVQ 40(DI), R13          // raw
	MOVQ 48(DI), R15          // rawBits
	MOVQ 56(DI), SI           // residuals
	MOVQ 64(DI), DX           // magnitudes
	MOVQ 72(DI), CX           // n
	VPBROADCASTD 80(DI), Y13  // offset
	VPXOR Y15, Y15, Y15
	VPXOR Y14, Y14, Y14
	VPXOR Y12, Y12, Y12
symbol:
	VMOVD CX, X11
	VPBROADCASTD X11, Y11
	VPCMPGTD iota<>(SB), Y11, Y11 // lanes of this half row
	VMOVDQU (R8), Y7
	VPSUBD (R9), Y7, Y8       // residuals
	VPAND Y11, Y8, Y0
	VPOR Y0, Y15, Y15
	VPSRAD $31, Y7, Y0
	VPXOR Y0, Y7, Y7
	VPAND Y11, Y7, Y7
	VPOR Y7, Y14, Y14
	VEXTRACTI128 $1, Y8, X0
	VPACKSSDW X0, X8, X0
	VMOVDQU X0, (SI)
	VPABSW X0, X0
	VPCMPEQW X1, X1, X1
	VPSRLW $3, X1, X1
	VPMINUW X1, X0, X0        // 8191
	VMOVDQU X0, (DX)

	VMOVDQU (R11), Y0
	VMOVDQU (R10), Y1
	CONTEXT
	VPSRAD $31, Y1, Y1
	VPXOR Y1, Y8, Y8
	VPSUBD Y1, Y8, Y8         // by the sign of the fraction
	VPMULLD k88<>(SB), Y2, Y2
	VPCMPEQD Y7, Y7, Y7
	VPSLLVD Y3, Y7, Y0
	VPANDN Y8, Y0, Y0         // raw bits of the scale
	VPSRAVD Y3, Y8, Y1        // u
	VPXOR Y9, Y9, Y9
	VPCMPGTD Y9, Y1, Y9       // u > 0
	VPABSD Y1, Y1
	VPMINUD k2p18<>(SB), Y1, Y1
	VPCMPEQD k2p18<>(SB), Y1, Y10 // escape
	VPCMPGTD k15<>(SB), Y1, Y4
	VCVTDQ2PS Y1, Y5
	VPSRLD $23, Y5, Y6
	VPSRLD $22, Y5, Y5
	VPSUBD k246<>(SB), Y5, Y5
	VPBLENDVB Y4, Y5, Y1, Y5  // token as a magnitude
	VPSUBD k128<>(SB), Y6, Y6
	VPAND Y4, Y6, Y6          // its raw bits
	VPSLLVD Y6, Y7, Y4
	VPANDN Y1, Y4, Y1
	VPSLLVD Y3, Y1, Y1
	VPOR Y1, Y0, Y0
	VPADDD Y3, Y6, Y6
	VPADDD Y5, Y5, Y5
	VPADDD Y9, Y5, Y5
	VPBLENDVB Y10, k87<>(SB), Y5, Y5
	VPBLENDVB Y10, k32<>(SB), Y6, Y6
	VPBLENDVB Y10, Y8, Y0, Y0
	VPADDD Y5, Y2, Y2
	VMOVDQU Y2, (R12)
	VMOVDQU Y0, (R13)
	VPAND Y11, Y6, Y0
	VPOR Y0, Y12, Y12
	VEXTRACTI128 $1, Y6, X0
	VPACKSSDW X0, X6, X0
	VPACKUSWB X0, X0, X0
	VMOVQ X0, (R15)

	ADDQ $32, R8
	ADDQ $32, R9
	ADDQ $32, R10
	ADDQ $32, R11
	ADDQ $32, R12
	ADDQ $32, R13
	ADDQ $8, R15
	ADDQ $16, SI
	ADDQ $16, DX
	SUBQ $8, CX
	JG   symbol

	VMOVDQU Y12, 96(DI)
	VMOVDQU Y15, 128(DI)
	VMOVDQU Y14, 160(DI)
	VZEROUPPER
	RET

// func encodeAVX2(c *encodeCall)
//
// The symbols of a half row, the last step first, for up to eight lanes and up to 15 raw bits. Words are stored always, and kept
// where a state is too large.
TEXT ·encodeAVX2(SB), NOSPLIT, $0-8
	MOVQ c+0(FP), DI
	MOVQ 0(DI), R8            // entries
	MOVQ 8(DI), R9            // raw
	MOVQ 16(DI), R10          // rawBits
	MOVQ 24(DI), R12          // table
	MOVQ 32(DI), SI           // states
	MOVQ 40(DI), R11          // the word before the next
	MOVQ 48(DI), BX           // n
	MOVQ 56(DI), R15          // lanes, a power of two
	LEAQ -1(BX), AX
	LEAQ -1(R15), DX
	ANDQ DX, AX
	INCQ AX                   // of the last step
	SUBQ AX, BX
	LEAQ (R8)(BX*4), R8
	LEAQ (R9)(BX*4), R9
	ADDQ BX, R10
step:
	// AX lanes of a step, BX symbols before it.
	MOVQ (R10), DX
	MOVQ $8, CX
	SUBQ AX, CX
	SHLQ $3, CX
	SHLQ CX, DX
	TESTQ DX, DX
	JZ   tokens
	MOVQ AX, 64(DI)
rawlane:
	DECQ AX
	MOVBLZX (R10)(AX*1), CX
	MOVL (SI)(AX*4), DX
	MOVW DX, (R11)
	MOVQ DX, R13
	SHLQ CX, R13
	MOVL DX, R14
	SHRL $16, R14
	SHRQ $32, R13             // not 0 if the bits do not fit
	CMOVLNE R14, DX
	LEAQ -2(R11), R14
	CMOVQNE R14, R11
	SHLL CX, DX
	ORL  (R9)(AX*4), DX
	MOVL DX, (SI)(AX*4)
	TESTQ AX, AX
	JNZ  rawlane
	MOVQ 64(DI), AX
tokens:
	DECQ AX
	MOVL (R8)(AX*4), CX
	SHLQ $4, CX
	ADDQ R12, CX
	MOVL (SI)(AX*4), DX
	MOVW DX, (R11)
	MOVL DX, R13
	SHRL $16, R13
	LEAQ -2(R11), R14
	CMPL DX, 8(CX)
	CMOVLCC R13, DX
	CMOVQCC R14, R11
	MOVQ DX, R13
	IMULQ (CX), R13
	SHRQ $46, R13
	MOVWLZX 14(CX), R14
	IMULL R14, R13
	MOVWLZX 12(CX), R14
	ADDL R14, DX
	ADDL R13, DX
	MOVL DX, (SI)(AX*4)
	TESTQ AX, AX
	JNZ  tokens

	MOVQ R15, AX
	SUBQ R15, BX
	JL   encoded
	MOVQ R15, CX
	SHLQ $2, CX
	SUBQ CX, R8
	SUBQ CX, R9
	SUBQ R15, R10
	JMP  step
encoded:
	MOVQ R11, 40(DI)
	RET

// REFILL takes words for the lanes of Y14 whose states in Y15 are too small. It changes Y4 to Y6 and AX; R14 is ranks.
#define REFILL \
	VPSRLD $16, Y15, Y4       \
	VPXOR Y5, Y5, Y5          \
	VPCMPEQD Y5, Y4, Y4       \
	VPAND Y14, Y4, Y4         \
	VMOVMSKPS Y4, AX          \
	VPMOVZXBD (R14)(AX*8), Y6 \
	VPMOVZXWD (R11), Y5       \
	VPERMD Y5, Y6, Y5         \
	VPSLLD $16, Y15, Y6       \
	VPOR Y5, Y6, Y5           \
	VPBLENDVB Y4, Y5, Y15, Y15 \
	POPCNTL AX, AX            \
	LEAQ (R11)(AX*2), R11

// func decodeAVX2(c *decodeCall)
//
// The residuals of a half row, step after step, for up to eight lanes. Y15 are the states, Y14 the lanes that a step has.
TEXT ·decodeAVX2(SB), NOSPLIT, $0-8
	MOVQ c+0(FP), DI
	MOVQ 0(DI), SI            // out
	MOVQ 8(DI), R8            // fractions
	MOVQ 16(DI), R9           // contexts
	MOVQ 24(DI), R10          // buckets
	MOVQ 32(DI), R12          // ranges
	MOVQ 40(DI), DX           // states
	MOVQ 48(DI), R11          // words
	MOVQ 56(DI), CX           // n
	VPBROADCASTD 64(DI), Y13  // offset
	MOVLQZX 68(DI), BX        // lanes
	LEAQ ·ranks(SB), R14
	VMOVDQU (DX), Y15
step:
	MOVQ CX, AX
	CMPQ AX, BX
	CMOVQGT BX, AX
	VMOVD AX, X14
	VPBROADCASTD X14, Y14
	VPCMPGTD iota<>(SB), Y14, Y14
	VMOVDQU (R9), Y0
	VMOVDQU (R8), Y1
	CONTEXT
	VPAND k16383<>(SB), Y15, Y8 // slots
	VPSRLD $6, Y8, Y4
	VPSLLD $8, Y2, Y5
	VPADDD Y4, Y5, Y5
	VPCMPEQD Y6, Y6, Y6
	VPGATHERDD Y6, (R10)(Y5*2), Y4
	VPSRLD $8, Y4, Y5
	VPAND k255<>(SB), Y5, Y5  // where the next token begins
	VPAND k255<>(SB), Y4, Y4
	VPAND k63<>(SB), Y8, Y6
	VPCMPGTD Y6, Y5, Y5
	VPADDD k1<>(SB), Y4, Y4
	VPADDD Y5, Y4, Y7         // tokens
	VPMULLD k88<>(SB), Y2, Y2
search:
	VPADDD Y7, Y2, Y4
	VPCMPEQD Y6, Y6, Y6
	VPGATHERDD Y6, (R12)(Y4*4), Y5
	VPAND k65535<>(SB), Y5, Y4 // start
	VPSRLD $16, Y5, Y5        // frequency
	VPSUBD Y4, Y8, Y4         // slots in the range
	VPCMPGTD Y4, Y5, Y6       // found
	VPCMPEQD Y0, Y0, Y0
	VPTEST Y0, Y6
	JCS  found
	VPXOR Y0, Y6, Y6
	VPSUBD Y6, Y7, Y7
	JMP  search
found:
	VPSRLD $14, Y15, Y6
	VPMULLD Y5, Y6, Y5
	VPADDD Y4, Y5, Y5
	VPBLENDVB Y14, Y5, Y15, Y15
	REFILL

	VPADDD k1<>(SB), Y7, Y8
	VPSRLD $1, Y8, Y8         // magnitudes of tokens
	VPCMPGTD k15<>(SB), Y8, Y9
	VPSUBD k16<>(SB), Y8, Y10
	VPSRLD $1, Y10, Y10
	VPADDD k3<>(SB), Y10, Y10
	VPAND Y9, Y10, Y10        // raw bits of the token
	VPCMPEQD k87<>(SB), Y7, Y11
	VPADDD Y3, Y10, Y0
	VPBLENDVB Y11, k32<>(SB), Y0, Y0
	VPAND Y14, Y0, Y0         // all raw bits
	VPAND k1<>(SB), Y7, Y12
	VPSUBD k1<>(SB), Y12, Y12 // even tokens are negative
	VPTEST Y0, Y0
	JZ   direct

	VPMINSD k16<>(SB), Y0, Y2
	VPSUBD Y2, Y0, Y0
	VPCMPEQD Y7, Y7, Y7
	VPSLLVD Y2, Y7, Y4
	VPANDN Y15, Y4, Y4
	VPSRLVD Y2, Y15, Y15
	VMOVDQA Y4, Y2            // raw
	REFILL
	VPTEST Y0, Y0
	JZ   rawbits
	VPSLLVD Y0, Y7, Y4
	VPANDN Y15, Y4, Y4
	VPSRLVD Y0, Y15, Y15
	VPSLLD $16, Y4, Y4
	VPOR Y4, Y2, Y2
	REFILL
rawbits:
	VPSRLVD Y3, Y2, Y4        // those of the token
	VPAND k1<>(SB), Y8, Y5
	VPADDD k2<>(SB), Y5, Y5
	VPSLLVD Y10, Y5, Y5       // (2 + the lowest bit) << (g-1)
	VPOR Y4, Y5, Y5
	VPBLENDVB Y9, Y5, Y8, Y8
	VPXOR Y12, Y8, Y8
	VPSUBD Y12, Y8, Y8
	VPSLLVD Y3, Y8, Y8
	VPSLLVD Y3, Y7, Y4
	VPANDN Y2, Y4, Y4
	VPOR Y4, Y8, Y8
	VPBLENDVB Y11, Y2, Y8, Y8
	JMP  signs
direct:
	VPXOR Y12, Y8, Y8
	VPSUBD Y12, Y8, Y8
signs:
	VPSRAD $31, Y1, Y1
	VPXOR Y1, Y8, Y8
	VPSUBD Y1, Y8, Y8
	VMOVDQU Y8, (SI)
	LEAQ (SI)(BX*4), SI
	LEAQ (R8)(BX*4), R8
	LEAQ (R9)(BX*4), R9
	SUBQ BX, CX
	JG   step
	VMOVDQU Y15, (DX)
	MOVQ R11, 48(DI)
	VZEROUPPER
	RET

// func valuesAVX2(values, residuals, predictions *int32, c, e, m *int16, eights uint64)
//
// Values of residuals, and what the model keeps of both.
TEXT ·valuesAVX2(SB), NOSPLIT, $0-56
	MOVQ values+0(FP), DI
	MOVQ residuals+8(FP), SI
	MOVQ predictions+16(FP), DX
	MOVQ c+24(FP), R8
	MOVQ e+32(FP), R9
	MOVQ m+40(FP), R10
	MOVQ eights+48(FP), CX
	VPCMPEQW X4, X4, X4
	VPSRLW $3, X4, X4         // 8191
value:
	VMOVDQU (SI), Y0
	VPADDD (DX), Y0, Y1
	VMOVDQU Y1, (DI)
	VEXTRACTI128 $1, Y1, X2
	VPACKSSDW X2, X1, X1
	VMOVDQU X1, (R8)
	VEXTRACTI128 $1, Y0, X2
	VPACKSSDW X2, X0, X0
	VMOVDQU X0, (R9)
	VPABSW X0, X0
	VPMINUW X4, X0, X0
	VMOVDQU X0, (R10)
	ADDQ $32, SI
	ADDQ $32, DI
	ADDQ $32, DX
	ADDQ $16, R8
	ADDQ $16, R9
	ADDQ $16, R10
	DECQ CX
	JNZ  value
	VZEROUPPER
	RET

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
