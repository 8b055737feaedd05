#include "go_asm.h"
#include "textflag.h"

DATA ones<>+0(SB)/4, $0x01010101
GLOBL ones<>(SB), RODATA|NOPTR, $4

// Of each pixel green in the places of red and blue; green in the upper halves of both words; red in
// the upper half of the second word; the lower halves of the words.
DATA greens<>+0(SB)/8, $0x8005800580018001
DATA greens<>+8(SB)/8, $0x800d800d80098009
GLOBL greens<>(SB), RODATA|NOPTR, $16
DATA upperGreens<>+0(SB)/8, $0x0580058001800180
DATA upperGreens<>+8(SB)/8, $0x0d800d8009800980
GLOBL upperGreens<>(SB), RODATA|NOPTR, $16
DATA upperReds<>+0(SB)/8, $0x0480808000808080
DATA upperReds<>+8(SB)/8, $0x0c80808008808080
GLOBL upperReds<>(SB), RODATA|NOPTR, $16
DATA lower<>+0(SB)/4, $0x00ff00ff
GLOBL lower<>(SB), RODATA|NOPTR, $4

// Of a tile's multipliers those of green in the upper halves of both words, and that of red in the upper half of the second.
DATA fromGreen<>+0(SB)/4, $0x01800280
GLOBL fromGreen<>(SB), RODATA|NOPTR, $4
DATA fromRed<>+0(SB)/4, $0x00808080
GLOBL fromRed<>(SB), RODATA|NOPTR, $4

// func addGreenAVX2(row *byte, blocks int)
TEXT ·addGreenAVX2(SB), NOSPLIT, $0-16
	MOVQ row+0(FP), DI
	MOVQ blocks+8(FP), CX
	VBROADCASTI128 greens<>(SB), Y3

green:
	VMOVDQU (DI), Y0
	VPSHUFB Y3, Y0, Y1
	VPADDB Y1, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $32, DI
	DECQ CX
	JNZ  green
	VZEROUPPER
	RET

// Of four pixels the bytes R, G, B, and green for all of them but itself.
DATA packed<>+0(SB)/8, $0x0908060504020100
DATA packed<>+8(SB)/8, $0x808080800e0d0c0a
GLOBL packed<>(SB), RODATA|NOPTR, $16
DATA packedGreens<>+0(SB)/8, $0x8009058005018001
DATA packedGreens<>+8(SB)/8, $0x808080800d800d09
GLOBL packedGreens<>(SB), RODATA|NOPTR, $16

// func packAVX2(out, rgba *byte, blocks int, green bool)
//
// Both may be the same memory: what is written behind eight pixels has been read.
TEXT ·packAVX2(SB), NOSPLIT, $0-25
	MOVQ out+0(FP), DI
	MOVQ rgba+8(FP), SI
	MOVQ blocks+16(FP), CX
	VBROADCASTI128 packed<>(SB), Y2
	CMPB green+24(FP), $0
	JEQ  eight
	VBROADCASTI128 packedGreens<>(SB), Y3

green:
	VMOVDQU (SI), Y0
	VPSHUFB Y3, Y0, Y1
	VPSHUFB Y2, Y0, Y0
	VPADDB  Y1, Y0, Y0
	VMOVDQU X0, (DI)
	VEXTRACTI128 $1, Y0, 12(DI)
	ADDQ $32, SI
	ADDQ $24, DI
	DECQ CX
	JNZ  green
	VZEROUPPER
	RET

eight:
	VMOVDQU (SI), Y0
	VPSHUFB Y2, Y0, Y0
	VMOVDQU X0, (DI)
	VEXTRACTI128 $1, Y0, 12(DI)
	ADDQ $32, SI
	ADDQ $24, DI
	DECQ CX
	JNZ  eight
	VZEROUPPER
	RET

// func addColoursAVX2(row, multipliers *byte, tiles, blocks int)
//
// Multipliers are taken 8 times as large, so that the upper half of their product with 256 times a colour is the wanted
// part of the product.
TEXT ·addColoursAVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ multipliers+8(FP), SI
	MOVQ tiles+16(FP), DX
	MOVQ blocks+24(FP), R8
	VBROADCASTI128 upperGreens<>(SB), Y6
	VBROADCASTI128 upperReds<>(SB), Y7
	VPBROADCASTD lower<>(SB), Y8
	VPBROADCASTD fromGreen<>(SB), Y9
	VPBROADCASTD fromRed<>(SB), Y10

