package device

import (
	_ "embed"

	"github.com/pelmill/pelmill/gpu"
)

//go:embed ptx/kernels.ptx
var kernels75 string

// kernels is the steps on a device.
var kernels = gpu.Table[deviceImage]{
	Module: &gpu.Module{Name: "png", Variants: []string{kernels75}},
	Kernels: map[string]gpu.Entry[deviceImage]{
		"png_inflate":  {Params: listParams{}, Block: inflateThreads, Threads: func(*deviceImage) int { return inflateThreads }},
		"png_unfilter": {Params: listParams{}, Block: warp, Threads: func(*deviceImage) int { return warp }},
		"png_check":    {Params: listParams{}, Block: checkThreads, Threads: func(e *deviceImage) int { return checkThreads * min(int(e.Height), checkBlocks) }},
	},
}

const (
	warp           = 32
	checkThreads   = 256     // of a block that proves samples
	checkBlocks    = 32      // for an image, at most
	inflateThreads = 128     // of the block that inflates a stream
	spanBits       = 512     // of a stream, that one of them decodes at a time
	roundBytes     = 1 << 14 // that they write at a time, at most
	litBits        = 10      // of a code for literals and lengths, that are looked up at once
	distBits       = 8       // and of one for distances
	aheadPixels    = 8       // that a lane reads together
)

// deviceImage is an image of a batch. Each part begins at a multiple of 256 bytes.
type deviceImage struct {
	Data       gpu.Ptr `cuda:"const uint32_t"` // the zlib stream, up to a whole word
	Raw        gpu.Ptr `cuda:"uint8_t"`        // height x (1 + row_bytes): what the stream holds, a filter before each row
	Samples    gpu.Ptr `cuda:"uint8_t"`        // height x row_bytes
	Sums       gpu.Ptr `cuda:"uint64_t"`       // 4: see check.cuh
	DataBytes  uint32
	Height     uint32
	RowBytes   uint32 // width x pixel_bytes
	PixelBytes uint32 // 1 to 4
}

// listParams are the parameters of the kernels: the images of the batch, and their states.
type listParams struct {
	Images, States gpu.Ptr
}

// Module is the kernels of the package.
func Module() *gpu.Module { return kernels.Module }
