package vq

// vectorRanks says whether the probabilities of the decisions of a rank are found, and the
// model moved, for all lanes at once. The instructions for it are among those of kernelVNNI.
var vectorRanks = bestKernel == kernelVNNI

// slowGathers says that log odds are looked up one by one where they are needed, not all of a group together. Together is sooner where it
// was measured, on the processors that have AVX512_FP16 (Sapphire Rapids and later). Earlier ones of Intel take several times as long for
// a gather since it lets no data through that others have left behind (INTEL-SA-00828).
var slowGathers = func() bool {
	const fp16 = 1 << 23
	if !vectorRanks {
		return true
	}
	_, _, _, d7 := cpuid(7, 0)
	return d7&fp16 == 0
}()

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
func decideAVX512(m *rankModel, contexts *uint32, ranks *uint16, n int, out *decision) int

// decideRanks moves m after the ranks from first up to end, whose contexts are known, and writes their decisions to out, behind which
// it may write sixteen more. It returns how many they are. No bit length of a rank has steps of a second group. It is for machines with
// vectorRanks.
func decideRanks(m *rankModel, e *expecting, first, end int, out []decision) int {
	return decideAVX512(m, &e.contexts[0][first], &e.places[first], end-first, &out[0])
}

//go:noescape
func decideNumbersAVX512(m *bookModel, numbers *number, n int, out *decision) int

// decideNumbers moves m after numbers, and writes their decisions to out, behind which it may write sixteen more. It returns how many
// they are. It is for machines with vectorRanks.
func decideNumbers(m *bookModel, numbers []number, out []decision) int {
	return decideNumbersAVX512(m, &numbers[0], len(numbers), &out[0])
}

// decodeTop decodes the bit length of a rank and its three highest bits, as far as it has them.
// It is for machines with vectorRanks.
func decodeTop(m *rankModel, d *rangeDecoder) (top, length int) { return decodeAVX512(m, d) }
