#include "textflag.h"

// func encodeTile(c *encodeCall)
//
// The symbols of halves, the last first, as long as none has more than 15 raw bits. States are in memory: those of different lanes do not
// wait for each other. R8 is the table, R10 the states, R11 the words, R12 the first that is written, SI the entry of a symbol, R9 and R13
// its raw bits and their number, BX four times the lane. A word is written before every symbol, and stays if R12 goes down.
TEXT ·encodeTile(SB), NOSPLIT, $24-8
	MOVQ c+0(FP), DI
	MOVQ 24(DI), R8
	MOVQ 32(DI), R10
	MOVQ 40(DI), R11
	MOVQ 48(DI), R12
	MOVQ 80(DI), CX
	DECQ CX
	MOVQ CX, mask-8(SP)       // lanes - 1
half:
	MOVQ c+0(FP), DI
	MOVQ 64(DI), AX           // left
	SUBQ $1, AX
	JCS  encoded
	MOVQ 56(DI), DX           // halves
	SHLQ $4, AX
	MOVQ 0(DX)(AX*1), BX      // count
	MOVL 8(DX)(AX*1), CX      // raw bits of all
	CMPL CX, $15
	JHI  encoded
	DECQ 64(DI)
	MOVQ 72(DI), AX           // n
	LEAQ -1(AX), DX           // the last symbol
	SUBQ BX, AX
	MOVQ AX, 72(DI)
	MOVQ 0(DI), SI
	LEAQ (SI)(DX*4), SI
	MOVQ 16(DI), R13
	ADDQ DX, R13
	MOVQ 8(DI), R9
	LEAQ (R9)(DX*4), R9
	MOVQ BX, left-24(SP)      // symbols left
	DECQ BX
	ANDQ mask-8(SP), BX       // the last lane of the step
	MOVL CX, raw-16(SP)
step:
	SUBQ BX, left-24(SP)
	DECQ left-24(SP)
	SHLQ $2, BX
	MOVL raw-16(SP), CX
	TESTL CX, CX
	JZ   symbol
	MOVQ BX, R15
	CMPQ BX, $28
	JNE  rawlane
	MOVQ -7(R13), CX          // eight lanes, often none with raw bits
	TESTQ CX, CX
	JNZ  rawlane
	SUBQ $8, R13
	SUBQ $32, R9
	JMP  symbol
rawlane:
	MOVBLZX (R13), CX
	MOVL (R10)(R15*1), AX
	MOVW AX, -2(R11)(R12*2)
	MOVL AX, DX
	SHLQ CX, DX
	SHRQ $32, DX              // not 0 if the bits do not fit
	MOVL AX, DI
	SHRL $16, DI
	CMPQ DX, $1
	CMOVLCC DI, AX
	ADCQ $-1, R12
	SHLL CX, AX
	ORL  (R9), AX
	MOVL AX, (R10)(R15*1)
	DECQ R13
	SUBQ $4, R9
	SUBQ $4, R15
	JGE  rawlane
symbol:
	MOVL (SI), CX
	SHLQ $4, CX
	MOVL (R10)(BX*1), AX
	MOVW AX, -2(R11)(R12*2)
	MOVL AX, DX
	SHRL $16, DX
	CMPL AX, 8(R8)(CX*1)      // limit
	CMOVLCC DX, AX
	ADCQ $-1, R12
	MOVQ (R8)(CX*1), DX       // inverse
	IMULQ AX, DX
	SHRQ $46, DX
	MOVWLZX 14(R8)(CX*1), R15 // rest
	IMULL R15, DX
	MOVWLZX 12(R8)(CX*1), R15 // start
	ADDL R15, AX
	ADDL DX, AX
	MOVL AX, (R10)(BX*1)
	SUBQ $4, SI
	SUBQ $4, BX
	JGE  symbol
	CMPQ left-24(SP), $0
	JEQ  half
	MOVQ mask-8(SP), BX
	JMP  step
encoded:
	MOVQ c+0(FP), DI
	MOVQ R12, 48(DI)
	RET
