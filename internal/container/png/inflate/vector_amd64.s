#include "go_asm.h"
#include "textflag.h"

// repeat[d] are the places of a pattern of d bytes in 16 bytes; repeat[0] leaves them as they are.
DATA repeat<>+0x00(SB)/8, $0x0706050403020100
DATA repeat<>+0x08(SB)/8, $0x0f0e0d0c0b0a0908
DATA repeat<>+0x10(SB)/8, $0x0000000000000000
DATA repeat<>+0x18(SB)/8, $0x0000000000000000
DATA repeat<>+0x20(SB)/8, $0x0100010001000100
DATA repeat<>+0x28(SB)/8, $0x0100010001000100
DATA repeat<>+0x30(SB)/8, $0x0100020100020100
DATA repeat<>+0x38(SB)/8, $0x0002010002010002
DATA repeat<>+0x40(SB)/8, $0x0302010003020100
DATA repeat<>+0x48(SB)/8, $0x0302010003020100
DATA repeat<>+0x50(SB)/8, $0x0201000403020100
DATA repeat<>+0x58(SB)/8, $0x0004030201000403
DATA repeat<>+0x60(SB)/8, $0x0100050403020100
DATA repeat<>+0x68(SB)/8, $0x0302010005040302
DATA repeat<>+0x70(SB)/8, $0x0006050403020100
DATA repeat<>+0x78(SB)/8, $0x0100060504030201
DATA repeat<>+0x80(SB)/8, $0x0706050403020100
DATA repeat<>+0x88(SB)/8, $0x0706050403020100
DATA repeat<>+0x90(SB)/8, $0x0706050403020100
DATA repeat<>+0x98(SB)/8, $0x0605040302010008
DATA repeat<>+0xa0(SB)/8, $0x0706050403020100
DATA repeat<>+0xa8(SB)/8, $0x0504030201000908
DATA repeat<>+0xb0(SB)/8, $0x0706050403020100
DATA repeat<>+0xb8(SB)/8, $0x04030201000a0908
DATA repeat<>+0xc0(SB)/8, $0x0706050403020100
DATA repeat<>+0xc8(SB)/8, $0x030201000b0a0908
DATA repeat<>+0xd0(SB)/8, $0x0706050403020100
DATA repeat<>+0xd8(SB)/8, $0x0201000c0b0a0908
DATA repeat<>+0xe0(SB)/8, $0x0706050403020100
DATA repeat<>+0xe8(SB)/8, $0x01000d0c0b0a0908
DATA repeat<>+0xf0(SB)/8, $0x0706050403020100
DATA repeat<>+0xf8(SB)/8, $0x000e0d0c0b0a0908
GLOBL repeat<>(SB), RODATA|NOPTR, $256

// steps[d] is the largest multiple of d that is not over 16.
DATA steps<>+0(SB)/8, $0x0e0c0f100f101010
DATA steps<>+8(SB)/8, $0x0f0e0d0c0b0a0910
GLOBL steps<>(SB), RODATA|NOPTR, $16

// REFILL fills the bits in R8 to 56 or more. Their number is in the lowest six bits of R9; what is
// above those has no meaning. Bits that were taken before beyond the number are taken once more, and are
// the same.
#define REFILL \
	MOVQ  (SI), CX     \
	SHLXQ R9, CX, CX   \
	ORQ   CX, R8       \
	MOVL  R9, CX       \
	NOTL  CX           \
	SHRL  $3, CX       \
	ANDL  $7, CX       \
	ADDQ  CX, SI       \
	ORL   $56, R9

// LOOKUP puts the index of the entry of the next bits into R11 and the entry into AX.
#define LOOKUP \
	MOVL R8, R11             \
	ANDL $const_litMask, R11 \
	MOVL (R10)(R11*4), AX

// LITERALS writes the one or two literals of the entry in AX.
#define LITERALS \
	SHRXQ AX, R8, R8 \
	SUBL  AX, R9     \
	MOVL  AX, CX     \
	SHRL  $16, CX    \
	MOVW  CX, (DI)   \
	SHRL  $8, AX     \
	ANDL  $3, AX     \
	ADDQ  AX, DI

