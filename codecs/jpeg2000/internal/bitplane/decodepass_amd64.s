#include "textflag.h"
#include "go_asm.h"

// In all passes DI is the passArgs, R8 the states that follow, R9 to R11 are A, C and t of the arithmetic
// decoder, R12 is the word of the column at BX, R13 what is to do in it, and CX the place of the sample in it.
// DECODE changes AX, DX, BP, R14 and R15.

#define LOAD \
	MOVQ passArgs_following(DI), R8 \
	MOVQ passArgs_a(DI), R9 \
	MOVQ passArgs_c(DI), R10 \
	MOVQ passArgs_t(DI), R11

#define STORE \
	MOVQ R9, passArgs_a(DI) \
	MOVQ R10, passArgs_c(DI) \
	MOVQ R11, passArgs_t(DI)

// STRIPE begins a stripe: BX is its first word, SI the samples that it has.
#define STRIPE \
	MOVQ passArgs_word(DI), BX \
	MOVQ passArgs_data(DI), AX \
	SUBQ BX, AX \
	SUBQ BX, AX \
	MOVQ AX, passArgs_shift(DI) \
	MOVQ passArgs_width(DI), AX \
	ADDQ BX, AX \
	MOVQ AX, passArgs_end(DI) \
	MOVQ passArgs_valid(DI), SI \
	CMPQ passArgs_stripes(DI), $1 \
	CMOVQEQ passArgs_last(DI), SI

// NEXT moves on to the next stripe, of which the zero flag says whether there is none.
#define NEXT \
	MOVQ passArgs_columns(DI), AX \
	ADDQ AX, passArgs_word(DI) \
	MOVQ passArgs_width(DI), AX \
	ADDQ AX, AX \
	ADDQ AX, passArgs_data(DI) \
	DECQ passArgs_stripes(DI)

// CONTEXT makes R14 the address of the state of a context.
#define CONTEXT(number) \
	MOVQ passArgs_contexts(DI), R14 \
	LEAQ (R14)(number*8), R14

// DECODE decides in the context at R14: AX is the bit (Figures C.15 to C.18). No branch depends on the bit, nor on
// whether there is to renormalize: neither can be predicted.
#define DECODE \
	MOVQ (R14), DX \
	MOVQ DX, BP \
	ANDQ $-256, BP \ // Qe
	SUBQ BP, R9 \
	CMPQ R9, BP \
	SBBL R15, R15 \ // the lower part is the MPS's, as it is the longer one
	MOVQ R10, AX \
	SUBQ BP, R10 \
	CMOVQCS AX, R10 \ // C is in the lower part, of length Qe
	CMOVQCS BP, R9 \
	SBBL AX, AX \
	XORL R15, AX \
	ANDL $1, AX \ // the less probable symbol
	MOVBLZX DX, R15 \
	LEAQ (AX)(R15*2), R15 \
	MOVQ (R8)(R15*8), R15 \
	LZCNTQ R9, BP \
	DECL BP \ // bits to shift by
	CMOVQEQ DX, R15 \
	MOVQ R15, (R14) \
	ANDL $1, DX \
	XORL DX, AX \
	SHLXQ BP, R9, R9 \
	SHLXQ BP, R10, R10 \
	SUBQ BP, R11 \
	JPL 2(PC) \
	CALL fill<>(SB)

// SIGN decodes the sign of the sample that CX is the place of: AX.
#define SIGN \
	SHRXQ CX, R12, AX \
	MOVL AX, DX \
	SHRQ $19, AX \
	ANDL $0xAA, DX \
	ANDL $0x55, AX \
	ORL DX, AX \
	MOVQ passArgs_sign(DI), DX \
	MOVBLZX (DX)(AX*1), AX \
	MOVQ AX, passArgs_flip(DI) \
	SHRL $1, AX \
	CONTEXT(AX) \
	DECODE

// MARK makes the sample that CX is the place of significant, with the sign AX: its word, those beside it and
// its coefficient. DX is the mark.
#define MARK \
	XORL passArgs_flip(DI), AX \
	ANDL $1, AX \
	MOVQ AX, DX \
	SHLQ $22, DX \
	ORQ $16, DX \
	SHLXQ CX, DX, DX \
	ORQ DX, R12 \
	MOVQ DX, BP \
	ADDQ BP, BP \
	ORQ BP, -8(BX) \
	MOVQ DX, BP \
	SHRQ $1, BP \
	ORQ BP, 8(BX) \
	NEGQ AX \
	MOVQ passArgs_value(DI), BP \
	XORQ AX, BP \
	SUBQ AX, BP \
	LEAQ (BX)(BX*1), R15 \
	ADDQ passArgs_shift(DI), R15 \
	IMUL3L $11, CX, AX \
	SHRL $5, AX \
	MOVL BP, (R15)(AX*4)

