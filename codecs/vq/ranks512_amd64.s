#include "go_asm.h"
#include "textflag.h"

// The least of the sixteen lanes of Z1, into AX.
#define LEAST16 \
	VEXTRACTI64X4 $1, Z1, Y2 \
	VPMINUD Y2, Y1, Y1       \
	VEXTRACTI128 $1, Y1, X2  \
	VPMINUD X2, X1, X1       \
	VPSHUFD $0x4e, X1, X2    \
	VPMINUD X2, X1, X1       \
	VPSHUFD $0xb1, X1, X2    \
	VPMINUD X2, X1, X1       \
	VMOVD   X1, AX

// The sum of the sixteen lanes of Z4, into AX.
#define SUM16 \
	VEXTRACTI64X4 $1, Z4, Y2 \
	VPADDD Y2, Y4, Y4        \
	VEXTRACTI128 $1, Y4, X2  \
	VPADDD X2, X4, X4        \
	VPSHUFD $0x4e, X4, X2    \
	VPADDD X2, X4, X4        \
	VPSHUFD $0xb1, X4, X2    \
	VPADDD X2, X4, X4        \
	VMOVD X4, AX

// func sideKeysAVX512(keys, up, left *uint32, sixteens int, minima *[16]uint32) uint32
TEXT ·sideKeysAVX512(SB), NOSPLIT, $0-44
	MOVQ keys+0(FP), DI
	MOVQ up+8(FP), SI
	MOVQ left+16(FP), DX
	MOVQ sixteens+24(FP), CX
	MOVQ minima+32(FP), R8
	VPTERNLOGD $0xff, Z1, Z1, Z1
sum:
	VMOVDQU32 (SI), Z0
	VPADDD (DX), Z0, Z0
	VMOVDQU32 Z0, (DI)
	VPMINUD Z0, Z1, Z1
	ADDQ $64, SI
	ADDQ $64, DX
	ADDQ $64, DI
	DECQ CX
	JNZ  sum
	VMOVDQU32 Z1, (R8)
	LEAST16
	MOVL AX, ret+40(FP)
	VZEROUPPER
	RET

// The edges beside a block from R10 and R11 into Z8 to Z11, what is the same for all keys from R12 into Z12, and the lanes of the last
// sixteen codewords that there are from R13 into K1. Z1 and Z2 become all ones.
#define NEIGHBOURS \
	VPBROADCASTD R10, Z8         \
	SHRQ $32, R10                \
	VPBROADCASTD R10, Z9         \
	VPBROADCASTD R11, Z10        \
	SHRQ $32, R11                \
	VPBROADCASTD R11, Z11        \
	VPBROADCASTD R12, Z12        \
	KMOVW R13, K1                \
	VPTERNLOGD $0xff, Z1, Z1, Z1 \
	VMOVDQA64 Z1, Z2

// The keys of sixteen codewords from their bases, into Z0; PRODUCTS adds the products of their
// edges. SI, DX and DI are the edges, bases and keys of the last sixteen, R9 how many bytes of keys
// there are from these to those, as a negative number.
#define EDGEKEYS(PRODUCTS) \
	VMOVDQA32 Z12, Z0    \
	PRODUCTS             \
	VPSLLD $13, Z0, Z0   \
	VPADDD (DX)(R9*1), Z0, Z0

#define ONEQUAD \
	VPDPBUSD (SI)(R9*2), Z8, Z0    \
	VPDPBUSD 64(SI)(R9*2), Z10, Z0

#define TWOQUADS \
	VPDPBUSD (SI)(R9*4), Z8, Z0     \
	VPDPBUSD 64(SI)(R9*4), Z9, Z0   \
	VPDPBUSD 128(SI)(R9*4), Z10, Z0 \
	VPDPBUSD 192(SI)(R9*4), Z11, Z0

#define EDGELOOP(PRODUCTS, TIMES, FROM, LAST) \
	LEAQ (SI)(CX*TIMES), SI \
	TESTQ R9, R9            \
	JZ   LAST               \
