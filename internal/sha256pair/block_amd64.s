#include "textflag.h"

// K of FIPS 180-4, 4.2.2: 32 bits of the fractional parts of the cube roots of the first
// 64 primes.
DATA k<>+0x00(SB)/8, $0x71374491428a2f98
DATA k<>+0x08(SB)/8, $0xe9b5dba5b5c0fbcf
DATA k<>+0x10(SB)/8, $0x59f111f13956c25b
DATA k<>+0x18(SB)/8, $0xab1c5ed5923f82a4
DATA k<>+0x20(SB)/8, $0x12835b01d807aa98
DATA k<>+0x28(SB)/8, $0x550c7dc3243185be
DATA k<>+0x30(SB)/8, $0x80deb1fe72be5d74
DATA k<>+0x38(SB)/8, $0xc19bf1749bdc06a7
DATA k<>+0x40(SB)/8, $0xefbe4786e49b69c1
DATA k<>+0x48(SB)/8, $0x240ca1cc0fc19dc6
DATA k<>+0x50(SB)/8, $0x4a7484aa2de92c6f
DATA k<>+0x58(SB)/8, $0x76f988da5cb0a9dc
DATA k<>+0x60(SB)/8, $0xa831c66d983e5152
DATA k<>+0x68(SB)/8, $0xbf597fc7b00327c8
DATA k<>+0x70(SB)/8, $0xd5a79147c6e00bf3
DATA k<>+0x78(SB)/8, $0x1429296706ca6351
DATA k<>+0x80(SB)/8, $0x2e1b213827b70a85
DATA k<>+0x88(SB)/8, $0x53380d134d2c6dfc
DATA k<>+0x90(SB)/8, $0x766a0abb650a7354
DATA k<>+0x98(SB)/8, $0x92722c8581c2c92e
DATA k<>+0xa0(SB)/8, $0xa81a664ba2bfe8a1
DATA k<>+0xa8(SB)/8, $0xc76c51a3c24b8b70
DATA k<>+0xb0(SB)/8, $0xd6990624d192e819
DATA k<>+0xb8(SB)/8, $0x106aa070f40e3585
DATA k<>+0xc0(SB)/8, $0x1e376c0819a4c116
DATA k<>+0xc8(SB)/8, $0x34b0bcb52748774c
DATA k<>+0xd0(SB)/8, $0x4ed8aa4a391c0cb3
DATA k<>+0xd8(SB)/8, $0x682e6ff35b9cca4f
DATA k<>+0xe0(SB)/8, $0x78a5636f748f82ee
DATA k<>+0xe8(SB)/8, $0x8cc7020884c87814
DATA k<>+0xf0(SB)/8, $0xa4506ceb90befffa
DATA k<>+0xf8(SB)/8, $0xc67178f2bef9a3f7
GLOBL k<>(SB), RODATA|NOPTR, $256

// Words are big-endian in a message.
DATA flip<>+0x00(SB)/8, $0x0405060700010203
DATA flip<>+0x08(SB)/8, $0x0c0d0e0f08090a0b
GLOBL flip<>(SB), RODATA|NOPTR, $16

// The rounds want the words of the state as ABEF and CDGH.
#define LOADSTATE(from, abef, cdgh) \
	MOVOU   (from), abef;      \
	MOVOU   16(from), cdgh;    \
	PSHUFD  $0xb1, abef, abef; \
	PSHUFD  $0x1b, cdgh, cdgh; \
	MOVOA   abef, X0;          \
	PALIGNR $8, cdgh, abef;    \
	PBLENDW $0xf0, X0, cdgh

#define STORESTATE(to, abef, cdgh) \
	PSHUFD  $0x1b, abef, abef; \
	PSHUFD  $0xb1, cdgh, cdgh; \
	MOVOA   abef, X0;          \
	PBLENDW $0xf0, cdgh, abef; \
	PALIGNR $8, X0, cdgh;      \
	MOVOU   abef, (to);        \
	MOVOU   cdgh, 16(to)

// Words 4i to 4i+3 of a message.
#define LOAD(i, from, w) \
	MOVOU  (16*i)(from), w; \
	PSHUFB X15, w

// Rounds 4i to 4i+3 of a message, whose words of the schedule are w. SHA256RNDS2 does two
// rounds, with the low half of X0, and puts the new ABEF in the place of CDGH.
#define ROUNDS(i, abef, cdgh, w) \
	MOVOA       w, X0;          \
	PADDD       (16*i)(AX), X0; \
	SHA256RNDS2 X0, abef, cdgh; \
	PSHUFD      $0x0e, X0, X0;  \
	SHA256RNDS2 X0, cdgh, abef

