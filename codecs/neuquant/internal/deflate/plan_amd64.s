#include "go_asm.h"
#include "textflag.h"

// func planBMI2(p *planner, data *byte, longest, nearest *uint32, n int)
//
//	AX  the literal, then a token      SI  the position         R8  the planner
//	BX  the cheapest: its cost above   R9  bytes from there on  R15 cost from the next
//	    its token                      R10 longest              position on
//	CX  a candidate                    R11 nearest
//	DX  a length                       R12 a distance less 1
//	R13 its cost                       R14 where the match ends
TEXT ·planBMI2(SB), NOSPLIT, $0-40
	MOVQ p+0(FP), R8
	MOVQ data+8(FP), DI
	MOVQ longest+16(FP), R10
	MOVQ nearest+24(FP), R11
	MOVQ n+32(FP), SI
	XORL R15, R15
	MOVL R15, planner_least(R8)
	MOVL R15, planner_least+4(R8)(SI*4)
	XORL R9, R9

loop:
	DECQ SI
	JLT  done
	INCQ R9

	MOVBLZX (DI)(SI*1), AX
	MOVL    costs_literal(R8)(AX*4), BX
	ADDL    R15, BX
	SHLQ    $32, BX
	SHLL    $16, AX
	ORQ     AX, BX

	// The longest match.
	MOVL    (R10)(SI*4), CX
	MOVL    CX, DX
	SHRL    $16, DX
	CMPL    DX, R9
	CMOVLGT R9, DX
	MOVWLZX CX, R12
	XORL    $0x7fff, R12
	MOVL    R12, R13
	SHRL    $7, R13
	ADDL    $256, R13
	CMPL    R12, $256
	CMOVLCS R12, R13
	MOVL    costs_distance(R8)(R13*4), R13
	LEAQ    (SI)(DX*1), R14
	MOVL    DX, AX
	SHLL    $16, AX
	LEAL    0xfd0000(AX)(R12*1), AX
	MOVL    costs_length+4(R8)(DX*4), CX
	ADDL    R13, CX
	ADDL    planner_least+4(R8)(R14*4), CX
	SHLQ    $32, CX
	ORQ     AX, CX
	CMPQ    CX, BX
	CMOVQCS CX, BX

	// The same, a byte shorter.
	MOVL    costs_length(R8)(DX*4), CX
	ADDL    R13, CX
	ADDL    planner_least(R8)(R14*4), CX
	SUBL    $0x10000, AX
	SHLQ    $32, CX
	ORQ     AX, CX
	CMPQ    CX, BX
	CMOVQCS CX, BX

	// The nearest match.
	MOVL    (R11)(SI*4), CX
	MOVL    CX, DX
	SHRL    $16, DX
	CMPL    DX, R9
	CMOVLGT R9, DX
	MOVWLZX CX, R12
	XORL    $0x7fff, R12
	MOVL    R12, R13
	SHRL    $7, R13
	ADDL    $256, R13
	CMPL    R12, $256
	CMOVLCS R12, R13
	LEAQ    (SI)(DX*1), R14
	MOVL    DX, AX
	SHLL    $16, AX
	LEAL    0xfd0000(AX)(R12*1), AX
	MOVL    costs_length+4(R8)(DX*4), CX
	ADDL    costs_distance(R8)(R13*4), CX
	ADDL    planner_least+4(R8)(R14*4), CX
	SHLQ    $32, CX
	ORQ     AX, CX
	CMPQ    CX, BX
	CMOVQCS CX, BX

	MOVL BX, planner_steps(R8)(SI*4)
	SHRQ $32, BX
	MOVL BX, planner_least+4(R8)(SI*4)
	MOVL BX, R15
	JMP  loop

done:
	RET
