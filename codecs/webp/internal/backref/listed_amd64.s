#include "textflag.h"

// windowLanes are the numbers of the 16 lanes of a window, from 1 on: lengths in pixels.
DATA windowLanes<>+0(SB)/4, $1
DATA windowLanes<>+4(SB)/4, $2
DATA windowLanes<>+8(SB)/4, $3
DATA windowLanes<>+12(SB)/4, $4
DATA windowLanes<>+16(SB)/4, $5
DATA windowLanes<>+20(SB)/4, $6
DATA windowLanes<>+24(SB)/4, $7
DATA windowLanes<>+28(SB)/4, $8
DATA windowLanes<>+32(SB)/4, $9
DATA windowLanes<>+36(SB)/4, $10
DATA windowLanes<>+40(SB)/4, $11
DATA windowLanes<>+44(SB)/4, $12
DATA windowLanes<>+48(SB)/4, $13
DATA windowLanes<>+52(SB)/4, $14
DATA windowLanes<>+56(SB)/4, $15
DATA windowLanes<>+60(SB)/4, $16
GLOBL windowLanes<>(SB), RODATA|NOPTR, $64

// func windowAVX512(a *windowArguments) int
//
// Lane k of a window is the position k behind the present one, and lane 0 that itself when a round begins. Z0 has the costs of a
// window and Z1 the last steps to its positions; both stay in registers and move by a lane in each round. What a round needs
// besides the cost of its position does not depend on rounds before it.
TEXT ·windowAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), AX
	MOVQ 0(AX), R8   // ends
	MOVQ 8(AX), R9   // literals
	MOVQ 16(AX), R10 // step
	MOVQ 24(AX), R11 // list
	MOVQ 32(AX), R12 // distances
	MOVQ 40(AX), R13 // cost
	MOVQ 48(AX), BX  // length
	MOVQ 56(AX), SI  // i
	MOVQ 64(AX), DI  // end

	VMOVDQU32 windowLanes<>(SB), Z24
	VPMOVZXWD (BX), Z22
	MOVL      $1, CX
	KMOVW     CX, K2
	KNOTW     K2, K3
	VPXORD    Z22, Z22, K2, Z22 // the literal costs what it costs

	// Z20: all bits below that of the lane.
	VPBROADCASTD CX, Z20
	VPSUBD       Z20, Z24, Z2
	VPSLLVD      Z2, Z20, Z2
	VPSUBD       Z20, Z2, Z20

	// Z21: more than any cost; Z23: all bits but those of a length.
	MOVL         $0x7fffffff, CX
	VPBROADCASTD CX, Z21
	MOVL         $0xfffff000, CX
	VPBROADCASTD CX, Z23

	VMOVDQU32 (R13), Z0
	VMOVDQU32 (R10)(SI*4), Z1

round:
	MOVL (R8)(SI*4), AX
	CMPL AX, $0xffff
	JA   done
	POPCNTL AX, CX

	// Z5: of each lane which candidate of the position, if any, is the first that is long enough.
	VPBROADCASTD AX, Z5
	VPANDD       Z20, Z5, Z5
	VPOPCNTD     Z5, Z5
	VPBROADCASTD CX, Z6
	VPCMPUD      $1, Z6, Z5, K1

	// Z9: what a step over the pixels of the lane costs; Z10: that step.
	VMOVDQU32    (R12), Z7
	VMOVDQU32    (R11), Z8
	VMOVDQA32    Z21, Z9
	VPERMD       Z7, Z5, K1, Z9
	VPADDD       Z22, Z9, Z9
	VPBROADCASTD (R9)(SI*4), K2, Z9
	VPERMD.Z     Z8, Z5, K3, Z10
	VPTERNLOGD   $0xea, Z24, Z23, Z10

	VMOVD        X1, (R10)(SI*4)
	VMOVD        64(R13), X12
	VMOVD        64(R10)(SI*4), X13
	VPBROADCASTD X0, Z11
	VALIGND      $1, Z0, Z12, Z0
	VALIGND      $1, Z1, Z13, Z1
	VPADDD       Z9, Z11, Z11
	VPCMPUD      $1, Z0, Z11, K4
	VPMINUD      Z11, Z0, Z0
	VMOVDQA32    Z10, K4, Z1

	LEAQ (R11)(CX*4), R11
	LEAQ (R12)(CX*4), R12
	ADDQ $4, R13
	INCQ SI
	CMPQ SI, DI
	JLT  round

done:
	VMOVDQU32 Z0, (R13)
	VMOVDQU32 Z1, (R10)(SI*4)
	VZEROUPPER
	MOVQ SI, ret+8(FP)
	RET

// func farBMI1(out *Candidate, pixel *uint8, end *int32, count, i, most, longest, stop int) int
//
// Which candidate is longer than those before cannot be foreseen: each is written, and the place of the next one depends on
// the carry of a comparison.
TEXT ·farBMI1(SB), NOSPLIT, $0-72
	MOVQ out+0(FP), DI
	MOVQ pixel+8(FP), SI
	MOVQ end+16(FP), R8
	MOVQ count+24(FP), CX
	MOVQ i+32(FP), R9
	MOVQ most+40(FP), R10
	MOVQ longest+48(FP), R11
	MOVQ stop+56(FP), R12
	MOVQ (SI)(R9*1), R13

candidate:
	MOVLQSX (R8), AX
	SUBQ    $4, R8
	MOVQ    (SI)(AX*1), DX
	XORQ    R13, DX
	JZ      words
	TZCNTQ  DX, DX
	SHRQ    $3, DX

agree:
	CMPQ    DX, R10
	CMOVQGT R10, DX
	MOVQ    R9, BX
	SUBQ    AX, BX
	SHLQ    $12, BX
	ORQ     DX, BX
	MOVL    BX, (DI)
	CMPQ    R11, DX
	CMOVQCS DX, R11
	SBBQ    BX, BX
	SHLQ    $2, BX
	SUBQ    BX, DI
	CMPQ    R11, R12
	JGE     done
	DECQ    CX
	JNZ     candidate

done:
	SUBQ out+0(FP), DI
	SHRQ $2, DI
	MOVQ DI, ret+64(FP)
	RET

	// BX: how many pixels agree.
words:
	MOVQ $8, BX

word:
	MOVQ BX, DX
	CMPQ BX, R10
	JGE  agree
	LEAQ (SI)(BX*1), R14
	MOVQ (R14)(R9*1), DX
	XORQ (R14)(AX*1), DX
	JNZ  last
	ADDQ $8, BX
	JMP  word

last:
	TZCNTQ DX, DX
	SHRQ   $3, DX
	ADDQ   BX, DX
	JMP    agree
