package inflate

// adlerMost is how many bytes are summed between two divisions (zlib's NMAX): the largest number for which
// 32 bits hold the second sum.
const adlerMost = 5552

const adlerModulus = 65521

// Adler is the checksum of RFC 1950, 9, of p.
func Adler(p []byte) uint32 { return adler(1, p) }

// adlerGo goes on with a checksum of RFC 1950, 9.
func adlerGo(sum uint32, p []byte) uint32 {
	a, b := sum&0xffff, sum>>16
	for len(p) > 0 {
		n := min(len(p), adlerMost)
		for _, v := range p[:n] {
			a += uint32(v)
			b += a
		}
		p = p[n:]
		a %= adlerModulus
		b %= adlerModulus
	}
	return b<<16 | a
}
