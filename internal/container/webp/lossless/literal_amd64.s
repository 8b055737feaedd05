#include "go_asm.h"
#include "textflag.h"

// Registers of the kernels of literals:
//
//	SI   next byte of the data         R12  the last place of it where four pixels may begin
//	DI   next pixel                    R13  the end of the pixels   R15  the end of the tile
//	R8   bits                          R9   how many are there, in the lowest six bits
//	R10  bits of an index of a table   R11  tables of the group
//	BX   what all literals have        R14  tables of the next group, as far as they are fetched

// OPEN takes the state of scan DX, of which n pixels are wanted.
#define OPEN(n) \
	MOVQ scan_pix(DX), DI                \
	ADDQ scan_at(DX), DI                 \
	MOVQ n, R13                          \
	LEAQ (DI)(R13*4), R13                \
	MOVQ scan_decoder(DX), DX            \
	MOVQ decoder_data(DX), SI            \
	MOVQ decoder_data+8(DX), R12         \
	LEAQ -const_inputSlack(SI)(R12*1), R12 \
	ADDQ decoder_pos(DX), SI             \
	MOVQ decoder_bits(DX), R8            \
	MOVQ decoder_count(DX), R9           \
	MOVQ decoder_tables(DX), R10         \
	MOVQ R10, tables-8(SP)               \
	MOVL $const_literalBits, R10

// CLOSE leaves the state in scan DX. What lies above the count of bits was taken ahead.
#define CLOSE \
	ANDL  $63, R9             \
	BZHIQ R9, R8, R8          \
	SUBQ  scan_pix(DX), DI    \
	MOVQ  DI, scan_at(DX)     \
	MOVQ  scan_decoder(DX), DX \
	SUBQ  decoder_data(DX), SI \
	MOVQ  SI, decoder_pos(DX) \
	MOVQ  R8, decoder_bits(DX) \
	MOVQ  R9, decoder_count(DX)

// REFILL brings the bits to 56 or more, as refill of decoder does.
#define REFILL \
	SHLXQ R9, (SI), CX \
	ORQ   CX, R8       \
	MOVBLZX R9, CX     \
	XORL  $63, CX      \
	SHRL  $3, CX       \
	ADDQ  CX, SI       \
	ORL   $56, R9

// GREEN decodes green into the second byte of AX. Of a symbol that the table does not have it leaves all bits.
#define GREEN(long, found) \
	MOVBLZX R8, AX                             \
	MOVWLZX literalTable_greens(R11)(AX*2), AX \
	TESTB   AX, AX                             \
	JS      long                               \
	SHRXQ   AX, R8, R8                         \
	SUBL    AX, R9                             \
found:

// LITERAL decodes the pixel at off: 17 bits at most.
#define LITERAL(off, longGreen, green, longRedBlue, redBlue) \
	GREEN(longGreen, green)                            \
	BZHIQ   R10, R8, DX                                \
	MOVBLZX literalTable_redBlueLengths(R11)(DX*1), CX \
	TESTB   CX, CX                                     \
	JS      longRedBlue                                \
	MOVL    literalTable_redBlues(R11)(DX*4), DX       \
	SHRXQ   CX, R8, R8                                 \
	SUBL    CX, R9                                     \
redBlue:                                               \
	MOVL DX, off(DI)                                   \
	MOVB AH, (off+1)(DI)

// LOOK finds the entry of the next bits in the tables of a code, of which R10 holds all. It changes CX.
#define LOOK(at, e, done) \
	MOVL  (literalTable_codes+code__size*at+code_mask)(R11), e \
	ANDL  R8, e                                             \
	ADDL  (literalTable_codes+code__size*at+code_at)(R11), e   \
	MOVL  (R10)(e*4), e                                     \
	TESTB $const_longer, e                                  \
	JZ    done                                              \
	MOVL  e, CX                                             \
	ANDL  $15, CX                                           \
	ADDL  $const_first, CX                                  \
	BZHIQ CX, R8, CX                                        \
	SHRQ  $const_first, CX                                  \
	SHRL  $8, e                                             \
	ADDL  CX, e                                             \
	MOVL  (R10)(e*4), e                                     \
done:

// LONGGREEN decodes green that is not in the table, and goes on behind the table's with as many bits as there is room for; or
// stops at the pixel at off before another symbol.
#define LONGGREEN(off, long, one, found, other, end) \
long:                                \
	MOVQ tables-8(SP), R10           \
	LOOK(0, AX, one)                 \
	MOVL $const_literalBits, R10     \
	CMPL AX, $(const_literals<<8)    \
	JAE  other                       \
	SHRXQ AX, R8, R8                 \
	SUBL AX, R9                      \
	REFILL                           \
	JMP  found                       \
other:                               \
	ADDQ $off, DI                    \
	JMP  end

// LONGREDBLUE is the same for red and blue, of which the table mostly has red.
#define LONGREDBLUE(long, neither, both, red, blue, found) \
long:                            \
	MOVL  literalTable_redBlues(R11)(DX*4), DX \
	MOVL  DX, red-12(SP)         \
	SHRL  $8, DX                 \
	TESTB DX, DX                 \
	JS    neither                \
	SHRXQ DX, R8, R8             \
	SUBL  DX, R9                 \
	REFILL                       \
both:                            \
	MOVQ  tables-8(SP), R10      \
	LOOK(2, DX, blue)            \
	SHRXQ DX, R8, R8             \
	SUBL  DX, R9                 \
	ANDL  $0xff00, DX            \
	SHLL  $8, DX                 \
	ORL   red-12(SP), DX         \
	MOVL  $const_literalBits, R10 \
	REFILL                       \
	JMP   found                  \
neither:                         \
	REFILL                       \
	MOVQ  tables-8(SP), R10      \
	LOOK(1, DX, red)             \
	SHRXQ DX, R8, R8             \
	SUBL  DX, R9                 \
	SHRL  $8, DX                 \
	ORL   literalTable_alpha(R11), DX \
	MOVL  DX, red-12(SP)         \
	JMP   both

// func literalsBMI2(s *scan, t *literalTable, next *uint32, left, n int)
//
// Bits are refilled before every third pixel at least. While a tile is decoded, what the next one's group is looked up in is
// fetched.
TEXT ·literalsBMI2(SB), NOSPLIT, $32-40
	MOVQ s+0(FP), DX
	MOVQ scan_tabled(DX), AX
	MOVQ AX, tabled-24(SP)
	MOVQ scan_side(DX), AX
	MOVQ AX, side-32(SP)
	OPEN(n+32(FP))
	MOVQ left+24(FP), AX
	LEAQ (DI)(AX*4), R15
	MOVQ t+8(FP), R14
	MOVQ next+16(FP), BX

tile:
	MOVQ    R14, R11
	CMPQ    R15, R13
	CMOVQHI R13, R15
	CMPL    literalTable_coded(R11), $0
	JNE     end
	MOVL    (BX), R14
	ADDQ    $4, BX
	ADDQ    tabled-24(SP), R14
	LEAQ    32(DI), AX
	CMPQ    AX, R15
	JA      rest

eight:
	CMPQ SI, R12
	JA   end
	REFILL
	PREFETCHT0 (R14)
	PREFETCHT0 64(R14)
	LITERAL(0, longGreen0, green0, longRedBlue0, redBlue0)
	PREFETCHT0 128(R14)
	PREFETCHT0 192(R14)
	LITERAL(4, longGreen1, green1, longRedBlue1, redBlue1)
	PREFETCHT0 256(R14)
	PREFETCHT0 320(R14)
	LITERAL(8, longGreen2, green2, longRedBlue2, redBlue2)
	REFILL
	PREFETCHT0 384(R14)
	PREFETCHT0 448(R14)
	LITERAL(12, longGreen3, green3, longRedBlue3, redBlue3)
	PREFETCHT0 512(R14)
	PREFETCHT0 576(R14)
	LITERAL(16, longGreen4, green4, longRedBlue4, redBlue4)
	PREFETCHT0 640(R14)
	PREFETCHT0 704(R14)
	LITERAL(20, longGreen5, green5, longRedBlue5, redBlue5)
	REFILL
	PREFETCHT0 768(R14)
	PREFETCHT0 832(R14)
	LITERAL(24, longGreen6, green6, longRedBlue6, redBlue6)
	PREFETCHT0 896(R14)
	PREFETCHT0 960(R14)
	LITERAL(28, longGreen7, green7, longRedBlue7, redBlue7)
	ADDQ $32, DI
	LEAQ 32(DI), AX
	CMPQ AX, R15
	JBE  eight

