#include "go_asm.h"
#include "textflag.h"

DATA mixDwords<>+0(SB)/4, $2047 // the greatest log odds
DATA mixDwords<>+4(SB)/4, $-2047
DATA mixDwords<>+8(SB)/4, $2048
DATA mixDwords<>+12(SB)/4, $63
DATA mixDwords<>+16(SB)/4, $32    // probMin
DATA mixDwords<>+20(SB)/4, $65504 // 65536 - probMin
DATA mixDwords<>+24(SB)/4, $65536
GLOBL mixDwords<>(SB), RODATA|NOPTR, $28

#define WORDS16(NAME, AT, V) \
	DATA NAME<>+(AT+0)(SB)/8, V \
	DATA NAME<>+(AT+8)(SB)/8, V

#define WORDS64(NAME, V) \
	WORDS16(NAME, 0, V) \
	WORDS16(NAME, 16, V) \
	WORDS16(NAME, 32, V) \
	WORDS16(NAME, 48, V) \
	GLOBL NAME<>(SB), RODATA|NOPTR, $64

WORDS64(leastWords, $0x0020002000200020)  // probMin
WORDS64(mostWords, $0xffe0ffe0ffe0ffe0)   // 65536 - probMin
WORDS64(oneWords, $0x0001000100010001)
WORDS64(limitWords, $0x003c003c003c003c)  // adaptLimit

// Registers of all functions here:
//
//	DI      the model
//	R8-R11  the estimates of group 0 in the four contexts of the rank
//	I       a group, in the bytes of its estimates in one context; twice that is what its weights take

// The addresses of the estimates into R8 to R11.
#define CONTEXT(N, E) \
	MOVQ (rankModel_contexts+8*N)(DI), E \
	SHLQ $9, E                           \
	ADDQ AX, E

#define CONTEXTS \
	MOVQ rankModel_estimates(DI), AX \
	CONTEXT(0, R8)  \
	CONTEXT(1, R9)  \
	CONTEXT(2, R10) \
	CONTEXT(3, R11)

// The eight words at OFF in the estimates of each context, one after the other in Z.
#define ROWS(OFF, I, X, Y, Z) \
	VMOVDQU OFF(R8)(I*1), X                \
	VINSERTI128 $1, OFF(R9)(I*1), Y, Y     \
	VINSERTI64X2 $2, OFF(R10)(I*1), Z, Z   \
	VINSERTI64X2 $3, OFF(R11)(I*1), Z, Z

#define STOREROWS(OFF, I, X, Y, Z) \
	VMOVDQU X, OFF(R8)(I*1)                \
	VEXTRACTI128 $1, Y, OFF(R9)(I*1)       \
	VEXTRACTI64X2 $2, Z, OFF(R10)(I*1)     \
	VEXTRACTI64X2 $3, Z, OFF(R11)(I*1)

// The mean log odds of the lanes of a group, as eight numbers of 32 bits at OUT, and the
// probabilities for them, twice in P. YA and ZA, and YB and ZB, are one register each, which are
// left with the log odds of the estimates; W0 and W1 with the weights.
//
// The products of log odds and weights are summed in 64 bits for the even and the odd lanes, and
// what is left after the shift by 16 bits takes 32.
#define MIX(I, OUT, YA, ZA, YB, ZB, W0, W1, P) \
	VMOVDQU estimates_log(R8)(I*1), YA                  \
	VINSERTI64X4 $1, estimates_log(R9)(I*1), ZA, ZA     \
	VMOVDQU estimates_log(R10)(I*1), YB                 \
	VINSERTI64X4 $1, estimates_log(R11)(I*1), ZB, ZB    \
	VMOVDQU32 (rankModel_weights+0)(DI)(I*2), W0        \
	VMOVDQU32 (rankModel_weights+64)(DI)(I*2), W1       \
	VPMULDQ W0, ZA, Z2                                  \
	VPMULDQ W1, ZB, Z3                                  \
	VPSRLQ $32, ZA, Z0                                  \
	VPSRLQ $32, ZB, Z1                                  \
	VPSRLQ $32, W0, Z4                                  \
	VPSRLQ $32, W1, Z5                                  \
	VPMULDQ Z4, Z0, Z0                                  \
	VPMULDQ Z5, Z1, Z1                                  \
	VPADDQ Z3, Z2, Z2                                   \
	VPADDQ Z1, Z0, Z0                                   \
	VEXTRACTI64X4 $1, Z2, Y3                            \
	VEXTRACTI64X4 $1, Z0, Y1                            \
	VPADDQ Y3, Y2, Y2                                   \
	VPADDQ Y1, Y0, Y0                                   \
	VPSRLQ $16, Y2, Y2                                  \
	VPSLLQ $16, Y0, Y0                                  \
	VPBLENDD $0xaa, Y0, Y2, Y2                          \
	VPMINSD.BCST mixDwords<>+0(SB), Y2, Y2              \
	VPMAXSD.BCST mixDwords<>+4(SB), Y2, Y2              \
	VMOVDQU Y2, OUT                                     \
	VPADDD.BCST mixDwords<>+8(SB), Y2, Y2               \
	VPSRLD $6, Y2, Y3                                   \
	VPANDD.BCST mixDwords<>+12(SB), Y2, Y2              \
	VMOVDQA64 Z3, Z4                                    \
	VMOVDQU64 ·logisticStart+0(SB), Z5                  \
	VMOVDQU64 ·logisticRise+0(SB), Z0                   \
	VPERMI2W ·logisticRise+64(SB), Z0, Z4               \
	VPERMI2W.Z ·logisticStart+64(SB), Z5, K7, Z3        \
	VPMADDWD Y2, Y4, Y4                                 \
	VPSRLD $6, Y4, Y4                                   \
	VPADDD Y4, Y3, Y3                                   \
	VPMAXUD.BCST mixDwords<>+16(SB), Y3, Y3             \
	VPMINUD.BCST mixDwords<>+20(SB), Y3, Y3             \
	VINSERTI64X4 $1, Y3, Z3, P

