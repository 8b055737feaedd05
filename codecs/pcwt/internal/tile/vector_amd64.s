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
DATA k864<>+0(SB)/8, $0x0000026000000260
DATA k864<>+8(SB)/8, $0x0000026000000260
DATA k864<>+16(SB)/8, $0x0000026000000260
DATA k864<>+24(SB)/8, $0x0000026000000260
GLOBL k864<>(SB), RODATA|NOPTR, $32
DATA k32<>+0(SB)/8, $0x0000002000000020
DATA k32<>+8(SB)/8, $0x0000002000000020
DATA k32<>+16(SB)/8, $0x0000002000000020
DATA k32<>+24(SB)/8, $0x0000002000000020
GLOBL k32<>(SB), RODATA|NOPTR, $32
DATA k16<>+0(SB)/8, $0x0000001000000010
DATA k16<>+8(SB)/8, $0x0000001000000010
DATA k16<>+16(SB)/8, $0x0000001000000010
DATA k16<>+24(SB)/8, $0x0000001000000010
GLOBL k16<>(SB), RODATA|NOPTR, $32
DATA k2<>+0(SB)/8, $0x0000000200000002
DATA k2<>+8(SB)/8, $0x0000000200000002
DATA k2<>+16(SB)/8, $0x0000000200000002
DATA k2<>+24(SB)/8, $0x0000000200000002
GLOBL k2<>(SB), RODATA|NOPTR, $32
DATA k97<>+0(SB)/8, $0x0000006100000061
DATA k97<>+8(SB)/8, $0x0000006100000061
DATA k97<>+16(SB)/8, $0x0000006100000061
DATA k97<>+24(SB)/8, $0x0000006100000061
GLOBL k97<>(SB), RODATA|NOPTR, $32
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
	MOVQ 80(DI), BX           // cells
	MOVQ 88(DI), AX           // all
	VPBROADCASTD 96(DI), Y13  // offset
	VMOVDQU (AX), Y15
	VMOVDQU 32(AX), Y14
	VPXOR Y12, Y12, Y12
symbol:
	VMOVD CX, X11
	VPBROADCASTD X11, Y11
	VPCMPGTD iota<>(SB), Y11, Y11 // lanes of this half row
	TESTQ R8, R8
	JZ   narrow
	VMOVDQU (R8), Y7
	ADDQ $32, R8
	JMP  loaded
narrow:
	VPMOVSXWD (BX), Y7
	ADDQ $16, BX
loaded:
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

	VMOVDQU Y15, (AX)
	VMOVDQU Y14, 32(AX)
	VEXTRACTI128 $1, Y12, X0
	VPOR X0, X12, X12
	VPSHUFD $0x4e, X12, X0
	VPOR X0, X12, X12
	VPSHUFD $0xb1, X12, X0
	VPOR X0, X12, X12
	VMOVD X12, 100(DI)
	VZEROUPPER
	RET

// func decodeHalf(c *decodeCall)
//
// First the tables of the contexts, eight at a time; then the tokens and raw bits, one after the other, where states are in memory and
// those of different lanes do not wait for each other; at last values, eight at a time.
//
// The rows of work are 544 bytes apart: where tables begin, raw bits of scales, tokens, and raw bits. R13 is the work of a step, R8 the
// tables, R10 the states, R11 the words, R12 the next one; R9 is the table of a coefficient.
TEXT ·decodeHalf(SB), NOSPLIT, $32-8
	MOVQ c+0(FP), DI
	MOVQ 0(DI), SI            // contexts
	MOVQ 8(DI), DX            // fractions
	MOVQ 48(DI), R13
	MOVQ 88(DI), CX           // n
	VPBROADCASTD 104(DI), Y13 // offset
	VPXOR Y14, Y14, Y14
	VPXOR Y15, Y15, Y15
tables:
	VMOVD CX, X11
	VPBROADCASTD X11, Y11
	VPCMPGTD iota<>(SB), Y11, Y11
	VMOVDQU (SI), Y0
	VMOVDQU (DX), Y1
	CONTEXT
	VPMULLD k864<>(SB), Y2, Y2
	VMOVDQU Y2, (R13)
	VMOVDQU Y3, 544(R13)
	VMOVDQU Y14, 1632(R13)
	VPAND Y11, Y3, Y3
	VPOR Y3, Y15, Y15
	ADDQ $32, SI
	ADDQ $32, DX
	ADDQ $32, R13
	SUBQ $8, CX
	JG   tables
	XORL AX, AX
	VPTEST Y15, Y15
	SETNE AX
	SHLL $7, AX
	MOVQ AX, always-8(SP)     // 128 if contexts have raw bits
	MOVQ AX, any-16(SP)       // 128 if a step had some

	MOVQ 24(DI), R8
	MOVQ 32(DI), R10
	MOVQ 40(DI), R11
	MOVQ 48(DI), R13
	MOVQ 96(DI), SI           // lanes
	MOVQ 88(DI), CX           // n
	XORL R12, R12
