//go:build !amd64

package vq

const vectorRanks = false

// stepLanes, stepBoth and decodeTop are for machines with vectorRanks.
func stepLanes(*rankModel, int, uint, uint)                 {}
func stepBoth(*rankModel, uint, uint, int, uint, uint)      {}
func decodeTop(*rankModel, *rangeDecoder) (top, length int) { return 0, 0 }