// The lanes of 32 bits whose lower half MIX keeps.
#define LOWERHALVES \
	MOVL $0x55555555, AX \
	KMOVD AX, K7

// Moves the weights and estimates of a group, of which MIX has left the registers, after the
// decisions of K1, which were 1 in K2, of four estimates each. It leaves the probabilities of the
// estimates, without their lowest 4 bits, at SCRATCH.
#define LEARN(I, SCRATCH, ZA, ZB, W0, W1, P) \
	KXORD K1, K2, K3                                    \
	VPBROADCASTD.Z mixDwords<>+24(SB), K3, Z0           \
	VPSUBD.Z P, Z0, K1, Z0                              \
	VPMULLD ZA, Z0, Z1                                  \
	VPMULLD ZB, Z0, Z2                                  \
	VPSRAD $15, Z1, Z1                                  \
	VPSRAD $15, Z2, Z2                                  \
	VPADDD W0, Z1, Z1                                   \
	VPADDD W1, Z2, Z2                                   \
	VMOVDQU32 Z1, (rankModel_weights+0)(DI)(I*2)        \
	VMOVDQU32 Z2, (rankModel_weights+64)(DI)(I*2)       \
	VPXORQ Z6, Z6, Z6                                   \
	ROWS(estimates_zero, I, X4, Y4, Z4)                 \
	ROWS(estimates_seen, I, X5, Y5, Z5)                 \
	VMOVDQA64 Z5, Z7                                    \
	VMOVDQU64 ·adaptRate+0(SB), Z8                      \
	VPERMI2W ·adaptRate+64(SB), Z8, Z7                  \
	VPSUBW Z4, Z6, Z8                                   \
	VMOVDQU16 Z4, K2, Z8                                \
	VPMULHUW Z7, Z8, Z8                                 \
	VPADDW Z8, Z4, Z9                                   \
	VPSUBW Z8, Z4, K2, Z9                               \
	VPMAXUW leastWords<>(SB), Z9, Z9                    \
	VPMINUW mostWords<>(SB), Z9, K1, Z4                 \
	VPADDW oneWords<>(SB), Z5, Z6                       \
	VPMINUW limitWords<>(SB), Z6, K1, Z5                \
	STOREROWS(estimates_zero, I, X4, Y4, Z4)            \
	STOREROWS(estimates_seen, I, X5, Y5, Z5)            \
	VPSRLW $4, Z4, Z4                                   \
	VMOVDQU64 Z4, SCRATCH

// The log odds of one estimate from S, a place in what LEARN left, to the lane of Y that K4 selects.
#define LOGODD(S, Y) \
	MOVWLZX S, AX                     \
	VPBROADCASTD (R13)(AX*4), K4, Y

// The log odds of the estimates in the lanes of the bits of B, from what LEARN left at SCRATCH.
// They go through registers, since a vector cannot be loaded soon after a part of it was stored.
#define LOGODDS(I, B, SCRATCH0, SCRATCH1, SCRATCH2, SCRATCH3, YA, ZA, YB, ZB, LANE, DONE) \
	TESTQ B, B                                          \
	JZ DONE                                             \
	LEAQ ·stretch32(SB), R13                            \
	VEXTRACTI64X4 $1, ZA, Y3                            \
	VEXTRACTI64X4 $1, ZB, Y5                            \
