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
func mixAVX512(m *mixer, of *estimates, weights *[mixed][lanes]int32)

//go:noescape
func learnAVX512(m *mixer, of *estimates, weights *[mixed][lanes]int32, coded, ones uint64)

// mixLanes sets the probabilities of the lanes of a group, and resets the estimates that
// nothing was coded with.
func mixLanes(m *mixer, of *[contextCount]estimates, weights *[mixed][lanes]int32) {
	mixAVX512(m, &of[0], weights)
}

// learnLanes is [rankModel.learn].
func learnLanes(m *mixer, of *[contextCount]estimates, weights *[mixed][lanes]int32, coded, ones uint64) {
	learnAVX512(m, &of[0], weights, coded, ones)
}