// func fastBMI2(r *Reader, limit int) fastResult
//
// Whether literals or a match come next is as a rule no better known than the fall of a coin, and a branch that
// is guessed wrongly costs more than all work on a symbol. So loop takes both in the same instructions:
// literals are a match whose source is their entry in the table and whose distance takes no bits. Behind
// many literals more of them are likely: literals then takes only these, as there each waits for less.
//
// loop begins with the entry of the next bits looked up, for which the bits that are left before REFILL are
// enough: of 56 bits the longest length and a distance of the first table take 20 and 22, and an index 12.
//
//	SI  next byte of the input    inputEnd  the last place where the loop may begin
//	DI  next byte of the output   R13  repeat
//	R8  bits    R9  how many      R10  first table    R14  start of the output
//	AX  entry   R11 its index, then its literals      R15  bits behind its code
//	BX  length  DX  distance      CX  all ones for a match, 0 for literals
//	BP  source  R12 entries with literals since the last match
TEXT ·fastBMI2(SB), NOSPLIT, $16-24
	MOVQ r+0(FP), R10
	MOVQ Reader_in(R10), SI
	MOVQ Reader_in+8(R10), R12
	LEAQ -const_inputSlack(SI)(R12*1), R12
	MOVQ R12, inputEnd-8(SP)
	ADDQ Reader_pos(R10), SI
	MOVQ Reader_buf(R10), R14
	MOVQ R14, R13
	ADDQ limit+8(FP), R13
	MOVQ R14, DI
	ADDQ Reader_out(R10), DI
	MOVQ Reader_bits(R10), R8
	MOVQ Reader_count(R10), R9
	LEAQ Reader_lit(R10), R10
	XORL R12, R12
	MOVQ R13, outputEnd-16(SP)
	LEAQ repeat<>(SB), R13
	REFILL
	LOOKUP

loop:
	CMPQ SI, inputEnd-8(SP)
	JA   limits
	CMPQ DI, outputEnd-16(SP)
	JAE  limits
	REFILL
	TESTL $const_flagSpecial, AX
	JNZ  special

symbol:
	SHRXQ AX, R8, R15
	MOVL R15, DX
	ANDL $const_distMask, DX
	MOVL (Reader_dist-Reader_lit)(R10)(DX*4), DX
	LEAQ 2(R10)(R11*4), R11 // the literals in the entry
	BZHIQ AX, R8, BX
	SUBL AX, R9
	MOVL AX, CX
	SHRL $8, CX
	SHRXQ CX, BX, BX
	MOVL AX, BP
	SHRL $16, BP
	ADDL BP, BX
	ANDL $3, CX
	TESTL $const_flagOther, AX
	CMOVLEQ CX, BX
	MOVL AX, CX
	SHLL $16, CX
	SARL $31, CX
	ANDL CX, DX
	TESTL $const_flagSpecial, DX
	JNZ  longDistance

distance:
	SHRXQ DX, R15, R8
	SUBL DX, R9
	BZHIQ DX, R15, R15
	MOVL R8, AX
	ANDL $const_litMask, AX
	MOVL DX, BP
	SHRL $8, BP
	SHRXQ BP, R15, R15
	SHRL $16, DX
	ADDL R15, DX
	MOVQ DI, BP
	SUBQ DX, BP
	CMPQ BP, R14
	JB   damaged
	TESTL CX, CX
	CMOVQEQ R11, BP
	MOVL AX, R11
	MOVL (R10)(AX*4), AX
	CMPL DX, $16
	SBBL R15, R15
	ANDL DX, R15
	SHLL $4, R15
	VMOVDQU (BP), X0
	VPSHUFB (R13)(R15*1), X0, X0
	VMOVDQU X0, (DI)
	ADDQ BX, DI
	CMPL BX, $16
	JA   long

next:
	INCL R12
	NOTL CX
	ANDL CX, R12
	CMPL R12, $const_manyLiterals
	JB   loop

