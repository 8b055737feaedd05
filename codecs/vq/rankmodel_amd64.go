package vq

// vectorRanks says whether the probabilities of the decisions of a rank are found, and the
// model moved, for all lanes at once. The instructions for it are among those of kernelVNNI.
var vectorRanks = bestKernel == kernelVNNI

// logisticStart and logisticRise are logistic for VPERMI2W: where each of its lines begins,
// and how far it rises.
var logisticStart, logisticRise = func() (start, rise [64]uint16) {
	for i := range start {
		start[i] = uint16(logistic[i])
		rise[i] = uint16(logistic[i+1] - logistic[i])
	}
	return start, rise
}()

//go:noescape
func stepAVX512(m *rankModel, group, coded, ones uint64)

//go:noescape
func decodeAVX512(m *rankModel, d *rangeDecoder) (top, length int)

// stepLanes is [rankModel.step] for machines with vectorRanks.
func stepLanes(m *rankModel, group int, coded, ones uint) {
	stepAVX512(m, uint64(group), uint64(coded), uint64(ones))
}

//go:noescape
func stepBothAVX512(m *rankModel, coded, ones, group, below, belowOnes uint64)

// stepBoth is step for group 0, and for two lanes at most of another group, with below and belowOnes in place of coded and ones. It
// sets the chances in place of the odds. It is for machines with vectorRanks.
func stepBoth(m *rankModel, coded, ones uint, group int, below, belowOnes uint) {
	stepBothAVX512(m, uint64(coded), uint64(ones), uint64(group), uint64(below), uint64(belowOnes))
}

// decodeTop decodes the bit length of a rank and its three highest bits, as far as it has them.
// It is for machines with vectorRanks.
func decodeTop(m *rankModel, d *rangeDecoder) (top, length int) { return decodeAVX512(m, d) }
