package jpeg2000

import (
	_ "embed"

	"github.com/pelmill/pelmill/gpu"
)

//go:embed ptx/kernels.ptx
var kernels75 string

// extent is what the grids of a launch follow from.
type extent struct {
	pixels        int // of an image
	width, height int // of a level of a component, and
	planes        int // how many there are in the launch
	blocks        int // code-blocks
}

// kernels is the steps on a device.
var kernels = gpu.Table[extent]{
	Module: &gpu.Module{Name: "jpeg2000", Variants: []string{kernels75}},
	Kernels: map[string]gpu.Entry[extent]{
		"jpeg2000_load":       {Params: listParams{}, Threads: func(e *extent) int { return e.pixels }},
		"jpeg2000_store":      {Params: listParams{}, Threads: func(e *extent) int { return e.pixels }},
		"jpeg2000_forward53":  {Params: levelParams{}, Grid: levelGrid},
		"jpeg2000_inverse53":  {Params: levelParams{}, Grid: levelGrid},
		"jpeg2000_ht_encode":  {Params: encodeParams{}, Block: blockWarps * warp, Threads: func(e *extent) int { return e.blocks * warp }},
		"jpeg2000_offsets":    {Params: offsetParams{}, Threads: func(e *extent) int { return e.blocks }},
		"jpeg2000_gather":     {Params: gatherParams{}, Threads: func(e *extent) int { return e.blocks * warp }},
		"jpeg2000_ht_quads":   {Params: quadParams{}, Block: quadThreads, Threads: func(e *extent) int { return e.blocks }},
		"jpeg2000_ht_samples": {Params: sampleParams{}, Block: blockWarps * warp, Threads: func(e *extent) int { return e.blocks * warp }},
	},
}

const (
	warp        = 32
	blockWarps  = 4  // of a block of threads that has a code-block for each
	quadThreads = 64 // of a block of threads that has a code-block for each thread

	tileWidth  = 64 // samples that a block of threads transforms
	tileHeight = 32
)

// levelGrid has a block of threads for each tile of the largest plane. A plane whose first
// sample is high-pass has its tiles one sample further left and up.
func levelGrid(_ *gpu.Info, batch []extent) gpu.Grid {
	e := &batch[0]
	return gpu.Grid{
		Blocks:  [3]int{e.width/tileWidth + 1, e.height/tileHeight + 1, e.planes},
		Threads: [3]int{gpu.BlockThreads},
	}
}

// deviceImage is an image of a batch.
type deviceImage struct {
	Planes   gpu.Ptr `cuda:"int32_t"` // components x height x width
	Samples  gpu.Ptr `cuda:"uint8_t"` // height x width x channels
	Width    uint32
	Height   uint32
	Channels uint32
	Bytes    uint32 // of a sample, 1 or 2
	IsSigned uint32 // 1: samples are signed
	Shift    int32  // taken from samples (G.1)
	Least    int32  // of the samples that there can be
	Most     int32
	Coloured uint32 // 1: the first three components are transformed (G.2)
	Stride   uint32 // pixels from row to row of the samples
}

// devicePlane is a component of a tile.
type devicePlane struct {
	Coefficients gpu.Ptr `cuda:"int32_t"` // rows of stride
	First        gpu.Ptr `cuda:"int32_t"` // the samples, and the low-pass subbands of even levels
	Second       gpu.Ptr `cuda:"int32_t"` // the low-pass subbands of odd levels
	X0           uint32  // the samples on the grid of the component
	Y0           uint32
	X1           uint32
	Y1           uint32
	Stride       uint32
	Unused       uint32
}

// deviceBlock is a code-block to encode.
type deviceBlock struct {
	Coefficients gpu.Ptr `cuda:"const int32_t"` // the first
	Slot         gpu.Ptr `cuda:"uint8_t"`       // twice the capacity
	Stride       uint32
	Width        uint32
	Height       uint32
	Capacity     uint32 // bytes, a multiple of 4
}

// deviceCodedBlock is a code-block to decode.
type deviceCodedBlock struct {
	Data         gpu.Ptr `cuda:"const uint8_t"` // the cleanup segment
	Coefficients gpu.Ptr `cuda:"int32_t"`       // the first
	Quads        gpu.Ptr `cuda:"uint32_t"`      // working memory: a word for each quad
	Magsgn       gpu.Ptr `cuda:"uint32_t"`      // likewise: the MagSgn stream without gaps
	Failed       gpu.Ptr `cuda:"uint32_t"`      // of the image: set if a segment is malformed
	Length       uint32  // bytes of the segment; 0: all coefficients are 0
	Words        uint32  // of magsgn
	Stride       uint32
	Width        uint32
	Height       uint32
	Plane        uint32 // the last bit-plane
	Limit        uint32 // U above it is malformed
	Unused       uint32
}

// The parameters of kernels.
type (
	listParams  struct{ List gpu.Ptr }
	levelParams struct {
		Planes        gpu.Ptr
		Level, Levels uint32
	}
	encodeParams struct {
		Blocks, Codes, Lengths, BitPlanes gpu.Ptr
		Count                             uint32
	}
	offsetParams struct {
		Lengths, Offsets, State gpu.Ptr
		Count                   uint32
	}
	gatherParams struct {
		Blocks, Offsets, Out gpu.Ptr
		Size                 uint64
		Count                uint32
	}
	quadParams struct {
		Blocks, Codes gpu.Ptr
		Count         uint32
	}
	sampleParams struct {
		Blocks gpu.Ptr
		Count  uint32
	}
)
