package neuquant

import (
	_ "embed"

	"github.com/pelmill/pelmill/codecs/neuquant/internal/deflate"
	"github.com/pelmill/pelmill/gpu"
)

//go:embed ptx/kernels.ptx
var kernels75 string

//go:embed ptx/kernels_80.ptx
var kernels80 string

//go:embed ptx/parse.ptx
var parse75 string

//go:embed ptx/pack.ptx
var pack75 string

// kernels is the steps on a device, with minima of a warp in one instruction from compute
// capability 8.0 on. Their grids follow from the problems of a batch.
var kernels = gpu.Table[deviceProblem]{
	Module: &gpu.Module{Name: "neuquant", Variants: []string{kernels75, kernels80}},
	Kernels: map[string]gpu.Entry[deviceProblem]{
		"nq_train": {Params: trainParams{}, Grid: func(_ *gpu.Info, batch []deviceProblem) gpu.Grid {
			return gpu.Grid{Blocks: [3]int{(len(batch) + trainWarps - 1) / trainWarps}, Threads: [3]int{warp * trainWarps}}
		}},
		"nq_bins":       {Params: listParams{}, Block: binThreads, Threads: func(p *deviceProblem) int { return (int(p.N) + binColours - 1) / binColours }},
		"nq_count_bins": {Params: listParams{}, Threads: func(*deviceProblem) int { return warp * binParts }},
		"nq_list_bins":  {Params: listParams{}, Threads: func(*deviceProblem) int { return warp * binParts }},
		"nq_refine": {Params: refineParams{}, Grid: func(_ *gpu.Info, batch []deviceProblem) gpu.Grid {
			return gpu.Grid{Blocks: [3]int{len(batch)}, Threads: [3]int{refineThreads}}
		}},
		"nq_map":    {Params: listParams{}, Threads: (*deviceProblem).colourThreads},
		"nq_census": {Params: listParams{}, Block: maxEntries, Threads: func(p *deviceProblem) int { return (int(p.N) + censusIndices - 1) / censusIndices }},
		"nq_rows":   {Params: listParams{}, Threads: func(p *deviceProblem) int { return (int(p.N) + 3) / 4 }},
		"nq_expand": {Params: listParams{}, Threads: func(p *deviceProblem) int { return (int(p.N) + 3) / 4 }},
	},
}

const (
	warp          = 32
	trainWarps    = 4   // of a block of nq_train, each with a problem of its own
	refineThreads = 512 // of a block of nq_refine, which has a problem
	threadColours = 8   // that a thread of nq_map takes
	binThreads    = 512 // of a block of nq_bins
	binColours    = 16  // that each of them takes
	censusIndices = 32  // that a thread of nq_census counts
	binParts      = 256 // parts of the bins, of which a warp counts or lists one

	// networkWords is the state of a training between two launches: four components and
	// the frequency of each neuron, and a line for what all neurons share.
	networkWords = 5*maxEntries + warp
)

func (p *deviceProblem) colourThreads() int { return (int(p.N) + threadColours - 1) / threadColours }

// deviceProblem is a problem of a batch. Colours are R, G, B, A from the lowest byte up. Colours are read and indices written
// in groups of four, also where the last colours are no whole group.
type deviceProblem struct {
	Samples  gpu.Ptr `cuda:"const uint8_t"`  // n x 3 of opaque colours; null: values
	Values   gpu.Ptr `cuda:"const uint32_t"` // n
	Index    gpu.Ptr `cuda:"uint8_t"`        // n: of the nearest entry; null: not wanted
	Picture  gpu.Ptr `cuda:"uint8_t"`        // n x 3: the entry of each index; null: not wanted
	Uses     gpu.Ptr `cuda:"uint32_t"`       // most_entries, zero before: indices of each entry; null: not wanted
	Rows     gpu.Ptr `cuda:"uint8_t"`        // rows of a PNG file, zero before: n/width x (1 + width); null: not wanted
	Places   gpu.Ptr `cuda:"const uint8_t"`  // most_entries: the place of each entry in the file
	Entries  gpu.Ptr `cuda:"uint32_t"`       // most_entries
	Network  gpu.Ptr `cuda:"uint32_t"`       // network_words: state of the training, see train.cuh
	Bins     gpu.Ptr `cuda:"uint64_t"`       // 2 << bin_bits, zero before: see bins.cuh
	Alphas   gpu.Ptr `cuda:"uint32_t"`       // 1 << bin_bits, zero before; null where all is opaque
	Occupied gpu.Ptr `cuda:"uint32_t"`       // 1 << bin_bits bits, zero before
	Counts   gpu.Ptr `cuda:"uint32_t"`       // bin_parts + 1: occupied bins of each part of the bins, and of all
	Colours  gpu.Ptr `cuda:"uint32_t"`       // of the occupied bins, in rising order: the mean
	Weights  gpu.Ptr `cuda:"uint32_t"`       // how many colours
	Numbers  gpu.Ptr `cuda:"uint32_t"`       // the bin
	Rests    gpu.Ptr `cuda:"uint32_t"`       // 4 sums, of the bits of the components that the number lacks
	Nearest  gpu.Ptr `cuda:"uint8_t"`        // the entry
	N        uint32  // colours
	K        uint32  // entries
	Opaque   uint32  // 1: all colours have alpha 255
	Cycle    uint32  // samples of a cycle
	Cycles   uint32  // all samples
	Stride   uint32  // colours from sample to sample
	Decay    uint32  // of the learning rate
	Width    uint32  // of the picture that has rows
}

