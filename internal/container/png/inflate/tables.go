package inflate

import "math/bits"

// An entry of a table has, from the lowest bit on:
//
//	literals    8 bits: how many bits to drop; 2 bits: 1 or 2 literals; 16 bits from bit 16 on: the literals
//	length or   8 bits: how many bits to drop, extra bits included; 6 bits: those of the code alone;
//	distance    flagOther (flagSpecial is not set); 16 bits from bit 16 on: the base
//	others      8 bits: how many bits to drop; 6 bits: the kind; flagOther and flagSpecial; for kindLonger
//	            16 bits from bit 16 on: where the second table begins, in which the bits behind those of the
//	            first table are looked up
//
// So a shift by the entry itself drops its bits, as the instruction looks at the lowest six bits of the count.
const (
	flagOther   = 1 << 15
	flagSpecial = 1 << 14

	kindMask    = 0x3f << 8
	kindEnd     = 1 << 8
	kindLonger  = 2 << 8
	kindDamaged = 3 << 8

	damaged = flagOther | flagSpecial | kindDamaged
)

const (
	maxCode = 15 // the longest code, in bits (RFC 1951, 3.2.7)

	litBits  = 12
	distBits = 9
	maxLits  = 286
	maxDists = 30

	litMask        = 1<<litBits - 1
	distMask       = 1<<distBits - 1
	litSecondMask  = 1<<(maxCode-litBits) - 1
	distSecondMask = 1<<(maxCode-distBits) - 1

	// A second table has at least two codes, so there are at most half as many as codes.
	litEntries  = 1<<litBits + (maxLits+2)/2<<(maxCode-litBits)
	distEntries = 1<<distBits + (maxDists+2)/2<<(maxCode-distBits)
)

// litSymbols and distSymbols are the entries of the symbols without their codes: RFC 1951, 3.2.5.
var (
	litSymbols  = lits()
	distSymbols = dists()
)

func lits() (s [maxLits + 2]uint32) {
	for i := range 256 {
		s[i] = uint32(i)<<16 | 1<<8
	}
	s[256] = flagOther | flagSpecial | kindEnd
	base := 3
	for i := range 28 {
		extra := max(i/4-1, 0)
		s[257+i] = uint32(base)<<16 | flagOther | uint32(extra)
		base += 1 << extra
	}
	s[285] = 258<<16 | flagOther
	s[286], s[287] = damaged, damaged
	return s
}

func dists() (s [maxDists + 2]uint32) {
	base := 1
	for i := range maxDists {
		extra := max(i/2-1, 0)
		s[i] = uint32(base)<<16 | flagOther | uint32(extra)
		base += 1 << extra
	}
	s[30], s[31] = damaged, damaged
	return s
}

// withCode is the entry of a symbol with a code of n bits.
func withCode(symbol uint32, n int) uint32 {
	if symbol&(flagOther|flagSpecial) == flagOther {
		return symbol + uint32(n)*0x101
	}
	return symbol + uint32(n)
}

// build fills a table whose first part has 1<<first entries, from the lengths of the codes in bits.
// It returns false where the lengths are those of no code. No code at all, and a single one
// of one bit, are codes that leave places of the table empty; they are marked as damaged.
func build(table []uint32, first int, symbols []uint32, lengths []byte) bool {
	var count [maxCode + 1]int
	for _, n := range lengths {
		count[n]++
	}
	// How much of the code space is taken, in units of the longest code.
	taken, longest := 0, 0
	for n := 1; n <= maxCode; n++ {
		taken += count[n] << (maxCode - n)
		if count[n] > 0 {
			longest = n
		}
	}
	if taken != 1<<maxCode {
		single := longest == 1 && count[1] == 1
		if longest > 0 && !single {
			return false
		}
		for i := range table[:1<<first] {
			table[i] = damaged
		}
		for s, n := range lengths {
			for i := 0; n == 1 && i < 1<<first; i += 2 {
				table[i] = withCode(symbols[s], 1)
			}
		}
		return true
	}
	var at [maxCode + 2]int
	for n := 1; n <= maxCode; n++ {
		at[n+1] = at[n] + count[n]
	}
	var sorted [maxLits + 2]uint16
	for s, n := range lengths {
		if n > 0 {
			sorted[at[n]] = uint16(s)
			at[n]++
		}
	}

	// Codes are in the stream with their first bit lowest, so the table is indexed by the reversed
	// code. All codes of up to n bits fill a table of 1<<n entries, of which the next larger begins as two copies.
	code, size, i := 0, 1, 0
	for n := 1; n <= first; n++ {
		if size < 1<<n {
			copy(table[size:2*size], table[:size])
			size *= 2
		}
		for range count[n] {
			table[code] = withCode(symbols[sorted[i]], n)
			i++
			code = following(code, n)
		}
	}
	if longest <= first {
		return true
	}
	free, prefix, start := 1<<first, -1, 0
	wide := maxCode - first
	for n := first + 1; n <= longest; n++ {
		for range count[n] {
			if p := code & (1<<first - 1); p != prefix {
				prefix, start = p, free
				free += 1 << wide
				table[p] = uint32(start)<<16 | flagOther | flagSpecial | kindLonger
			}
			e := withCode(symbols[sorted[i]], n)
			for j := code >> first; j < 1<<wide; j += 1 << (n - first) {
				table[start+j] = e
			}
			i++
			code = following(code, n)
		}
	}
	return true
}