literals:
	CMPQ SI, inputEnd-8(SP)
	JA   limits
	CMPQ DI, outputEnd-16(SP)
	JAE  limits
	REFILL
	LOOKUP
	TESTL $const_flagOther, AX
	JNZ  other
	LITERALS
	LOOKUP
	TESTL $const_flagOther, AX
	JNZ  other
	LITERALS
	LOOKUP
	TESTL $const_flagOther, AX
	JNZ  other
	LITERALS
	LOOKUP
	TESTL $const_flagOther, AX
	JNZ  other
	LITERALS
	JMP  literals

other:
	XORL R12, R12
	JMP  loop

long:
	TESTL R15, R15
	JNZ  near
	MOVQ DI, R15
	SUBQ BX, R15

far:
	ADDQ $16, BP
	ADDQ $16, R15
	VMOVDQU (BP), X0
	VMOVDQU X0, (R15)
	LEAQ 16(R15), BX
	CMPQ BX, DI
	JB   far
	JMP  next

near:
	MOVQ DI, BP
	SUBQ BX, BP
	LEAQ steps<>(SB), BX
	MOVBLZX (BX)(DX*1), BX

pattern:
	ADDQ BX, BP
	VMOVDQU X0, (BP)
	CMPQ BP, DI
	JB   pattern
	JMP  next

special:
	MOVL AX, CX
	ANDL $const_kindMask, CX
	CMPL CX, $const_kindLonger
	JNE  endOrDamaged
	SHRL $16, AX
	MOVL R8, R11
	SHRL $const_litBits, R11
	ANDL $const_litSecondMask, R11
	ADDL AX, R11
	MOVL (R10)(R11*4), AX
	TESTL $const_flagSpecial, AX
	JZ   symbol
	MOVL AX, CX
	ANDL $const_kindMask, CX

endOrDamaged:
	CMPL CX, $const_kindEnd
	JNE  damaged
	SHRXQ AX, R8, R8
	SUBL AX, R9
	MOVQ $const_fastEnd, AX
	JMP  done

longDistance:
	MOVL DX, AX
	ANDL $const_kindMask, AX
	CMPL AX, $const_kindLonger
	JNE  damaged
	MOVQ R15, R8
	REFILL
	SHRL $16, DX
	MOVL R8, AX
	SHRL $const_distBits, AX
	ANDL $const_distSecondMask, AX
	ADDL AX, DX
	MOVL (Reader_dist-Reader_lit)(R10)(DX*4), DX
	MOVQ R8, R15
	MOVL $-1, CX
	TESTL $const_flagSpecial, DX
	JZ   distance

damaged:
	MOVQ $const_fastDamaged, AX
	JMP  done

limits:
	MOVQ $const_fastLimit, AX

done:
	ANDL  $63, R9
	BZHIQ R9, R8, R8
	MOVQ  r+0(FP), R10
	SUBQ  Reader_in(R10), SI
	MOVQ  SI, Reader_pos(R10)
	SUBQ  R14, DI
	MOVQ  DI, Reader_out(R10)
	MOVQ  R8, Reader_bits(R10)
	MOVQ  R9, Reader_count(R10)
	MOVQ  AX, ret+16(FP)
	RET

DATA lanes<>+0x00(SB)/8, $0x0000000100000000
DATA lanes<>+0x08(SB)/8, $0x0000000300000002
DATA lanes<>+0x10(SB)/8, $0x0000000500000004
DATA lanes<>+0x18(SB)/8, $0x0000000700000006
GLOBL lanes<>(SB), RODATA|NOPTR, $32

DATA words<>+0(SB)/4, $0xff
DATA words<>+4(SB)/4, $0xff0000
DATA words<>+8(SB)/4, $const_flagOther
DATA words<>+12(SB)/4, $const_litBits
DATA words<>+16(SB)/4, $0x200
GLOBL words<>(SB), RODATA|NOPTR, $20