tile:
	VPBROADCASTD (SI), Y5
	VPSHUFB Y9, Y5, Y4
	VPSRAW  $5, Y4, Y4
	VPSHUFB Y10, Y5, Y5
	VPSRAW  $5, Y5, Y5
	MOVQ R8, CX

colour:
	VMOVDQU (DI), Y0
	VPSHUFB Y6, Y0, Y1
	VPMULHW Y4, Y1, Y1
	VPAND   Y8, Y1, Y1
	VPADDB  Y1, Y0, Y0
	VPSHUFB Y7, Y0, Y1
	VPMULHW Y5, Y1, Y1
	VPAND   Y8, Y1, Y1
	VPADDB  Y1, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $32, DI
	DECQ CX
	JNZ  colour
	ADDQ $4, SI
	DECQ DX
	JNZ  tile
	VZEROUPPER
	RET

// AVERAGE puts the mean of a and b, rounded down, into out. The instruction rounds up.
#define AVERAGE(a, b, out, odd) \
	VPXOR  a, b, odd    \
	VPAND  X15, odd, odd \
	VPAVGB a, b, out    \
	VPSUBB odd, out, out

#define AVERAGE8(a, b, out, odd) \
	VPXOR  a, b, odd    \
	VPAND  Y15, odd, odd \
	VPAVGB a, b, out    \
	VPSUBB odd, out, out

// In all kernels of predictors DI is the row, SI the pixel to its left, DX what is above that pixel.

// PIXEL loads above left into X1, above into X2 and above right into X3. The pixel to the left is in X0.
#define PIXEL \
	VMOVD (DX), X1  \
	VMOVD 4(DX), X2 \
	VMOVD 8(DX), X3

// STORE adds the prediction in X4 to the residual.
#define STORE \
	VMOVD  (DI), X5     \
	VPADDB X5, X4, X0   \
	VMOVD  X0, (DI)     \
	ADDQ   $4, DI       \
	ADDQ   $4, DX

// func predict1AVX2(row, left, up *byte, n int)
//
// Four pixels at a time: the sums within the vector, and the last pixel before it added to all.
TEXT ·predict1AVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ left+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ n+24(FP), CX
	VPBROADCASTD (SI), X3
	ADDQ CX, CX

left:
	VMOVDQU (DI), X0
	VPSLLDQ $4, X0, X1
	VPADDB  X1, X0, X0
	VPSLLDQ $8, X0, X1
	VPADDB  X1, X0, X0
	VPADDB  X3, X0, X0
	VMOVDQU X0, (DI)
	VPSHUFD $0xff, X0, X3
	ADDQ $16, DI
	DECQ CX
	JNZ  left
	RET

// func predict2AVX2(row, left, up *byte, n int)
TEXT ·predict2AVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ left+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ n+24(FP), CX

above:
	VMOVDQU 4(DX), Y0
	VPADDB (DI), Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $32, DI
	ADDQ $32, DX
	DECQ CX
	JNZ  above
	VZEROUPPER
	RET

// func predict3AVX2(row, left, up *byte, n int)
TEXT ·predict3AVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ left+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ n+24(FP), CX

above:
	VMOVDQU 8(DX), Y0
	VPADDB (DI), Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $32, DI
	ADDQ $32, DX
	DECQ CX
	JNZ  above
	VZEROUPPER
	RET

// func predict4AVX2(row, left, up *byte, n int)
TEXT ·predict4AVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ left+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ n+24(FP), CX

above:
	VMOVDQU (DX), Y0
	VPADDB (DI), Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $32, DI
	ADDQ $32, DX
	DECQ CX
	JNZ  above
	VZEROUPPER
	RET

// func predict8AVX2(row, left, up *byte, n int)
TEXT ·predict8AVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ left+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ n+24(FP), CX
	VPBROADCASTD ones<>(SB), Y15

above:
	VMOVDQU (DX), Y1
	VMOVDQU 4(DX), Y2
	AVERAGE8(Y1, Y2, Y0, Y3)
	VPADDB (DI), Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $32, DI
	ADDQ $32, DX
	DECQ CX
	JNZ  above
	VZEROUPPER
	RET

// func predict9AVX2(row, left, up *byte, n int)
TEXT ·predict9AVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ left+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ n+24(FP), CX
	VPBROADCASTD ones<>(SB), Y15

above:
	VMOVDQU 4(DX), Y1
	VMOVDQU 8(DX), Y2
	AVERAGE8(Y1, Y2, Y0, Y3)
	VPADDB (DI), Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $32, DI
	ADDQ $32, DX
	DECQ CX
	JNZ  above
	VZEROUPPER
	RET

