#include "go_asm.h"
#include "textflag.h"

DATA mixDwords<>+0(SB)/4, $const_mostOdds
DATA mixDwords<>+4(SB)/4, $-const_mostOdds
DATA mixDwords<>+8(SB)/4, $63
DATA mixDwords<>+12(SB)/4, $65536
DATA mixDwords<>+16(SB)/4, $0x80000000 // expectOne
DATA mixDwords<>+20(SB)/4, $const_probMin
DATA mixDwords<>+24(SB)/4, $(65536-const_probMin)
DATA mixDwords<>+28(SB)/4, $1
DATA mixDwords<>+32(SB)/4, $const_adaptLimit
GLOBL mixDwords<>(SB), RODATA|NOPTR, $36

// 15 down to 0. Lane by lane from the last n of them on, they put n lanes the other way round.
#define BACKWARDS(AT, V) DATA backwards<>+AT(SB)/8, V

BACKWARDS(0, $0x0000000e0000000f)
BACKWARDS(8, $0x0000000c0000000d)
BACKWARDS(16, $0x0000000a0000000b)
BACKWARDS(24, $0x0000000800000009)
BACKWARDS(32, $0x0000000600000007)
BACKWARDS(40, $0x0000000400000005)
BACKWARDS(48, $0x0000000200000003)
BACKWARDS(56, $0x0000000000000001)
GLOBL backwards<>(SB), RODATA|NOPTR, $128

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

// The decisions for the highest three bits of a rank, or two, behind the leading one, in four lanes, and those of them that are 1. Each half
// byte is for the estimates in one context.
#define BELOW(TOP, LANES, ONES) \
	DATA belowMasks<>+(4*TOP+0)(SB)/2, $(LANES*0x1111) \
	DATA belowMasks<>+(4*TOP+2)(SB)/2, $(ONES*0x1111)

BELOW(0, 0, 0)
BELOW(1, 0, 0)
BELOW(2, 1, 0) // 10
BELOW(3, 1, 1) // 11
BELOW(4, 3, 0) // 100
BELOW(5, 3, 2) // 101
BELOW(6, 5, 1) // 110
BELOW(7, 5, 5) // 111
GLOBL belowMasks<>(SB), RODATA|NOPTR, $32

// Registers of all functions here:
//
//	DI      the model
//	R8-R11  the estimates of group 0 in the four contexts of the rank
//	I       a group, in the bytes of its estimates in one context; twice that is what its weights take

// The addresses of the estimates in the four contexts from C on, of which each is so many bytes behind the one before, into R8 to R11.
// Those of a context have 512 bytes, a line of the cache for each group.
#define CONTEXTS(C, BYTES) \
	MOVQ rankModel_estimates(DI), AX \
	MOVL 0(C), R8           \
	MOVL BYTES(C), R9       \
	MOVL (2*BYTES)(C), R10  \
	MOVL (3*BYTES)(C), R11  \
	SHLQ $9, R8     \
	SHLQ $9, R9     \
	SHLQ $9, R10    \
	SHLQ $9, R11    \
	ADDQ AX, R8     \
	ADDQ AX, R9     \
	ADDQ AX, R10    \
	ADDQ AX, R11

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

// The weights of a group into W0 and W1, and back.
#define WEIGHTS(I, W0, W1) \
	VMOVDQU32 (rankModel_weights+0)(DI)(I*2), W0        \
	VMOVDQU32 (rankModel_weights+64)(DI)(I*2), W1

#define STOREWEIGHTS(I, W0, W1) \
	VMOVDQU32 W0, (rankModel_weights+0)(DI)(I*2)        \
	VMOVDQU32 W1, (rankModel_weights+64)(DI)(I*2)

// The mean log odds of the lanes of a group, as eight numbers of 32 bits in Y2. YA and ZA, and YB and ZB, are one register each,
// which are left with the log odds of the estimates; W0 and W1 hold the weights.
//
// The products of log odds and weights are summed in 64 bits for the even and the odd lanes, and
// what is left after the shift by 16 bits takes 32.
#define MEAN(I, YA, ZA, YB, ZB, W0, W1) \
	VMOVDQU estimates_log(R8)(I*1), YA                  \
	VINSERTI64X4 $1, estimates_log(R9)(I*1), ZA, ZA     \
	VMOVDQU estimates_log(R10)(I*1), YB                 \
	VINSERTI64X4 $1, estimates_log(R11)(I*1), ZB, ZB    \
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
	VPMAXSD.BCST mixDwords<>+4(SB), Y2, Y2

