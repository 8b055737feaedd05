package sha256batch

import (
	"testing"

	"github.com/pelmill/pelmill/gpu/gputest"
)

// shared is what Go and the kernel share.
var shared = gputest.Header{
	Include: "../../gpu/include/warp.cuh",
	Constants: []gputest.Constant{
		{Name: "state_words", Value: stateWords}, {Name: "head_bytes", Value: headBytes},
		{Name: "crc_threads", Value: crcThreads}, {Name: "crc_chunk", Value: crcChunk}, {Name: "crc_powers", Value: crcPowers},
	},
	Structs: []gputest.Struct{{Name: "Message", Value: deviceMessage{}}, {Name: "Picture", Value: devicePicture{}}},
}

func TestKernelsAreCompiled(t *testing.T) {
	gputest.Shared(t, "shared.cuh", shared)
	gputest.Kernels(t, "kernels.cu", 75)
}

// The table has all kernels, and each takes its parameters where the Go structs put them.
func TestKernelTable(t *testing.T) {
	if err := kernels.Check(); err != nil {
		t.Error(err)
	}
}
