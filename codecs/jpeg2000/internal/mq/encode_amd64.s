#include "textflag.h"
#include "go_asm.h"

// func encodeSymbols(e *Encoder, symbols []Symbol, last *byte, next *[512]State) (n int)
//
// AX, BX and CX are A, C and CT. R8 is e, whose contexts come first, and DI the byte
// written last.
TEXT ·encodeSymbols(SB), NOSPLIT, $0-56
	MOVQ e+0(FP), R8
	MOVQ symbols_base+8(FP), SI
	MOVQ symbols_len+16(FP), DX
	ADDQ SI, DX
	MOVQ DX, n+48(FP) // the end of the decisions, until the result takes its place
	MOVQ last+32(FP), DI
	MOVQ next+40(FP), R9
	MOVL Encoder_a(R8), AX
	MOVL Encoder_c(R8), BX
	MOVQ Encoder_ct(R8), CX

symbol:
	MOVBLZX (SI), R10
	MOVL R10, R11
	SHRL $1, R11             // the context
	ANDL $31, R11
	MOVQ (R8)(R11*8), R12    // its state
	MOVQ R12, R13
	SHRQ $const_qeShift, R13 // Qe
	XORL R12, R10
	ANDL $1, R10             // 1: the less probable symbol
	XORL DX, DX
	SUBL R13, AX
	CMPL AX, R13
	ADCL $0, DX              // 1: the lower part is the MPS's, as it is the longer one
	MOVBLZX R12, R15
	LEAQ (R10)(R15*2), R15
	MOVQ (R9)(R15*8), R15    // the state that follows if there is to renormalize
	LEAL (BX)(R13*1), R14
	CMPL DX, R10
	CMOVLEQ R14, BX          // the upper part: the lower one is not the symbol's
	CMOVLNE R13, AX
	LZCNTL AX, R14
	SUBL $16, R14            // bits to shift by
	CMOVQEQ R12, R15
	MOVQ R15, (R8)(R11*8)
	SHLXL R14, AX, AX
	INCQ SI
	SUBL R14, CX
	JLE complete
	SHLXL R14, BX, BX

next:
	CMPQ SI, n+48(FP)
	JB symbol
	MOVL AX, Encoder_a(R8)
	MOVL BX, Encoder_c(R8)
	MOVQ CX, Encoder_ct(R8)
	SUBQ last+32(FP), DI
	MOVQ DI, n+48(FP)
	RET

complete:
	ADDL R14, CX

	// BYTEOUT (Figure C.8): CT of the R14 bits complete a byte.
byte:
	SHLXL CX, BX, BX
	SUBL CX, R14
	MOVBLZX (DI), DX
	INCQ DI
	CMPL DX, $0xFF
	JEQ behindFF
	BTRL $27, BX
	JCC plain
	INCL DX
	MOVB DX, -1(DI)
	CMPL DX, $0xFF
	JEQ behindFF

plain:
	MOVL BX, DX
	SHRL $19, DX
	MOVB DX, (DI)
	ANDL $0x7FFFF, BX
	MOVL $8, CX
	JMP shift

behindFF:
	MOVL BX, DX
	SHRL $20, DX
	MOVB DX, (DI)
	ANDL $0xFFFFF, BX
	MOVL $7, CX

shift:
	CMPL R14, CX
	JGE byte
	SHLXL R14, BX, BX
	SUBL R14, CX
	JMP next
