#include "textflag.h"
#include "go_asm.h"

// What the symbols of four decisions of a sample have in common: nothing of the first one, 18<<1 of the two in
// the uniform context, 9<<1 of the last one, on the sign.
DATA ·fourBases+0(SB)/4, $0x12242400
GLOBL ·fourBases(SB), RODATA|NOPTR, $4

// The same for two decisions of each sample, the first and the last one.
DATA ·twoBases+0(SB)/4, $0x12001200
GLOBL ·twoBases(SB), RODATA|NOPTR, $4

// func unionAVX512(src *int32, n int) uint32
TEXT ·unionAVX512(SB), NOSPLIT, $0-20
	MOVQ src+0(FP), SI
	MOVQ n+8(FP), CX
	VPXORD Z0, Z0, Z0

whole:
	CMPQ CX, $16
	JLT rest
	VPABSD (SI), Z1
	VPORD Z1, Z0, Z0
	ADDQ $64, SI
	SUBQ $16, CX
	JMP whole

rest:
	MOVL $1, AX
	SHLXL CX, AX, AX
	DECL AX
	KMOVD AX, K1
	VPABSD.Z (SI), K1, Z1
	VPORD Z1, Z0, Z0
	VEXTRACTI64X4 $1, Z0, Y1
	VPOR Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPOR X1, X0, X0
	VPSHUFD $0x4E, X0, X1
	VPOR X1, X0, X0
	VPSHUFD $0xB1, X0, X1
	VPOR X1, X0, X0
	VMOVD X0, AX
	MOVL AX, ret+16(FP)
	VZEROUPPER
	RET

// The bits of K1 to K4 become those of DX, sample by sample of a column. R8 to R11 are every fourth bit.
#define INTERLEAVE \
	KMOVD K1, R12 \
	KMOVD K2, R13 \
	KMOVD K3, R14 \
	KMOVD K4, R15 \
	PDEPQ R8, R12, R12 \
	PDEPQ R9, R13, R13 \
	PDEPQ R10, R14, R14 \
	PDEPQ R11, R15, R15 \
	ORQ R12, R13 \
	ORQ R14, R15 \
	LEAQ (R13)(R15*1), DX

#define EVERY_FOURTH \
	MOVQ $0x1111111111111111, R8 \
	LEAQ (R8)(R8*1), R9 \
	LEAQ (R9)(R9*1), R10 \
	LEAQ (R10)(R10*1), R11

// func sliceAVX512(dst *uint64, src *int32, stride, rows int, columns uint32, planes, step int) (sign uint64)
//
// Z0 to Z3 are the magnitudes of the four rows, Z4 the bit of the plane in every lane.
TEXT ·sliceAVX512(SB), NOSPLIT, $0-64
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ stride+16(FP), AX
	MOVQ rows+24(FP), CX
	MOVL columns+32(FP), DX
	KMOVD DX, K5
	EVERY_FOURTH
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	VMOVDQU32.Z (SI), K5, Z0
	CMPQ CX, $2
	JLT loaded
	ADDQ AX, SI
	VMOVDQU32.Z (SI), K5, Z1
	CMPQ CX, $3
	JLT loaded
	ADDQ AX, SI
	VMOVDQU32.Z (SI), K5, Z2
	CMPQ CX, $4
	JLT loaded
	ADDQ AX, SI
	VMOVDQU32.Z (SI), K5, Z3

loaded:
	VPXORD Z5, Z5, Z5
	VPCMPD $1, Z5, Z0, K1
	VPCMPD $1, Z5, Z1, K2
	VPCMPD $1, Z5, Z2, K3
	VPCMPD $1, Z5, Z3, K4
	INTERLEAVE
	MOVQ DX, sign+56(FP)
	VPABSD Z0, Z0
	VPABSD Z1, Z1
	VPABSD Z2, Z2
	VPABSD Z3, Z3
	MOVL $1, AX
	VPBROADCASTD AX, Z4
	MOVQ planes+40(FP), CX
	MOVQ step+48(FP), BX

plane:
	VPTESTMD Z4, Z0, K1
	VPTESTMD Z4, Z1, K2
	VPTESTMD Z4, Z2, K3
	VPTESTMD Z4, Z3, K4
	VPSLLD $1, Z4, Z4
	INTERLEAVE
	MOVQ DX, (DI)
	ADDQ BX, DI
	DECQ CX
	JNZ plane
	VZEROUPPER
	RET

// BIT adds the bit of a symbol that K1 has samples for to the bytes of Z0.
#define BIT(bit) VPADDB bit, Z0, K1, Z0

// PACK writes the bytes of Z0 that DX has bits for.
#define PACK \
	KMOVQ DX, K1 \
	VPCOMPRESSB Z0, K1, Z1 \
	VMOVDQU64 Z1, (DI) \
	POPCNTQ DX, DX \
	ADDQ DX, DI

// PLACE puts 16 or 32 bits of a word, from bit CX on, into the places that mask has.
#define PLACE(word, mask, to) \
	SHRXQ CX, word, to \
	PDEPQ mask, to, to