// The schedule of a message (6.2.2, step 1). Its next four words take the place of w0,
// which SHA256MSG1 has begun.
#define SCHEDULE(w0, w8, w12) \
	MOVOA      w12, X14;    \
	PALIGNR    $4, w8, X14; \
	PADDD      X14, w0;     \
	SHA256MSG2 w12, w0

// Rounds of both messages with words 12 to 15 of the last 16 of the schedule.
#define BOTH(i, v0, v8, v12, w0, w8, w12) \
	ROUNDS(i, X1, X2, v12); \
	SCHEDULE(v0, v8, v12);  \
	SHA256MSG1 v12, v8;     \
	ROUNDS(i, X7, X8, w12); \
	SCHEDULE(w0, w8, w12);  \
	SHA256MSG1 w12, w8

// func pairSHANI(s, t *[8]uint32, p, q *byte, blocks int)
//
//	       state  saved   words
//	s, p   X1 X2   0(SP)  X3 X4 X5 X6
//	t, q   X7 X8  32(SP)  X9 X10 X11 X12
TEXT ·pairSHANI(SB), NOSPLIT, $64-40
	MOVQ  s+0(FP), DI
	MOVQ  t+8(FP), R8
	MOVQ  p+16(FP), SI
	MOVQ  q+24(FP), R9
	MOVQ  blocks+32(FP), CX
	LEAQ  k<>(SB), AX
	MOVOU flip<>(SB), X15
	LOADSTATE(DI, X1, X2)
	LOADSTATE(R8, X7, X8)

loop:
	MOVOU X1, 0(SP)
	MOVOU X2, 16(SP)
	MOVOU X7, 32(SP)
	MOVOU X8, 48(SP)

	LOAD(0, SI, X3)
	LOAD(0, R9, X9)
	ROUNDS(0, X1, X2, X3)
	ROUNDS(0, X7, X8, X9)
	LOAD(1, SI, X4)
	LOAD(1, R9, X10)
	ROUNDS(1, X1, X2, X4)
	ROUNDS(1, X7, X8, X10)
	SHA256MSG1 X4, X3
	SHA256MSG1 X10, X9
	LOAD(2, SI, X5)
	LOAD(2, R9, X11)
	ROUNDS(2, X1, X2, X5)
	ROUNDS(2, X7, X8, X11)
	SHA256MSG1 X5, X4
	SHA256MSG1 X11, X10
	LOAD(3, SI, X6)
	LOAD(3, R9, X12)

	BOTH(3, X3, X5, X6, X9, X11, X12)
	BOTH(4, X4, X6, X3, X10, X12, X9)
	BOTH(5, X5, X3, X4, X11, X9, X10)
	BOTH(6, X6, X4, X5, X12, X10, X11)
	BOTH(7, X3, X5, X6, X9, X11, X12)
	BOTH(8, X4, X6, X3, X10, X12, X9)
	BOTH(9, X5, X3, X4, X11, X9, X10)
	BOTH(10, X6, X4, X5, X12, X10, X11)
	BOTH(11, X3, X5, X6, X9, X11, X12)
	BOTH(12, X4, X6, X3, X10, X12, X9)
	ROUNDS(13, X1, X2, X4)
	SCHEDULE(X5, X3, X4)
	ROUNDS(13, X7, X8, X10)
	SCHEDULE(X11, X9, X10)
	ROUNDS(14, X1, X2, X5)
	SCHEDULE(X6, X4, X5)
	ROUNDS(14, X7, X8, X11)
	SCHEDULE(X12, X10, X11)
	ROUNDS(15, X1, X2, X6)
	ROUNDS(15, X7, X8, X12)

	MOVOU 0(SP), X3
	MOVOU 16(SP), X4
	MOVOU 32(SP), X9
	MOVOU 48(SP), X10
	PADDD X3, X1
	PADDD X4, X2
	PADDD X9, X7
	PADDD X10, X8

	ADDQ $64, SI
	ADDQ $64, R9
	DECQ CX
	JNZ  loop

	STORESTATE(DI, X1, X2)
	STORESTATE(R8, X7, X8)
	RET

// x becomes the sum modulo 2 of x rotated by a, rotated by b and shifted by c: the functions
// sigma of 4.1.2.
#define SIGMA(a, b, c, x) \
	VPRORD     $a, x, Y23;        \
	VPRORD     $b, x, Y24;        \
	VPSRLD     $c, x, x;          \
	VPTERNLOGD $0x96, Y23, Y24, x

