#include "textflag.h"

DATA laneNumbers<>+0(SB)/4, $0
DATA laneNumbers<>+4(SB)/4, $1
DATA laneNumbers<>+8(SB)/4, $2
DATA laneNumbers<>+12(SB)/4, $3
DATA laneNumbers<>+16(SB)/4, $4
DATA laneNumbers<>+20(SB)/4, $5
DATA laneNumbers<>+24(SB)/4, $6
DATA laneNumbers<>+28(SB)/4, $7
DATA laneNumbers<>+32(SB)/4, $8
DATA laneNumbers<>+36(SB)/4, $9
DATA laneNumbers<>+40(SB)/4, $10
DATA laneNumbers<>+44(SB)/4, $11
DATA laneNumbers<>+48(SB)/4, $12
DATA laneNumbers<>+52(SB)/4, $13
DATA laneNumbers<>+56(SB)/4, $14
DATA laneNumbers<>+60(SB)/4, $15
GLOBL laneNumbers<>(SB), RODATA|NOPTR, $64

// Vectors are sorted by bitonic networks (Batcher, 1968). A stage compares each lane of x with the one 1, 2, 4 or 8 lanes away; the
// lanes of mask take the larger one. t is overwritten.
#define NEAR(shuffle, mask, x, out, t) \
	VPSHUFD  $shuffle, x, t     \
	VPMINUD  t, x, out          \
	VPMAXUD  t, x, mask, out

#define FAR(shuffle, mask, x, out, t) \
	VSHUFI32X4 $shuffle, x, x, t \
	VPMINUD    t, x, out         \
	VPMAXUD    t, x, mask, out

// FOURS sorts each four lanes of x, by K1 to K3 every other four downwards.
#define FOURS(x, u, t) \
	NEAR(0xb1, K1, x, u, t) \
	NEAR(0x4e, K2, u, x, t) \
	NEAR(0xb1, K3, x, u, t)

// EIGHTS sorts each eight lanes of what FOURS has left in u, by K1 to K3 the second ones downwards.
#define EIGHTS(x, u, t) \
	FAR(0xb1, K1, u, x, t)  \
	NEAR(0x4e, K2, x, u, t) \
	NEAR(0xb1, K3, u, x, t)

// ALL sorts the lanes of x, which rise and then fall or the other way round.
#define ALL(x, u, t) \
	FAR(0x4e, K4, x, u, t)  \
	FAR(0xb1, K5, u, x, t)  \
	NEAR(0x4e, K6, x, u, t) \
	NEAR(0xb1, K7, u, x, t)

// APART takes two vectors whose lanes rise, at equal places from the beginning and from the end of two sorted lists, and leaves in
// x what belongs to the lower half of both and in y what belongs to the upper half.
#define APART(x, y, t, u) \
	VPERMD  x, Z31, t \
	VPERMD  y, Z31, u \
	VPMINUD u, x, x   \
	VPMAXUD t, y, y

// LESS moves the lesser of each lane of x and y to x and the larger one to y.
#define LESS(x, y, t) \
	VPMINUD   x, y, t \
	VPMAXUD   x, y, y \
	VMOVDQA32 t, x

// STORE stores the lanes of a vector, whose halves are x and y, in 64 bits each.
#define STORE(z, x, y, at) \
	VPMOVZXDQ     x, Z28     \
	VEXTRACTI64X4 $1, z, y   \
	VPMOVZXDQ     y, Z29     \
	VMOVDQU64     Z28, at(DI) \
	VMOVDQU64     Z29, at+64(DI)

#define MASK(mask, k) \
	MOVL  $mask, AX \
	KMOVW AX, k

// func leavesAVX512(leaves *uint64, packed, counts *uint32, n int) (used int, all uint32)
TEXT ·leavesAVX512(SB), NOSPLIT, $0-44
	MOVQ leaves+0(FP), DI
	MOVQ packed+8(FP), R8
	MOVQ counts+16(FP), SI
	MOVQ n+24(FP), CX
	XORL BX, BX

	// Z1: the symbols of the lanes; Z2: all bits of the counts; Z3: 16 each.
	VMOVDQU32    laneNumbers<>(SB), Z1
	VPXORD       Z2, Z2, Z2
	MOVL         $16, AX
	VPBROADCASTD AX, Z3
	JMP          enough

counts:
	VMOVDQU32   (SI), Z0
	VPORD       Z0, Z2, Z2
	VPTESTMD    Z0, Z0, K1
	VPSLLD      $12, Z0, Z0
	VPORD       Z1, Z0, Z0
	VPCOMPRESSD Z0, K1, Z4
	VMOVDQU32   Z4, (R8)(BX*4)
	KMOVW       K1, AX
	POPCNTL     AX, AX
	ADDQ        AX, BX
	VPADDD      Z3, Z1, Z1
	ADDQ        $64, SI
	SUBQ        $16, CX

