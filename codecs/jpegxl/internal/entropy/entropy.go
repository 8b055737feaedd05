// Package entropy is the entropy coding of JPEG XL (ISO/IEC 18181-1, annex C): integers
// of many contexts become tokens and raw bits, contexts share distributions by a map,
// and tokens are coded by rANS or by prefix codes.
//
//	code, err := entropy.ReadCode(r, contexts) // distributions from the stream
//	d := code.Decoder(r, 0)
//	v := d.Read(context)
//
//	code := entropy.NewCode(workers, nil, contexts, streams...) // distributions for tokens
//	code.WriteHeader(w)
//	code.WriteTokens(w, stream)
//
// The decoder reads all that the standard has: rANS, prefix codes, LZ77 and any
// configuration of integers. The encoder writes rANS without LZ77. All its decisions are
// made in integers, so that equal tokens give equal bytes on every machine.
package entropy

import (
	"errors"
	"fmt"
	mathbits "math/bits"
)

// errCode says that a code of the stream breaks the standard's rules.
var errCode = errors.New("an entropy code is not valid")

func malformed(format string, args ...any) error {
	return fmt.Errorf("entropy code: "+format, args...)
}

const (
	logTotal    = 12 // frequencies of a distribution sum to 4096
	total       = 1 << logTotal
	initial     = 0x130000 // state behind the last token (C.3.2)
	maxClusters = 256
	maxPrefix   = 15 // bits of a prefix code, and of its alphabet
)

// config says how an integer becomes a token and raw bits (C.3.3): values below 2^split
// are tokens; above, the token tells the number of bits and the msb highest and lsb
// lowest bits below the leading one.
type config struct{ split, msb, lsb uint8 }

// standard is the configuration that suits most distributions.
var standard = config{4, 2, 0}

// token divides v into its token and its n raw bits.
func (c config) token(v uint32) (token, raw uint32, n uint) {
	if v < 1<<c.split {
		return v, 0, 0
	}
	high := uint(mathbits.Len32(v) - 1)
	msb, lsb := uint(c.msb), uint(c.lsb)
	n = high - msb - lsb
	m := v - 1<<high
	token = 1<<c.split + uint32(high-uint(c.split))<<(msb+lsb) + m>>(high-msb)<<lsb + m&(1<<lsb-1)
	return token, m >> lsb & (1<<n - 1), n
}

// bitsOf is the number of bits that a field for values up to v has.
func bitsOf(v int) uint { return uint(mathbits.Len(uint(v))) }