// The lines of logistic for CHANCES: where they begin into S, and how far they rise into R. They are looked up by log odds that have a
// sign, so that those of odds of 0 and more come first, and those of odds below 0 behind them.
#define LINES(S, R) \
	VMOVDQU64 ·logisticStart+64(SB), S                  \
	VMOVDQU64 ·logisticRise+64(SB), R

// The probabilities for the log odds that MEAN has left, twice in P.
#define CHANCES(S, R, P) \
	VPSRLD $6, Y2, Y3                                   \
	VPANDD.BCST mixDwords<>+8(SB), Y2, Y2               \
	VMOVDQA64 Z3, Z4                                    \
	VPERMI2W ·logisticRise+0(SB), R, Z4                 \
	VPERMI2W.Z ·logisticStart+0(SB), S, K7, Z3          \
	VPMADDWD Y2, Y4, Y4                                 \
	VPSRLD $6, Y4, Y4                                   \
	VPADDD Y4, Y3, Y3                                   \
	VINSERTI64X4 $1, Y3, Z3, P

// WEIGHTS, MEAN, which goes to OUT, and CHANCES.
#define MIX(I, OUT, YA, ZA, YB, ZB, W0, W1, P) \
	WEIGHTS(I, W0, W1)                                  \
	MEAN(I, YA, ZA, YB, ZB, W0, W1)                     \
	VMOVDQU Y2, OUT                                     \
	LINES(Z5, Z0)                                       \
	CHANCES(Z5, Z0, P)

// The lanes of 32 bits whose lower half CHANCES keeps.
#define LOWERHALVES \
	MOVL $0x55555555, AX \
	KMOVD AX, K7

// Moves the weights, in their registers, and the estimates of a group, of which MEAN and CHANCES have left the registers, after the
// decisions of K1, which were 1 in K2, of four estimates each. It leaves the probabilities of the
// estimates, without their lowest 4 bits, in Z4.
#define LEARN(I, ZA, ZB, W0, W1, P) \
	KXORD K1, K2, K3                                    \
	VPBROADCASTD.Z mixDwords<>+12(SB), K3, Z0           \
	VPSUBD.Z P, Z0, K1, Z0                              \
	VPMULLD ZA, Z0, Z1                                  \
	VPMULLD ZB, Z0, Z2                                  \
	VPSRAD $15, Z1, Z1                                  \
	VPSRAD $15, Z2, Z2                                  \
	VPADDD W0, Z1, W0                                   \
	VPADDD W1, Z2, W1                                   \
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
	VPSRLW $4, Z4, Z4

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

// The log odds of all estimates of a group, from what LEARN left in Z4. It takes about as long as LOGODDS for three lanes, but has no
// branch that nobody could foresee.
#define ALLLOGODDS(I, YA, ZA, YB, ZB) \
	LEAQ ·stretch32(SB), R13                            \
	VPMOVZXWD Y4, Z0                                    \
	VEXTRACTI64X4 $1, Z4, Y1                            \
	VPMOVZXWD Y1, Z1                                    \
	KXNORW K4, K4, K4                                   \
	KXNORW K5, K5, K5                                   \
	VPXORD ZA, ZA, ZA                                   \
	VPXORD ZB, ZB, ZB                                   \
	VPGATHERDD (R13)(Z0*4), K4, ZA                      \
	VPGATHERDD (R13)(Z1*4), K5, ZB                      \
	VMOVDQU YA, estimates_log(R8)(I*1)                  \
	VEXTRACTI64X4 $1, ZA, estimates_log(R9)(I*1)        \
	VMOVDQU YB, estimates_log(R10)(I*1)                 \
	VEXTRACTI64X4 $1, ZB, estimates_log(R11)(I*1)

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
	LEAQ rankModel_contexts(DI), R12
	CONTEXTS(R12, 4)
	LOWERHALVES
	MIX(SI, rankModel_odds(DI), Y10, Z10, Y12, Z12, Z22, Z23, Z21)
	LEARN(SI, Z10, Z12, Z22, Z23, Z21)
	VMOVDQU64 Z4, 0(SP)
	STOREWEIGHTS(SI, Z22, Z23)
	LOGODDS(SI, BX, 0, 16, 32, 48, Y10, Z10, Y12, Z12, lane, done)
	VZEROUPPER
	RET

