//go:build !amd64

package vq

func addBlocks(sums, count []uint32, b vectors, keys []key) { addBlocksGo(sums, count, b, keys) }
