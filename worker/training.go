package worker

import (
	"fmt"

	"github.com/pelmill/pelmill/imageio"
)

// trainingSamples is the most bytes of samples that a codebook is trained on.
const trainingSamples = 512 << 20

// TrainingMemory shares out the memory of a process in which a codec is trained: a
// quarter for the samples of images, as the training holds up to three times as
// much besides. It is for one goroutine.
type TrainingMemory struct {
	total, most int64
	used        int64 // by samples that are kept
}

// NewTrainingMemory is for a process that may take memory bytes.
func NewTrainingMemory(memory int64) *TrainingMemory {
	total := budgetOf(memory)
	return &TrainingMemory{total: total, most: min(total/4, trainingSamples)}
}

// Left is how large a file may be that is read now.
func (t *TrainingMemory) Left() int64 { return min(t.total-t.used, maxFile) }

// Take takes the samples of an image whose file has size bytes, if there is room for
// them and for reading them.
func (t *TrainingMemory) Take(size int64, h *imageio.Header) error {
	n := int64(h.Size())
	if t.used+n > t.most {
		return fmt.Errorf("its samples of %s are more than is left for samples, a quarter of --memory or %s", binarySize(n), binarySize(trainingSamples))
	}
	if need := t.used + size + h.DecodedBytes; need > t.total {
		return fmt.Errorf("it needs %s of memory; raise --memory", binarySize(memoryFor(need)))
	}
	t.used += n
	return nil
}

// Return gives the samples of an image back that is not used.
func (t *TrainingMemory) Return(h *imageio.Header) { t.used -= int64(h.Size()) }
