package raster

//go:noescape
func swapBytesAVX2(to, from *byte, blocks int) uint64

// swapBytes does the blocks of the kernel, and returns how many bytes they have.
func swapBytes(to, from []byte) (done int, all uint16) {
	const block = 64
	n := len(from) / block
	if !vector || n == 0 {
		return 0, 0
	}
	words := swapBytesAVX2(&to[0], &from[0], n)
	words |= words >> 32
	return n * block, uint16(words | words>>16)
}