// func writeAVX512(out *mq.Symbol, groups []group) (n int)
//
// Z0 are the symbols that are made, Z16 to Z21 bits 0 to 5 of a symbol in every byte. R8
// to R11 are every fourth bit, R12 and R13 every other one.
TEXT ·writeAVX512(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ groups_base+8(FP), SI
	MOVQ groups_len+16(FP), BX
	EVERY_FOURTH
	MOVQ $0x5555555555555555, R12
	LEAQ (R12)(R12*1), R13
	VPBROADCASTD ·fourBases(SB), Z22
	VPBROADCASTD ·twoBases(SB), Z23
	MOVL $0x01010101, AX
	VPBROADCASTD AX, Z16
	VPADDB Z16, Z16, Z17
	VPADDB Z17, Z17, Z18
	VPADDB Z18, Z18, Z19
	VPADDB Z19, Z19, Z20
	VPADDB Z20, Z20, Z21

next:
	CMPQ group_Run(SI), $0
	JNE four
	CMPQ group_Second(SI), $0
	JNE two

	// One decision for each sample.
	VPXORD Z0, Z0, Z0
	KMOVQ (group_Number+0)(SI), K1
	BIT(Z16)
	KMOVQ (group_Number+8)(SI), K1
	BIT(Z17)
	KMOVQ (group_Number+16)(SI), K1
	BIT(Z18)
	KMOVQ (group_Number+24)(SI), K1
	BIT(Z19)
	KMOVQ (group_Number+32)(SI), K1
	BIT(Z20)
	KMOVQ (group_Number+40)(SI), K1
	BIT(Z21)
	MOVQ group_First(SI), DX
	PACK
	JMP done

	// Up to two decisions for each sample, on 32 samples at a time. CX is the first of them.
two:
	XORL CX, CX

half:
	VMOVDQU64 Z23, Z0
	PLACE((group_Number+0)(SI), R12, AX)
	PLACE(group_Sign+0(SI), R13, R14)
	ORQ R14, AX
	KMOVQ AX, K1
	BIT(Z16)
	PLACE((group_Number+8)(SI), R12, AX)
	PLACE(group_Sign+8(SI), R13, R14)
	ORQ R14, AX
	KMOVQ AX, K1
	BIT(Z17)
	PLACE((group_Number+16)(SI), R12, AX)
	PLACE(group_Sign+16(SI), R13, R14)
	ORQ R14, AX
	KMOVQ AX, K1
	BIT(Z18)
	PLACE((group_Number+24)(SI), R12, AX)
	PLACE(group_Sign+24(SI), R13, R14)
	ORQ R14, AX
	KMOVQ AX, K1
	BIT(Z19)
	PLACE((group_Number+32)(SI), R12, AX)
	KMOVQ AX, K1
	BIT(Z20)
	PLACE((group_Number+40)(SI), R12, AX)
	KMOVQ AX, K1
	BIT(Z21)
	PLACE(group_First(SI), R12, AX)
	PLACE(group_Second(SI), R13, DX)
	ORQ AX, DX
	PACK
	ADDL $32, CX
	CMPL CX, $64
	JLT half
	JMP done

	// Up to four decisions for each sample, on 16 samples at a time. CX is the first of them.
four:
	XORL CX, CX

quarter:
	VMOVDQU64 Z22, Z0
	PLACE((group_Number+0)(SI), R8, AX)
	PLACE(group_Sign+0(SI), R11, R14)
	ORQ R14, AX
	PLACE(group_High(SI), R9, R14)
	ORQ R14, AX
	PLACE(group_Low(SI), R10, R14)
	ORQ R14, AX
	KMOVQ AX, K1
	BIT(Z16)
	PLACE((group_Number+8)(SI), R8, AX)
	PLACE(group_Sign+8(SI), R11, R14)
	ORQ R14, AX
	KMOVQ AX, K1
	BIT(Z17)
	PLACE((group_Number+16)(SI), R8, AX)
	PLACE(group_Sign+16(SI), R11, R14)
	ORQ R14, AX
	KMOVQ AX, K1
	BIT(Z18)
	PLACE((group_Number+24)(SI), R8, AX)
	PLACE(group_Sign+24(SI), R11, R14)
	ORQ R14, AX
	KMOVQ AX, K1
	BIT(Z19)
	PLACE((group_Number+32)(SI), R8, AX)
	KMOVQ AX, K1
	BIT(Z20)
	PLACE((group_Number+40)(SI), R8, AX)
	KMOVQ AX, K1
	BIT(Z21)
	PLACE(group_Run(SI), R9, AX)
	LEAQ (AX)(AX*2), AX // both
	PLACE(group_First(SI), R8, DX)
	ORQ AX, DX
	PLACE(group_Second(SI), R11, AX)
	ORQ AX, DX
	PACK
	ADDL $16, CX
	CMPL CX, $64
	JLT quarter

done:
	ADDQ $group__size, SI
	DECQ BX
	JNZ next
	SUBQ out+0(FP), DI
	MOVQ DI, n+32(FP)
	VZEROUPPER
	RET