rest:
	CMPQ DI, R15
	JAE  behind

one:
	CMPQ SI, R12
	JA   end
	REFILL
	LITERAL(0, longGreen8, green8, longRedBlue8, redBlue8)
	ADDQ $4, DI
	CMPQ DI, R15
	JB   one

behind:
	ADDQ side-32(SP), R15
	CMPQ DI, R13
	JB   tile
	JMP  end

	LONGGREEN(0, longGreen0, oneGreen0, green0, other0, end)
	LONGGREEN(4, longGreen1, oneGreen1, green1, other1, end)
	LONGGREEN(8, longGreen2, oneGreen2, green2, other2, end)
	LONGGREEN(12, longGreen3, oneGreen3, green3, other3, end)
	LONGGREEN(16, longGreen4, oneGreen4, green4, other4, end)
	LONGGREEN(20, longGreen5, oneGreen5, green5, other5, end)
	LONGGREEN(24, longGreen6, oneGreen6, green6, other6, end)
	LONGGREEN(28, longGreen7, oneGreen7, green7, other7, end)
	LONGGREEN(0, longGreen8, oneGreen8, green8, other8, end)
	LONGREDBLUE(longRedBlue0, neither0, both0, red0, blue0, redBlue0)
	LONGREDBLUE(longRedBlue1, neither1, both1, red1, blue1, redBlue1)
	LONGREDBLUE(longRedBlue2, neither2, both2, red2, blue2, redBlue2)
	LONGREDBLUE(longRedBlue3, neither3, both3, red3, blue3, redBlue3)
	LONGREDBLUE(longRedBlue4, neither4, both4, red4, blue4, redBlue4)
	LONGREDBLUE(longRedBlue5, neither5, both5, red5, blue5, redBlue5)
	LONGREDBLUE(longRedBlue6, neither6, both6, red6, blue6, redBlue6)
	LONGREDBLUE(longRedBlue7, neither7, both7, red7, blue7, redBlue7)
	LONGREDBLUE(longRedBlue8, neither8, both8, red8, blue8, redBlue8)

end:
	MOVQ s+0(FP), DX
	CLOSE
	RET

// func greensBMI2(s *scan, t *literalTable, fixed uint32, n int)
TEXT ·greensBMI2(SB), NOSPLIT, $8-32
	MOVQ s+0(FP), DX
	OPEN(n+24(FP))
	MOVQ t+8(FP), R11
	MOVL fixed+16(FP), BX
	LEAQ -16(R13), R15
	CMPQ DI, R15
	JA   rest

fours:
	CMPQ SI, R12
	JA   end
	REFILL
	GREEN(long0, green0)
	MOVL BX, (DI)
	MOVB AH, 1(DI)
	GREEN(long1, green1)
	MOVL BX, 4(DI)
	MOVB AH, 5(DI)
	GREEN(long2, green2)
	MOVL BX, 8(DI)
	MOVB AH, 9(DI)
	GREEN(long3, green3)
	MOVL BX, 12(DI)
	MOVB AH, 13(DI)
	ADDQ $16, DI
	CMPQ DI, R15
	JBE  fours

rest:
	CMPQ DI, R13
	JAE  end

one:
	CMPQ SI, R12
	JA   end
	REFILL
	GREEN(long4, green4)
	MOVL BX, (DI)
	MOVB AH, 1(DI)
	ADDQ $4, DI
	CMPQ DI, R13
	JB   one
	JMP  end

	LONGGREEN(0, long0, look0, green0, other0, end)
	LONGGREEN(4, long1, look1, green1, other1, end)
	LONGGREEN(8, long2, look2, green2, other2, end)
	LONGGREEN(12, long3, look3, green3, other3, end)
	LONGGREEN(0, long4, look4, green4, other4, end)

end:
	MOVQ s+0(FP), DX
	CLOSE
	RET
