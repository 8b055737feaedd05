//go:build !amd64

package vq

func sumBeyond(b vectors, members []int32, way []int16, limit int32, sums []uint32) (count uint32) {
	return sumBeyondGo(b, members, way, limit, sums)
}
