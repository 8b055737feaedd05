package webp

const maxCacheBits = 11

// cacheHash is the index of a pixel in a cache of maxCacheBits; a smaller cache has the
// upper bits of it.
func cacheHash(v uint32) uint32 { return v * 0x1e35a7bd >> (32 - maxCacheBits) }
