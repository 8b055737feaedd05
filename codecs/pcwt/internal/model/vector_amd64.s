#include "textflag.h"

// func sumsAVX2(out, cells *int16, program *int32, features, shift uint64)
TEXT ·sumsAVX2(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ cells+8(FP), SI
	MOVQ program+16(FP), DX
	MOVQ features+24(FP), AX
	VMOVQ shift+32(FP), X15
	CALL sums<>(SB)
	VZEROUPPER
	RET

// sums computes the sums of 16 slots for 32 indices, and behind them, if AX is not 0, for features, the OR of all. DI is where, SI the
// cells, DX the program, and X15 how far features of the low band are shifted. Y0 and Y1 are a sum, Y12 and Y13 the OR.
TEXT sums<>(SB), NOSPLIT|NOFRAME, $0-0
	VPCMPEQW Y14, Y14, Y14
	VPSRLW $1, Y14, Y14       // 32767
	VPXOR Y12, Y12, Y12
	VPXOR Y13, Y13, Y13
	MOVL $16, CX

slot:
	MOVL (DX), R8             // number of terms or pairs, alternating, of the low band
	ADDQ $4, DX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	MOVL R8, R9
	SHRL $2, R9
	JZ   summed
	TESTL $2, R8
	JNZ  pair

term:
	MOVLQSX (DX), R10
	ADDQ $4, DX
	VPADDSW (SI)(R10*1), Y0, Y0
	VPADDSW 32(SI)(R10*1), Y1, Y1
	DECL R9
	JNZ  term
	JMP  summed

pair:
	MOVLQSX (DX), R10
	MOVLQSX 4(DX), R11
	ADDQ $8, DX
	VPADDSW (SI)(R10*1), Y0, Y0
	VPADDSW 32(SI)(R10*1), Y1, Y1
	VPSUBSW (SI)(R11*1), Y0, Y0
	VPSUBSW 32(SI)(R11*1), Y1, Y1
	DECL R9
	JNZ  pair

summed:
	TESTQ AX, AX
	JZ   store
	VPABSW Y0, Y0
	VPABSW Y1, Y1
	VPMINUW Y14, Y0, Y0
	VPMINUW Y14, Y1, Y1
	TESTL $1, R8
	JZ   gather
	VPSRLW X15, Y0, Y0
	VPSRLW X15, Y1, Y1
gather:
	VPOR Y0, Y12, Y12
	VPOR Y1, Y13, Y13
store:
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	ADDQ $64, DI
	DECL CX
	JNZ  slot
	TESTQ AX, AX
	JZ   end
	VMOVDQU Y12, (DI)
	VMOVDQU Y13, 32(DI)
end:
	RET

// dots computes sums of products for CX times eight indices: DI is where, SI the sums of slots, DX the weights of key 0, and BX the
// keys. Slots come to the order of weights by a transposition of 16-bit numbers in both halves of registers.
TEXT dots<>(SB), NOSPLIT|NOFRAME, $0-0
eight:
	// Slot i of eight indices and slot i+8.
	VMOVDQU 0(SI), X0
	VMOVDQU 64(SI), X1
	VMOVDQU 128(SI), X2
	VMOVDQU 192(SI), X3
	VMOVDQU 256(SI), X4
	VMOVDQU 320(SI), X5
	VMOVDQU 384(SI), X6
	VMOVDQU 448(SI), X7
	VINSERTI128 $1, 512(SI), Y0, Y0
	VINSERTI128 $1, 576(SI), Y1, Y1
	VINSERTI128 $1, 640(SI), Y2, Y2
	VINSERTI128 $1, 704(SI), Y3, Y3
	VINSERTI128 $1, 768(SI), Y4, Y4
	VINSERTI128 $1, 832(SI), Y5, Y5
	VINSERTI128 $1, 896(SI), Y6, Y6
	VINSERTI128 $1, 960(SI), Y7, Y7

	VPUNPCKLWD Y1, Y0, Y8
	VPUNPCKHWD Y1, Y0, Y9
	VPUNPCKLWD Y3, Y2, Y10
	VPUNPCKHWD Y3, Y2, Y11
	VPUNPCKLWD Y5, Y4, Y12
	VPUNPCKHWD Y5, Y4, Y13
	VPUNPCKLWD Y7, Y6, Y14
	VPUNPCKHWD Y7, Y6, Y15

	VPUNPCKLDQ Y10, Y8, Y0
	VPUNPCKHDQ Y10, Y8, Y1
	VPUNPCKLDQ Y14, Y12, Y2
	VPUNPCKHDQ Y14, Y12, Y3
	VPUNPCKLDQ Y11, Y9, Y4
	VPUNPCKHDQ Y11, Y9, Y5
	VPUNPCKLDQ Y15, Y13, Y6
	VPUNPCKHDQ Y15, Y13, Y7

	VPUNPCKLQDQ Y2, Y0, Y8
	VPUNPCKHQDQ Y2, Y0, Y9
	VPUNPCKLQDQ Y3, Y1, Y10
	VPUNPCKHQDQ Y3, Y1, Y11
	VPUNPCKLQDQ Y6, Y4, Y12
	VPUNPCKHQDQ Y6, Y4, Y13
	VPUNPCKLQDQ Y7, Y5, Y14
	VPUNPCKHQDQ Y7, Y5, Y15

	MOVBLZX 0(BX), R8
	MOVBLZX 1(BX), R9
	MOVBLZX 2(BX), R10
	MOVBLZX 3(BX), R11
	SHLQ $5, R8
	SHLQ $5, R9
	SHLQ $5, R10
	SHLQ $5, R11
	VPMADDWD (DX)(R8*1), Y8, Y8
	VPMADDWD (DX)(R9*1), Y9, Y9
	VPMADDWD (DX)(R10*1), Y10, Y10
	VPMADDWD (DX)(R11*1), Y11, Y11
	MOVBLZX 4(BX), R8
	MOVBLZX 5(BX), R9
	MOVBLZX 6(BX), R10
	MOVBLZX 7(BX), R11
	SHLQ $5, R8
	SHLQ $5, R9
	SHLQ $5, R10
	SHLQ $5, R11
	VPMADDWD (DX)(R8*1), Y12, Y12
	VPMADDWD (DX)(R9*1), Y13, Y13
	VPMADDWD (DX)(R10*1), Y14, Y14
	VPMADDWD (DX)(R11*1), Y15, Y15

	VPHADDD Y9, Y8, Y0
	VPHADDD Y11, Y10, Y1
	VPHADDD Y13, Y12, Y2
	VPHADDD Y15, Y14, Y3
	VPHADDD Y1, Y0, Y0
	VPHADDD Y3, Y2, Y2
	VPERM2I128 $0x20, Y2, Y0, Y4
	VPERM2I128 $0x31, Y2, Y0, Y5
	VPADDD Y4, Y5, Y4
	VMOVDQU Y4, (DI)

	ADDQ $16, SI
	ADDQ $8, BX
	ADDQ $32, DI
	DECQ CX
	JNZ  eight
	RET

// CONTEXT makes contexts of the sums of features in v: any is not 0 where a feature is, Y14 13, Y6 2^24 - 1, Y7 522 and Y10 1. The logarithm comes from the exponent of a float, which holds 24 bits; more are cleared first. Exponents
// begin at 127, and 522 is 4 * 127 + 14. It changes Y5.
#define CONTEXT(v, any, bias) \
	VPADDD bias, v, v         \
	VPSRAD $4, v, v           \
	VPMAXSD Y14, v, v         \
	VPCMPGTD Y6, v, Y5        \
	VPSRLD $24, Y5, Y5        \
	VPANDN v, Y5, v           \
	VCVTDQ2PS v, v            \
	VPSRLD $21, v, v          \
	VPSUBD Y7, v, v           \
	VPMAXSD Y10, v, v         \
	VPXOR Y5, Y5, Y5          \
	VPCMPEQD Y5, any, Y5      \
	VPANDN v, Y5, v

#define CONTEXTCONSTANTS \
	MOVL $13, AX              \
	VMOVD AX, X14             \
	VPBROADCASTD X14, Y14     \
	MOVL $522, AX             \
	VMOVD AX, X7              \
	VPBROADCASTD X7, Y7       \
	VPCMPEQD Y6, Y6, Y6       \
	VPSRLD $31, Y6, Y10       \
	VPSRLD $8, Y6, Y6

// FASTSLOT sums the terms of a slot, which are not negative and too small to saturate, for 32 indices in a and b.
#define FASTSLOT(a, b, next, ready) \
	MOVL (DX), R9             \
	ADDQ $4, DX               \
	VPXOR a, a, a             \
	VPXOR b, b, b             \
	SHRL $2, R9               \
	JZ   ready                \
next:                         \
	MOVLQSX (DX), R10         \
	ADDQ $4, DX               \
	VPADDW (SI)(R10*1), a, a  \
	VPADDW 32(SI)(R10*1), b, b \
	DECL R9                   \
	JNZ  next                 \
ready:                        \
	VPOR a, Y12, Y12          \
	VPOR b, Y13, Y13

// func halfRowAVX2(c *halfRowCall)
//
// For 32 indices at a time: R12 is the call, R13 the first index, R15 how many times eight there are.
TEXT ·halfRowAVX2(SB), NOSPLIT, $0-8
	MOVQ c+0(FP), R12
	XORQ R13, R13
block:
	MOVQ 104(R12), R15        // n
	SUBQ R13, R15
	JLE  done
	MOVL $32, AX
	CMPQ R15, AX
	CMOVQGT AX, R15
	ADDQ $7, R15
	SHRQ $3, R15
	MOVQ 0(R12), SI           // cells
	LEAQ (SI)(R13*2), SI
	MOVQ 8(R12), DX           // taps
	TESTQ DX, DX
	JZ   fast

	MOVQ 24(R12), DI          // tapSums
	XORL AX, AX
	CALL sums<>(SB)
	MOVQ 80(R12), DI          // predictions
	LEAQ (DI)(R13*4), DI
	MOVQ 24(R12), SI
	MOVQ 40(R12), DX          // predict
	MOVQ 64(R12), BX          // textures
	ADDQ R13, BX
	MOVQ R15, CX
	CALL dots<>(SB)

	// Sums of taps in predictions become predictions and fractions.
	MOVQ 80(R12), DI
	LEAQ (DI)(R13*4), DI
	MOVQ 88(R12), SI          // fractions
	LEAQ (SI)(R13*4), SI
	MOVQ 112(R12), CX         // qmin
	MOVL $2048, AX
	SHLL CX, AX
	VMOVD AX, X15
	VPBROADCASTD X15, Y15
	VMOVQ CX, X14
	ADDQ $12, CX
	VMOVQ CX, X13
	MOVL $16383, AX
	VMOVD AX, X12
	VPBROADCASTD X12, Y12
	VPXOR Y11, Y11, Y11
	VPSUBD Y12, Y11, Y11
	MOVQ R15, CX
round:
	VMOVDQU (DI), Y0
	VPADDD Y15, Y0, Y1
	VPSRAD X13, Y1, Y1
	VPSRAD X14, Y0, Y0
	VPSLLD $12, Y1, Y2
	VPSUBD Y2, Y0, Y0
	VPMINSD Y12, Y1, Y1
	VPMAXSD Y11, Y1, Y1
	VMOVDQU Y1, (DI)
	VMOVDQU Y0, (SI)
	ADDQ $32, DI
	ADDQ $32, SI
	DECQ CX
	JNZ  round

	MOVQ 32(R12), DI          // featureSums
	MOVQ 0(R12), SI
	LEAQ (SI)(R13*2), SI
	MOVQ 16(R12), DX          // features
	VMOVQ 112(R12), X15
	MOVL $1, AX
	CALL sums<>(SB)
	MOVQ 96(R12), DI          // contexts
	LEAQ (DI)(R13*4), DI
	MOVQ 32(R12), SI
	MOVQ 48(R12), DX          // scale
	MOVQ 72(R12), BX          // directions
	ADDQ R13, BX
	MOVQ R15, CX
	CALL dots<>(SB)

	MOVQ 96(R12), DI
	LEAQ (DI)(R13*4), DI
	MOVQ 32(R12), SI
	MOVQ 72(R12), BX
	ADDQ R13, BX
	MOVQ 56(R12), DX          // bias
	VMOVDQU (DX), Y15
	CONTEXTCONSTANTS
	MOVQ R15, CX
context:
	VPMOVZXBD (BX), Y1
	VPERMD Y15, Y1, Y1
	VMOVDQU (DI), Y0
	VPMOVZXWD 1024(SI), Y2
	CONTEXT(Y0, Y2, Y1)
	VMOVDQU Y0, (DI)
	ADDQ $32, DI
	ADDQ $16, SI
	ADDQ $8, BX
	DECQ CX
	JNZ  context
	ADDQ $32, R13
	JMP  block

	// Without prediction all indices have one key, and sums are multiplied by pairs of weights as soon as they are there. Y8 to Y11
	// are sums of products, in the order that unpacking leaves, and Y12 and Y13 the OR of features.
fast:
	MOVQ 16(R12), DX
	MOVQ 48(R12), BX
	MOVQ 120(R12), CX         // pairs
	VPXOR Y8, Y8, Y8
	VPXOR Y9, Y9, Y9
	VPXOR Y10, Y10, Y10
	VPXOR Y11, Y11, Y11
	VPXOR Y12, Y12, Y12
	VPXOR Y13, Y13, Y13
pair:
	FASTSLOT(Y0, Y1, even, evenready)
	FASTSLOT(Y2, Y3, odd, oddready)
	VPBROADCASTD (BX), Y7
	VPUNPCKLWD Y2, Y0, Y4     // indices 0 to 3, 8 to 11
	VPUNPCKHWD Y2, Y0, Y5     // 4 to 7, 12 to 15
	VPUNPCKLWD Y3, Y1, Y6
	VPUNPCKHWD Y3, Y1, Y3
	VPMADDWD Y7, Y4, Y4
	VPMADDWD Y7, Y5, Y5
	VPMADDWD Y7, Y6, Y6
	VPMADDWD Y7, Y3, Y3
	VPADDD Y4, Y8, Y8
	VPADDD Y5, Y9, Y9
	VPADDD Y6, Y10, Y10
	VPADDD Y3, Y11, Y11
	ADDQ $4, BX
	DECQ CX
	JNZ  pair
	VPERM2I128 $0x20, Y9, Y8, Y0
	VPERM2I128 $0x31, Y9, Y8, Y1
	VPERM2I128 $0x20, Y11, Y10, Y2
	VPERM2I128 $0x31, Y11, Y10, Y3
	MOVQ 56(R12), DX
	VPBROADCASTD (DX), Y15
	CONTEXTCONSTANTS
	MOVQ 96(R12), DI
	LEAQ (DI)(R13*4), DI
	VPMOVZXWD X12, Y4
	CONTEXT(Y0, Y4, Y15)
	VEXTRACTI128 $1, Y12, X12
	VPMOVZXWD X12, Y4
	CONTEXT(Y1, Y4, Y15)
	VPMOVZXWD X13, Y4
	CONTEXT(Y2, Y4, Y15)
	VEXTRACTI128 $1, Y13, X13
	VPMOVZXWD X13, Y4
	CONTEXT(Y3, Y4, Y15)
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	ADDQ $32, R13
	JMP  block
done:
	VZEROUPPER
	RET

// ABSOLUTE adds the absolute differences of the cells at R10 and R11 to a sum.
#define ABSOLUTE(sum) \
	VMOVDQU (SI)(R10*1), Y0     \
	VPSUBSW (SI)(R11*1), Y0, Y0 \
	VPABSW  Y0, Y0              \
	VPMINUW Y14, Y0, Y0         \
	VPADDSW Y0, sum, sum

// func texturesAVX2(textures, directions *uint8, cells *int16, program *int32, thresholds uint64, sixteens uint64)
//
// Y1 to Y4 are gh, gv, d1 and d2, 16 at a time.
TEXT ·texturesAVX2(SB), NOSPLIT, $0-48
	MOVQ textures+0(FP), DI
	MOVQ directions+8(FP), R8
	MOVQ cells+16(FP), SI
	MOVQ sixteens+40(FP), CX
	VPCMPEQW Y14, Y14, Y14
	VPSRLW $15, Y14, Y13      // 1
	VPSRLW $1, Y14, Y14       // 32767
	VPADDW Y13, Y13, Y12      // 2
	VPADDW Y12, Y13, Y11      // 3
	VPADDW Y12, Y12, Y10      // 4
	MOVQ thresholds+32(FP), AX
	VMOVD AX, X9
	VPBROADCASTW X9, Y9
	SHRQ $16, AX
	VMOVD AX, X8
	VPBROADCASTW X8, Y8
	VPSUBW Y13, Y9, Y9        // thresholds - 1
	VPSUBW Y13, Y8, Y8
sixteen:
	MOVQ program+24(FP), DX
	MOVL $6, R9
	VPXOR Y1, Y1, Y1
horizontal:
	MOVLQSX (DX), R10
	MOVLQSX 4(DX), R11
	ADDQ $8, DX
	ABSOLUTE(Y1)
	DECL R9
	JNZ  horizontal
	MOVL $6, R9
	VPXOR Y2, Y2, Y2
vertical:
	MOVLQSX (DX), R10
	MOVLQSX 4(DX), R11
	ADDQ $8, DX
	ABSOLUTE(Y2)
	DECL R9
	JNZ  vertical
	MOVL $5, R9
	VPXOR Y3, Y3, Y3
diagonal:
	MOVLQSX (DX), R10
	MOVLQSX 4(DX), R11
	ADDQ $8, DX
	ABSOLUTE(Y3)
	DECL R9
	JNZ  diagonal
	MOVL $5, R9
	VPXOR Y4, Y4, Y4
other:
	MOVLQSX (DX), R10
	MOVLQSX 4(DX), R11
	ADDQ $8, DX
	ABSOLUTE(Y4)
	DECL R9
	JNZ  other

	// Direction, its weakest condition first.
	VPADDSW Y1, Y1, Y5        // 2 gh
	VPADDSW Y1, Y5, Y6        // 3 gh
	VPADDSW Y2, Y2, Y7        // 2 gv
	VPCMPGTW Y6, Y7, Y0
	VPBLENDVB Y0, Y11, Y12, Y15
	VPCMPGTW Y6, Y2, Y0
	VPBLENDVB Y0, Y10, Y15, Y15
	VPADDSW Y2, Y7, Y6        // 3 gv
	VPCMPGTW Y6, Y5, Y0
	VPBLENDVB Y0, Y13, Y15, Y15
	VPCMPGTW Y6, Y1, Y0
	VPANDN Y15, Y0, Y15
	VPADDW Y15, Y15, Y7
	VPADDW Y15, Y7, Y7        // times 3

	VPADDSW Y3, Y3, Y5        // 2 d1
	VPADDSW Y3, Y5, Y6        // 3 d1
	VPADDSW Y4, Y4, Y0        // 2 d2
	VPADDSW Y4, Y0, Y4        // 3 d2
	VPCMPGTW Y6, Y0, Y0
	VPBLENDVB Y0, Y12, Y13, Y6
	VPCMPGTW Y4, Y5, Y0
	VPANDN Y6, Y0, Y6
	VPADDW Y6, Y7, Y7
	VPADDW Y7, Y7, Y6
	VPADDW Y6, Y7, Y7

	VPADDSW Y2, Y1, Y1
	VPCMPGTW Y9, Y1, Y0
	VPSUBW Y0, Y7, Y7
	VPCMPGTW Y8, Y1, Y0
	VPSUBW Y0, Y7, Y7

	VPACKUSWB Y15, Y7, Y7     // 8 textures, 8 directions, twice
	VPERMQ $0xd8, Y7, Y7
	VMOVDQU X7, (DI)
	VEXTRACTI128 $1, Y7, (R8)
	ADDQ $32, SI
	ADDQ $16, DI
	ADDQ $16, R8
	DECQ CX
	JNZ  sixteen
	VZEROUPPER
	RET

// func splitAVX2(even, odd, samples *int16, blocks uint64)
//
// 32 samples of a block become 16 of each half. The last block is first.
TEXT ·splitAVX2(SB), NOSPLIT, $0-32
	MOVQ even+0(FP), DI
	MOVQ odd+8(FP), R8
	MOVQ samples+16(FP), SI
	MOVQ blocks+24(FP), CX
	DECQ CX
	MOVQ CX, AX
	SHLQ $5, AX
	ADDQ AX, DI
	ADDQ AX, R8
	LEAQ (SI)(AX*2), SI
split:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VPSLLD $16, Y0, Y2
	VPSLLD $16, Y1, Y3
	VPSRAD $16, Y2, Y2
	VPSRAD $16, Y3, Y3
	VPACKSSDW Y3, Y2, Y2
	VPERMQ $0xd8, Y2, Y2
	VPSRAD $16, Y0, Y0
	VPSRAD $16, Y1, Y1
	VPACKSSDW Y1, Y0, Y0
	VPERMQ $0xd8, Y0, Y0
	VMOVDQU Y2, (DI)
	VMOVDQU Y0, (R8)
	SUBQ $32, DI
	SUBQ $32, R8
	SUBQ $64, SI
	DECQ CX
	JGE  split
	VZEROUPPER
	RET

// func magnitudesAVX2(out, e *int16, sixteens uint64)
TEXT ·magnitudesAVX2(SB), NOSPLIT, $0-24
	MOVQ out+0(FP), DI
	MOVQ e+8(FP), SI
	MOVQ sixteens+16(FP), CX
	VPCMPEQW Y1, Y1, Y1
	VPSRLW $3, Y1, Y1         // 8191
magnitude:
	VPABSW (SI), Y0
	VPMINUW Y1, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  magnitude
	VZEROUPPER
	RET

// func saturateAVX2(out *int16, v *int32, sixteens uint64)
TEXT ·saturateAVX2(SB), NOSPLIT, $0-24
	MOVQ out+0(FP), DI
	MOVQ v+8(FP), SI
	MOVQ sixteens+16(FP), CX
saturate:
	VMOVDQU (SI), Y0
	VPACKSSDW 32(SI), Y0, Y0
	VPERMQ $0xd8, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $64, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  saturate
	VZEROUPPER
	RET