// MARKROWS tells the words of the stripe above or below of the sample that was marked last, or, where it has
// no neighbours there, words that nobody reads.
#define MARKROWS \
	MOVQ DX, BP \
	SHRQ $4, BP \
	SHRXQ CX, BP, BP \ // 1 and the sign
	MOVQ passArgs_columns(DI), R14 \
	LEAQ (BX)(R14*1), R15 \
	LEAQ passArgs_unread(DI), AX \
	CMPL CX, $9 \
	CMOVQNE AX, R15 \
	MOVQ BX, AX \
	SUBQ R14, AX \
	XORL R14, R14 \
	MOVL $15, DX \
	TESTL CX, CX \
	CMOVQEQ AX, R15 \
	CMOVLEQ DX, R14 \
	SHLXQ R14, BP, BP \
	ORQ BP, 8(R15) \
	ADDQ BP, BP \
	ORQ BP, (R15) \
	ADDQ BP, BP \
	ORQ BP, -8(R15)

// fill adds bytes of the stream to R10 (mq.Decoder.fill). It changes DX, BP, R14 and R15.
TEXT fill<>(SB), NOSPLIT, $8-0
	MOVQ passArgs_from(DI), R14
	CMPQ passArgs_left(DI), $4
	JLT single
	CMPQ passArgs_ff(DI), $0
	JNE single
	MOVL (R14), DX
	MOVL DX, BP
	NOTL BP
	MOVL BP, R15
	SUBL $0x01010101, BP
	NOTL R15
	ANDL R15, BP
	TESTL $0x80808080, BP
	JNE single
	BSWAPL DX
	MOVL $15, BP
	SUBL R11, BP
	SHLXQ BP, DX, DX
	ADDQ DX, R10
	ADDQ $32, R11
	ADDQ $4, R14
	MOVQ R14, passArgs_from(DI)
	SUBQ $4, passArgs_left(DI)
	RET

single:
	CMPQ R11, $31
	JGT filled
	MOVL $39, BP
	SUBL R11, BP
	CMPQ passArgs_left(DI), $0
	JEQ ones
	MOVBLZX (R14), DX
	CMPQ passArgs_ff(DI), $0
	JNE behindFF
	XORL R15, R15
	CMPL DX, $0xFF
	SETEQ R15
	MOVQ R15, passArgs_ff(DI)
	SHLXQ BP, DX, DX
	ADDQ DX, R10
	ADDQ $8, R11
	INCQ R14
	DECQ passArgs_left(DI)
	JMP single

behindFF:
	CMPL DX, $0x8F
	JHI ones
	INCL BP
	SHLXQ BP, DX, DX
	ADDQ DX, R10
	ADDQ $7, R11
	INCQ R14
	DECQ passArgs_left(DI)
	MOVQ $0, passArgs_ff(DI)
	JMP single

ones:
	MOVQ $0, passArgs_left(DI)
	MOVQ $0, passArgs_ff(DI)
	MOVL $0xFF, DX
	SHLXQ BP, DX, DX
	ADDQ DX, R10
	ADDQ $8, R11
	JMP single

filled:
	MOVQ R14, passArgs_from(DI)
	RET

// func propagationBMI(p *passArgs)
TEXT ·propagationBMI(SB), NOSPLIT, $16-8
	MOVQ p+0(FP), DI
	LOAD

stripe:
	STRIPE

column:
	MOVQ (BX), R12
	MOVL R12, AX
	ANDL $0x3FFFF, AX
	JZ nextColumn
	MOVL AX, DX
	SHRL $1, DX
	MOVL AX, BP
	SHRL $2, BP
	ORL DX, AX
	ORL BP, AX
	MOVL AX, DX
	SHRL $3, DX
	MOVL AX, BP
	SHRL $6, BP
	ORL DX, AX
	ORL BP, AX
	MOVQ R12, DX
	SHRQ $4, DX
	ANDNQ AX, DX, R13
	ANDQ SI, R13
	JZ nextColumn

sample:
	TZCNTQ R13, CX
	BLSRQ R13, R13
	LEAQ 37(CX), AX
	BTSQ AX, R12
	SHRXQ CX, R12, AX
	ANDL $0x1FF, AX
	MOVQ passArgs_zero(DI), DX
	MOVBLZX (DX)(AX*1), AX
	CONTEXT(AX)
	DECODE
	TESTL AX, AX
	JZ nextSample
	SIGN
	MARK
	MARKROWS
	MOVQ R12, R15
	SHRQ $4, R15
	MOVL $8, AX
	SHLXQ CX, AX, AX
	ANDNQ AX, R15, AX
	ANDQ SI, AX
	ORQ AX, R13