// The decisions of K1, of which those of K2 are 1, for the probabilities in P, into Y14: what they leave of the width, and the highest
// bit for those that are 1.
#define DECISIONS(P) \
	VMOVDQA64 P, Y14                                    \
	VPBROADCASTD mixDwords<>+12(SB), Y15                \
	VPSUBD P, Y15, K2, Y14                              \
	VPORD.BCST mixDwords<>+16(SB), Y14, K2, Y14

// The decisions of K1, which are 1 in K2, for sixteen bits at B, into Z14, and B moved after them.
#define BITS(B) \
	VMOVDQU32 B, Z0                                     \
	VPSRLD $16, Z0, Z1                                  \
	VPANDD.BCST mixDwords<>+8(SB), Z1, Z1               \
	VMOVDQU16.Z Z0, K7, Z2                              \
	VPBROADCASTD mixDwords<>+12(SB), Z3                 \
	VPSUBD Z2, Z3, Z3                                   \
	VMOVDQA64 Z2, Z14                                   \
	VPORD.BCST mixDwords<>+16(SB), Z3, K2, Z14          \
	VMOVDQA32 Z2, K2, Z3                                \
	VMOVDQA64 Z1, Z4                                    \
	VMOVDQU64 ·adaptRate+0(SB), Z5                      \
	VPERMI2W ·adaptRate+64(SB), Z5, Z4                  \
	VPMULHUW Z4, Z3, Z3                                 \
	VPADDD Z3, Z2, Z4                                   \
	VPSUBD Z3, Z2, K2, Z4                               \
	VPMAXUD.BCST mixDwords<>+20(SB), Z4, Z4             \
	VPMINUD.BCST mixDwords<>+24(SB), Z4, Z4             \
	VPADDD.BCST mixDwords<>+28(SB), Z1, Z1              \
	VPMINUD.BCST mixDwords<>+32(SB), Z1, Z1             \
	VPSLLD $16, Z1, Z1                                  \
	VPORD Z1, Z4, K1, Z0                                \
	VMOVDQU32 Z0, B

// The four words of half a group at OFF in the estimates of each context, one after the other in Y.
#define HALVES(OFF, X, X2, Y) \
	VMOVQ OFF(R8)(DX*1), X                              \
	VMOVHPS OFF(R9)(DX*1), X, X                         \
	VMOVQ OFF(R10)(DX*1), X2                            \
	VMOVHPS OFF(R11)(DX*1), X2, X2                      \
	VINSERTI128 $1, X2, Y, Y

#define STOREHALVES(OFF, X, X2, Y) \
	VMOVQ X, OFF(R8)(DX*1)                              \
	VMOVHPS X, OFF(R9)(DX*1)                            \
	VEXTRACTI128 $1, Y, X2                              \
	VMOVQ X2, OFF(R10)(DX*1)                            \
	VMOVHPS X2, OFF(R11)(DX*1)

// func decideAVX512(m *rankModel, contexts *uint32, ranks *uint16, n int, out *decision) int
//
// The registers of both groups are those of decodeAVX512, and others beside them:
//
//	R14, BP   a rank and the first of its contexts, behind which the others are in arrays of expectBlocks
//	R12       its decisions
//	R15       its bit length
//	Z16, Z17  what LINES leaves
//	Z22, Z23  the weights of group 0, which stay there until the end
//
// 0(SP) has what LEARN leaves, where gathers are slow; 64(SP) is the end of the ranks.
TEXT ·decideAVX512(SB), NOSPLIT, $72-48
	MOVQ m+0(FP), DI
	MOVQ contexts+8(FP), BP
	MOVQ ranks+16(FP), R14
	MOVQ n+24(FP), AX
	MOVQ out+32(FP), R12
	LEAQ (R14)(AX*2), AX
	MOVQ AX, 64(SP)
	XORL SI, SI
	LOWERHALVES
	LINES(Z16, Z17)
	WEIGHTS(SI, Z22, Z23)
