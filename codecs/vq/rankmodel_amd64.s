#include "textflag.h"

// Offsets in mixer and estimates.
#define MODEL 32 // stamp of mixer
#define ZERO  40
#define LOG   16
#define SEEN  32
#define STAMP 48 // of estimates

// The address of the estimates of context N, of those at R13, into E.
#define CONTEXT(N, E) \
	MOVQ (8*N)(DI), E \
	SHLQ $6, E        \
	ADDQ R13, E

// Resets the estimates at E where they are not of the model with the stamp R12.
#define FRESH(E, OK) \
	CMPQ STAMP(E), R12       \
	JEQ  OK                  \
	VMOVDQU ·firstEstimates+0(SB), Y0 \
	VMOVDQU Y0, (E)          \
	VMOVDQU ·firstEstimates+32(SB), X0 \
	VMOVDQU X0, 32(E)        \
	MOVQ R12, STAMP(E)       \
OK:

DATA mixMost<>+0(SB)/8, $0x07ffffff // log odds of 2047, in the units of a sum
GLOBL mixMost<>(SB), RODATA|NOPTR, $8
DATA mixLeast<>+0(SB)/8, $-0x07ff0000 // and of -2047
GLOBL mixLeast<>(SB), RODATA|NOPTR, $8
DATA mixDwords<>+0(SB)/4, $2048
DATA mixDwords<>+4(SB)/4, $63
DATA mixDwords<>+8(SB)/4, $0xffff
DATA mixDwords<>+12(SB)/4, $32    // probMin
DATA mixDwords<>+16(SB)/4, $65504 // 65536 - probMin
DATA mixDwords<>+20(SB)/4, $65536
GLOBL mixDwords<>(SB), RODATA|NOPTR, $24
DATA learnWords<>+0(SB)/2, $32    // probMin
DATA learnWords<>+2(SB)/2, $65504 // 65536 - probMin
DATA learnWords<>+4(SB)/2, $1
DATA learnWords<>+6(SB)/2, $60    // adaptLimit
GLOBL learnWords<>(SB), RODATA|NOPTR, $8

// The log odds of the estimates at E by the weights at W, in eight numbers of 64 bits.
#define ODDS(E, W, Z, T) \
	VPMOVSXWQ LOG(E), Z \
	VPMOVSXDQ W(SI), T  \
	VPMULDQ   T, Z, Z

// func mixAVX512(m *mixer, of *estimates, weights *[mixed][lanes]int32)
TEXT ·mixAVX512(SB), NOSPLIT, $0-24
	MOVQ m+0(FP), DI
	MOVQ of+8(FP), R13
	MOVQ weights+16(FP), SI
	MOVQ MODEL(DI), R12
	CONTEXT(0, R8)
	CONTEXT(1, R9)
	CONTEXT(2, R10)
	CONTEXT(3, R11)
	FRESH(R8, fresh0)
	FRESH(R9, fresh1)
	FRESH(R10, fresh2)
	FRESH(R11, fresh3)
	ODDS(R8, 0, Z0, Z4)
	ODDS(R9, 32, Z1, Z5)
	ODDS(R10, 64, Z2, Z6)
	ODDS(R11, 96, Z3, Z7)
	VPADDQ Z1, Z0, Z0
	VPADDQ Z3, Z2, Z2
	VPADDQ Z2, Z0, Z0
	VPMINSQ.BCST mixMost<>(SB), Z0, Z0
	VPMAXSQ.BCST mixLeast<>(SB), Z0, Z0
	VPSRAQ $16, Z0, Z0
	VPMOVQD Z0, Y0
	VPADDD.BCST mixDwords<>+0(SB), Y0, Y0
	VPSRLD $6, Y0, Y1                      // number of the line
	VPANDD.BCST mixDwords<>+4(SB), Y0, Y0  // place on it
	VMOVDQA64 Z1, Z2
	VMOVDQU64 ·logisticStart+64(SB), Z4
	VMOVDQU64 ·logisticStart+0(SB), Z3
	VPERMI2W Z4, Z3, Z1
	VMOVDQU64 ·logisticRise+64(SB), Z6
	VMOVDQU64 ·logisticRise+0(SB), Z5
	VPERMI2W Z6, Z5, Z2
	VPANDD.BCST mixDwords<>+8(SB), Y1, Y1
	VPMADDWD Y0, Y2, Y2
	VPSRLD $6, Y2, Y2
	VPADDD Y2, Y1, Y1
	VPMAXUD.BCST mixDwords<>+12(SB), Y1, Y1
	VPMINUD.BCST mixDwords<>+16(SB), Y1, Y1
	VMOVDQU Y1, ZERO(DI)
	VZEROUPPER
	RET

