// In all passes DI is the passArgs, R8 the states that follow, R9 to R11 are A, C and t of the arithmetic
// decoder, R13 are the samples of the pass that are left of the 64 at work, and SI is the sample. In propagation and
// cleanup BX is the word of the first of their columns, R12 that of the sample's column, and CX the place of the sample in
// it. DECODE changes AX, DX, BP, R14 and R15.

#define LOAD \
	MOVQ passArgs_following(DI), R8 \
	MOVQ passArgs_a(DI), R9 \
	MOVQ passArgs_c(DI), R10 \
	MOVQ passArgs_t(DI), R11

#define STORE \
	MOVQ R9, passArgs_a(DI) \
	MOVQ R10, passArgs_c(DI) \
	MOVQ R11, passArgs_t(DI)

// STRIPE begins a stripe.
#define STRIPE \
	MOVQ passArgs_width(DI), AX \
	MOVQ AX, passArgs_rest(DI)

// NEXT moves on to the next columns of the stripe, at group, or to the next stripe, at stripe.
#define NEXT \
	ADDQ $128, passArgs_word(DI) \
	ADDQ $flags__size, passArgs_flags(DI) \
	ADDQ $256, passArgs_data(DI) \
	DECQ passArgs_rest(DI) \
	JNZ group \
	MOVQ passArgs_nextWord(DI), AX \
	ADDQ AX, passArgs_word(DI) \
	MOVQ passArgs_nextFlags(DI), AX \
	ADDQ AX, passArgs_flags(DI) \
	MOVQ passArgs_nextData(DI), AX \
	ADDQ AX, passArgs_data(DI) \
	DECQ passArgs_stripes(DI) \
	JNZ stripe

// VALID makes AX the samples that the flags at work have, of a stripe in a block. It changes R12.
#define VALID \
	MOVQ $-1, R12 \
	MOVQ R12, AX \
	CMPQ passArgs_stripes(DI), $1 \
	CMOVQEQ passArgs_last(DI), AX \
	CMPQ passArgs_rest(DI), $1 \
	CMOVQEQ passArgs_right(DI), R12 \
	ANDQ R12, AX

// COLUMNS makes DX what is significant of the flags at an offset of BP, and AX the samples above and below of that.
// R14 are the flags above, R15 those below, SI and CX the first and the last samples of columns. It changes R12.
#define COLUMNS(offset) \
	MOVQ offset(BP), DX \
	LEAQ (DX)(DX*1), AX \
	ANDNQ AX, SI, AX \
	MOVQ DX, R12 \
	SHRQ $1, R12 \
	ANDNQ R12, CX, R12 \
	ORQ R12, AX \
	MOVQ offset(R14), R12 \
	SHRQ $3, R12 \
	ANDQ SI, R12 \
	ORQ R12, AX \
	MOVQ offset(R15), R12 \
	SHLQ $3, R12 \
	ANDQ CX, R12 \
	ORQ R12, AX

// NEIGHBOURS makes BP the address of the flags at work, DX what is significant of them and R13 the samples that have
// significant neighbours. It changes AX, CX, SI, R12, R14 and R15.
#define NEIGHBOURS \
	MOVQ passArgs_flags(DI), BP \
	MOVQ passArgs_row(DI), R15 \
	MOVQ BP, R14 \
	SUBQ R15, R14 \
	ADDQ BP, R15 \
	MOVQ $0x1111111111111111, SI \
	MOVQ $0x8888888888888888, CX \
	COLUMNS(-flags__size) \
	ORQ DX, AX \
	SHRQ $60, AX \
	MOVQ AX, R13 \
	COLUMNS(flags__size) \
	ORQ DX, AX \
	SHLQ $60, AX \
	ORQ AX, R13 \
	COLUMNS(0) \
	ORQ AX, R13 \
	ORQ DX, AX \
	MOVQ AX, R12 \
	SHLQ $4, R12 \
	ORQ R12, R13 \
	SHRQ $4, AX \
	ORQ AX, R13

// PLACE makes CX the place of the sample in its word, which is R12. It changes AX.
#define PLACE \
	MOVL SI, CX \
	ANDL $3, CX \
	LEAL (CX)(CX*2), CX \
	MOVL SI, AX \
	SHRL $2, AX \
	MOVQ (BX)(AX*8), R12