rank:
	CONTEXTS(BP, (4*const_expectBlocks))
	ADDQ $4, BP
	MOVWLZX (R14), AX
	MOVL $32, R15
	LZCNTL AX, AX
	SUBL AX, R15
	MEAN(SI, Y10, Z10, Y12, Z12, Z22, Z23)
	CHANCES(Z16, Z17, Z21)
	KMOVD (rankModel_unary+0)(DI)(R15*8), K1
	KMOVD (rankModel_unary+4)(DI)(R15*8), K2
	DECISIONS(Y21)
	VMOVDQU32 Y14, (R12)
	LEARN(SI, Z10, Z12, Z22, Z23, Z21)
	MOVBLZX (rankModel_unary+0)(DI)(R15*8), BX
	POPCNTL BX, AX
	LEAQ (R12)(AX*4), R12
	CMPB ·slowGathers(SB), $0
	JNE  some0
	ALLLOGODDS(SI, Y10, Z10, Y12, Z12)
	JMP  learned0
some0:
	VMOVDQU64 Z4, 0(SP)
	LOGODDS(SI, BX, 0, 16, 32, 48, Y10, Z10, Y12, Z12, lane0, learned0)
	CMPL R15, $2
	JCS  next

	// The half of the group of the bits below the leading one, see the function below, that is for this bit length, with all contexts in one
	// register: CX, DX and BX are where its log odds, its words and its weights are. AX has the three highest bits, or two.
	MOVL R15, DX
	SHRL $1, DX
	SHLL $6, DX
	MOVL R15, AX
	ANDL $1, AX
	LEAL (DX)(DX*1), BX
	LEAL (DX)(AX*8), DX
	SHLL $4, AX
	ADDL AX, BX
	LEAL (DX)(AX*1), CX
	SHRL $1, AX
	SUBL AX, CX
	LEAL -3(R15), R13
	XORL AX, AX
	TESTL R13, R13
	CMOVLLT AX, R13
	MOVWLZX (R14), AX
	SHRXL R13, AX, AX
	LEAQ belowMasks<>(SB), R13
	KMOVW (R13)(AX*4), K1
	KMOVW 2(R13)(AX*4), K2
	VMOVDQU (rankModel_weights+0)(DI)(BX*1), X13
	VINSERTI128 $1, (rankModel_weights+32)(DI)(BX*1), Y13, Y13
	VINSERTI64X2 $2, (rankModel_weights+64)(DI)(BX*1), Z13, Z13
	VINSERTI64X2 $3, (rankModel_weights+96)(DI)(BX*1), Z13, Z13
	VMOVDQU estimates_log(R8)(CX*1), X11
	VINSERTI128 $1, estimates_log(R9)(CX*1), Y11, Y11
	VINSERTI64X2 $2, estimates_log(R10)(CX*1), Z11, Z11
	VINSERTI64X2 $3, estimates_log(R11)(CX*1), Z11, Z11
	VPMULDQ Z13, Z11, Z2                   // as in MEAN
	VPSRLQ $32, Z11, Z0
	VPSRLQ $32, Z13, Z1
	VPMULDQ Z1, Z0, Z0
	VSHUFI64X2 $0x44, Z0, Z2, Z1
	VSHUFI64X2 $0xee, Z0, Z2, Z3
	VPADDQ Z3, Z1, Z1
	VSHUFI64X2 $0xb1, Z1, Z1, Z3
	VPADDQ Z3, Z1, Z1
	VEXTRACTI64X2 $2, Z1, X0
	VPSRLQ $16, X1, X2
	VPSLLQ $16, X0, X0
	VPBLENDD $0x0a, X0, X2, X2
	VPMINSD.BCST mixDwords<>+0(SB), X2, X2
	VPMAXSD.BCST mixDwords<>+4(SB), X2, X2
	VPSRLD $6, X2, X3                      // as in CHANCES
	VPANDD.BCST mixDwords<>+8(SB), X2, X2
	VMOVDQA64 Z3, Z4
	VPERMI2W ·logisticRise+0(SB), Z17, Z4
	VPERMI2W.Z ·logisticStart+0(SB), Z16, K7, Z3
	VPMADDWD X2, X4, X4
	VPSRLD $6, X4, X4
	VPADDD X4, X3, X3
	VSHUFI64X2 $0, Z3, Z3, Z25
	VMOVDQA64 X25, X14                     // as in DECISIONS
	VPBROADCASTD mixDwords<>+12(SB), X15
	VPSUBD X25, X15, K2, X14
	VPORD.BCST mixDwords<>+16(SB), X14, K2, X14
	VPCOMPRESSD.Z X14, K1, X14
	VMOVDQU32 X14, (R12)
	LEAQ -4(R12)(R15*4), R12               // behind those of the bits below, too
	KXORW K1, K2, K3                       // as in LEARN
	VPBROADCASTD.Z mixDwords<>+12(SB), K3, Z0
	VPSUBD.Z Z25, Z0, K1, Z0
	VPMULLD Z11, Z0, Z1
	VPSRAD $15, Z1, Z1
	VPADDD Z13, Z1, Z13
	HALVES(estimates_zero, X4, X5, Y4)
	HALVES(estimates_seen, X5, X6, Y5)
	VPXOR Y6, Y6, Y6
	VMOVDQA64 Z5, Z7
	VMOVDQU64 ·adaptRate+0(SB), Z8
	VPERMI2W ·adaptRate+64(SB), Z8, Z7
	VPSUBW Y4, Y6, Y8
	VMOVDQU16 Y4, K2, Y8
	VPMULHUW Y7, Y8, Y8
	VPADDW Y8, Y4, Y9
	VPSUBW Y8, Y4, K2, Y9
	VPMAXUW leastWords<>(SB), Y9, Y9
	VPMINUW mostWords<>(SB), Y9, K1, Y4
	VPADDW oneWords<>(SB), Y5, Y6
	VPMINUW limitWords<>(SB), Y6, K1, Y5
	STOREHALVES(estimates_zero, X4, X6, Y4)
	STOREHALVES(estimates_seen, X5, X6, Y5)
	VMOVDQU X13, (rankModel_weights+0)(DI)(BX*1)
	VEXTRACTI128 $1, Y13, (rankModel_weights+32)(DI)(BX*1)
	VEXTRACTI64X2 $2, Z13, (rankModel_weights+64)(DI)(BX*1)
	VEXTRACTI64X2 $3, Z13, (rankModel_weights+96)(DI)(BX*1)
	VPSRLW $4, Y4, Y4
	LEAQ ·stretch32(SB), R13
	CMPB ·slowGathers(SB), $0
	JNE  some1
	VPMOVZXWD Y4, Z0
	KXNORW K4, K4, K4
	VPXORD Z11, Z11, Z11
	VPGATHERDD (R13)(Z0*4), K4, Z11
	JMP  learned1
