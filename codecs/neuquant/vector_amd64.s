#include "textflag.h"

DATA lanes<>+0(SB)/8, $0x0003000200010000
DATA lanes<>+8(SB)/8, $0x0007000600050004
DATA lanes<>+16(SB)/8, $0x000b000a00090008
DATA lanes<>+24(SB)/8, $0x000f000e000d000c
GLOBL lanes<>(SB), RODATA|NOPTR, $32

// Places in a network.
#define GREEN  512
#define BLUE   1024
#define ALPHA  1536
#define FREQ   2048
#define MASK   2560
#define WEIGHT 3072
#define COUNT  3584
#define REST   3592
#define RAD    3596

// APART adds the distances along a component, at off, to Y12.
#define APART(off, v) \
	VPSUBW  off(DI)(BX*1), v, Y13 \
	VPABSW  Y13, Y13              \
	VPADDSW Y13, Y12, Y12

// CONTEST keeps the least of Y12 in least, and the numbers of their blocks.
#define CONTEST(least, block) \
	VPCMPGTW  Y12, least, Y13        \
	VPBLENDVB Y13, Y8, block, block  \
	VPMINSW   Y12, least, least

// WINNER sets out to the lowest of the 256 places with the least of least.
#define WINNER(least, xleast, block, xblock, tmp, xtmp, out) \
	VEXTRACTI128 $1, least, xtmp     \
	VPMINSW      xtmp, xleast, xtmp  \
	VPHMINPOSUW  xtmp, xtmp          \
	VPBROADCASTW xtmp, tmp           \
	VPCMPGTW     tmp, least, least   \
	VPSLLW       $4, block, block    \
	VPADDW       lanes<>(SB), block, block \
	VPOR         least, block, block \
	VEXTRACTI128 $1, block, xtmp     \
	VPMINUW      xtmp, xblock, xblock \
	VPHMINPOSUW  xblock, xblock      \
	VMOVD        xblock, out         \
	MOVWLZX      out, out

// APPROACH moves a component, at off, of eight neurons towards v by the weights Y12, of
// those that X15 tells.
#define APPROACH(off, v) \
	VMOVDQU      off(DI)(BX*2), X11   \
	VPMOVSXWD    X11, Y13             \
	VPSUBD       v, Y13, Y13          \
	VPMULLD      Y12, Y13, Y13        \
	VPSRAD       $31, Y13, Y14        \
	VPSRLD       $14, Y14, Y14        \
	VPADDD       Y14, Y13, Y13        \ // a quotient is rounded towards zero
	VPSRAD       $18, Y13, Y13        \
	VEXTRACTI128 $1, Y13, X14         \
	VPACKSSDW    X14, X13, X13        \
	VPAND        X15, X13, X13        \
	VPSUBW       X13, X11, X11        \
	VMOVDQU      X11, off(DI)(BX*2)

// func learnAVX2(w *network, list *uint32, n int, alpha bool)
//
// Sixteen neurons at a time in the contest, eight where they move. Y0 to Y3 are the
// components of the sample. In the contest Y4 and Y6 are the least distances without and
// with bias, Y5 and Y7 the blocks of sixteen where they are, Y8 the block at hand.
TEXT ·learnAVX2(SB), NOSPLIT, $0-25
	MOVQ w+0(FP), DI
	MOVQ list+8(FP), SI
	MOVQ n+16(FP), CX
	MOVBLZX alpha+24(FP), R9
	MOVQ COUNT(DI), R10
	LEAQ 15(R10), R8
	SHRQ $4, R8
	SHLQ $5, R8               // bytes of a component of the blocks
	MOVL RAD(DI), R11
	MOVL $1, AX
	CMPL R11, AX
	CMOVLLT AX, R11
	DECL R11                  // how far from the winner neurons move
	VPBROADCASTW REST(DI), Y10
	VPCMPEQW Y9, Y9, Y9       // -1
	VPXOR Y11, Y11, Y11

sample:
	VMOVD (SI), X0
	ADDQ $4, SI
	VPMOVZXBW X0, X0
	VPSLLW $4, X0, X0
	VPSRLQ $16, X0, X1
	VPSRLQ $32, X0, X2
	VPSRLQ $48, X0, X3
	VPBROADCASTW X0, Y0
	VPBROADCASTW X1, Y1
	VPBROADCASTW X2, Y2
	VPBROADCASTW X3, Y3
	VPSRLW $1, Y9, Y4
	VMOVDQA Y4, Y6
	VPXOR Y5, Y5, Y5
	VPXOR Y7, Y7, Y7
	VPXOR Y8, Y8, Y8
	VPXOR Y11, Y11, Y11
	XORL BX, BX

sixteen:
	VPSUBW (DI)(BX*1), Y0, Y12
	VPABSW Y12, Y12
	APART(GREEN, Y1)
	APART(BLUE, Y2)
	TESTL R9, R9
	JZ compare
	APART(ALPHA, Y3)
