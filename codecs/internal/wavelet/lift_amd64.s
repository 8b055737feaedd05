#include "textflag.h"

// func lift2AVX2(dst, a, b *int32, n int, round, shift, sign int32)
TEXT ·lift2AVX2(SB), NOSPLIT, $0-44
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ n+24(FP), CX
	MOVL round+32(FP), AX
	VMOVD AX, X4
	VPBROADCASTD X4, Y4
	MOVL shift+36(FP), AX
	VMOVD AX, X5
	MOVL sign+40(FP), AX
	VMOVD AX, X6
	VPBROADCASTD X6, Y6
	XORQ AX, AX

eight:
	VMOVDQU (SI)(AX*4), Y0
	VPADDD  (DX)(AX*4), Y0, Y0
	VPADDD  Y4, Y0, Y0
	VPSRAD  X5, Y0, Y0
	VPSIGND Y6, Y0, Y0
	VPADDD  (DI)(AX*4), Y0, Y0
	VMOVDQU Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     eight
	VZEROUPPER
	RET

// func lift2OfAVX2(dst, src, a, b *int32, n int, round, shift, sign int32)
TEXT ·lift2OfAVX2(SB), NOSPLIT, $0-52
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), R8
	MOVQ a+16(FP), SI
	MOVQ b+24(FP), DX
	MOVQ n+32(FP), CX
	MOVL round+40(FP), AX
	VMOVD AX, X4
	VPBROADCASTD X4, Y4
	MOVL shift+44(FP), AX
	VMOVD AX, X5
	MOVL sign+48(FP), AX
	VMOVD AX, X6
	VPBROADCASTD X6, Y6
	XORQ AX, AX

eight:
	VMOVDQU (SI)(AX*4), Y0
	VPADDD  (DX)(AX*4), Y0, Y0
	VPADDD  Y4, Y0, Y0
	VPSRAD  X5, Y0, Y0
	VPSIGND Y6, Y0, Y0
	VPADDD  (R8)(AX*4), Y0, Y0
	VMOVDQU Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     eight
	VZEROUPPER
	RET

// func lift4AVX2(dst, a, b, c, d *int32, n int, sign, round, shift, outer int32)
TEXT ·lift4AVX2(SB), NOSPLIT, $0-64
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ c+24(FP), R8
	MOVQ d+32(FP), R9
	MOVQ n+40(FP), CX
	MOVL sign+48(FP), AX
	VMOVD AX, X7
	VPBROADCASTD X7, Y7
	MOVL round+52(FP), AX
	VMOVD AX, X4
	VPBROADCASTD X4, Y4
	MOVL shift+56(FP), AX
	VMOVD AX, X5
	MOVL outer+60(FP), AX
	VMOVD AX, X6
	VPBROADCASTD X6, Y6
	XORQ AX, AX

eight:
	VMOVDQU (SI)(AX*4), Y0
	VPADDD  (DX)(AX*4), Y0, Y0
	VPSLLD  $3, Y0, Y1
	VPADDD  Y1, Y0, Y0
	VMOVDQU (R8)(AX*4), Y1
	VPADDD  (R9)(AX*4), Y1, Y1
	VPSUBD  Y1, Y0, Y0
	VPSIGND Y7, Y0, Y0
	VPADDD  Y4, Y0, Y0
	VPSRAD  X5, Y0, Y0
	VPSIGND Y6, Y0, Y0
	VPADDD  (DI)(AX*4), Y0, Y0
	VMOVDQU Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     eight
	VZEROUPPER
	RET

// func liftFloatAVX2(dst, a, b *float32, n int, k float32)
TEXT ·liftFloatAVX2(SB), NOSPLIT, $0-36
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ n+24(FP), CX
	VBROADCASTSS k+32(FP), Y4
	XORQ AX, AX

eight:
	VMOVUPS (SI)(AX*4), Y0
	VADDPS  (DX)(AX*4), Y0, Y0
	VMULPS  Y4, Y0, Y0
	VADDPS  (DI)(AX*4), Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     eight
	VZEROUPPER
	RET

// func scaleFloatAVX2(dst *float32, n int, k float32)
TEXT ·scaleFloatAVX2(SB), NOSPLIT, $0-20
	MOVQ dst+0(FP), DI
	MOVQ n+8(FP), CX
	VBROADCASTSS k+16(FP), Y4
	XORQ AX, AX

eight:
	VMULPS  (DI)(AX*4), Y4, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     eight
	VZEROUPPER
	RET

// func deinterleaveAVX2(even, odd, src unsafe.Pointer, n int)
//
// Sixteen samples at a time. A shuffle works in halves of 128 bits, whose order is then put right.
TEXT ·deinterleaveAVX2(SB), NOSPLIT, $0-32
	MOVQ even+0(FP), DI
	MOVQ odd+8(FP), DX
	MOVQ src+16(FP), SI
	MOVQ n+24(FP), CX
	XORQ AX, AX