// func predict5AVX2(row, left, up *byte, n int)
TEXT ·predict5AVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ left+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ n+24(FP), CX
	VPBROADCASTD ones<>(SB), X15
	VMOVD (SI), X0

pixel:
	PIXEL
	AVERAGE(X0, X3, X4, X6)
	AVERAGE(X4, X2, X4, X6)
	STORE
	DECQ CX
	JNZ  pixel
	RET

// func predict6AVX2(row, left, up *byte, n int)
TEXT ·predict6AVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ left+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ n+24(FP), CX
	VPBROADCASTD ones<>(SB), X15
	VMOVD (SI), X0

pixel:
	PIXEL
	AVERAGE(X0, X1, X4, X6)
	STORE
	DECQ CX
	JNZ  pixel
	RET

// func predict7AVX2(row, left, up *byte, n int)
TEXT ·predict7AVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ left+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ n+24(FP), CX
	VPBROADCASTD ones<>(SB), X15
	VMOVD (SI), X0

pixel:
	PIXEL
	AVERAGE(X0, X2, X4, X6)
	STORE
	DECQ CX
	JNZ  pixel
	RET

// func predict10AVX2(row, left, up *byte, n int)
TEXT ·predict10AVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ left+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ n+24(FP), CX
	VPBROADCASTD ones<>(SB), X15
	VMOVD (SI), X0

pixel:
	PIXEL
	AVERAGE(X2, X3, X7, X8)
	AVERAGE(X0, X1, X4, X6)
	AVERAGE(X4, X7, X4, X6)
	STORE
	DECQ CX
	JNZ  pixel
	RET

// func predict11AVX2(row, left, up *byte, n int)
TEXT ·predict11AVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ left+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ n+24(FP), CX
	VPBROADCASTD ones<>(SB), X15
	VMOVD (SI), X0

pixel:
	PIXEL
	VPSADBW X1, X2, X6 // how far left is
	VPSADBW X1, X0, X7 // how far above is
	VPCMPGTD X6, X7, X7
	VPBLENDVB X7, X0, X2, X4
	STORE
	DECQ CX
	JNZ  pixel
	RET

// func predict12AVX2(row, left, up *byte, n int)
TEXT ·predict12AVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ left+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ n+24(FP), CX
	VPBROADCASTD ones<>(SB), X15
	VMOVD (SI), X0

pixel:
	PIXEL
	VPMOVZXBW X1, X1
	VPMOVZXBW X2, X2
	VPSUBW X1, X2, X2
	VPMOVZXBW X0, X4
	VPADDW X2, X4, X4
	VPACKUSWB X4, X4, X4
	STORE
	DECQ CX
	JNZ  pixel
	RET

// func predict13AVX2(row, left, up *byte, n int)
TEXT ·predict13AVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ left+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ n+24(FP), CX
	VPBROADCASTD ones<>(SB), X15
	VMOVD (SI), X0

pixel:
	PIXEL
	AVERAGE(X0, X2, X4, X6)
	VPMOVZXBW X1, X1
	VPMOVZXBW X4, X4
	VPSUBW X1, X4, X6
	VPSRAW $15, X6, X7
	VPSUBW X7, X6, X6  // so that the half is rounded towards zero
	VPSRAW $1, X6, X6
	VPADDW X6, X4, X4
	VPACKUSWB X4, X4, X4
	STORE
	DECQ CX
	JNZ  pixel
	RET

// Kernels of whole tiles. DI is the row, DX what is above the pixel to its left, X0 that pixel, CX how many
// blocks of four pixels the tile has, at least 1; X15 holds ones, X14 all bits. They leave DI and DX behind the tile and X0 at its
// last pixel, with zeros above it.

// NEXT goes to the next block, or back.
#define NEXT(block) \
	ADDQ $16, DI \
	ADDQ $16, DX \
	DECQ CX      \
	JNZ  block   \
	RET

// BLOCK adds the predictions in X4 to four residuals.
#define BLOCK(block) \
	VPADDB  (DI), X4, X4   \
	VMOVDQU X4, (DI)       \
	VPSRLDQ $12, X4, X0    \
	NEXT(block)

// ONE adds the prediction in X4 to the residual at place at.
#define ONE(at) \
	VMOVD  at(DI), X5  \
	VPADDB X5, X4, X0  \
	VMOVD  X0, at(DI)

