package sha256batch

import (
	"crypto/sha256"
	_ "embed"

	"github.com/pelmill/pelmill/gpu"
)

//go:embed ptx/kernels.ptx
var kernels75 string

// kernels is the steps on a device.
var kernels = gpu.Table[deviceMessage]{
	Module: &gpu.Module{Name: "sha256", Variants: []string{kernels75}},
	Kernels: map[string]gpu.Entry[deviceMessage]{
		"sha256": {Params: listParams{}, Grid: func(_ *gpu.Info, list []deviceMessage) gpu.Grid {
			return gpu.Grid{Blocks: [3]int{(len(list) + warp - 1) / warp, copies}, Threads: [3]int{2 * warp}}
		}},
		"picture_frame": {Params: frameParams{}, Block: warp, Threads: func(*deviceMessage) int { return warp }},
		"picture_crc":   {Params: crcParams{}, Block: crcThreads, Threads: (*deviceMessage).crcThreads},
	},
}

// Module is the kernels of the package.
func Module() *gpu.Module { return kernels.Module }

const (
	warp       = 32
	copies     = 2 // of each state
	stateWords = 8

	crcThreads = 256
	crcChunk   = 128 // bytes that a thread of picture_crc has
	crcPowers  = 15  // chunks of a picture are fewer than 2 to their number
)

// deviceMessage is a message of a batch.
type deviceMessage struct {
	Data   gpu.Ptr `cuda:"const uint8_t"` // its blocks, from any address
	Blocks uint64  // of 64 bytes
}

// crcThreads is how many threads picture_crc needs for a message.
func (m *deviceMessage) crcThreads() int { return int(m.Blocks*sha256.BlockSize+crcChunk-1) / crcChunk }

// devicePicture is a picture of a batch, which is a message in device memory.
type devicePicture struct {
	Message gpu.Ptr `cuda:"uint8_t"`       // head_bytes, the samples, and the rest of the frame
	Frame   gpu.Ptr `cuda:"const uint8_t"` // what is not samples
	Bytes   uint64  // of samples
	Blocks  uint64  // of 64 bytes
}

// frameParams are the parameters of picture_frame.
type frameParams struct{ Pictures gpu.Ptr }

// crcParams are the parameters of picture_crc.
type crcParams struct{ Pictures, Sums gpu.Ptr }

// listParams are the parameters of sha256: the messages of the batch, and their states before and after.
type listParams struct {
	Messages, States gpu.Ptr
	Count            uint32
}
