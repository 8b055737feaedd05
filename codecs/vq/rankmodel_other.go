//go:build !amd64

package vq

const vectorRanks = false

// stepLanes, decideRanks, decideNumbers and decodeTop are for machines with vectorRanks.
func stepLanes(*rankModel, int, uint, uint)                                {}
func decideRanks(*rankModel, *expecting, int, int, []decision) (count int) { return 0 }
func decideNumbers(*bookModel, []number, []decision) (count int)           { return 0 }
func decodeTop(*rankModel, *rangeDecoder) (top, length int)                { return 0, 0 }
