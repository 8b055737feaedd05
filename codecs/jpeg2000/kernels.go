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
	bitPlanes     int // of code-blocks
	lanes         int // of a warp that have a code-block of Part 1 to decode
}

// kernels is the steps on a device.
var kernels = gpu.Table[extent]{
	Module: &gpu.Module{Name: "jpeg2000", Variants: []string{kernels75}},
	Kernels: map[string]gpu.Entry[extent]{
		"jpeg2000_load":       {Params: listParams{}, Threads: func(e *extent) int { return e.pixels }},
		"jpeg2000_store":      {Params: listParams{}, Threads: func(e *extent) int { return e.pixels }},
		"jpeg2000_load97":     {Params: listParams{}, Threads: func(e *extent) int { return e.pixels }},
		"jpeg2000_store97":    {Params: listParams{}, Threads: func(e *extent) int { return e.pixels }},
		"jpeg2000_forward97":  {Params: levelParams{}, Grid: levelGrid},
		"jpeg2000_inverse97":  {Params: levelParams{}, Grid: levelGrid},
		"jpeg2000_forward53":  {Params: levelParams{}, Grid: levelGrid},
		"jpeg2000_inverse53":  {Params: levelParams{}, Grid: levelGrid},
		"jpeg2000_ht_encode":  {Params: encodeParams{}, Block: blockWarps * warp, Threads: func(e *extent) int { return e.blocks * warp }},
		"jpeg2000_offsets":    {Params: offsetParams{}, Threads: func(e *extent) int { return e.blocks }},
		"jpeg2000_gather":     {Params: gatherParams{}, Threads: func(e *extent) int { return e.blocks * warp }},
		"jpeg2000_ht_quads":   {Params: quadParams{}, Block: quadThreads, Threads: func(e *extent) int { return (e.blocks + quadLanes - 1) / quadLanes * warp }},
		"jpeg2000_ht_samples": {Params: sampleParams{}, Block: blockWarps * warp, Threads: func(e *extent) int { return e.blocks * warp }},

		"jpeg2000_ht_refine":     {Params: sampleParams{}, Block: quadThreads, Threads: func(e *extent) int { return e.blocks }},
		"jpeg2000_quantize":      {Params: quantizeParams{}, Threads: func(e *extent) int { return e.blocks * warp }},
		"jpeg2000_row_errors":    {Params: rowErrorParams{}, Threads: func(e *extent) int { return e.pixels }},
		"jpeg2000_ht_dequantize": {Params: sampleParams{}, Threads: func(e *extent) int { return e.blocks * warp }},

		"jpeg2000_volume_forward": {Params: axisParams{}, Threads: func(e *extent) int { return e.pixels }},
		"jpeg2000_volume_inverse": {Params: axisParams{}, Threads: func(e *extent) int { return e.pixels }},

		"jpeg2000_planes":         {Params: planesParams{}, Block: blockWarps * warp, Threads: func(e *extent) int { return e.blocks * warp }},
		"jpeg2000_list_planes":    {Params: listPlanesParams{}, Threads: func(e *extent) int { return e.blocks }},
		"jpeg2000_symbols":        {Params: symbolParams{}, Block: planeThreads, Threads: func(e *extent) int { return e.bitPlanes }},
		"jpeg2000_mq_encode":      {Params: mqEncodeParams{}, Block: encodeThreads, Threads: func(e *extent) int { return e.blocks }},
		"jpeg2000_gather_streams": {Params: gatherStreamsParams{}, Threads: func(e *extent) int { return e.blocks * warp }},
		"jpeg2000_decode_passes":  {Params: passesParams{}, Block: decodeThreads, Threads: func(e *extent) int { return (e.blocks + e.lanes - 1) / e.lanes * warp }},
		"jpeg2000_dequantize":     {Params: sampleParams{}, Threads: func(e *extent) int { return e.blocks * warp }},
	},
}