FROM:                           \
	EDGEKEYS(PRODUCTS)      \
	VMOVDQU32 Z0, (DI)(R9*1) \
	VPMINUD Z0, Z1, Z1      \
	ADDQ $64, R9            \
	JNZ  FROM               \
LAST:                           \
	EDGEKEYS(PRODUCTS)

// func edgeKeysVNNI(keys *uint32, words *byte, base *uint32, sixteens int, last uint32, quads int, lower, right uint64, half uint32, minima *[16]uint32) uint32
TEXT ·edgeKeysVNNI(SB), NOSPLIT, $0-84
	MOVQ keys+0(FP), DI
	MOVQ words+8(FP), SI
	MOVQ base+16(FP), DX
	MOVQ sixteens+24(FP), CX
	MOVQ lower+48(FP), R10
	MOVQ right+56(FP), R11
	MOVL half+64(FP), R12
	MOVL last+32(FP), R13
	NEIGHBOURS
	DECQ CX
	SHLQ $6, CX
	ADDQ CX, DX
	ADDQ CX, DI
	MOVQ CX, R9
	NEGQ R9
	CMPQ quads+40(FP), $1
	JNE  two
	EDGELOOP(ONEQUAD, 2, one16, onelast)
	JMP  last16
two:
	EDGELOOP(TWOQUADS, 4, two16, twolast)
last16:
	VMOVDQA32 Z0, K1, Z2 // all ones behind the codewords
	VMOVDQU32 Z2, (DI)
	VPMINUD Z2, Z1, Z1
	MOVQ minima+72(FP), R8
	VMOVDQU32 Z1, (R8)
	LEAST16
	MOVL AX, ret+80(FP)
	VZEROUPPER
	RET

// Counts in R12 the keys of Z0 that are less than those of Z3, and keeps the least of them by lanes in Z1.
#define PLACES \
	VPMINUD Z0, Z1, Z1       \
	VPCMPUD $1, Z3, Z0, K3   \
	KMOVW   K3, AX           \
	POPCNTL AX, AX           \
	ADDL    AX, R12

// The key of the codeword of lane K2 beside R9 into all lanes of Z3, and then all keys but those of the last sixteen codewords,
// which are left in Z0; R11 is where R9 begins.
#define PLACELOOP(PRODUCTS, FROM, LAST) \
	EDGEKEYS(PRODUCTS)            \
	VPCOMPRESSD.Z Z0, K2, Z3      \
	VPBROADCASTD X3, Z3           \
	MOVQ R11, R9                  \
	TESTQ R9, R9                  \
	JZ   LAST                     \
FROM:                                 \
	EDGEKEYS(PRODUCTS)            \
	PLACES                        \
	ADDQ $64, R9                  \
	JNZ  FROM                     \
LAST:                                 \
	EDGEKEYS(PRODUCTS)

// func edgePlacesVNNI(places *uint16, leasts *uint32, row, above, left *uint16, blocks int, neighbours *neighbour, words *byte, base *uint32, sixteens int, last uint32, quads int)
//
//	DI, R8        places and least keys
//	R14, R15, BP  the index of a block, and those above and to the left, 0 if there is none
//	BX            blocks that are left
//	R13           neighbours
//	R10           by how much all keys of a block are too great
TEXT ·edgePlacesVNNI(SB), NOSPLIT, $8-96
	MOVQ places+0(FP), DI
	MOVQ leasts+8(FP), R8
	MOVQ row+16(FP), R14
	MOVQ above+24(FP), R15
	MOVQ left+32(FP), BP
	MOVQ neighbours+48(FP), R13
	MOVQ words+56(FP), SI
	MOVQ base+64(FP), DX
	MOVQ sixteens+72(FP), BX
	MOVL last+80(FP), AX
	KMOVW AX, K1
	DECQ BX
	SHLQ $6, BX
	ADDQ BX, DX
	MOVQ BX, R11
	NEGQ R11
	LEAQ (SI)(BX*2), SI
	CMPQ quads+88(FP), $1
	JEQ  start
	LEAQ (SI)(BX*2), SI