TEXT tile0<>(SB), NOSPLIT|NOFRAME, $0
	VPXOR  X4, X4, X4
	VPCMPEQD X4, X4, X4
	VPSLLD $24, X4, X6

block:
	VMOVDQA X6, X4
	BLOCK(block)

TEXT tile1<>(SB), NOSPLIT|NOFRAME, $0
block:
	VPSHUFD $0, X0, X0
	VMOVDQU (DI), X4
	VPSLLDQ $4, X4, X1
	VPADDB  X1, X4, X4
	VPSLLDQ $8, X4, X1
	VPADDB  X1, X4, X4
	VPADDB  X0, X4, X4
	VMOVDQU X4, (DI)
	VPSRLDQ $12, X4, X0
	NEXT(block)

TEXT tile2<>(SB), NOSPLIT|NOFRAME, $0
block:
	VMOVDQU 4(DX), X4
	BLOCK(block)

TEXT tile3<>(SB), NOSPLIT|NOFRAME, $0
block:
	VMOVDQU 8(DX), X4
	BLOCK(block)

TEXT tile4<>(SB), NOSPLIT|NOFRAME, $0
block:
	VMOVDQU (DX), X4
	BLOCK(block)

// Of four pixels that need the one to their left, all are computed four times: each time one more of them is right,
// as it has the right one to its left. This takes fewer instructions than to take the pixels out of the vectors.

// LEFT puts X4, of which the first pixels are right, one pixel to the right. X1 has the pixel to the left of all in its last
// place.
#define LEFT VPALIGNR $12, X1, X4, X4

// Means, rounded down, are computed as the complement of the mean of complements, rounded up, which is an instruction.
// The complement of mean + residual is that of the mean less the residual. X14 has all bits set.

// COMPLEMENTS begins a block whose results are complements.
#define COMPLEMENTS \
	VPXOR   X14, X0, X4  \
	VPSHUFD $0, X4, X1   \
	VMOVDQU (DI), X5

// RESULTS stores the complements of X4.
#define RESULTS(block) \
	VPXOR   X14, X4, X4  \
	VMOVDQU X4, (DI)     \
	VPSRLDQ $12, X4, X0  \
	NEXT(block)

// MEAN is the next result of one mean, with the pixels of X2, MEANS of another one of that, with those of X3.
#define MEAN \
	VPAVGB X2, X4, X4  \
	VPSUBB X5, X4, X4

#define MEANS \
	VPAVGB X2, X4, X4  \
	VPAVGB X3, X4, X4  \
	VPSUBB X5, X4, X4

TEXT tile5<>(SB), NOSPLIT|NOFRAME, $0
block:
	COMPLEMENTS
	VPXOR 8(DX), X14, X2
	VPXOR 4(DX), X14, X3
	MEANS
	LEFT
	MEANS
	LEFT
	MEANS
	LEFT
	MEANS
	RESULTS(block)

TEXT tile6<>(SB), NOSPLIT|NOFRAME, $0
block:
	COMPLEMENTS
	VPXOR (DX), X14, X2
	MEAN
	LEFT
	MEAN
	LEFT
	MEAN
	LEFT
	MEAN
	RESULTS(block)

TEXT tile7<>(SB), NOSPLIT|NOFRAME, $0
block:
	COMPLEMENTS
	VPXOR 4(DX), X14, X2
	MEAN
	LEFT
	MEAN
	LEFT
	MEAN
	LEFT
	MEAN
	RESULTS(block)

TEXT tile8<>(SB), NOSPLIT|NOFRAME, $0
block:
	VMOVDQU (DX), X1
	VMOVDQU 4(DX), X2
	AVERAGE(X1, X2, X4, X6)
	BLOCK(block)

TEXT tile9<>(SB), NOSPLIT|NOFRAME, $0
block:
	VMOVDQU 4(DX), X1
	VMOVDQU 8(DX), X2
	AVERAGE(X1, X2, X4, X6)
	BLOCK(block)

TEXT tile10<>(SB), NOSPLIT|NOFRAME, $0
block:
	COMPLEMENTS
	VPXOR  (DX), X14, X2
	VPXOR  4(DX), X14, X3
	VPXOR  8(DX), X14, X6
	VPAVGB X6, X3, X3
	MEANS
	LEFT
	MEANS
	LEFT
	MEANS
	LEFT
	MEANS
	RESULTS(block)

