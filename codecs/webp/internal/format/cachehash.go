package format

const MaxCacheBits = 11

// CacheHash is the index of a pixel in a cache of MaxCacheBits; a smaller cache has the
// upper bits of it.
func CacheHash(v uint32) uint32 { return v * 0x1e35a7bd >> (32 - MaxCacheBits) }