eight:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VSHUFPS $0x88, Y1, Y0, Y2 // 0 2 8 10, 4 6 12 14
	VSHUFPS $0xdd, Y1, Y0, Y3
	VPERMQ  $0xd8, Y2, Y2
	VPERMQ  $0xd8, Y3, Y3
	VMOVDQU Y2, (DI)(AX*4)
	VMOVDQU Y3, (DX)(AX*4)
	ADDQ    $64, SI
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     eight
	VZEROUPPER
	RET

// func interleaveAVX2(dst, even, odd unsafe.Pointer, n int)
TEXT ·interleaveAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ even+8(FP), SI
	MOVQ odd+16(FP), DX
	MOVQ n+24(FP), CX
	XORQ AX, AX

eight:
	VMOVDQU    (SI)(AX*4), Y0
	VMOVDQU    (DX)(AX*4), Y1
	VPUNPCKLDQ Y1, Y0, Y2 // even 0, odd 0, even 1, odd 1, and 4 and 5
	VPUNPCKHDQ Y1, Y0, Y3 // 2 and 3, 6 and 7
	VPERM2I128 $0x20, Y3, Y2, Y4
	VPERM2I128 $0x31, Y3, Y2, Y5
	VMOVDQU    Y4, (DI)
	VMOVDQU    Y5, 32(DI)
	ADDQ       $64, DI
	ADDQ       $8, AX
	CMPQ       AX, CX
	JLT        eight
	VZEROUPPER
	RET

// func lift2NarrowAVX2(dst, a, b *int16, n int, round, shift, sign int32)
TEXT ·lift2NarrowAVX2(SB), NOSPLIT, $0-44
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ n+24(FP), CX
	MOVL round+32(FP), AX
	VMOVD AX, X4
	VPBROADCASTW X4, Y4
	MOVL shift+36(FP), AX
	VMOVD AX, X5
	MOVL sign+40(FP), AX
	VMOVD AX, X6
	VPBROADCASTW X6, Y6
	XORQ AX, AX

sixteen:
	VMOVDQU (SI)(AX*2), Y0
	VPADDW  (DX)(AX*2), Y0, Y0
	VPADDW  Y4, Y0, Y0
	VPSRAW  X5, Y0, Y0
	VPSIGNW Y6, Y0, Y0
	VPADDW  (DI)(AX*2), Y0, Y0
	VMOVDQU Y0, (DI)(AX*2)
	ADDQ    $16, AX
	CMPQ    AX, CX
	JLT     sixteen
	VZEROUPPER
	RET

// func deinterleaveNarrowAVX2(even, odd, src unsafe.Pointer, n int)
//
// Even samples are extended to 32 bits, and odd ones shifted down, so that packing never saturates.
TEXT ·deinterleaveNarrowAVX2(SB), NOSPLIT, $0-32
	MOVQ even+0(FP), DI
	MOVQ odd+8(FP), DX
	MOVQ src+16(FP), SI
	MOVQ n+24(FP), CX
	XORQ AX, AX

sixteen:
	VMOVDQU   (SI), Y0
	VMOVDQU   32(SI), Y1
	VPSLLD    $16, Y0, Y2
	VPSLLD    $16, Y1, Y3
	VPSRAD    $16, Y2, Y2
	VPSRAD    $16, Y3, Y3
	VPACKSSDW Y3, Y2, Y2
	VPERMQ    $0xd8, Y2, Y2
	VPSRAD    $16, Y0, Y0
	VPSRAD    $16, Y1, Y1
	VPACKSSDW Y1, Y0, Y0
	VPERMQ    $0xd8, Y0, Y0
	VMOVDQU   Y2, (DI)(AX*2)
	VMOVDQU   Y0, (DX)(AX*2)
	ADDQ      $64, SI
	ADDQ      $16, AX
	CMPQ      AX, CX
	JLT       sixteen
	VZEROUPPER
	RET

// func interleaveNarrowAVX2(dst, even, odd unsafe.Pointer, n int)
TEXT ·interleaveNarrowAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ even+8(FP), SI
	MOVQ odd+16(FP), DX
	MOVQ n+24(FP), CX
	XORQ AX, AX

sixteen:
	VMOVDQU    (SI)(AX*2), Y0
	VMOVDQU    (DX)(AX*2), Y1
	VPUNPCKLWD Y1, Y0, Y2
	VPUNPCKHWD Y1, Y0, Y3
	VPERM2I128 $0x20, Y3, Y2, Y4
	VPERM2I128 $0x31, Y3, Y2, Y5
	VMOVDQU    Y4, (DI)
	VMOVDQU    Y5, 32(DI)
	ADDQ       $64, DI
	ADDQ       $16, AX
	CMPQ       AX, CX
	JLT        sixteen
	VZEROUPPER
	RET