start:
	MOVQ blocks+40(FP), BX
	VPXORQ Z8, Z8, Z8
	VPXORQ Z9, Z9, Z9
	VPXORQ Z10, Z10, Z10
	VPXORQ Z11, Z11, Z11
block:
	XORL R10, R10
	XORL R12, R12
	TESTQ BP, BP
	JZ   above
	MOVWLZX (BP), AX
	ADDQ $2, BP
	IMUL3Q $neighbour__size, AX, AX
	ADDQ R13, AX
	VPBROADCASTD neighbour_right(AX), Z10
	VPBROADCASTD (neighbour_right+4)(AX), Z11
	MOVL neighbour_rightNorm(AX), R10
	MOVL neighbour_rightSum(AX), R12
above:
	TESTQ R15, R15
	JZ   edges
	MOVWLZX (R15), AX
	ADDQ $2, R15
	IMUL3Q $neighbour__size, AX, AX
	ADDQ R13, AX
	VPBROADCASTD neighbour_lower(AX), Z8
	VPBROADCASTD (neighbour_lower+4)(AX), Z9
	ADDL neighbour_lowerNorm(AX), R10
	ADDL neighbour_lowerSum(AX), R12
edges:
	IMUL3L $127, R12, R12
	LEAL 1(R10), AX
	SHRL $1, AX
	SUBL R12, AX
	VPBROADCASTD AX, Z12
	ANDL $1, R10
	SHLL $const_indexBits, R10
	MOVWLZX (R14), CX
	ADDQ $2, R14
	MOVL CX, R9
	ANDL $15, CX
	MOVL $1, AX
	SHLXL CX, AX, AX
	KMOVW AX, K2
	SHRL $4, R9
	SHLQ $6, R9
	ADDQ R11, R9
	XORL R12, R12
	VPTERNLOGD $0xff, Z1, Z1, Z1
	VPTERNLOGD $0xff, Z2, Z2, Z2
	CMPQ quads+88(FP), $1
	JNE  two
	PLACELOOP(ONEQUAD, one16, onelast)
	JMP  last16
two:
	PLACELOOP(TWOQUADS, two16, twolast)
last16:
	VMOVDQA32 Z0, K1, Z2 // all ones behind the codewords
	VMOVDQA64 Z2, Z0
	PLACES
	MOVW R12, (DI)
	LEAST16
	SUBL R10, AX
	MOVL AX, (R8)
	ADDQ $2, DI
	ADDQ $4, R8
	DECQ BX
	JNZ  block
	VZEROUPPER
	RET

// func nextAVX512(keys *uint32, sixteens int, from uint32) uint32
TEXT ·nextAVX512(SB), NOSPLIT, $0-28
	MOVQ keys+0(FP), SI
	MOVQ sixteens+8(FP), CX
	MOVL from+16(FP), AX
	VPBROADCASTD AX, Z3
	VPTERNLOGD $0xff, Z1, Z1, Z1
next:
	VMOVDQU32 (SI), Z0
	VPSUBD Z3, Z0, Z0
	VPMINUD Z0, Z1, Z1
	ADDQ $64, SI
	DECQ CX
	JNZ  next
	LEAST16
	MOVL AX, ret+24(FP)
	VZEROUPPER
	RET

// func rankAVX512(up, left *uint32, sixteens int, mine uint32) (lesser int, least uint32)
TEXT ·rankAVX512(SB), NOSPLIT, $0-44
	MOVQ up+0(FP), SI
	MOVQ left+8(FP), DX
	MOVQ sixteens+16(FP), CX
	MOVL mine+24(FP), AX
	VPBROADCASTD AX, Z3
	VPTERNLOGD $0xff, Z1, Z1, Z1
	VMOVDQA64 Z1, Z5       // -1
	VPXORQ Z4, Z4, Z4      // -1 for every side key that is less