step:
	CMPQ SI, $8
	JNE  lanes
	CMPQ CX, $8
	JGE  eightlanes
lanes:
	CMPQ SI, CX
	CMOVQGT CX, SI            // lanes of the step
	SUBQ SI, CX
	MOVQ CX, left-24(SP)
	MOVQ always-8(SP), DI
	XORL BX, BX
symbol:
	MOVL (R10)(BX*4), AX
	MOVL AX, DX
	ANDL $16383, DX           // slot
	MOVL (R13)(BX*4), R9
	ADDQ R8, R9
	MOVL DX, CX
	SHRL $7, CX
	MOVWLZX (R9)(CX*2), CX
	MOVL DX, R14
	ANDL $127, R14
	MOVBLZX CX, R15           // the first token of the part
	SHRL $8, CX
	CMPL R14, CX
	SBBL $-1, R15             // or the next
search:
	MOVL 256(R9)(R15*4), CX
	MOVWLZX CX, R14           // start
	SHRL $16, CX              // frequency
	SUBL R14, DX              // slot in the range
	CMPL DX, CX
	JCC  next
	SHRL $14, AX
	IMULL CX, AX
	ADDL DX, AX
	MOVWLZX (R11)(R12*2), CX
	MOVL AX, DX
	SHLL $16, DX
	ORL  CX, DX
	CMPL AX, $65536
	CMOVLCS DX, AX
	ADCQ $0, R12
	MOVL AX, (R10)(BX*4)
	MOVL R15, 1088(R13)(BX*4)
	ADDL $97, R15             // 128 from token 31 on, which has raw bits
	ORL  R15, DI
	INCQ BX
	CMPQ BX, SI
	JNE  symbol
	TESTL $128, DI
	JNZ  raw
stepped:
	LEAQ (R13)(SI*4), R13
	MOVQ left-24(SP), CX
	TESTQ CX, CX
	JNZ  step
	JMP  values
next:
	ADDL R14, DX
	INCL R15
	JMP  search

	// Steps of eight lanes, with the states in Y0. R9 is refills.
eightlanes:
	VMOVDQU (R10), Y0
	LEAQ ·refills(SB), R9
	VPCMPEQD Y7, Y7, Y7
	VPSRLD $18, Y7, Y15       // 16383
	VPSRLD $25, Y7, Y14       // 127
	VPSRLD $24, Y7, Y13       // 255
	VPSRLD $16, Y7, Y12       // 65535
	VPXOR Y11, Y11, Y11
	VMOVDQU k1<>(SB), Y10
eight:
	VMOVDQU (R13), Y1
	VPAND Y15, Y0, Y2         // slots
	VPSRLD $7, Y2, Y3
	VPADDD Y3, Y3, Y3
	VPADDD Y1, Y3, Y3
	VPCMPEQD Y7, Y7, Y7
	VPGATHERDD Y7, (R8)(Y3*1), Y4
	VPAND Y14, Y2, Y3
	VPSRLD $8, Y4, Y5
	VPAND Y13, Y5, Y5
	VPAND Y13, Y4, Y4         // the first tokens of the parts
	VPCMPGTD Y3, Y5, Y5
	VPADDD Y5, Y4, Y4         // tokens, less one
	VPSLLD $2, Y4, Y3
	VPADDD Y1, Y3, Y3
	VPCMPEQD Y7, Y7, Y7
	VPGATHERDD Y7, 260(R8)(Y3*1), Y6
	VPADDD Y10, Y4, Y4        // tokens
searched:
	VPAND Y12, Y6, Y7         // starts
	VPSRLD $16, Y6, Y6        // frequencies
	VPSUBD Y7, Y2, Y7         // slots in the ranges
	VPCMPGTD Y7, Y6, Y8
	VMOVMSKPS Y8, AX
	CMPL AX, $255
	JNE  nexteight
	VPSRLD $14, Y0, Y0
	VPMULLD Y6, Y0, Y0
	VPADDD Y7, Y0, Y0
	VPSRLD $16, Y0, Y5
	VPCMPEQD Y11, Y5, Y5      // states below 2^16
	VMOVMSKPS Y5, AX
	VPMOVZXWD (R11)(R12*2), Y6
	VPMOVZXBD (R9)(AX*8), Y7
	POPCNTL AX, AX
	ADDQ AX, R12
	VPERMD Y6, Y7, Y6
	VPSLLD $16, Y0, Y7
	VPOR Y6, Y7, Y6
	VPBLENDVB Y5, Y6, Y0, Y0
	VMOVDQU 544(R13), Y5
	VMOVDQU Y4, 1088(R13)
	VPADDD k97<>(SB), Y4, Y6  // 128 from token 31 on, which has raw bits
	VPSRLD $7, Y6, Y6
	VPOR Y5, Y6, Y6
	VPTEST Y6, Y6
	JNZ  raweight