LANE:                                                       \
	TZCNTQ B, CX                                        \
	BLSIQ B, AX                                         \
	KMOVD AX, K4                                        \
	LOGODD(SCRATCH0(SP)(CX*2), YA)                      \
	LOGODD(SCRATCH1(SP)(CX*2), Y3)                      \
	LOGODD(SCRATCH2(SP)(CX*2), YB)                      \
	LOGODD(SCRATCH3(SP)(CX*2), Y5)                      \
	BLSRQ B, B                                          \
	JNZ LANE                                            \
	VMOVDQU YA, estimates_log(R8)(I*1)                  \
	VMOVDQU Y3, estimates_log(R9)(I*1)                  \
	VMOVDQU YB, estimates_log(R10)(I*1)                 \
	VMOVDQU Y5, estimates_log(R11)(I*1)                 \
DONE:

// LOGODDS for the lane of the lowest bit of B, if there is one, which it takes away: without a branch that nobody could foresee.
#define LOWESTLOGODDS(B) \
	TZCNTQ B, CX                                        \
	BLSIQ B, AX                                         \
	KMOVD AX, K4                                        \
	ANDL $7, CX                                         \
	LOGODD(64(SP)(CX*2), Y11)                           \
	LOGODD(80(SP)(CX*2), Y3)                            \
	LOGODD(96(SP)(CX*2), Y13)                           \
	LOGODD(112(SP)(CX*2), Y5)                           \
	BLSRQ B, B

// Registers of decodeAVX512 beside those above:
//
//	R12, R13  width and code of the range decoder
//	R14, R15  its input, and the place in that
//	SI, DX    the groups of the unary bit length and of the bits below the leading one
//	CX        the bit length so far, and then a decision
//	BP        the middle of the table of probabilities
//	Z10, Z12, Z21-Z23  what MIX left of the first group; Z11, Z13, Z25-Z27 of the second
//
// and the stack:
//
//	0     log odds of the first group
//	32    and of the second
//	64    what LEARN leaves
//	128   bytes of the input
//	136   width and code while their registers are needed
//	144   decisions of the first group
//	152   SI while it is needed
//	160   ones among the decisions of the second group, and those

// Reads bytes until the width is 1<<24 or more.
#define REFILL(AGAIN, END, OK) \
	CMPL R12, $0x1000000          \
	JCC  OK                       \
AGAIN:                                \
	SHLL $8, R12                  \
	SHLL $8, R13                  \
	CMPQ R15, 128(SP)          \
	JCC  END                      \
	MOVBLZX (R14)(R15*1), AX      \
	ORL  AX, R13                  \
END:                                  \
	INCQ R15                      \
	CMPL R12, $0x1000000          \
	JCS  AGAIN                    \
OK:

// The probability of log odds at S, into AX.
#define PROBABILITY(S) \
	MOVLQSX S, AX \
	MOVWLZX (BP)(AX*2), AX

// Step N of the unary bit length, in lane L of its group.
#define UNARY(N, L, AGAIN, END, OK) \
	MOVL $N, CX                     \
	CMPQ rankModel_most(DI), CX     \
	JEQ  most                       \
	PROBABILITY((4*L)(SP))          \
	IMULQ R12, AX                   \
	SHRQ $16, AX                    \
	CMPL R13, AX                    \
	JCS  zero                       \
	SUBL AX, R12                    \
	SUBL AX, R13                    \
	REFILL(AGAIN, END, OK)

// The decision with the probability AX/65536 of being 0, into CX, without a branch.
#define EVEN \
	IMULQ R12, AX   \
	SHRQ $16, AX    \
	SUBL AX, R12    \
	MOVL R13, CX    \
	SUBL AX, CX     \
	CMOVLCC CX, R13 \
	CMOVLCS AX, R12 \
	SBBL CX, CX     \
	INCL CX

// func stepAVX512(m *rankModel, group, coded, ones uint64)
TEXT ·stepAVX512(SB), NOSPLIT, $64-32
	MOVQ m+0(FP), DI
	MOVQ group+8(FP), SI
	MOVQ coded+16(FP), BX
	MOVQ ones+24(FP), DX
	SHLQ $6, SI
	IMUL3L $0x01010101, BX, CX
	IMUL3L $0x01010101, DX, DX
	KMOVD CX, K1
	KMOVD DX, K2
	CONTEXTS
	LOWERHALVES
	MIX(SI, rankModel_odds(DI), Y10, Z10, Y12, Z12, Z22, Z23, Z21)
	LEARN(SI, 0(SP), Z10, Z12, Z22, Z23, Z21)
	LOGODDS(SI, BX, 0, 16, 32, 48, Y10, Z10, Y12, Z12, lane, done)
	VZEROUPPER
	RET

// func stepBothAVX512(m *rankModel, coded, ones, group, below, belowOnes uint64)
//
// The registers of both groups are those of decodeAVX512; 0(SP) has what LEARN leaves of group 0, and 64(SP) of the other.
TEXT ·stepBothAVX512(SB), NOSPLIT, $128-48
	MOVQ m+0(FP), DI
	MOVQ coded+8(FP), BX
	MOVQ ones+16(FP), CX
	MOVQ group+24(FP), DX
	XORL SI, SI
	CONTEXTS
	LOWERHALVES
	IMUL3L $0x01010101, BX, AX
	IMUL3L $0x01010101, CX, CX
	KMOVD AX, K1
	KMOVD CX, K2
	SHLQ $6, DX
	MIX(SI, rankModel_odds(DI), Y10, Z10, Y12, Z12, Z22, Z23, Z21)
	VMOVDQU32 Y21, rankModel_chances(DI)
	TESTQ DX, DX
	JZ   single
	MIX(DX, rankModel_odds(DI), Y11, Z11, Y13, Z13, Z26, Z27, Z25)
	VMOVDQU32 Y25, rankModel_chancesBelow(DI)
	LEARN(SI, 0(SP), Z10, Z12, Z22, Z23, Z21)
	MOVQ below+32(FP), R12
	MOVQ belowOnes+40(FP), CX
	IMUL3L $0x01010101, R12, AX
	IMUL3L $0x01010101, CX, CX
	KMOVD AX, K1
	KMOVD CX, K2
	LEARN(DX, 64(SP), Z11, Z13, Z26, Z27, Z25)
	LOGODDS(SI, BX, 0, 16, 32, 48, Y10, Z10, Y12, Z12, lane0, learned0)
	LEAQ ·stretch32(SB), R13
	VEXTRACTI64X4 $1, Z11, Y3
	VEXTRACTI64X4 $1, Z13, Y5
	LOWESTLOGODDS(R12)
	LOWESTLOGODDS(R12)
	VMOVDQU Y11, estimates_log(R8)(DX*1)
	VMOVDQU Y3, estimates_log(R9)(DX*1)
	VMOVDQU Y13, estimates_log(R10)(DX*1)
	VMOVDQU Y5, estimates_log(R11)(DX*1)
	VZEROUPPER
	RET
single:
	LEARN(SI, 0(SP), Z10, Z12, Z22, Z23, Z21)
	LOGODDS(SI, BX, 0, 16, 32, 48, Y10, Z10, Y12, Z12, lane1, learned1)
	VZEROUPPER
	RET

// func decodeAVX512(m *rankModel, d *rangeDecoder) (top, length int)
TEXT ·decodeAVX512(SB), NOSPLIT, $176-32
	MOVQ m+0(FP), DI
	MOVQ d+8(FP), SI
	MOVL rangeDecoder_width(SI), R12
	MOVL rangeDecoder_code(SI), R13
	MOVQ rangeDecoder_in(SI), R14
	MOVQ rangeDecoder_pos(SI), R15
	MOVQ (rangeDecoder_in+8)(SI), AX
	MOVQ AX, 128(SP)
	CONTEXTS
	LOWERHALVES
	LEAQ ·squashed+4096(SB), BP
	XORL SI, SI
	XORL BX, BX
	MIX(SI, 0(SP), Y10, Z10, Y12, Z12, Z22, Z23, Z21)
	UNARY(0, 0, again0, end0, ok0)
	UNARY(1, 1, again1, end1, ok1)
	UNARY(2, 2, again2, end2, ok2)
	UNARY(3, 3, again3, end3, ok3)
	UNARY(4, 4, again4, end4, ok4)
	UNARY(5, 5, again5, end5, ok5)
	UNARY(6, 6, again6, end6, ok6)
	UNARY(7, 7, again7, end7, ok7)
	MOVL $8, CX
	CMPQ rankModel_most(DI), CX
	JEQ  most

	// Eight ones, and there may be more.
	KXNORD K1, K1, K1
	KXNORD K2, K2, K2
	LEARN(SI, 64(SP), Z10, Z12, Z22, Z23, Z21)
	MOVL R12, 136(SP)
	MOVL R13, 140(SP)
	MOVL $0xff, BX
	LOGODDS(SI, BX, 64, 80, 96, 112, Y10, Z10, Y12, Z12, lane0, learned0)
	MOVL 136(SP), R12
	MOVL 140(SP), R13
	MOVL $(const_longUnary*64), SI
	MOVL $const_lanes, BX
	MIX(SI, 0(SP), Y10, Z10, Y12, Z12, Z22, Z23, Z21)
	UNARY(8, 0, again8, end8, ok8)
	UNARY(9, 1, again9, end9, ok9)
	UNARY(10, 2, again10, end10, ok10)
	UNARY(11, 3, again11, end11, ok11)
	MOVL $12, CX