count:
	VMOVDQU32 (SI), Z0
	VPADDD (DX), Z0, Z0
	VPMINUD Z0, Z1, Z1
	VPCMPUD $1, Z3, Z0, K1
	VPADDD Z5, Z4, K1, Z4
	ADDQ $64, SI
	ADDQ $64, DX
	DECQ CX
	JNZ  count
	LEAST16
	MOVL AX, least+40(FP)
	SUM16
	NEGL AX
	MOVQ AX, lesser+32(FP)
	VZEROUPPER
	RET

// func belowAVX512(keys *uint32, sixteens int, t uint32) int
TEXT ·belowAVX512(SB), NOSPLIT, $0-32
	MOVQ keys+0(FP), SI
	MOVQ sixteens+8(FP), CX
	MOVL t+16(FP), AX
	VPBROADCASTD AX, Z3
	XORL DX, DX
below:
	VPCMPUD $6, (SI), Z3, K1 // t is greater
	KMOVW K1, AX
	POPCNTL AX, AX
	ADDQ AX, DX
	ADDQ $64, SI
	DECQ CX
	JNZ  below
	MOVQ DX, ret+24(FP)
	VZEROUPPER
	RET

// func compressAVX512(out, keys *uint32, sixteens int, lo, span uint32) int
TEXT ·compressAVX512(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ keys+8(FP), SI
	MOVQ sixteens+16(FP), CX
	MOVL lo+24(FP), AX
	VPBROADCASTD AX, Z3
	MOVL span+28(FP), AX
	VPBROADCASTD AX, Z4
	VPTERNLOGD $0xff, Z5, Z5, Z5
	MOVQ DI, R8
from:
	VMOVDQU32 (SI), Z0
	VPSUBD Z3, Z0, Z1
	VPCMPUD $1, Z4, Z1, K1
	VMOVDQA64 Z5, Z2
	VPCOMPRESSD Z0, K1, Z2 // with all ones behind the keys
	VMOVDQU32 Z2, (DI)
	KMOVW K1, AX
	POPCNTL AX, AX
	LEAQ (DI)(AX*4), DI
	ADDQ $64, SI
	DECQ CX
	JNZ  from
	VMOVDQU32 Z5, (DI)
	SUBQ R8, DI
	SHRQ $2, DI
	MOVQ DI, ret+32(FP)
	VZEROUPPER
	RET

// Counts in Z1, for each lane of Z0, the key n lanes further on where that is less.
#define LESS(n, K, T, C) \
	VALIGND $n, Z0, Z0, T  \
	VPCMPUD $1, Z0, T, K   \
	VPSUBD  Z5, C, K, C

// func selectAVX512(keys *uint32, r uint32) uint32
TEXT ·selectAVX512(SB), NOSPLIT, $0-20
	MOVQ keys+0(FP), SI
	MOVL r+8(FP), AX
	VPBROADCASTD AX, Z4
	VMOVDQU32 (SI), Z0
	VPTERNLOGD $0xff, Z5, Z5, Z5 // -1
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	LESS(1, K1, Z6, Z1)
	LESS(2, K2, Z7, Z2)
	LESS(3, K3, Z8, Z1)
	LESS(4, K4, Z9, Z2)
	LESS(5, K1, Z6, Z1)
	LESS(6, K2, Z7, Z2)
	LESS(7, K3, Z8, Z1)
	LESS(8, K4, Z9, Z2)
	LESS(9, K1, Z6, Z1)
	LESS(10, K2, Z7, Z2)
	LESS(11, K3, Z8, Z1)
	LESS(12, K4, Z9, Z2)
	LESS(13, K1, Z6, Z1)
	LESS(14, K2, Z7, Z2)
	LESS(15, K3, Z8, Z1)
	VPADDD Z2, Z1, Z1
	VPCMPEQD Z4, Z1, K1
	VPCOMPRESSD Z0, K1, Z5 // all ones where no lane has r less
	VMOVD X5, AX
	MOVL AX, ret+16(FP)
	VZEROUPPER
	RET
