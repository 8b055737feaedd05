#include "textflag.h"

// TAIL sets k to as many lanes as CX says of the 16 or 32 that a vector has.
#define TAIL(k) \
	MOVL $1, AX \
	SHLL CX, AX \
	DECL AX     \
	KMOVD AX, k

// func sumAVX512(counts *uint32, n int) (sum, all uint32)
TEXT ·sumAVX512(SB), NOSPLIT, $0-24
	MOVQ   counts+0(FP), SI
	MOVQ   n+8(FP), CX
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	JMP    enough

counts:
	VMOVDQU32 (SI), Z2
	VPADDD    Z2, Z0, Z0
	VPORD     Z2, Z1, Z1
	ADDQ      $64, SI
	SUBQ      $16, CX

enough:
	CMPQ CX, $16
	JGE  counts
	TAIL(K1)
	VMOVDQU32.Z (SI), K1, Z2
	VPADDD      Z2, Z0, Z0
	VPORD       Z2, Z1, Z1

	VEXTRACTI64X4 $1, Z0, Y2
	VEXTRACTI64X4 $1, Z1, Y3
	VPADDD        Y2, Y0, Y0
	VPOR          Y3, Y1, Y1
	VEXTRACTI128  $1, Y0, X2
	VEXTRACTI128  $1, Y1, X3
	VPADDD        X2, X0, X0
	VPOR          X3, X1, X1
	VPSHUFD       $0x4e, X0, X2
	VPSHUFD       $0x4e, X1, X3
	VPADDD        X2, X0, X0
	VPOR          X3, X1, X1
	VPSHUFD       $0xb1, X0, X2
	VPSHUFD       $0xb1, X1, X3
	VPADDD        X2, X0, X0
	VPOR          X3, X1, X1
	VMOVD         X0, AX
	VMOVD         X1, BX
	MOVL          AX, sum+16(FP)
	MOVL          BX, all+20(FP)
	VZEROUPPER
	RET

// func idealCostsAVX512(out *uint16, counts *uint32, n int, all uint32, unused uint16, steps *[256]uint32)
//
// As log2, of three times each of 16 counts: Z4 has their leading zeros, and Z5 the counts without these.
TEXT ·idealCostsAVX512(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ counts+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ steps+32(FP), R8
	MOVL all+24(FP), AX
	VPBROADCASTD AX, Z16
	VPBROADCASTW unused+28(FP), Y17
	MOVL         $1, AX
	VPBROADCASTD AX, Z18
	MOVL         $31, AX
	VPBROADCASTD AX, Z19
	MOVL         $255, AX
	VPBROADCASTD AX, Z20
	MOVL         $0xffff, AX
	VPBROADCASTD AX, Z21
	MOVL         $0x8000, AX
	VPBROADCASTD AX, Z22
	MOVL         $5120, AX // MaxCost
	VPBROADCASTD AX, Z23

	MOVL  $0xffff, AX
	KMOVW AX, K1

next:
	CMPQ CX, $16
	JGE  counts
	TESTQ CX, CX
	JEQ  done
	TAIL(K1)

counts:
	VMOVDQU32.Z (SI), K1, Z2
	VPTESTMD    Z2, Z2, K2
	KORTESTW    K2, K2
	JEQ         none
	VPADDD      Z2, Z2, Z3
	VPADDD      Z3, Z2, Z3
	VPMAXUD     Z18, Z3, Z3
	VPLZCNTD    Z3, Z4
	VPSLLVD     Z4, Z3, Z5
	VPSUBD      Z4, Z19, Z4
	VPSLLD      $16, Z4, Z4
	VPSRLD      $23, Z5, Z6
	VPANDD      Z20, Z6, Z6
	VPSRLD      $7, Z5, Z5
	VPANDD      Z21, Z5, Z5
	KXNORW      K3, K3, K3
	VPXORD      Z7, Z7, Z7
	VPGATHERDD  (R8)(Z6*4), K3, Z7
	VPSRLD      $16, Z7, Z8
	VPANDD      Z21, Z7, Z7
	VPMULLD     Z8, Z5, Z5
	VPADDD      Z22, Z5, Z5
	VPSRLD      $16, Z5, Z5
	VPADDD      Z7, Z4, Z4
	VPADDD      Z5, Z4, Z4
	VPSUBD      Z4, Z16, Z4
	VPSRLD      $8, Z4, Z4
	VPMINUD     Z23, Z4, Z4
	VPMOVDW     Z4, Y4
	VMOVDQU16   Y4, K1, (DI)
	JMP         stored

none:
	VMOVDQU16 Y17, K1, (DI)

stored:
	ADDQ $64, SI
	ADDQ $32, DI
	SUBQ $16, CX
	JGT  next

done:
	VZEROUPPER
	RET

// func costsByLengthAVX512(costs *uint16, lengths *uint8, n int, by *[16]uint16)
TEXT ·costsByLengthAVX512(SB), NOSPLIT, $0-32
	MOVQ costs+0(FP), DI
	MOVQ lengths+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ by+24(FP), R8
	VMOVDQU (R8), Y0
	JMP enough

lengths:
	VPMOVZXBW (SI), Z1
	VPERMW    Z0, Z1, Z1
	VMOVDQU32 Z1, (DI)
	ADDQ      $32, SI
	ADDQ      $64, DI
	SUBQ      $32, CX

enough:
	CMPQ CX, $32
	JGE  lengths
	TAIL(K1)
	VMOVDQU8.Z (SI), K1, Y1
	VPMOVZXBW  Y1, Z1
	VPERMW     Z0, Z1, Z1
	VMOVDQU16  Z1, K1, (DI)
	VZEROUPPER
	RET
