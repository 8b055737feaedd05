package format

// MaxCacheBits is log2 of the entries of the largest colour cache (RFC 9649, 3.6.2.3).
const MaxCacheBits = 11

// CacheHash is the index of a pixel in a colour cache of MaxCacheBits (RFC 9649, 3.6.2.3).
// Its index in a smaller cache is the upper bits of this one.
func CacheHash(v uint32) uint32 { return v * 0x1e35a7bd >> (32 - MaxCacheBits) }
