#include "textflag.h"

// COMPONENT looks 64 indices, Z0, up in a table of 256 bytes that is in four registers. K1 has those
// from 128 on.
#define COMPONENT(T0, T1, T2, T3, OUT) \
	VMOVDQA64 Z0, OUT        \
	VMOVDQA64 Z0, Z4         \
	VPERMI2B  T1, T0, OUT    \
	VPERMI2B  T3, T2, Z4     \
	VMOVDQU8  Z4, K1, OUT

// SAMPLES writes 64 of the samples: those of the first two channels from Z1 and Z2, and those of the
// third, which K has, from Z3.
#define SAMPLES(PLACES, K, TO) \
	VMOVDQA64 PLACES, Z4       \
	VPERMI2B  Z2, Z1, Z4       \
	VPERMB    Z3, PLACES, K, Z4 \
	VMOVDQU64 Z4, TO

// func expandVBMI(pix, indices *byte, blocks int, components *[3][256]byte)
TEXT ·expandVBMI(SB), NOSPLIT, $0-32
	MOVQ pix+0(FP), DI
	MOVQ indices+8(FP), SI
	MOVQ blocks+16(FP), CX
	MOVQ components+24(FP), DX
	VMOVDQU64 0(DX), Z16
	VMOVDQU64 64(DX), Z17
	VMOVDQU64 128(DX), Z18
	VMOVDQU64 192(DX), Z19
	VMOVDQU64 256(DX), Z20
	VMOVDQU64 320(DX), Z21
	VMOVDQU64 384(DX), Z22
	VMOVDQU64 448(DX), Z23
	VMOVDQU64 512(DX), Z24
	VMOVDQU64 576(DX), Z25
	VMOVDQU64 640(DX), Z26
	VMOVDQU64 704(DX), Z27
	VMOVDQU64 ·expandPlaces+0(SB), Z28
	VMOVDQU64 ·expandPlaces+64(SB), Z29
	VMOVDQU64 ·expandPlaces+128(SB), Z30
	MOVQ  $0x4924924924924924, AX // samples of the third channel
	KMOVQ AX, K2
	MOVQ  $0x2492492492492492, AX
	KMOVQ AX, K3
	MOVQ  $0x9249249249249249, AX
	KMOVQ AX, K4

block:
	VMOVDQU64 (SI), Z0
	VPMOVB2M  Z0, K1
	COMPONENT(Z16, Z17, Z18, Z19, Z1)
	COMPONENT(Z20, Z21, Z22, Z23, Z2)
	COMPONENT(Z24, Z25, Z26, Z27, Z3)
	SAMPLES(Z28, K2, 0(DI))
	SAMPLES(Z29, K3, 64(DI))
	SAMPLES(Z30, K4, 128(DI))
	ADDQ $64, SI
	ADDQ $192, DI
	DECQ CX
	JNZ  block
	VZEROUPPER
	RET

// func renumberVBMI(out, indices *byte, blocks int, to *[256]uint8)
TEXT ·renumberVBMI(SB), NOSPLIT, $0-32
	MOVQ out+0(FP), DI
	MOVQ indices+8(FP), SI
	MOVQ blocks+16(FP), CX
	MOVQ to+24(FP), DX
	VMOVDQU64 0(DX), Z16
	VMOVDQU64 64(DX), Z17
	VMOVDQU64 128(DX), Z18
	VMOVDQU64 192(DX), Z19

indices:
	VMOVDQU64 (SI), Z0
	VPMOVB2M  Z0, K1
	COMPONENT(Z16, Z17, Z18, Z19, Z1)
	VMOVDQU64 Z1, (DI)
	ADDQ $64, SI
	ADDQ $64, DI
	DECQ CX
	JNZ  indices
	VZEROUPPER
	RET