eightdone:
	ADDQ $32, R13
	SUBQ $8, CX
	CMPQ CX, $8
	JGE  eight
	VMOVDQU Y0, (R10)
	TESTQ CX, CX
	JNZ  lanes
	JMP  values

	// The next tokens, where slots are not in the ranges.
nexteight:
	VPANDN Y10, Y8, Y8
	VPADDD Y8, Y4, Y4
	VPSLLD $2, Y4, Y3
	VPADDD Y1, Y3, Y3
	VPCMPEQD Y7, Y7, Y7
	VPGATHERDD Y7, 256(R8)(Y3*1), Y6
	JMP  searched

	// Up to 16 raw bits; more are for the code of single lanes.
raweight:
	VPADDD Y10, Y4, Y6
	VPSRLD $1, Y6, Y6
	VPCMPGTD k15<>(SB), Y6, Y8
	VPSUBD k16<>(SB), Y6, Y6
	VPSRLD $1, Y6, Y6
	VPADDD k3<>(SB), Y6, Y6
	VPAND Y8, Y6, Y6
	VPADDD Y5, Y6, Y6         // raw bits, 17 and more for an escape
	VPCMPGTD k16<>(SB), Y6, Y8
	VPTEST Y8, Y8
	JNZ  longeight
	MOVQ $128, any-16(SP)
	VPCMPEQD Y7, Y7, Y7
	VPSLLVD Y6, Y7, Y7
	VPANDN Y0, Y7, Y7
	VMOVDQU Y7, 1632(R13)
	VPSRLVD Y6, Y0, Y0
	VPSRLD $16, Y0, Y5
	VPCMPEQD Y11, Y5, Y5
	VPCMPGTD Y11, Y6, Y6
	VPAND Y6, Y5, Y5
	VMOVMSKPS Y5, AX
	VPMOVZXWD (R11)(R12*2), Y6
	VPMOVZXBD (R9)(AX*8), Y7
	POPCNTL AX, AX
	ADDQ AX, R12
	VPERMD Y6, Y7, Y6
	VPSLLD $16, Y0, Y7
	VPOR Y6, Y7, Y6
	VPBLENDVB Y5, Y6, Y0, Y0
	JMP  eightdone
longeight:
	VMOVDQU Y0, (R10)
	SUBQ $8, CX
	MOVQ CX, left-24(SP)

	// Raw bits, up to 16 of each lane and then the rest of those that have more.
raw:
	MOVQ $128, any-16(SP)
	XORL DI, DI               // 128 if some have more
	XORL BX, BX
	LEAQ ·tokenRawBits(SB), R14
rawlane:
	MOVL 1088(R13)(BX*4), DX
	MOVBLZX (R14)(DX*1), CX
	MOVL CX, R15
	ADDL 544(R13)(BX*4), CX
	CMPL DX, $87              // an escape has no bits of the scale
	CMOVLEQ R15, CX
	LEAL 111(CX), DX
	ORL  DX, DI
	MOVL $16, R15
	CMPL CX, R15
	CMOVLGT R15, CX
	MOVL (R10)(BX*4), AX
	BZHIL CX, AX, DX
	MOVL DX, 1632(R13)(BX*4)
	SHRL CX, AX
	NEGL CX
	SBBL R15, R15
	ANDL $65536, R15          // states below take a word, none where there are no raw bits
	MOVWLZX (R11)(R12*2), CX
	MOVL AX, DX
	SHLL $16, DX
	ORL  CX, DX
	CMPL AX, R15
	CMOVLCS DX, AX
	ADCQ $0, R12
	MOVL AX, (R10)(BX*4)
	INCQ BX
	CMPQ BX, SI
	JNE  rawlane
	TESTL $128, DI
	JZ   stepped
	XORL BX, BX
more:
	MOVL 1088(R13)(BX*4), DX
	LEAQ ·tokenRawBits(SB), CX
	MOVBLZX (CX)(DX*1), R15
	MOVL 544(R13)(BX*4), CX
	CMPL DX, $87
	JEQ  moreescape
	ADDL CX, R15
