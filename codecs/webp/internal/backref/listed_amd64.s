#include "go_asm.h"
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

// func nearAVX512(a *nearSearch, same, saved, left, ends *uint32, best *listedGain, memory *Candidate)
//
// A lane is a near distance. Z0 has how many pixels agree from the present position on; what is found of a position does not
// depend on that of another one besides.
TEXT ·nearAVX512(SB), NOSPLIT, $0-56
	MOVQ a+0(FP), AX
	MOVQ same+8(FP), R8
	MOVQ saved+16(FP), R9
	MOVQ left+24(FP), R10
	MOVQ ends+32(FP), R11
	MOVQ best+40(FP), R12
	MOVQ memory+48(FP), R13

	VMOVDQU32 nearSearch_candidate(AX), Z16
	VMOVDQU32 nearSearch_bits(AX), Z17
	VMOVDQU32 nearSearch_agree(AX), Z0
	MOVL      nearSearch_left(AX), BX
	VPBROADCASTD nearSearch_stop(AX), Z18
	MOVQ      nearSearch_at(AX), DI
	MOVQ      nearSearch_i(AX), SI

	VPXORD       Z31, Z31, Z31
	MOVL         $1, CX
	VPBROADCASTD CX, Z19
	MOVL         $16, CX
	VPBROADCASTD CX, Z20
	MOVL         $4095, CX
	VPBROADCASTD CX, Z21
	MOVL         $30, CX
	VPBROADCASTD CX, Z22
	VMOVDQU32    windowLanes<>(SB), Z23
	VPSUBD       Z23, Z20, Z23 // 15 less the number of the lane


position:
	CMPQ SI, $0
	JE   done
	CMPQ DI, $16
	JLT  done
	DECQ SI
	MOVL (R8)(SI*4), DX
	KMOVW DX, K1
	VPADDD.Z Z19, Z0, K1, Z0
	VPMINUD  Z21, Z0, Z0

	// A candidate has two pixels or more.
	VPCMPUD $6, Z19, Z0, K2
	KORTESTW K2, K2
	JZ none

	// Z1: the longest of the lanes below, which a candidate is longer than.
	VALIGND $15, Z31, Z0, Z1
	VPMAXUD Z19, Z1, Z1
	VALIGND $15, Z31, Z1, Z2
	VPMAXUD Z2, Z1, Z1
	VALIGND $14, Z31, Z1, Z2
	VPMAXUD Z2, Z1, Z1
	VALIGND $12, Z31, Z1, Z2
	VPMAXUD Z2, Z1, Z1
	VALIGND $8, Z31, Z1, Z2
	VPMAXUD Z2, Z1, Z1
	VPCMPUD $6, Z1, Z0, K2
	VPCMPUD $1, Z18, Z1, K2, K2

	VPORD       Z16, Z0, Z3
	VPCOMPRESSD Z3, K2, Z4
	KMOVW       K2, CX
	POPCNTL     CX, CX
	SUBQ        CX, DI
	ADDL        CX, BX
	MOVL        $1, DX
	SHLL        CX, DX
	DECL        DX
	KMOVW       DX, K3
	VMOVDQU32   Z4, K3, (R13)(DI*4)

	// Z6: their pixels that are looked at; Z5: the bits of ends.
	VPMINUD  Z20, Z0, Z6
	VPSUBD   Z19, Z0, Z7
	VPMINUD  Z20, Z7, Z5
	VPSLLVD.Z Z5, Z19, K2, Z5

	// Z9: what each saves, Z10: that and the number of the lane, the lowest first.
	VPSUBD       Z19, Z6, Z8
	VMOVDQU32    4(R9)(SI*4), Z9
	VPERMD       Z9, Z8, Z9
	VPSUBD.BCST  (R9)(SI*4), Z9, Z9
	VPSUBD       Z6, Z0, Z8
	VPADDD       Z8, Z9, Z9
	VPADDD       Z8, Z8, Z8
	VPADDD       Z8, Z9, Z9
	VPLZCNTD     Z7, Z7
	VPSUBD       Z7, Z22, Z7
	VPMAXSD      Z31, Z7, Z7
	VPADDD       Z17, Z7, Z7
	VPSUBD       Z7, Z9, Z9
	VPCMPD       $6, Z31, Z9, K2, K2
	VPSLLD       $4, Z9, Z10
	VPORD.Z      Z23, Z10, K2, Z10

	VEXTRACTI64X4 $1, Z5, Y6
	VEXTRACTI64X4 $1, Z10, Y11
	VPOR          Y6, Y5, Y5
	VPMAXUD       Y11, Y10, Y10
	VEXTRACTI128  $1, Y5, X6
	VEXTRACTI128  $1, Y10, X11
	VPOR          X6, X5, X5
	VPMAXUD       X11, X10, X10
	VPSHUFD       $0x4e, X5, X6
	VPSHUFD       $0x4e, X10, X11
	VPOR          X6, X5, X5
	VPMAXUD       X11, X10, X10
	VPSHUFD       $0xb1, X5, X6
	VPSHUFD       $0xb1, X10, X11
	VPOR          X6, X5, X5
	VPMAXUD       X11, X10, X10
	VMOVD         X5, (R11)(SI*4)
	MOVL          BX, (R10)(SI*4)
	VMOVD         X10, DX
	TESTL         DX, DX
	JZ            nothing
	MOVL          DX, CX
	NOTL          CX
	ANDL          $15, CX
	SHRL          $4, DX
	VMOVD         CX, X11
	VPERMD        Z3, Z11, Z3
	VMOVD         X3, CX
	SHLQ          $32, DX
	ORQ           DX, CX
	MOVQ          CX, (R12)(SI*8)
	JMP           position

none:
	MOVL $0, (R11)(SI*4)
	MOVL BX, (R10)(SI*4)

nothing:
	MOVQ $0, (R12)(SI*8)
	JMP  position

done:
	VMOVDQU32 Z0, nearSearch_agree(AX)
	MOVL      BX, nearSearch_left(AX)
	MOVQ      DI, nearSearch_at(AX)
	MOVQ      SI, nearSearch_i(AX)
	VZEROUPPER
	RET