// The weights at W of the estimates at E; Y1 is what the probabilities missed, 0 in lanes
// without a decision.
#define WEIGHTS(E, W, Y) \
	VPMOVSXWD LOG(E), Y     \
	VPMULLD   Y1, Y, Y      \
	VPSRAD    $15, Y, Y     \
	VPADDD    W(SI), Y, Y   \
	VMOVDQU   Y, W(SI)

// The stretch of the estimate at E in lane CX, into that lane of X, which K4 selects.
#define STRETCH(E, X) \
	MOVWLZX (E)(CX*2), DX          \
	SHRL    $4, DX                 \
	VPBROADCASTW (R12)(DX*2), K4, X

// func learnAVX512(m *mixer, of *estimates, weights *[mixed][lanes]int32, coded, ones uint64)
TEXT ·learnAVX512(SB), NOSPLIT, $0-40
	MOVQ m+0(FP), DI
	MOVQ of+8(FP), R13
	MOVQ weights+16(FP), SI
	MOVQ coded+24(FP), AX
	MOVQ ones+32(FP), BX
	CONTEXT(0, R8)
	CONTEXT(1, R9)
	CONTEXT(2, R10)
	CONTEXT(3, R11)
	LEAQ ·stretch(SB), R12
	IMUL3L $0x01010101, AX, CX
	IMUL3L $0x01010101, BX, DX
	KMOVD CX, K1 // decisions, of four estimates each
	KMOVD DX, K2 // those that were 1
	KNOTD K2, K3
	VPBROADCASTD mixDwords<>+20(SB), Y0
	VMOVDQA32.Z Y0, K3, Y0
	VPSUBD.Z ZERO(DI), Y0, K1, Y1
	WEIGHTS(R8, 0, Y2)
	WEIGHTS(R9, 32, Y3)
	WEIGHTS(R10, 64, Y4)
	WEIGHTS(R11, 96, Y5)
	VMOVDQU (R8), X2
	VINSERTI64X2 $1, (R9), Y2, Y2
	VINSERTI64X2 $2, (R10), Z2, Z2
	VINSERTI64X2 $3, (R11), Z2, Z2
	VMOVDQU SEEN(R8), X3
	VINSERTI64X2 $1, SEEN(R9), Y3, Y3
	VINSERTI64X2 $2, SEEN(R10), Z3, Z3
	VINSERTI64X2 $3, SEEN(R11), Z3, Z3
	VMOVDQA64 Z3, Z4
	VMOVDQU64 ·adaptRate+64(SB), Z6
	VMOVDQU64 ·adaptRate+0(SB), Z5
	VPERMI2W Z6, Z5, Z4
	VPXORQ Z7, Z7, Z7
	VPSUBW Z2, Z7, Z7
	VMOVDQU16 Z2, K2, Z7   // to the end that the decision points to
	VPMULHUW Z4, Z7, Z7
	VPADDW Z7, Z2, Z8
	VPSUBW Z7, Z2, K2, Z8
	VPBROADCASTW learnWords<>+0(SB), Z9
	VPMAXUW Z9, Z8, Z8
	VPBROADCASTW learnWords<>+2(SB), Z9
	VPMINUW Z9, Z8, K1, Z2
	VPBROADCASTW learnWords<>+4(SB), Z9
	VPADDW Z9, Z3, Z4
	VPBROADCASTW learnWords<>+6(SB), Z9
	VPMINUW Z9, Z4, K1, Z3
	VMOVDQU X2, (R8)
	VEXTRACTI64X2 $1, Z2, (R9)
	VEXTRACTI64X2 $2, Z2, (R10)
	VEXTRACTI64X2 $3, Z2, (R11)
	VMOVDQU X3, SEEN(R8)
	VEXTRACTI64X2 $1, Z3, SEEN(R9)
	VEXTRACTI64X2 $2, Z3, SEEN(R10)
	VEXTRACTI64X2 $3, Z3, SEEN(R11)
	TESTQ AX, AX
	JZ done
	// Through registers: a vector cannot be loaded soon after a part of it was stored.
	VMOVDQU LOG(R8), X2
	VMOVDQU LOG(R9), X3
	VMOVDQU LOG(R10), X4
	VMOVDQU LOG(R11), X5
stretch:
	TZCNTQ AX, CX
	BLSIQ AX, DX
	KMOVD DX, K4
	STRETCH(R8, X2)
	STRETCH(R9, X3)
	STRETCH(R10, X4)
	STRETCH(R11, X5)
	BLSRQ AX, AX
	JNZ stretch
	VMOVDQU X2, LOG(R8)
	VMOVDQU X3, LOG(R9)
	VMOVDQU X4, LOG(R10)
	VMOVDQU X5, LOG(R11)
done:
	VZEROUPPER
	RET
