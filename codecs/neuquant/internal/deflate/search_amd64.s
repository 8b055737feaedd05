#include "go_asm.h"
#include "textflag.h"

// Offsets in tables.
#define THREE 0
#define FOUR  16384
#define SIX   81920
#define NEXT  147456

// func wordsBMI2(s *scan)
//
// One position follows the other, without a branch but for those that end the loop.
//
//	AX  the word            SI  the position          R13, R14  shifts
//	BX  of three bytes:     DI  data                  R15       key from the position before
//	CX  of four             R8  tables                R12       start of the window
//	DX  of six: the hash,   R9  longest, less first   R11       temporary
//	    then the position   R10 nearest, less first
//	    before, then its key
TEXT ·wordsBMI2(SB), NOSPLIT, $16-8
	MOVQ s+0(FP), AX
	MOVL $0, scan_longer(AX)
	MOVQ scan_data(AX), DI
	MOVQ scan_tables(AX), R8
	MOVQ scan_first(AX), BX
	SHLQ $2, BX
	MOVQ scan_longest(AX), R9
	SUBQ BX, R9
	MOVQ scan_nearest(AX), R10
	SUBQ BX, R10
	MOVQ scan_at(AX), SI
	MOVQ scan_end(AX), BX
	MOVQ BX, end-8(SP)
	MOVQ scan_shortShift(AX), R13
	MOVQ scan_shift(AX), R14
	MOVL scan_before(AX), R15
	MOVQ $0x9e3779b97f4a7c15, BX
	MOVQ BX, factor-16(SP)
	CMPQ SI, end-8(SP)
	JGE  done

loop:
	MOVQ  (DI)(SI*1), AX
	RORXQ $56, AX, BX
	CMPQ  AX, BX
	JEQ   done

	MOVQ  AX, BX
	SHLQ  $40, BX
	IMULQ factor-16(SP), BX
	SHRXQ R13, BX, BX
	MOVQ  AX, CX
	SHLQ  $32, CX
	IMULQ factor-16(SP), CX
	SHRXQ R14, CX, CX
	MOVQ  AX, DX
	SHLQ  $16, DX
	IMULQ factor-16(SP), DX
	SHRXQ R14, DX, DX

	LEAQ    THREE(R8)(BX*2), R11
	MOVWLZX (R11), BX
	MOVW    SI, (R11)
	LEAQ    FOUR(R8)(CX*2), R11
	MOVWLZX (R11), CX
	MOVW    SI, (R11)
	LEAQ    SIX(R8)(DX*2), R11
	MOVWLZX (R11), DX
	MOVW    SI, (R11)

	// How far before, within maxShort and within the window, negative.
	SUBL    SI, BX
	ORL     $0xffff0000, BX
	SUBL    SI, CX
	ORL     $0xffff0000, CX
	SUBL    SI, DX
	ORL     $0xffff0000, DX
	MOVL    $-8192, R11
	CMPL    BX, R11
	CMOVLLT R11, BX
	MOVL    $-32768, R11
	CMPL    CX, R11
	CMOVLLT R11, CX
	CMPL    DX, R11
	CMOVLLT R11, DX
	MOVLQSX BX, BX
	MOVLQSX CX, CX
	MOVLQSX DX, DX
	LEAQ    (DI)(SI*1), R12

	// Lengths of up to a word, from 16 up, and what is left of the window below.
	MOVQ   (R12)(BX*1), R11
	XORQ   AX, R11
	TZCNTQ R11, R11
	ANDL   $0x78, R11
	SHLL   $13, R11
	LEAL   32768(BX)(R11*1), BX
	MOVQ   (R12)(CX*1), R11
	XORQ   AX, R11
	TZCNTQ R11, R11
	ANDL   $0x78, R11
	SHLL   $13, R11
	LEAL   32768(CX)(R11*1), CX
	XORQ   (R12)(DX*1), AX
	TZCNTQ AX, AX
	ANDL   $0x78, AX
	SHLL   $13, AX

	// The chain.
	MOVL DX, R11
	NEGL R11
	MOVL SI, R12
	ANDL $32767, R12
	MOVW R11, NEXT(R8)(R12*2)
	LEAL 32768(DX)(AX*1), DX

	CMPL    BX, CX
	CMOVLLT CX, BX
	MOVL    BX, R11
	CMPL    R11, DX
	CMOVLLT DX, R11
	CMPL    R11, $0x80000
	JGE     word

next:
	CMPL    R11, R15
	CMOVLLT R15, R11
	MOVL    BX, (R10)(SI*4)
	MOVL    R11, (R9)(SI*4)
	MOVL    $0x10000, R15
	CMPL    R11, R15
	CMOVLGT R11, R15
	SUBL    $0x10000, R15
	INCQ    SI
	CMPQ    SI, end-8(SP)
	JLT     loop
	JMP     done

word:
	// Nothing new where it goes on from the position before.
	MOVL  R11, R12
	XORL  R15, R12
	TESTL $0xffff, R12
	JEQ   next
	CMPL    R11, R15
	CMOVLLT R15, R11
	MOVQ s+0(FP), AX
	MOVL R11, scan_longer(AX)
	MOVL BX, scan_nearer(AX)
	MOVL DX, scan_chained(AX)

done:
	MOVQ s+0(FP), AX
	MOVQ SI, scan_at(AX)
	MOVL R15, scan_before(AX)
	RET