enough:
	CMPQ CX, $16
	JGE  counts
	MOVL $1, AX
	SHLL CX, AX
	DECL AX
	KMOVW AX, K2
	VMOVDQU32.Z (SI), K2, Z0
	VPORD       Z0, Z2, Z2
	VPTESTMD    Z0, Z0, K1
	VPSLLD      $12, Z0, Z0
	VPORD       Z1, Z0, Z0
	VPCOMPRESSD Z0, K1, Z4
	VMOVDQU32   Z4, (R8)(BX*4)
	KMOVW       K1, AX
	POPCNTL     AX, AX
	ADDQ        AX, BX
	MOVQ        BX, used+32(FP)

	VEXTRACTI64X4 $1, Z2, Y3
	VPORD         Y3, Y2, Y2
	VEXTRACTI128  $1, Y2, X3
	VPORD         X3, X2, X2
	VPSHUFD       $0x4e, X2, X3
	VPORD         X3, X2, X2
	VPSHUFD       $0xb1, X2, X3
	VPORD         X3, X2, X2
	VMOVD         X2, AX
	MOVL          AX, all+40(FP)
	CMPL          AX, $0x100000
	JAE           done
	CMPQ          BX, $128
	JGT           done

	// Behind the leaves there are heavier ones, up to the next size that is sorted.
	VPTERNLOGD $0xff, Z0, Z0, Z0
	VMOVDQU32  Z0, (R8)(BX*4)
	VMOVDQU32  Z0, 64(R8)(BX*4)
	VMOVDQU32  Z0, 128(R8)(BX*4)
	VMOVDQU32  Z0, 192(R8)(BX*4)

	// Z31: the lanes the other way round.
	MOVL         $15, AX
	VPBROADCASTD AX, Z31
	VPSUBD       laneNumbers<>(SB), Z31, Z31
	MASK(0x6666, K1)
	MASK(0x3c3c, K2)
	MASK(0x5a5a, K3)
	MASK(0xff00, K4)
	MASK(0xf0f0, K5)
	MASK(0xcccc, K6)
	MASK(0xaaaa, K7)
	VMOVDQU32 (R8), Z0
	FOURS(Z0, Z8, Z16)
	CMPQ BX, $16
	JGT  more

	MASK(0x0ff0, K1)
	MASK(0x33cc, K2)
	MASK(0x55aa, K3)
	EIGHTS(Z0, Z8, Z16)
	ALL(Z0, Z8, Z16)
	STORE(Z0, Y0, Y8, 0)
	JMP done

more:
	VMOVDQU32 64(R8), Z1
	FOURS(Z1, Z9, Z17)
	CMPQ BX, $32
	JGT  more2

	MASK(0x0ff0, K1)
	MASK(0x33cc, K2)
	MASK(0x55aa, K3)
	EIGHTS(Z0, Z8, Z16)
	EIGHTS(Z1, Z9, Z17)
	ALL(Z0, Z8, Z16)
	ALL(Z1, Z9, Z17)
	APART(Z0, Z1, Z16, Z17)
	ALL(Z0, Z8, Z16)
	ALL(Z1, Z9, Z17)
	STORE(Z0, Y0, Y8, 0)
	STORE(Z1, Y1, Y9, 128)
	JMP done

more2:
	VMOVDQU32 128(R8), Z2
	VMOVDQU32 192(R8), Z3
	FOURS(Z2, Z10, Z18)
	FOURS(Z3, Z11, Z19)
	CMPQ BX, $64
	JGT  more4

	MASK(0x0ff0, K1)
	MASK(0x33cc, K2)
	MASK(0x55aa, K3)
	EIGHTS(Z0, Z8, Z16)
	EIGHTS(Z1, Z9, Z17)
	EIGHTS(Z2, Z10, Z18)
	EIGHTS(Z3, Z11, Z19)
#define ALL4 \
	ALL(Z0, Z8, Z16)  \
	ALL(Z1, Z9, Z17)  \
	ALL(Z2, Z10, Z18) \
	ALL(Z3, Z11, Z19)
	ALL4
	APART(Z0, Z1, Z16, Z17)
	APART(Z2, Z3, Z18, Z19)
	ALL4
	APART(Z0, Z3, Z16, Z17)
	APART(Z1, Z2, Z18, Z19)
	LESS(Z0, Z1, Z16)
	LESS(Z2, Z3, Z18)
	ALL4
	STORE(Z0, Y0, Y8, 0)
	STORE(Z1, Y1, Y9, 128)
	STORE(Z2, Y2, Y10, 256)
	STORE(Z3, Y3, Y11, 384)
	JMP done

