#include "textflag.h"
#include "go_asm.h"

// DECISION codes the decision at *symbols with the contexts at an offset of R8. R11 is the context, R12 its state, R13
// Qe and then the bits to shift by, R10 says whether the decision is the less probable symbol, and then with 1 that its
// part of the interval is the lower one, and R14 is the state that follows if there is to renormalize. Where bits of C
// complete a byte, it goes to complete, and comes back to behind.
#define DECISION(symbols, contexts, a, c, ct, complete, behind) \
	MOVBLZX (symbols), R10; \
	MOVL    R10, R11; \
	SHRL    $1, R11; \
	ANDL    $31, R11; \
	MOVQ    contexts(R8)(R11*8), R12; \
	MOVQ    R12, R13; \
	SHRQ    $const_qeShift, R13; \
	XORL    R12, R10; \
	ANDL    $1, R10; \
	SUBL    R13, a; \
	MOVBLZX R12, R14; \
	LEAQ    (R10)(R14*2), R14; \
	MOVQ    Pair_next(R8)(R14*8), R14; \
	LEAL    (c)(R13*1), DX; \
	CMPL    a, R13; \
	ADCL    $0, R10; \
	CMPL    R10, $1; \
	CMOVLNE DX, c; \
	CMOVLEQ R13, a; \
	LZCNTL  a, R13; \
	SUBL    $16, R13; \
	CMOVQEQ R12, R14; \
	MOVQ    R14, contexts(R8)(R11*8); \
	SHLXL   R13, a, a; \
	INCQ    symbols; \
	SUBL    R13, ct; \
	JLE     complete; \
	SHLXL   R13, c, c; \
behind:

// COMPLETE is BYTEOUT (Figure C.8), as often as there is a byte. The address of the byte written last is at to.
#define COMPLETE(c, ct, to, byte, behindFF, plain, shift, behind) \
	ADDL    R13, ct; \
	MOVQ    to, R12; \
byte: \
	SHLXL   ct, c, c; \
	SUBL    ct, R13; \
	MOVBLZX (R12), DX; \
	INCQ    R12; \
	CMPL    DX, $0xFF; \
	JEQ     behindFF; \
	BTRL    $27, c; \
	JCC     plain; \
	INCL    DX; \
	MOVB    DX, -1(R12); \
	CMPL    DX, $0xFF; \
	JEQ     behindFF; \
plain: \
	MOVL    c, DX; \
	SHRL    $19, DX; \
	MOVB    DX, (R12); \
	ANDL    $0x7FFFF, c; \
	MOVL    $8, ct; \
	JMP     shift; \
behindFF: \
	MOVL    c, DX; \
	SHRL    $20, DX; \
	MOVB    DX, (R12); \
	ANDL    $0xFFFFF, c; \
	MOVL    $7, ct; \
shift: \
	CMPL    R13, ct; \
	JGE     byte; \
	SHLXL   R13, c, c; \
	SUBL    R13, ct; \
	MOVQ    R12, to; \
	JMP     behind

// func encodePairs(p *Pair, first, second *Symbol, n int, firstTo, secondTo *byte) (firstBytes, secondBytes int)
//
// AX, BX and CX are A, C and CT of the first stream, R9, R15 and BP those of the second, SI and DI what is left of
// their decisions.
TEXT ·encodePairs(SB), NOSPLIT, $8-64
	MOVQ p+0(FP), R8
	MOVQ first+8(FP), SI
	MOVQ second+16(FP), DI
	MOVQ n+24(FP), DX
	ADDQ SI, DX
	MOVQ DX, end-8(SP)
	MOVQ firstTo+32(FP), DX
	MOVQ DX, firstBytes+48(FP)
	MOVQ secondTo+40(FP), DX
	MOVQ DX, secondBytes+56(FP)
	MOVL (Pair_First+Encoder_a)(R8), AX
	MOVL (Pair_First+Encoder_c)(R8), BX
	MOVQ (Pair_First+Encoder_ct)(R8), CX
	MOVL (Pair_Second+Encoder_a)(R8), R9
	MOVL (Pair_Second+Encoder_c)(R8), R15
	MOVQ (Pair_Second+Encoder_ct)(R8), BP

symbol:
	DECISION(SI, Pair_First, AX, BX, CX, firstComplete, firstNext)
	DECISION(DI, Pair_Second, R9, R15, BP, secondComplete, secondNext)
	CMPQ SI, end-8(SP)
	JB   symbol
	MOVL AX, (Pair_First+Encoder_a)(R8)
	MOVL BX, (Pair_First+Encoder_c)(R8)
	MOVQ CX, (Pair_First+Encoder_ct)(R8)
	MOVL R9, (Pair_Second+Encoder_a)(R8)
	MOVL R15, (Pair_Second+Encoder_c)(R8)
	MOVQ BP, (Pair_Second+Encoder_ct)(R8)
	MOVQ firstTo+32(FP), DX
	SUBQ DX, firstBytes+48(FP)
	MOVQ secondTo+40(FP), DX
	SUBQ DX, secondBytes+56(FP)
	RET

firstComplete:
	COMPLETE(BX, CX, firstBytes+48(FP), firstByte, firstBehindFF, firstPlain, firstShift, firstNext)

secondComplete:
	COMPLETE(R15, BP, secondBytes+56(FP), secondByte, secondBehindFF, secondPlain, secondShift, secondNext)