// The parameters of the kernels: the list of the batch's problems, and what is the same
// for all of them.
type (
	listParams struct {
		List gpu.Ptr
	}
	// trainParams is what nq_train takes.
	trainParams struct {
		List   gpu.Ptr `cuda:"const Problem"`
		Count  uint32  // problems
		First  uint32  // sample of this launch
		Most   uint32  // samples of this launch
		Unused uint32
	}
	refineParams struct {
		List   gpu.Ptr
		Passes uint32
	}
)

// streamKernels is the parse of deflate on a device.
var streamKernels = gpu.Table[deviceStream]{
	Module: &gpu.Module{Name: "neuquant-parse", Variants: []string{parse75}},
	Kernels: map[string]gpu.Entry[deviceStream]{
		"nq_hash": {Params: listParams{}, Threads: (*deviceStream).positionThreads},
		"nq_look": {Params: listParams{}, Grid: func(_ *gpu.Info, batch []deviceStream) gpu.Grid {
			return gpu.Grid{Blocks: [3]int{len(batch), 1 + 2<<(deflate.MaxHashBits-lookBits)}, Threads: [3]int{warp}}
		}},
		"nq_compare":  {Params: listParams{}, Threads: (*deviceStream).positionThreads},
		"nq_lengthen": {Params: listParams{}, Threads: (*deviceStream).positionThreads},
		"nq_divide": {Params: listParams{}, Grid: func(_ *gpu.Info, batch []deviceStream) gpu.Grid {
			return gpu.Grid{Blocks: [3]int{len(batch)}, Threads: [3]int{warp}}
		}},
		"nq_search": {Params: listParams{}, Threads: func(e *deviceStream) int { return warp * (int(e.N)/deflate.ChunkBytes + 1) }},
		"nq_parse": {Params: listParams{}, Grid: func(_ *gpu.Info, batch []deviceStream) gpu.Grid {
			return gpu.Grid{Blocks: [3]int{len(batch)}, Threads: [3]int{parseThreads}}
		}},
	},
}

// packKernels is how tokens become a stream on a device.
var packKernels = gpu.Table[devicePack]{
	Module: &gpu.Module{Name: "neuquant-pack", Variants: []string{pack75}},
	Kernels: map[string]gpu.Entry[devicePack]{
		"nq_pack": {Params: listParams{}, Grid: func(_ *gpu.Info, batch []devicePack) gpu.Grid {
			return gpu.Grid{Blocks: [3]int{len(batch)}, Threads: [3]int{packThreads}}
		}},
	},
}

// parseKernels is the kernels in the order in which they run.
var parseKernels = []string{"nq_hash", "nq_look", "nq_compare", "nq_lengthen", "nq_divide", "nq_search", "nq_parse"}

const (
	packThreads   = 256 // of a block of nq_pack, which has a block of a stream
	parseThreads  = 128 // of a block of nq_parse, which has a stream
	plannedChunks = 5   // that nq_parse plans at the same time: as many as there is shared memory for

	lookBits      = 14 // of the hashes whose table a warp of nq_look has in shared memory
	hashesOfPlace = 3
	chunkSize     = 3 * 4 // bytes of a chunk that is found
	segmentSize   = 4 * (4 + deflate.Symbols + deflate.Distances)
	countsSize    = 16
)

func (e *deviceStream) positionThreads() int { return int(e.N) }

// deviceStream is the rows of an image that are parsed. Words of four bytes are read around them.
type deviceStream struct {
	Data     gpu.Ptr `cuda:"const uint8_t"` // n
	Hashes   gpu.Ptr `cuda:"uint16_t"`      // 3 x room: of three, of four and of six bytes
	Places   gpu.Ptr `cuda:"uint16_t"`      // 3 x room: where they were before
	Near     gpu.Ptr `cuda:"uint32_t"`      // n: the larger key of the nearest strings of three and of four bytes
	Chained  gpu.Ptr `cuda:"uint32_t"`      // n: the key of that of six bytes
	Longest  gpu.Ptr `cuda:"uint32_t"`      // n: the key of the longest match
	Good     gpu.Ptr `cuda:"uint32_t"`      // n bits: whether a good match may begin there
	Chunks   gpu.Ptr `cuda:"uint32_t"`      // three words each
	Tokens   gpu.Ptr `cuda:"uint32_t"`      // n
	Segments gpu.Ptr `cuda:"Segment"`       // most
	Counts   gpu.Ptr `cuda:"uint32_t"`      // of the tokens, the segments and the chunks; 0 where the steps did not suffice
	N        uint32  // bytes
	Room     uint32  // of the hashes of one length, n or more
	Most     uint32  // segments
	Steps    uint32  // that the search for where chunks begin may take
}

// devicePack is a block of a stream whose tokens are written.
type devicePack struct {
	Tokens gpu.Ptr `cuda:"const uint32_t"` // of the stream
	Out    gpu.Ptr `cuda:"uint32_t"`       // words: the stream from its first byte on
	Block  gpu.Ptr `cuda:"const Block"`
	Words  uint32
	Unused uint32
}

// Modules are all kernels, see [codec.DeviceCodec].
func (Codec) Modules() []*gpu.Module {
	return []*gpu.Module{kernels.Module, streamKernels.Module, packKernels.Module}
}
