#include "textflag.h"

// func sumsAVX2(out, cells *int16, program *int32, features, shift uint64)
//
// The sums of 16 slots for 32 indices, and behind them, for features, the OR of all. Y0 and
// Y1 are a sum, Y12 and Y13 the OR.
TEXT ·sumsAVX2(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ cells+8(FP), SI
	MOVQ program+16(FP), DX
	MOVQ features+24(FP), AX
	VMOVQ shift+32(FP), X15
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
	VZEROUPPER
	RET

// func dotsAVX2(out *int32, sums, weights *int16, keys *uint8, eights uint64)
//
// For eight indices at a time: slots to the order of weights by a transposition of 16-bit
// numbers in both halves of registers, products, and sums across.
TEXT ·dotsAVX2(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ sums+8(FP), SI
	MOVQ weights+16(FP), DX
	MOVQ keys+24(FP), BX
	MOVQ eights+32(FP), CX

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
	VZEROUPPER
	RET

// func roundAVX2(predictions, fractions *int32, eights, qmin uint64)
//
// Sums of taps in predictions become predictions and fractions.
TEXT ·roundAVX2(SB), NOSPLIT, $0-32
	MOVQ predictions+0(FP), DI
	MOVQ fractions+8(FP), SI
	MOVQ eights+16(FP), DX
	MOVQ qmin+24(FP), CX
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
	DECQ DX
	JNZ  round
	VZEROUPPER
	RET

// func contextsAVX2(contexts *int32, any *int16, directions *uint8, bias *int32, eights uint64)
//
// Sums of features in contexts become contexts. The logarithm comes from the exponent of a float, which
// holds 24 bits; more are cleared first.
TEXT ·contextsAVX2(SB), NOSPLIT, $0-40
	MOVQ contexts+0(FP), DI
	MOVQ any+8(FP), SI
	MOVQ directions+16(FP), BX
	MOVQ bias+24(FP), DX
	MOVQ eights+32(FP), CX
	VMOVDQU (DX), Y15
	MOVL $13, AX
	VMOVD AX, X14
	VPBROADCASTD X14, Y14
	MOVL $522, AX             // exponents begin at 127; 4 * 127 + 14
	VMOVD AX, X13
	VPBROADCASTD X13, Y13
	VPCMPEQD Y12, Y12, Y12
	VPSRLD $31, Y12, Y11      // 1
	VPSRLD $8, Y12, Y12       // 2^24 - 1
	VPXOR Y10, Y10, Y10
context:
	VPMOVZXBD (BX), Y1
	VPERMD Y15, Y1, Y1
	VPADDD (DI), Y1, Y0
	VPSRAD $4, Y0, Y0
	VPMAXSD Y14, Y0, Y0
	VPCMPGTD Y12, Y0, Y1
	VPSRLD $24, Y1, Y1        // 255 where low bits are cleared
	VPANDN Y0, Y1, Y0
	VCVTDQ2PS Y0, Y0
	VPSRLD $21, Y0, Y0
	VPSUBD Y13, Y0, Y0
	VPMAXSD Y11, Y0, Y0
	VPMOVZXWD (SI), Y1
	VPCMPEQD Y10, Y1, Y1
	VPANDN Y0, Y1, Y0
	VMOVDQU Y0, (DI)
	ADDQ $32, DI
	ADDQ $16, SI
	ADDQ $8, BX
	DECQ CX
	JNZ  context
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

// func uniformAVX2(out *int32, sums, weights *int16, pairs uint64)
//
// dotsAVX2 for 32 indices of one key: products of pairs of slots with their two weights. Y8 to Y11 are the sums, in the
// order that unpacking leaves.
TEXT ·uniformAVX2(SB), NOSPLIT, $0-32
	MOVQ out+0(FP), DI
	MOVQ sums+8(FP), SI
	MOVQ weights+16(FP), DX
	MOVQ pairs+24(FP), CX
	VPXOR Y8, Y8, Y8
	VPXOR Y9, Y9, Y9
	VPXOR Y10, Y10, Y10
	VPXOR Y11, Y11, Y11
twoslots:
	VPBROADCASTD (DX), Y7
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VMOVDQU 64(SI), Y2
	VMOVDQU 96(SI), Y3
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
	ADDQ $128, SI
	ADDQ $4, DX
	DECQ CX
	JNZ  twoslots
	VPERM2I128 $0x20, Y9, Y8, Y0
	VPERM2I128 $0x31, Y9, Y8, Y1
	VPERM2I128 $0x20, Y11, Y10, Y2
	VPERM2I128 $0x31, Y11, Y10, Y3
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
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
