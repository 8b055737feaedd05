#include "textflag.h"
#include "go_asm.h"
#include "decodepass_amd64.h"

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

group:
	NEIGHBOURS
	ANDNQ R13, DX, R13
	VALID
	ANDQ AX, R13
	MOVQ R13, flags_visited(BP)
	JZ nextGroup
	MOVQ AX, passArgs_valid(DI)
	MOVQ passArgs_word(DI), BX

sample:
	TZCNTQ R13, SI
	BLSRQ R13, R13
	PLACE
	ZERO
	TESTL AX, AX
	JZ nextSample
	SIGN
	MARK

	// The neighbours behind it belong to the pass, too: of samples 0 to 3 of a column 1, 4 and 5, twice 1 and 3 to 5, and
	// 3 and 4 samples behind.
	MOVL SI, AX
	ANDL $3, AX
	SHLL $3, AX
	MOVL $0x183A3A32, R14
	SHRXL AX, R14, R14
	MOVBLZX R14, R14
	SHLXQ SI, R14, R14
	MOVQ flags_significant(BP), AX
	ANDNQ R14, AX, R14
	ANDQ passArgs_valid(DI), R14
	ORQ R14, R13
	ORQ R14, flags_visited(BP)
	MARKROWS

nextSample:
	TESTQ R13, R13
	JNZ sample

nextGroup:
	NEXT
	STORE
	RET

// func refinementBMI(p *passArgs)
//
// R12 are the samples that were refined before, BX those with significant neighbours, and CX is the first coefficient.
TEXT ·refinementBMI(SB), NOSPLIT, $16-8
	MOVQ p+0(FP), DI
	LOAD

stripe:
	STRIPE

group:
	MOVQ passArgs_flags(DI), BP
	MOVQ flags_significant(BP), AX
	MOVQ flags_visited(BP), DX
	ANDNQ AX, DX, AX
	JZ nextGroup
	MOVQ AX, passArgs_runs(DI)
	NEIGHBOURS
	MOVQ R13, BX
	MOVQ passArgs_runs(DI), R13
	MOVQ flags_refined(BP), R12
	ORQ R13, flags_refined(BP)
	MOVQ passArgs_data(DI), CX

sample:
	TZCNTQ R13, SI
	BLSRQ R13, R13
	SHRXQ SI, BX, DX
	ANDL $1, DX
	ADDL $const_refinementContexts, DX
	MOVL $const_refinementContexts+2, BP
	BTQ SI, R12
	CMOVLCS BP, DX
	CONTEXT(DX)
	DECODE
	// The half below the plane above becomes the bit and the half below that.
	MOVQ passArgs_value(DI), BP
	NEGL AX
	LEAL (BP)(BP*1), DX
	ANDL DX, AX
	SUBL BP, AX
	MOVL (CX)(SI*4), BP
	MOVL BP, DX
	SARL $31, DX
	XORL DX, AX
	SUBL DX, AX
	ADDL AX, BP
	MOVL BP, (CX)(SI*4)
	TESTQ R13, R13
	JNZ sample

nextGroup:
	NEXT
	STORE
	RET

// func cleanupBMI(p *passArgs)
TEXT ·cleanupBMI(SB), NOSPLIT, $16-8
	MOVQ p+0(FP), DI
	LOAD

stripe:
	STRIPE

group:
	NEIGHBOURS
	VALID
	ORQ DX, R13
	ANDNQ AX, R13, R14 // with nothing significant in them and around them
	MOVQ R14, R15
	SHRQ $1, R15
	ANDQ R15, R14
	MOVQ R14, R15
	SHRQ $2, R15
	ANDQ R15, R14
	ANDQ SI, R14 // columns of four such samples, by their first one
	MOVQ R14, passArgs_runs(DI)
	MOVQ flags_visited(BP), R13
	ORQ DX, R13
	ANDNQ AX, R13, R13
	MOVQ $0, flags_visited(BP) // nothing is visited any more
	TESTQ R13, R13
	JZ nextGroup
	MOVQ passArgs_word(DI), BX

sample:
	TZCNTQ R13, SI
	BLSRQ R13, R13
	MOVQ passArgs_runs(DI), AX
	BTQ SI, AX
	JCS column
	PLACE
	ZERO
	TESTL AX, AX
	JZ nextSample

significant:
	SIGN
	MARK
	MARKROWS
	MOVL SI, AX // the column behind it has no run-length
	ORL $3, AX
	INCL AX
	MOVQ passArgs_runs(DI), DX
	BTRQ AX, DX
	MOVQ DX, passArgs_runs(DI)

nextSample:
	TESTQ R13, R13
	JNZ sample

nextGroup:
	NEXT
	STORE
	RET

	// The run-length of a column of four with nothing significant around it. That nothing becomes so is so probable
	// that it is worth branches: mostly it takes Qe off A and C, with nothing to renormalize.
column:
	MOVL $14, AX
	SHLXQ SI, AX, AX
	ANDNQ R13, AX, R13
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
	JZ nextSample
	JMP run

rare:
	DECODE
	TESTL AX, AX
	JZ nextSample

run:
	MOVL $const_uniformContext, AX
	CONTEXT(AX)
	DECODE
	LEAL (SI)(AX*2), SI
	MOVL $const_uniformContext, AX
	CONTEXT(AX)
	DECODE
	ADDL AX, SI // the first sample that becomes significant; those behind it are decided on
	MOVQ $-2, AX
	SHLXQ SI, AX, DX
	MOVL SI, CX
	ORL $3, CX
	SHLXQ CX, AX, AX
	ANDNQ DX, AX, DX
	ORQ DX, R13
	PLACE
	JMP significant
