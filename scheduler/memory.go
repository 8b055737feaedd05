package scheduler

import (
	"fmt"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
)

// defaultMemory is what a scheduler takes where nothing is said, in bytes.
const defaultMemory = 1 << 30

// memory is the bytes that a process may take in which jobs are planned; 0 is
// defaultMemory.
type memory int64

func (m memory) bytes() int64 {
	if m == 0 {
		return defaultMemory
	}
	return int64(m)
}

// images is what the images of a sample may take at once, with what the codec
// takes to encode one of them.
func (m memory) images() int64 { return m.bytes() / 2 }

// training is what samples may take that a codebook is trained on. The training
// holds up to three times as much besides.
func (m memory) training() int64 { return min(trainMemory, m.images()/4) }

// sorter is what one sorter may hold. Up to four are at work at once.
func (m memory) sorter() sorter { return sorter{memory: int(min(sortMemory, m.bytes()/16))} }

// encodeMemory is what encoding an image takes, the image included.
func encodeMemory(c codec.Codec, h *imageio.Header, opts codec.Options) int64 {
	return int64(h.Size()) + c.Memory(h.Shape, nil, opts).Encode
}

// tooLarge is why an image is not in a sample.
func tooLarge(n int64) error {
	return fmt.Errorf("scheduler: a picture that needs %d bytes of memory is too large for a sample", n)
}