some1:
	VMOVDQU Y4, 0(SP)
	KMOVW K1, BX
	ANDL $15, BX
lane1:
	TZCNTL BX, DX
	BLSIL BX, AX
	KMOVW AX, K4
	LOGODD(0(SP)(DX*2), Z11)
	KSHIFTLW $4, K4, K4
	LOGODD(8(SP)(DX*2), Z11)
	KSHIFTLW $4, K4, K4
	LOGODD(16(SP)(DX*2), Z11)
	KSHIFTLW $4, K4, K4
	LOGODD(24(SP)(DX*2), Z11)
	BLSRL BX, BX
	JNZ lane1
learned1:
	VMOVDQU X11, estimates_log(R8)(CX*1)
	VEXTRACTI128 $1, Y11, estimates_log(R9)(CX*1)
	VEXTRACTI64X2 $2, Z11, estimates_log(R10)(CX*1)
	VEXTRACTI64X2 $3, Z11, estimates_log(R11)(CX*1)
	SUBL $3, R15
	JBE  next

	// The bits below the three highest, whose decisions go where R12 has left room.
	MOVL $-1, AX
	BZHIL R15, AX, AX
	KMOVW AX, K1
	MOVWLZX (R14), AX
	KMOVW AX, K2
	LEAL 3(R15), AX
	SHLL $6, AX
	BITS(rankModel_low(DI)(AX*1))
	LEAQ backwards<>+64(SB), AX
	NEGQ R15
	VMOVDQU32 (AX)(R15*4), Z3
	VPERMD Z14, Z3, Z14 // from the highest bit on
	VMOVDQU32 Z14, (R12)(R15*4)