// ZERO decides whether the sample becomes significant: AX.
#define ZERO \
	SHRXQ CX, R12, AX \
	ANDL $0x1FF, AX \
	MOVQ passArgs_zero(DI), DX \
	MOVBLZX (DX)(AX*1), AX \
	CONTEXT(AX) \
	DECODE

// CONTEXT makes R14 the address of the state of a context.
#define CONTEXT(number) \
	MOVQ passArgs_contexts(DI), R14 \
	LEAQ (R14)(number*8), R14

// DECODE decides in the context at R14: AX is the bit (Figures C.15 to C.18). No branch depends on the bit, nor on
// whether there is to renormalize: neither can be predicted.
#define DECODE \
	MOVQ (R14), DX \
	MOVQ DX, BP \
	ANDQ $-256, BP \ // Qe
	SUBQ BP, R9 \
	CMPQ R9, BP \
	SBBQ R15, R15 \ // the lower part is the MPS's, as it is the longer one
	MOVQ R10, AX \
	SUBQ BP, R10 \
	CMOVQCS AX, R10 \ // C is in the lower part, of length Qe
	CMOVQCS BP, R9 \
	SBBQ AX, AX \
	XORQ R15, AX \ // -1: the less probable symbol
	MOVBLZX DX, R15 \
	ADDL R15, R15 \
	SUBQ AX, R15 \
	MOVQ (R8)(R15*8), R15 \
	LZCNTQ R9, BP \
	DECL BP \ // bits to shift by
	CMOVQEQ DX, R15 \
	MOVQ R15, (R14) \
	XORL DX, AX \
	ANDL $1, AX \
	SHLXQ BP, R9, R9 \
	SHLXQ BP, R10, R10 \
	SUBQ BP, R11 \
	JPL 2(PC) \
	CALL fill<>(SB)

// SIGN decodes the sign of the sample that CX is the place of: AX.
#define SIGN \
	SHRXQ CX, R12, AX \
	MOVL AX, DX \
	SHRQ $19, AX \
	ANDL $0xAA, DX \
	ANDL $0x55, AX \
	ORL DX, AX \
	MOVQ passArgs_sign(DI), DX \
	MOVBLZX (DX)(AX*1), AX \
	MOVQ AX, passArgs_flip(DI) \
	SHRL $1, AX \
	CONTEXT(AX) \
	DECODE

// MARK makes the sample significant, with the sign AX: its word, those beside it, its flags and its coefficient. DX is
// the mark, R15 its word and BP the flags.
#define MARK \
	XORL passArgs_flip(DI), AX \
	ANDL $1, AX \
	MOVQ AX, DX \
	SHLQ $22, DX \
	ORQ $16, DX \
	SHLXQ CX, DX, DX \
	MOVL SI, R15 \
	SHRL $2, R15 \
	LEAQ (BX)(R15*8), R15 \
	ORQ DX, R12 \
	MOVQ R12, (R15) \
	LEAQ (DX)(DX*1), BP \
	ORQ BP, -8(R15) \
	MOVQ DX, BP \
	SHRQ $1, BP \
	ORQ BP, 8(R15) \
	NEGQ AX \
	MOVQ passArgs_value(DI), BP \
	XORQ AX, BP \
	SUBQ AX, BP \
	MOVQ passArgs_data(DI), R14 \
	MOVL BP, (R14)(SI*4) \
	MOVQ passArgs_flags(DI), BP \
	MOVQ flags_significant(BP), R14 \
	BTSQ SI, R14 \
	MOVQ R14, flags_significant(BP)

// MARKROWS tells the words of the stripe above or below R15 of the sample that was marked last, or, where it has
// no neighbours there, words that nobody reads. It changes all that DECODE changes.
#define MARKROWS \
	SHRQ $4, DX \
	SHRXQ CX, DX, DX \ // 1 and the sign
	MOVQ passArgs_columns(DI), R14 \
	MOVQ R15, AX \
	SUBQ R14, AX \
	ADDQ R14, R15 \
	LEAQ passArgs_unread(DI), R14 \
	CMPL CX, $9 \
	CMOVQNE R14, R15 \
	XORL R14, R14 \
	MOVL $15, BP \
	TESTL CX, CX \
	CMOVQEQ AX, R15 \
	CMOVLEQ BP, R14 \
	SHLXQ R14, DX, DX \
	ORQ DX, 8(R15) \
	ADDQ DX, DX \
	ORQ DX, (R15) \
	ADDQ DX, DX \
	ORQ DX, -8(R15)