const (
	warp        = 32
	blockWarps  = 4   // of a block of threads that has a code-block for each
	quadThreads = 128 // of a block of threads that decodes quads, and
	quadLanes   = 16  // of a warp of it those that have a code-block each

	planeThreads  = 128 // of a block of threads that has a bit-plane for each thread
	encodeThreads = 64  // of a block of threads that has a code-block of Part 1 for each thread
	decodeThreads = 64

	// passWarps is how many warps of the decoder of Part 1 a multiprocessor is to have at once.
	passWarps = 10

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

// deviceTables are the tables of the block coder of Part 1.
type deviceTables struct {
	Zero      [4 * 512]uint8 // contexts of zero coding, see [bitplane.DeviceContexts]
	Sign      [256]uint8     // contexts of sign coding
	Following [188]uint32    // states that follow, see [mq.DeviceStates]
	First     [19]uint32     // states at the start
}

// deviceScan is a code-block of Part 1 to encode.
type deviceScan struct {
	Coefficients gpu.Ptr `cuda:"int32_t"` // the first
	Stride       uint32  // coefficients from row to row
	Slice        uint32  // coefficients from slice to slice
	Width        uint32
	Height       uint32
	Depth        uint32 // slices
	Orientation  uint32
	Factor       uint32 // of 9/7: the bits of the float32 that makes indices of coefficients, which are float32; 0: they are indices
	Unused       uint32
}

// deviceBitPlane is a bit-plane of a code-block of Part 1 to encode.
type deviceBitPlane struct {
	First       uint64 // where its slot begins, in words of 16 decisions
	Block       uint32
	Plane       uint32 // above the last one
	Skip        uint32 // words of the slot before those of decisions
	Propagation uint32 // decisions of the passes
	Refinement  uint32
	Cleanup     uint32
}

// devicePasses is a code-block of Part 1 to decode.
type devicePasses struct {
	Data         gpu.Ptr `cuda:"const uint8_t"`  // the codeword segments
	Segments     gpu.Ptr `cuda:"const uint32_t"` // of each the coding passes and the bytes
	Coefficients gpu.Ptr `cuda:"int32_t"`        // the first
	Bits         gpu.Ptr `cuda:"uint32_t"`       // by bit-planes, zeros, see jpeg2000_decode_passes
	Memory       gpu.Ptr `cuda:"uint32_t"`       // zeros, four for each word of a bit-plane, a warp's code-blocks side by side
	Stride       uint32  // coefficients from row to row
	Slice        uint32  // coefficients from slice to slice
	Width        uint32
	Height       uint32
	Depth        uint32 // slices
	Planes       uint32 // bit-planes
	Passes       uint32 // of all segments
	Orientation  uint32
	Style        uint32
	Step         uint32 // half of the quantization step, the bits of a float32; 0: reversible
}

// The parameters of kernels.
type (
	planesParams struct {
		Blocks, Planes, Words, Starts, Energies gpu.Ptr
		Fraction, Count                         uint32
	}
	listPlanesParams struct {
		PlaneOffsets, WordOffsets, Starts, List gpu.Ptr
		Count                                   uint32
	}
	symbolParams struct {
		Blocks, Planes, Tables, List, Symbols, Sums gpu.Ptr
		Style, Fraction, Count                      uint32
	}
	mqEncodeParams struct {
		List, PlaneOffsets, WordOffsets, Symbols, Tables, Out, Lengths, PassLengths, Marks gpu.Ptr
		Style, Count                                                                       uint32
	}
	gatherStreamsParams struct {
		Streams, WordOffsets, Offsets, Out gpu.Ptr
		Size                               uint64
		Count                              uint32
	}
	passesParams struct {
		Blocks, Tables gpu.Ptr
		Lanes, Count   uint32
	}
)

// deviceRefined is a High Throughput code-block with refinement passes.
type deviceRefined struct {
	Data         gpu.Ptr `cuda:"const uint8_t"` // their segment
	Coefficients gpu.Ptr `cuda:"int32_t"`       // the first
	States       gpu.Ptr `cuda:"uint8_t"`       // working memory of zeros: (width + 2) x (height + 2)
	Length       uint32  // bytes of the segment
	Stride       uint32
	Width        uint32
	Height       uint32
	Plane        uint32 // the last bit-plane of the cleanup pass
	Passes       uint32 // 1 or 2
	Causal       uint32 // 1: vertically causal
	Step         uint32 // half of the quantization step, the bits of a float32; 0: reversible
}

// deviceArray is a component of a volume of Part 10.
type deviceArray struct {
	Coefficients gpu.Ptr `cuda:"int32_t"` // slices of rows
	Work         gpu.Ptr `cuda:"int32_t"` // likewise, between two steps
	Width        uint32
	Height       uint32
	Depth        uint32
	Levels       uint32 // along x and y
	LevelsZ      uint32
	Unused       uint32
}

// The parameters of quantization for Part 15.
type (
	quantizeParams struct {
		Blocks   gpu.Ptr
		Distance uint64 // words between a coefficient and its index
		Count    uint32
	}
	rowErrorParams struct{ Bands, Rows gpu.Ptr }
)

// axisParams are the parameters of a step along an axis of volumes.
type axisParams struct {
	Arrays              gpu.Ptr
	Level, Axis, Source uint32
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

// Modules are all kernels, see [codec.DeviceCodec].
func (Codec) Modules() []*gpu.Module { return []*gpu.Module{kernels.Module} }