compare:
	CONTEST(Y4, Y5)
	VMOVDQU FREQ(DI)(BX*1), Y14
	VPSUBW Y10, Y14, Y13
	VPSRLW $2, Y13, Y13
	VPADDSW Y13, Y12, Y12
	CONTEST(Y6, Y7)
	VPAVGW Y11, Y14, Y13      // half of the frequency, which is one more
	VPSRLW $9, Y13, Y13
	VPSUBW Y13, Y14, Y14
	VMOVDQU Y14, FREQ(DI)(BX*1)
	VPSUBW Y9, Y8, Y8
	ADDQ $32, BX
	CMPQ BX, R8
	JLT sixteen

	WINNER(Y4, X4, Y5, X5, Y12, X12, AX)
	WINNER(Y6, X6, Y7, X7, Y13, X13, DX)
	ADDW $64, FREQ(DI)(AX*2)

	VPMOVZXWD X0, Y4
	VPMOVZXWD X1, Y5
	VPMOVZXWD X2, Y6
	VPMOVZXWD X3, Y7
	MOVQ DX, BX
	SUBQ R11, BX
	JGE from
	XORL BX, BX
from:
	ANDQ $~7, BX              // the first eight
	LEAQ (DX)(R11*1), R13
	LEAQ -1(R10), AX
	CMPQ R13, AX
	CMOVQGT AX, R13           // the last neuron
	MOVQ BX, R14
	SUBQ DX, R14
eight:
	VMOVDQU (WEIGHT+256)(DI)(R14*4), Y12
	VMOVDQU MASK(DI)(BX*2), X15
	APPROACH(0, Y4)
	APPROACH(GREEN, Y5)
	APPROACH(BLUE, Y6)
	TESTL R9, R9
	JZ next
	APPROACH(ALPHA, Y7)
next:
	ADDQ $8, BX
	ADDQ $8, R14
	CMPQ BX, R13
	JLE eight

	DECQ CX
	JNZ sample
	VZEROUPPER
	RET

// FOLD leaves in x1 and x2 the least and the next of the pairs x1, x2 and x3, x4.
#define FOLD(x1, x2, x3, x4) \
	VPMAXSD x3, x1, X10 \
	VPMINSD x3, x1, x1  \
	VPMINSD x4, x2, x2  \
	VPMINSD X10, x2, x2

// func twoAVX2(keys, seconds, colours *uint32, n int, groups *entryGroup, count int)
//
// One colour after the other, each with eight entries at a time. Y0 and Y1 are the
// colour's components in pairs, times 64; Y2 and Y3 the least keys and the next.
TEXT ·twoAVX2(SB), NOSPLIT, $0-48
	MOVQ keys+0(FP), DI
	MOVQ seconds+8(FP), R8
	MOVQ colours+16(FP), SI
	MOVQ n+24(FP), CX
	MOVQ groups+32(FP), R9
	MOVQ count+40(FP), R10

colour:
	VMOVD (SI), X4
	ADDQ $4, SI
	VPMOVZXBW X4, X4
	VPSLLW $6, X4, X5
	VPBROADCASTD X5, Y0
	VPSRLQ $32, X5, X5
	VPBROADCASTD X5, Y1
	VPMADDWD X4, X4, X4
	VPHADDD X4, X4, X4
	VPSLLD $8, X4, X9         // the colour's own square, as in a key
	VPCMPEQD Y2, Y2, Y2
	VPSRLD $1, Y2, Y2
	VMOVDQA Y2, Y3
	MOVQ R9, AX
	MOVQ R10, DX

entries:
	VPMADDWD (AX), Y0, Y4
	VPMADDWD 32(AX), Y1, Y5
	VPADDD 64(AX), Y4, Y4
	VPADDD Y5, Y4, Y4
	VPMAXSD Y4, Y2, Y5
	VPMINSD Y4, Y2, Y2
	VPMINSD Y5, Y3, Y3
	ADDQ $96, AX
	DECQ DX
	JNZ entries

	VEXTRACTI128 $1, Y2, X4
	VEXTRACTI128 $1, Y3, X5
	FOLD(X2, X3, X4, X5)
	VPSHUFD $0x0e, X2, X4
	VPSHUFD $0x0e, X3, X5
	FOLD(X2, X3, X4, X5)
	VPSHUFD $0x01, X2, X4
	VPSHUFD $0x01, X3, X5
	FOLD(X2, X3, X4, X5)
	VPADDD X9, X2, X2
	VPADDD X9, X3, X3
	VMOVD X2, (DI)
	VMOVD X3, (R8)
	ADDQ $4, DI
	ADDQ $4, R8
	DECQ CX
	JNZ colour
	VZEROUPPER
	RET

// fours is where the samples of four colours go; the places of their alpha get 0.
DATA fours<>+0(SB)/8, $0x8005040380020100
DATA fours<>+8(SB)/8, $0x800b0a0980080706
GLOBL fours<>(SB), RODATA|NOPTR, $16

DATA opaque<>+0(SB)/4, $0xff000000
GLOBL opaque<>(SB), RODATA|NOPTR, $4

// func unpackAVX2(out *uint32, samples *byte, eights int)
TEXT ·unpackAVX2(SB), NOSPLIT, $0-24
	MOVQ out+0(FP), DI
	MOVQ samples+8(FP), SI
	MOVQ eights+16(FP), CX
	VBROADCASTI128 fours<>(SB), Y1
	VPBROADCASTD opaque<>(SB), Y2

colours:
	VMOVDQU (SI), X0
	VINSERTI128 $1, 12(SI), Y0, Y0
	VPSHUFB Y1, Y0, Y0
	VPOR Y2, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $24, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  colours
	VZEROUPPER
	RET