more4:
	VMOVDQU32 256(R8), Z4
	VMOVDQU32 320(R8), Z5
	VMOVDQU32 384(R8), Z6
	VMOVDQU32 448(R8), Z7
	FOURS(Z4, Z12, Z20)
	FOURS(Z5, Z13, Z21)
	FOURS(Z6, Z14, Z22)
	FOURS(Z7, Z15, Z23)
	MASK(0x0ff0, K1)
	MASK(0x33cc, K2)
	MASK(0x55aa, K3)
	EIGHTS(Z0, Z8, Z16)
	EIGHTS(Z1, Z9, Z17)
	EIGHTS(Z2, Z10, Z18)
	EIGHTS(Z3, Z11, Z19)
	EIGHTS(Z4, Z12, Z20)
	EIGHTS(Z5, Z13, Z21)
	EIGHTS(Z6, Z14, Z22)
	EIGHTS(Z7, Z15, Z23)

	// Lists of one, two, four and eight vectors are sorted one after the other by the same code: AX counts. It would be four
	// times as long otherwise.
	XORL AX, AX

sorted:
	ALL4
	ALL(Z4, Z12, Z20)
	ALL(Z5, Z13, Z21)
	ALL(Z6, Z14, Z22)
	ALL(Z7, Z15, Z23)
	INCL AX
	CMPL AX, $2
	JLT  pairs
	JEQ  quarters
	CMPL AX, $3
	JEQ  halves
	STORE(Z0, Y0, Y8, 0)
	STORE(Z1, Y1, Y9, 128)
	STORE(Z2, Y2, Y10, 256)
	STORE(Z3, Y3, Y11, 384)
	STORE(Z4, Y4, Y12, 512)
	STORE(Z5, Y5, Y13, 640)
	STORE(Z6, Y6, Y14, 768)
	STORE(Z7, Y7, Y15, 896)
	JMP done

pairs:
	APART(Z0, Z1, Z16, Z17)
	APART(Z2, Z3, Z18, Z19)
	APART(Z4, Z5, Z20, Z21)
	APART(Z6, Z7, Z22, Z23)
	JMP sorted

quarters:
	APART(Z0, Z3, Z16, Z17)
	APART(Z1, Z2, Z18, Z19)
	APART(Z4, Z7, Z20, Z21)
	APART(Z5, Z6, Z22, Z23)
	LESS(Z0, Z1, Z16)
	LESS(Z2, Z3, Z18)
	LESS(Z4, Z5, Z20)
	LESS(Z6, Z7, Z22)
	JMP sorted

halves:
	APART(Z0, Z7, Z16, Z17)
	APART(Z1, Z6, Z18, Z19)
	APART(Z2, Z5, Z20, Z21)
	APART(Z3, Z4, Z22, Z23)
	LESS(Z0, Z2, Z16)
	LESS(Z1, Z3, Z17)
	LESS(Z4, Z6, Z20)
	LESS(Z5, Z7, Z21)
	LESS(Z0, Z1, Z16)
	LESS(Z2, Z3, Z18)
	LESS(Z4, Z5, Z20)
	LESS(Z6, Z7, Z22)
	JMP sorted

done:
	VZEROUPPER
	RET

// func occurringAVX512(masks *uint64, counts *uint32, n int)
TEXT ·occurringAVX512(SB), NOSPLIT, $0-24
	MOVQ masks+0(FP), DI
	MOVQ counts+8(FP), SI
	MOVQ n+16(FP), CX

	// Of each 64 counts a mask, of the rest one with 0 for those that there are not.
word:
	CMPQ CX, $64
	JLT  rest
	VMOVDQU32 (SI), Z0
	VMOVDQU32 64(SI), Z1
	VMOVDQU32 128(SI), Z2
	VMOVDQU32 192(SI), Z3
	VPTESTMD  Z0, Z0, K1
	VPTESTMD  Z1, Z1, K2
	VPTESTMD  Z2, Z2, K3
	VPTESTMD  Z3, Z3, K4
	KMOVW     K1, 0(DI)
	KMOVW     K2, 2(DI)
	KMOVW     K3, 4(DI)
	KMOVW     K4, 6(DI)
	ADDQ $256, SI
	ADDQ $8, DI
	SUBQ $64, CX
	JMP  word

rest:
	TESTQ CX, CX
	JEQ   done
	MOVQ  $0, (DI)

part:
	MOVL $0xffff, AX
	CMPQ CX, $16
	JGE  whole
	MOVL $1, AX
	SHLL CX, AX
	DECL AX

whole:
	KMOVW       AX, K2
	VMOVDQU32.Z (SI), K2, Z0
	VPTESTMD    Z0, Z0, K1
	KMOVW       K1, (DI)
	ADDQ        $64, SI
	ADDQ        $2, DI
	SUBQ        $16, CX
	JGT         part

done:
	VZEROUPPER
	RET