// func pairsAVX2(table *uint32)
//
// Eight entries at a time, downwards, as in pairsGo.
TEXT ·pairsAVX2(SB), NOSPLIT, $0-8
	MOVQ table+0(FP), SI
	MOVQ $(const_litMask-7), CX
	VMOVDQU lanes<>(SB), Y15
	VPBROADCASTD words<>+0(SB), Y14
	VPBROADCASTD words<>+4(SB), Y13
	VPBROADCASTD words<>+8(SB), Y12
	VPBROADCASTD words<>+12(SB), Y11
	VPBROADCASTD words<>+16(SB), Y10

entries:
	VMOVD CX, X0
	VPBROADCASTD X0, Y0
	VPADDD Y15, Y0, Y0            // index
	VMOVDQU (SI)(CX*4), Y1        // entries
	VPAND Y14, Y1, Y2             // bits of their codes
	VPSRLVD Y2, Y0, Y0
	VPCMPEQD Y9, Y9, Y9
	VPGATHERDD Y9, (SI)(Y0*4), Y3 // entries that follow
	VPAND Y14, Y3, Y4
	VPADDD Y4, Y2, Y4             // bits of both
	VPCMPGTD Y11, Y4, Y5          // more than the table has
	VPOR Y1, Y3, Y6
	VPAND Y12, Y6, Y6
	VPCMPEQD Y12, Y6, Y6          // one of both is no literal
	VPOR Y5, Y6, Y5
	VPAND Y13, Y1, Y7
	VPAND Y13, Y3, Y3
	VPSLLD $8, Y3, Y3
	VPOR Y3, Y7, Y7
	VPOR Y4, Y7, Y7
	VPOR Y10, Y7, Y7
	VPBLENDVB Y5, Y1, Y7, Y7
	VMOVDQU Y7, (SI)(CX*4)
	SUBQ $8, CX
	JGE  entries
	VZEROUPPER
	RET

DATA weights<>+0x00(SB)/8, $0x191a1b1c1d1e1f20
DATA weights<>+0x08(SB)/8, $0x1112131415161718
DATA weights<>+0x10(SB)/8, $0x090a0b0c0d0e0f10
DATA weights<>+0x18(SB)/8, $0x0102030405060708
GLOBL weights<>(SB), RODATA|NOPTR, $32

DATA ones<>+0(SB)/4, $0x00010001
GLOBL ones<>(SB), RODATA|NOPTR, $4

// func adlerAVX2(p *byte, blocks int) (a, b uint32)
//
// Both sums of so many blocks of 32 bytes, from zero: Y0 has a, Y1 the sum of a before each block, Y2 the
// bytes times how often they are in b within their block.
TEXT ·adlerAVX2(SB), NOSPLIT, $0-24
	MOVQ p+0(FP), SI
	MOVQ blocks+8(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y7, Y7, Y7
	VMOVDQU weights<>(SB), Y6
	VPBROADCASTD ones<>(SB), Y5

blocks32:
	VMOVDQU (SI), Y3
	VPADDD Y0, Y1, Y1
	VPSADBW Y7, Y3, Y4
	VPADDD Y4, Y0, Y0
	VPMADDUBSW Y6, Y3, Y3
	VPMADDWD Y5, Y3, Y3
	VPADDD Y3, Y2, Y2
	ADDQ $32, SI
	DECQ CX
	JNZ  blocks32

	VPSLLD $5, Y1, Y1
	VPADDD Y1, Y2, Y2
	VEXTRACTI128 $1, Y0, X3
	VPADDD X3, X0, X0
	VPSHUFD $0x4e, X0, X3
	VPADDD X3, X0, X0
	VMOVD X0, AX
	VEXTRACTI128 $1, Y2, X3
	VPADDD X3, X2, X2
	VPSHUFD $0x4e, X2, X3
	VPADDD X3, X2, X2
	VPSHUFD $0xb1, X2, X3
	VPADDD X3, X2, X2
	VMOVD X2, BX
	VZEROUPPER
	MOVL AX, a+16(FP)
	MOVL BX, b+20(FP)
	RET
