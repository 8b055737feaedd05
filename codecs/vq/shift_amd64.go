package vq

// sumBeyond16AVX2 is sumBeyondGo for blocks of 16 samples and at least one member.
//
//go:noescape
func sumBeyond16AVX2(sums *uint32, samples *byte, members *int32, count int, way *int16, limit int32) uint32

func sumBeyond(b vectors, members []int32, way []int16, limit int32, sums []uint32) (count uint32) {
	if bestKernel == kernelGo || b.k != 16 || len(members) == 0 {
		return sumBeyondGo(b, members, way, limit, sums)
	}
	return sumBeyond16AVX2(&sums[0], &b.samples[0], &members[0], len(members), &way[0], limit)
}
