//go:build !amd64

package vq

const vectorRanks = false

// stepLanes, decideTops and decodeTop are for machines with vectorRanks.
func stepLanes(*rankModel, int, uint, uint)                        {}
func decideTops(*rankModel, [][mixed]uint32, []uint16, []decision) {}
func decodeTop(*rankModel, *rangeDecoder) (top, length int)        { return 0, 0 }
