package model

import (
	"math/bits"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
)

// direct is the number of magnitudes that have a token each; above, a token stands for
// half an octave.
const direct = 16

// Symbol is a residual as it is coded: a table of the set, a token and raw bits.
type Symbol struct {
	Table, Token uint8
	RawBits      uint8
	Raw          uint32
}

// MakeSymbol is the symbol of residual e. The context has its q offset.
func MakeSymbol(e, fraction, context int32) Symbol {
	if fraction < 0 {
		e, fraction = -e, -fraction
	}
	whole, k := e, uint8(0)
	raw := uint32(0)
	if context >= constants.Contexts {
		k = uint8((context - 40) >> 2)
		context = 40 + context&3
		raw = uint32(e) & (1<<k - 1)
		e >>= k
	}
	s := Symbol{Table: uint8(min(fraction>>9, 3)*constants.Contexts + context), RawBits: k, Raw: raw}
	n := uint32(max(e, -e))
	switch {
	case n < direct:
		s.Token = uint8(2 * n)
	case n < 1<<18:
		g := bits.Len32(n) - 1
		s.Token = uint8(2 * (direct + 2*(g-4) + int(n>>(g-1)&1)))
		s.Raw |= (n & (1<<(g-1) - 1)) << k
		s.RawBits += uint8(g - 1)
	default:
		s.Token, s.RawBits, s.Raw = constants.Escape, 32, uint32(whole)
		return s
	}
	if e > 0 {
		s.Token--
	}
	return s
}

// rawBits is the number of raw bits that belong to the token itself.
var rawBits = func() (n [constants.Tokens]uint8) {
	for t := range n {
		if m := (t + 1) / 2; m >= direct {
			n[t] = uint8((m-direct)/2 + 3)
		}
	}
	n[constants.Escape] = 32
	return n
}()

// RawBits is the number of raw bits behind a token in a context with its q offset.
func RawBits(token uint8, context int32) int {
	n := int(rawBits[token])
	if context >= constants.Contexts && token != constants.Escape {
		n += int(context-40) >> 2
	}
	return n
}

// Residual is the inverse of MakeSymbol.
func Residual(token uint8, raw uint32, fraction, context int32) int32 {
	var e int32
	if token == constants.Escape {
		e = int32(raw)
	} else {
		k := uint(0)
		if context >= constants.Contexts {
			k = uint(context-40) >> 2
		}
		m := int32(token+1) / 2
		if m >= direct {
			g := uint(m-direct)/2 + 4
			m = 1<<g | (m-direct)&1<<(g-1) | int32(raw>>k)
		}
		if token&1 == 0 {
			m = -m
		}
		e = m<<k | int32(raw&(1<<k-1))
	}
	if fraction < 0 {
		e = -e
	}
	return e
}

// WithOffset adds a q offset to a context.
func WithOffset(context, offset int32) int32 {
	if context == 0 {
		return 0
	}
	return min(max(context+offset, 1), MaxContext)
}

// MaxContext is the greatest context, with its offset.
const MaxContext = 99