next:
	ADDQ $2, R14
	CMPQ R14, 64(SP)
	JNE  rank
	STOREWEIGHTS(SI, Z22, Z23)
	SUBQ out+32(FP), R12
	SHRQ $2, R12
	MOVQ R12, ret+40(FP)
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
	LEAQ rankModel_contexts(DI), BP
	CONTEXTS(BP, 4)
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
	LEARN(SI, Z10, Z12, Z22, Z23, Z21)
	VMOVDQU64 Z4, 64(SP)
	STOREWEIGHTS(SI, Z22, Z23)
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
	LEARN(SI, Z10, Z12, Z22, Z23, Z21)
	VMOVDQU64 Z4, 64(SP)
	STOREWEIGHTS(SI, Z22, Z23)
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
	LEARN(DX, Z11, Z13, Z26, Z27, Z25)
	VMOVDQU64 Z4, 64(SP)
	STOREWEIGHTS(DX, Z26, Z27)
	LOGODDS(DX, BX, 64, 80, 96, 112, Y11, Z11, Y13, Z13, lane2, learned2)
	VZEROUPPER
	RET

short:
	MOVQ CX, top+16(FP)
	LEARN(SI, Z10, Z12, Z22, Z23, Z21)
	VMOVDQU64 Z4, 64(SP)
	STOREWEIGHTS(SI, Z22, Z23)
	MOVQ d+8(FP), AX
	MOVL R12, rangeDecoder_width(AX)
	MOVL R13, rangeDecoder_code(AX)
	MOVQ R15, rangeDecoder_pos(AX)
	MOVQ 144(SP), BX
	LOGODDS(SI, BX, 64, 80, 96, 112, Y10, Z10, Y12, Z12, lane3, learned3)
	VZEROUPPER
	RET

// func decideNumbersAVX512(m *bookModel, numbers *number, n int, out *decision) int
//
//	DI, SI, BX  models, numbers and how many of these are left
//	R12         the decisions
//	R8          the model of a number
//	R9, R10     the number, and its bit length
TEXT ·decideNumbersAVX512(SB), NOSPLIT, $0-40
	MOVQ m+0(FP), DI
	MOVQ numbers+8(FP), SI
	MOVQ n+16(FP), BX
	MOVQ out+24(FP), R12
	LOWERHALVES
	MOVL $-1, R11
number:
	MOVWLZX 2(SI), R8
	IMUL3Q $numberModel__size, R8, R8
	ADDQ DI, R8
	MOVWLZX (SI), R9
	ADDQ $4, SI
	MOVL $32, R10
	LZCNTL R9, AX
	SUBL AX, R10

	// The bit length in unary: sixteen ones have no 0 behind them.
	BZHIL R10, R11, AX
	KMOVW AX, K2
	LEAL 1(AX)(AX*1), AX
	KMOVW AX, K1
	MOVWLZX AX, AX
	POPCNTL AX, CX
	BITS(numberModel_length(R8))
	VMOVDQU32 Z14, (R12)
	LEAQ (R12)(CX*4), R12

	// The bits below the leading one, from the highest on.
	XORL CX, CX
	MOVL R10, DX
	SUBL $1, DX
	CMOVLCS CX, DX
	BZHIL DX, R11, AX
	KMOVW AX, K1
	KMOVW R9, K2
	SHLL $6, R10
	ADDQ R10, R8
	BITS(numberModel_below(R8))
	LEAQ backwards<>+64(SB), AX
	LEAQ (R12)(DX*4), R12
	NEGQ DX
	VMOVDQU32 (AX)(DX*4), Z3
	VPERMD Z14, Z3, Z14
	VMOVDQU32 Z14, (R12)(DX*4)
	DECQ BX
	JNZ number
	SUBQ out+24(FP), R12
	SHRQ $2, R12
	MOVQ R12, ret+32(FP)
	VZEROUPPER
	RET