#define SELECTED(at) \
	VMOVD     at(DX), X1     \
	VMOVD     4+at(DX), X2   \
	VPSADBW   X1, X2, X6     \
	VPSADBW   X1, X0, X7     \
	VPCMPGTD  X6, X7, X7     \
	VPBLENDVB X7, X0, X2, X4 \
	ONE(at)

TEXT tile11<>(SB), NOSPLIT|NOFRAME, $0
block:
	SELECTED(0)
	SELECTED(4)
	SELECTED(8)
	SELECTED(12)
	NEXT(block)

// FULL adds to the pixels to the left by how much above is more than above left, in X2, takes away by how much it is less, in
// X3, of which one is zero, and adds the residuals.
#define FULL \
	VPADDUSB X2, X4, X4  \
	VPSUBUSB X3, X4, X4  \
	VPADDB   X5, X4, X4

TEXT tile12<>(SB), NOSPLIT|NOFRAME, $0
block:
	VPSHUFD  $0, X0, X1
	VMOVDQU  (DI), X5
	VMOVDQU  (DX), X3
	VMOVDQU  4(DX), X6
	VPSUBUSB X3, X6, X2
	VPSUBUSB X6, X3, X3
	VMOVDQA  X1, X4
	FULL
	LEFT
	FULL
	LEFT
	FULL
	LEFT
	FULL
	VMOVDQU  X4, (DI)
	VPSRLDQ  $12, X4, X0
	NEXT(block)

// HALF takes the means in X4, which are complements like all here, as far again from above left. Half of a difference is the
// mean, rounded up, of zero, X7, and one less than the difference: X6 and X3 are above left less and plus one.
#define HALF \
	VPAVGB   X2, X4, X4  \
	VPSUBUSB X4, X6, X8  \
	VPSUBUSB X3, X4, X9  \
	VPAVGB   X7, X8, X8  \
	VPAVGB   X7, X9, X9  \
	VPSUBUSB X8, X4, X4  \
	VPADDUSB X9, X4, X4  \
	VPSUBB   X5, X4, X4

TEXT tile13<>(SB), NOSPLIT|NOFRAME, $0
	VPXOR X7, X7, X7

block:
	COMPLEMENTS
	VPXOR    4(DX), X14, X2
	VPXOR    (DX), X14, X3
	VPSUBUSB X15, X3, X6
	VPADDUSB X15, X3, X3
	HALF
	LEFT
	HALF
	LEFT
	HALF
	LEFT
	HALF
	RESULTS(block)

DATA tileKernels<>+0(SB)/8, $tile0<>(SB)
DATA tileKernels<>+8(SB)/8, $tile1<>(SB)
DATA tileKernels<>+16(SB)/8, $tile2<>(SB)
DATA tileKernels<>+24(SB)/8, $tile3<>(SB)
DATA tileKernels<>+32(SB)/8, $tile4<>(SB)
DATA tileKernels<>+40(SB)/8, $tile5<>(SB)
DATA tileKernels<>+48(SB)/8, $tile6<>(SB)
DATA tileKernels<>+56(SB)/8, $tile7<>(SB)
DATA tileKernels<>+64(SB)/8, $tile8<>(SB)
DATA tileKernels<>+72(SB)/8, $tile9<>(SB)
DATA tileKernels<>+80(SB)/8, $tile10<>(SB)
DATA tileKernels<>+88(SB)/8, $tile11<>(SB)
DATA tileKernels<>+96(SB)/8, $tile12<>(SB)
DATA tileKernels<>+104(SB)/8, $tile13<>(SB)
GLOBL tileKernels<>(SB), RODATA, $112

// func predictTilesAVX2(row, up, modes *byte, tiles, blocks int)
//
// The modes, 4 bytes apart, are below 14 in their lowest four bits. Tiles of 4 blocks and more are seldom, so a
// kernel for each mode is called tile by tile.
TEXT ·predictTilesAVX2(SB), NOSPLIT, $8-40
	MOVQ row+0(FP), DI
	MOVQ up+8(FP), DX
	MOVQ modes+16(FP), SI
	MOVQ tiles+24(FP), R8
	MOVQ blocks+32(FP), R9
	VMOVD -4(DI), X0
	VPBROADCASTD ones<>(SB), X15
	VPCMPEQD X14, X14, X14
	LEAQ tileKernels<>(SB), R10

tile:
	MOVBLZX (SI), AX
	ANDL $15, AX
	MOVQ R9, CX
	MOVQ (R10)(AX*8), AX
	CALL AX
	ADDQ $4, SI
	DECQ R8
	JNZ  tile
	RET