most:
	NEGL BX
	ADDL CX, BX // decisions of the group, all of them ones
	MOVL $-1, AX
	BZHIL BX, AX, AX
	MOVL AX, BX
	JMP  masks
zero:
	MOVL AX, R12
	NEGL BX
	ADDL CX, BX
	REFILL(again12, end12, ok12)
	MOVL $-1, AX
	BZHIL BX, AX, AX
	LEAL 1(AX)(AX*1), BX
masks:
	MOVQ BX, 144(SP)
	IMUL3L $0x01010101, BX, BX
	IMUL3L $0x01010101, AX, AX
	KMOVD BX, K1
	KMOVD AX, K2
	MOVQ CX, length+24(FP)
	CMPL CX, $2
	JCS  short

	// The group of the bits below the leading one, as the function below says.
	MOVL CX, DX
	SHRL $1, DX
	CMPL CX, $10
	SBBL $-1, DX
	SHLL $6, DX
	MOVL CX, BX
	ANDL $1, BX
	SHLL $2, BX
	MIX(DX, 32(SP), Y11, Z11, Y13, Z13, Z26, Z27, Z25)
	MOVQ SI, 152(SP)
	CMPL CX, $2
	JNE  two
	PROBABILITY(32(SP))
	EVEN
	REFILL(again13, end13, ok13)
	MOVL CX, SI
	ADDL $2, CX
	MOVQ CX, top+16(FP)
	MOVL $1, BX
	JMP  learn
two:
	PROBABILITY(32(SP)(BX*4))
	EVEN
	REFILL(again14, end14, ok14)
	MOVL CX, SI
	LEAL 1(BX)(CX*1), CX
	PROBABILITY(32(SP)(CX*4))
	EVEN
	REFILL(again15, end15, ok15)
	LEAL 4(CX)(SI*2), AX
	MOVQ AX, top+16(FP)
	// The first decision in lane BX, the second in the next one or the one after it.
	LEAL 1(SI), AX
	SHLXL AX, CX, CX
	ORL  CX, SI        // ones
	MOVL $1, CX
	SHLXL AX, CX, CX
	ORL  $1, CX        // decisions
	SHLXL BX, SI, SI
	SHLXL BX, CX, BX
learn:
	MOVL SI, 160(SP)
	MOVQ BX, 168(SP)
	MOVQ 152(SP), SI
	LEARN(SI, 64(SP), Z10, Z12, Z22, Z23, Z21)
	MOVQ d+8(FP), AX
	MOVL R12, rangeDecoder_width(AX)
	MOVL R13, rangeDecoder_code(AX)
	MOVQ R15, rangeDecoder_pos(AX)
	MOVQ 144(SP), BX
	LOGODDS(SI, BX, 64, 80, 96, 112, Y10, Z10, Y12, Z12, lane1, learned1)
	MOVQ 168(SP), BX
	MOVL 160(SP), AX
	IMUL3L $0x01010101, BX, CX
	IMUL3L $0x01010101, AX, AX
	KMOVD CX, K1
	KMOVD AX, K2
	LEARN(DX, 64(SP), Z11, Z13, Z26, Z27, Z25)
	LOGODDS(DX, BX, 64, 80, 96, 112, Y11, Z11, Y13, Z13, lane2, learned2)
	VZEROUPPER
	RET

short:
	MOVQ CX, top+16(FP)
	LEARN(SI, 64(SP), Z10, Z12, Z22, Z23, Z21)
	MOVQ d+8(FP), AX
	MOVL R12, rangeDecoder_width(AX)
	MOVL R13, rangeDecoder_code(AX)
	MOVQ R15, rangeDecoder_pos(AX)
	MOVQ 144(SP), BX
	LOGODDS(SI, BX, 64, 80, 96, 112, Y10, Z10, Y12, Z12, lane3, learned3)
	VZEROUPPER
	RET