// following is the code behind a reversed code of n bits. Behind the last one it is 0.
func following(code, n int) int {
	free := code ^ (1<<n - 1)
	if free == 0 {
		return 0
	}
	bit := 1 << (bits.Len(uint(free)) - 1)
	return code&(bit-1) | bit
}

// pairsGo makes entries with two literals of those with one, behind whose code the bits that are left
// hold the whole code of another. The entry that they lead to is lower in the table, and so
// still has one literal where the table is gone through downwards.
func pairsGo(table []uint32) {
	table = table[:1<<litBits]
	for i := len(table) - 1; i >= 0; i-- {
		e := table[i]
		if e&flagOther != 0 {
			continue
		}
		second := table[i>>(e&0xff)]
		if n := e&0xff + second&0xff; second&flagOther == 0 && n <= litBits {
			table[i] = e&0xff0000 | second&0xff0000<<8 | 2<<8 | n
		}
	}
}

// order is the order in which the lengths of the code for lengths are stored (RFC 1951, 3.2.7).
var order = [19]byte{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// header reads the header of a block (RFC 1951, 3.2.3).
func (r *Reader) header() error {
	v, ok := r.take(3)
	if !ok {
		return ErrStream
	}
	r.last = v&1 != 0
	switch v >> 1 {
	case 0:
		r.drop(r.count & 7)
		n, ok1 := r.take(16)
		inverse, ok2 := r.take(16)
		if !ok1 || !ok2 || n != inverse^0xffff {
			return ErrStream
		}
		r.block, r.stored = storedBlock, int(n)
		return nil
	case 1:
		var lengths [maxLits + 2 + maxDists + 2]byte
		for i := range lengths {
			switch {
			case i < 144:
				lengths[i] = 8
			case i < 256:
				lengths[i] = 9
			case i < 280:
				lengths[i] = 7
			case i < 288:
				lengths[i] = 8
			default:
				lengths[i] = 5
			}
		}
		return r.codes(lengths[:maxLits+2], lengths[maxLits+2:])
	case 2:
		return r.ownCodes()
	}
	return ErrStream
}

// ownCodes reads the codes of a block (RFC 1951, 3.2.7).
func (r *Reader) ownCodes() error {
	head, ok := r.take(14)
	lits, dists, n := int(head&31)+257, int(head>>5&31)+1, int(head>>10)+4
	if !ok || lits > maxLits || dists > maxDists {
		return ErrStream
	}
	var short [19]byte
	for _, s := range order[:n] {
		v, ok := r.take(3)
		if !ok {
			return ErrStream
		}
		short[s] = byte(v)
	}
	var symbols [19]uint32
	for i := range symbols {
		symbols[i] = uint32(i) << 16
	}
	var table [1 << 7]uint32
	if !build(table[:], 7, symbols[:], short[:]) {
		return ErrStream
	}
	var lengths [maxLits + maxDists]byte
	for i := 0; i < lits+dists; {
		if r.count < 14 {
			r.refill()
		}
		e := table[r.bits&(1<<7-1)]
		if e&flagOther != 0 || uint(e&0xff) > r.count {
			return ErrStream
		}
		r.drop(uint(e & 0xff))
		s := e >> 16
		if s < 16 {
			lengths[i] = byte(s)
			i++
			continue
		}
		wide, least, value := uint(2), 3, byte(0)
		switch s {
		case 16:
			if i == 0 {
				return ErrStream
			}
			value = lengths[i-1]
		case 17:
			wide = 3
		case 18:
			wide, least = 7, 11
		}
		v, ok := r.take(wide)
		times := int(v) + least
		if !ok || i+times > lits+dists {
			return ErrStream
		}
		for range times {
			lengths[i] = value
			i++
		}
	}
	return r.codes(lengths[:lits], lengths[lits:lits+dists])
}

// codes makes the tables of a block.
func (r *Reader) codes(lits, dists []byte) error {
	if !build(r.lit[:], litBits, litSymbols[:], lits) || !build(r.dist[:], distBits, distSymbols[:], dists) {
		return ErrStream
	}
	pairs(r.lit[:])
	r.block = codedBlock
	return nil
}