// The schedule of both messages, one in each half of the registers. The last two of four
// words depend on the first two.
#define SCHEDULE512(w0, w4, w8, w12) \
	VPALIGNR $4, w0, w4, Y21;  \
	VPALIGNR $4, w8, w12, Y22; \
	SIGMA(7, 18, 3, Y21);      \
	VPADDD   Y22, w0, w0;      \
	VPADDD   Y21, w0, w0;      \
	VPSRLDQ  $8, w12, Y22;     \
	SIGMA(17, 19, 10, Y22);    \
	VPADDD   Y22, w0, w0;      \
	VPSLLDQ  $8, w0, Y22;      \
	SIGMA(17, 19, 10, Y22);    \
	VPADDD   Y22, w0, w0

// What rounds 4i to 4i+3 want of the words and constants.
#define SUMMANDS(i, w) \
	VBROADCASTI32X4 (16*i)(AX), Y21;   \
	VPADDD          w, Y21, Y21;       \
	VMOVDQU32       Y21, (32*i)(SP)

#define LOAD512(i, x, y) \
	VMOVDQU32    (16*i)(SI), x;        \
	VINSERTI32X4 $1, (16*i)(R9), y, y; \
	VPSHUFB      Y20, y, y;            \
	SUMMANDS(i, y)

// Rounds 4i to 4i+3 of both messages.
#define ROUNDS512(i) \
	VMOVQ       (32*i)(SP), X0;    \
	SHA256RNDS2 X0, X1, X2;        \
	VMOVQ       (32*i+16)(SP), X0; \
	SHA256RNDS2 X0, X3, X4;        \
	VMOVQ       (32*i+8)(SP), X0;  \
	SHA256RNDS2 X0, X2, X1;        \
	VMOVQ       (32*i+24)(SP), X0; \
	SHA256RNDS2 X0, X4, X3

// Rounds 4i to 4i+3, and the schedule for rounds 4j to 4j+3.
#define STEP(i, j, w0, w4, w8, w12) \
	ROUNDS512(i);                  \
	SCHEDULE512(w0, w4, w8, w12);  \
	SUMMANDS(j, w0)

// func pairAVX512(s, t *[8]uint32, p, q *byte, blocks int)
//
// Intel's processors do rounds and schedule of SHA-256 with the same port, which two
// messages keep busy; vectors take the schedule off it. They are all above Y15: so the
// instructions without VEX, such as SHA256RNDS2, find no upper halves that they had to
// keep.
//
//	X1 X2  state of s   X5 X6  saved   Y16 Y17 Y18 Y19  words of both messages
//	X3 X4  state of t   X7 X8  saved   Y20              flip
TEXT ·pairAVX512(SB), $512-40
	MOVQ s+0(FP), DI
	MOVQ t+8(FP), R8
	MOVQ p+16(FP), SI
	MOVQ q+24(FP), R9
	MOVQ blocks+32(FP), CX
	LEAQ k<>(SB), AX
	VBROADCASTI32X4 flip<>(SB), Y20
	LOADSTATE(DI, X1, X2)
	LOADSTATE(R8, X3, X4)

loop:
	MOVOA X1, X5
	MOVOA X2, X6
	MOVOA X3, X7
	MOVOA X4, X8

	LOAD512(0, X16, Y16)
	LOAD512(1, X17, Y17)
	LOAD512(2, X18, Y18)
	LOAD512(3, X19, Y19)
	STEP(0, 4, Y16, Y17, Y18, Y19)
	STEP(1, 5, Y17, Y18, Y19, Y16)
	STEP(2, 6, Y18, Y19, Y16, Y17)
	STEP(3, 7, Y19, Y16, Y17, Y18)
	STEP(4, 8, Y16, Y17, Y18, Y19)
	STEP(5, 9, Y17, Y18, Y19, Y16)
	STEP(6, 10, Y18, Y19, Y16, Y17)
	STEP(7, 11, Y19, Y16, Y17, Y18)
	STEP(8, 12, Y16, Y17, Y18, Y19)
	STEP(9, 13, Y17, Y18, Y19, Y16)
	STEP(10, 14, Y18, Y19, Y16, Y17)
	STEP(11, 15, Y19, Y16, Y17, Y18)
	ROUNDS512(12)
	ROUNDS512(13)
	ROUNDS512(14)
	ROUNDS512(15)

	PADDD X5, X1
	PADDD X6, X2
	PADDD X7, X3
	PADDD X8, X4

	ADDQ $64, SI
	ADDQ $64, R9
	DECQ CX
	JNZ  loop

	STORESTATE(DI, X1, X2)
	STORESTATE(R8, X3, X4)
	RET

// func cpuid(leaf, sub uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL sub+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET
