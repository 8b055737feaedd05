package sha256batch

import (
	_ "embed"

	"github.com/pelmill/pelmill/gpu"
)

//go:embed ptx/kernels.ptx
var kernels75 string

// kernels is the step on a device.
var kernels = gpu.Table[deviceMessage]{
	Module: &gpu.Module{Name: "sha256", Variants: []string{kernels75}},
	Kernels: map[string]gpu.Entry[deviceMessage]{
		"sha256": {Params: listParams{}, Grid: func(_ *gpu.Info, list []deviceMessage) gpu.Grid {
			return gpu.Grid{Blocks: [3]int{(len(list) + warp - 1) / warp, copies}, Threads: [3]int{2 * warp}}
		}},
	},
}

const (
	warp       = 32
	copies     = 2 // of each state
	stateWords = 8
)

// deviceMessage is a message of a batch.
type deviceMessage struct {
	Data   gpu.Ptr `cuda:"const uint8_t"` // its blocks, from any address
	Blocks uint64  // of 64 bytes
}

// listParams are the parameters of the kernel: the messages of the batch, and their states before and after.
type listParams struct {
	Messages, States gpu.Ptr
	Count            uint32
}