moreescape:
	MOVL R15, CX
	SUBL $16, CX
	JLE  morenext
	MOVL (R10)(BX*4), AX
	MOVL $-1, DX
	SHLL CX, DX
	NOTL DX
	ANDL AX, DX
	SHLL $16, DX
	ORL  DX, 1632(R13)(BX*4)
	SHRL CX, AX
	CMPL AX, $65536
	JCC  moreready
	SHLL $16, AX
	MOVWLZX (R11)(R12*2), DX
	ORL  DX, AX
	INCQ R12
moreready:
	MOVL AX, (R10)(BX*4)
morenext:
	INCQ BX
	CMPQ BX, SI
	JNE  more
	JMP  stepped

values:
	MOVQ c+0(FP), DI
	LEAQ (R11)(R12*2), R11
	MOVQ R11, 40(DI)
	MOVQ 8(DI), DX            // fractions
	MOVQ 16(DI), R8           // predictions
	MOVQ 48(DI), R13
	MOVQ 56(DI), SI           // values
	MOVQ 64(DI), R9           // c
	MOVQ 72(DI), R10          // e
	MOVQ 80(DI), R11          // m
	MOVQ 88(DI), CX           // n
	MOVQ any-16(SP), AX
	VPXOR Y13, Y13, Y13       // OR of values
	VPCMPEQD Y7, Y7, Y7
	VPSRLD $31, Y7, Y15       // 1
	VPSRLW $3, Y7, Y14        // 8191
value:
	VMOVD CX, X11
	VPBROADCASTD X11, Y11
	VPCMPGTD iota<>(SB), Y11, Y5
	VMOVDQU 1088(R13), Y0     // tokens
	VPADDD Y15, Y0, Y8
	VPSRLD $1, Y8, Y8         // their magnitudes
	VPAND Y15, Y0, Y12
	VPSUBD Y15, Y12, Y12      // even tokens are negative
	TESTL AX, AX
	JNZ  long
	VPXOR Y12, Y8, Y8
	VPSUBD Y12, Y8, Y8
signs:
	VMOVDQU (DX), Y1
	VPSRAD $31, Y1, Y1
	VPXOR Y1, Y8, Y8
	VPSUBD Y1, Y8, Y8         // residuals
	VPADDD (R8), Y8, Y9       // values
	VMOVDQU Y9, (SI)
	VPSRAD $31, Y9, Y2
	VPXOR Y2, Y9, Y2
	VPAND Y5, Y2, Y2
	VPOR Y2, Y13, Y13
	VEXTRACTI128 $1, Y9, X2
	VPACKSSDW X2, X9, X9
	VMOVDQU X9, (R9)
	VEXTRACTI128 $1, Y8, X2
	VPACKSSDW X2, X8, X8
	VMOVDQU X8, (R10)
	VPABSW X8, X8
	VPMINUW X14, X8, X8
	VMOVDQU X8, (R11)
	ADDQ $32, R13
	ADDQ $32, DX
	ADDQ $32, R8
	ADDQ $32, SI
	ADDQ $16, R9
	ADDQ $16, R10
	ADDQ $16, R11
	SUBQ $8, CX
	JG   value
	XORL AX, AX
	VPSRLD $15, Y13, Y13
	VPTEST Y13, Y13
	SETNE AX
	MOVL AX, 108(DI)
	VZEROUPPER
	RET

	// Tokens with raw bits and scales with raw bits.
long:
	VMOVDQU 544(R13), Y3     // of the scale
	VMOVDQU 1632(R13), Y2     // raw
	VPCMPGTD k15<>(SB), Y8, Y9
	VPSUBD k16<>(SB), Y8, Y10
	VPSRLD $1, Y10, Y10
	VPADDD k3<>(SB), Y10, Y10
	VPAND Y9, Y10, Y10        // raw bits of the token
	VPCMPEQD k87<>(SB), Y0, Y11
	VPSRLVD Y3, Y2, Y4        // those of the token
	VPAND Y15, Y8, Y6
	VPADDD k2<>(SB), Y6, Y6
	VPSLLVD Y10, Y6, Y6       // (2 + the lowest bit) << (g-1)
	VPOR Y4, Y6, Y6
	VPBLENDVB Y9, Y6, Y8, Y8
	VPXOR Y12, Y8, Y8
	VPSUBD Y12, Y8, Y8
	VPSLLVD Y3, Y8, Y8
	VPSLLVD Y3, Y7, Y4
	VPANDN Y2, Y4, Y4
	VPOR Y4, Y8, Y8
	VPBLENDVB Y11, Y2, Y8, Y8
	JMP  signs
