package vq

// addBlocksAVX2 is addBlocksGo for blocks of whole eights of samples and at least one key.
//
//go:noescape
func addBlocksAVX2(sums, count *uint32, samples *byte, keys *key, blocks, eights int)

func addBlocks(sums, count []uint32, b vectors, keys []key) {
	if bestKernel == kernelGo || b.k%8 != 0 || len(keys) == 0 {
		addBlocksGo(sums, count, b, keys)
		return
	}
	addBlocksAVX2(&sums[0], &count[0], &b.samples[0], &keys[0], len(keys), b.k/8)
}
