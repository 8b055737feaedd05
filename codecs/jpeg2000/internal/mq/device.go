package mq

// DeviceStates are the states as kernels hold them, Qe in the upper half of a word of 32
// bits and the row of Table C.2 and the MPS in the low byte as in [State]. The entry 2s of
// following is the state that follows on s for the MPS and 2s+1 that for the LPS, where s
// is the low byte; first holds those of the contexts at the start of a code-block.
func DeviceStates() (following [2 * 2 * len(rows)]uint32, first [Uniform + 1]uint32) {
	for i := range following {
		following[i] = packed(next[i])
	}
	for i := range first {
		first[i] = packed(start[i])
	}
	return following, first
}

func packed(s State) uint32 { return uint32(s>>qeShift)<<16 | uint32(s&0xFF) }