nextSample:
	TESTQ R13, R13
	JNZ sample
	MOVQ R12, (BX)

nextColumn:
	ADDQ $8, BX
	CMPQ BX, passArgs_end(DI)
	JB column
	NEXT
	JNZ stripe
	STORE
	RET

// func refinementBMI(p *passArgs)
TEXT ·refinementBMI(SB), NOSPLIT, $16-8
	MOVQ p+0(FP), DI
	LOAD

stripe:
	STRIPE

column:
	MOVQ (BX), R12
	MOVQ R12, R13
	MOVQ R12, AX
	SHRQ $4, R13
	SHRQ $37, AX
	ANDNQ R13, AX, R13
	ANDQ $0x249, R13 // perSample
	JZ nextColumn
	MOVQ R13, AX
	SHLQ $36, AX
	ORQ R12, AX
	MOVQ AX, (BX) // refined from now on

sample:
	TZCNTQ R13, CX
	BLSRQ R13, R13
	SHRXQ CX, R12, AX
	XORL DX, DX
	TESTL $0x1EF, AX // around
	SETNE DX
	ADDL $const_refinementContexts, DX
	MOVL $const_refinementContexts+2, BP
	BTQ $36, AX
	CMOVLCS BP, DX
	CONTEXT(DX)
	DECODE
	// The half below the plane above becomes the bit and the half below that.
	LEAQ (BX)(BX*1), R15
	ADDQ passArgs_shift(DI), R15
	IMUL3L $11, CX, CX
	SHRL $5, CX
	MOVQ passArgs_value(DI), BP
	NEGL AX
	LEAL (BP)(BP*1), DX
	ANDL DX, AX
	SUBL BP, AX
	MOVL (R15)(CX*4), BP
	MOVL BP, DX
	SARL $31, DX
	XORL DX, AX
	SUBL DX, AX
	ADDL AX, BP
	MOVL BP, (R15)(CX*4)
	TESTQ R13, R13
	JNZ sample

nextColumn:
	ADDQ $8, BX
	CMPQ BX, passArgs_end(DI)
	JB column
	NEXT
	JNZ stripe
	STORE
	RET

// func cleanupBMI(p *passArgs)
TEXT ·cleanupBMI(SB), NOSPLIT, $16-8
	MOVQ p+0(FP), DI
	LOAD

stripe:
	STRIPE

column:
	MOVQ (BX), R12
	MOVQ R12, R13
	MOVQ R12, AX
	SHRQ $4, R13
	SHRQ $37, AX
	ORQ AX, R13
	NOTQ R13
	ANDQ $0x249, R13 // perSample
	ANDQ SI, R13
	JZ endColumn
	CMPQ R13, $0x249
	JNE sample
	TESTL $0x3FFFF, R12
	JNZ sample

	// The run-length of a column of four with nothing significant around it. That nothing becomes so is so probable
	// that it is worth branches: mostly it takes Qe off A and C, with nothing to renormalize.
	MOVL $const_runLengthContext, AX
	CONTEXT(AX)
	MOVQ (R14), DX
	MOVQ DX, BP
	ANDQ $-256, BP // Qe
	MOVQ R9, AX
	SUBQ BP, AX
	BTQ $62, AX // A - Qe is at least 0x8000
	JCC rare
	CMPQ R10, BP
	JCS rare
	MOVQ AX, R9
	SUBQ BP, R10
	TESTL $1, DX
	JZ nextColumn
	JMP run

rare:
	DECODE
	TESTL AX, AX
	JZ nextColumn

run:
	MOVL $const_uniformContext, AX
	CONTEXT(AX)
	DECODE
	LEAL (AX)(AX*1), CX
	MOVL $const_uniformContext, AX
	CONTEXT(AX)
	DECODE
	ORL AX, CX
	LEAL (CX)(CX*2), CX
	MOVQ $-2, AX
	SHLXQ CX, AX, AX
	ANDQ AX, R13
	JMP significant

sample:
	TZCNTQ R13, CX
	BLSRQ R13, R13
	SHRXQ CX, R12, AX
	ANDL $0x1FF, AX
	MOVQ passArgs_zero(DI), DX
	MOVBLZX (DX)(AX*1), AX
	CONTEXT(AX)
	DECODE
	TESTL AX, AX
	JZ nextSample

significant:
	SIGN
	MARK
	MARKROWS

nextSample:
	TESTQ R13, R13
	JNZ sample

endColumn:
	MOVQ $(0x249<<37), AX // nothing is visited any more
	ANDNQ R12, AX, R12
	MOVQ R12, (BX)

nextColumn:
	ADDQ $8, BX
	CMPQ BX, passArgs_end(DI)
	JB column
	NEXT
	JNZ stripe
	STORE
	RET
