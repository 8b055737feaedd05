package vq

import (
	_ "embed"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/comparison"
)

//go:embed ptx/kernels.ptx
var kernels75 string

//go:embed ptx/kernels_80.ptx
var kernels80 string

// module is the steps on a device, with dot products by tensor cores from compute
// capability 8.0 on.
var module = gpu.Module{Name: "vq", Variants: []string{kernels75, kernels80}}

// extent is what the grids of a batch's item follow from. A kernel looks at what it
// needs.
type extent struct {
	planes int // 3 with chroma
	rows   int // of blocks' samples: rows of all blocks of the largest plane, which a thread takes each
	blocks int // M
	drawn  int // blocks that first codewords are drawn from
	words  int // codewords N
	k      int // samples of a block
	pixels int // to expand
	coders int // blocks of threads that code or decode segments
	shared int // bytes of shared memory of each
}

// kernels is all kernels. Those of training and of index tables have a row of blocks for
// each codebook of a batch.
var kernels = gpu.Table[extent]{Module: &module, Kernels: map[string]gpu.Entry[extent]{
	"vq_blocks": {Params: listParams{}, Grid: func(_ *gpu.Info, batch []extent) gpu.Grid {
		rows, planes := 0, 1
		for i := range batch {
			rows, planes = max(rows, batch[i].rows), max(planes, batch[i].planes)
		}
		return gpu.Grid{
			Blocks:  [3]int{(rows + gpu.BlockThreads - 1) / gpu.BlockThreads, planes, len(batch)},
			Threads: [3]int{gpu.BlockThreads},
		}
	}},
	"vq_sample": {Params: listParams{}, Threads: func(e *extent) int { return e.blocks * e.k / 4 }},

	"vq_search_4":      {Params: searchParams{}, Block: searchThreads, Threads: searching(searchMany)},
	"vq_search_8":      {Params: searchParams{}, Block: searchThreads, Threads: searching(searchMany)},
	"vq_search_16":     {Params: searchParams{}, Block: searchThreads, Threads: searching(searchMany)},
	"vq_search_64":     {Params: searchParams{}, Block: searchThreads, Threads: searching(searchMany64)},
	"vq_search_4_few":  {Params: searchParams{}, Block: searchThreads, Threads: searching(searchFew)},
	"vq_search_8_few":  {Params: searchParams{}, Block: searchThreads, Threads: searching(searchFew)},
	"vq_search_16_few": {Params: searchParams{}, Block: searchThreads, Threads: searching(searchFew)},
	"vq_search_64_few": {Params: searchParams{}, Block: searchThreads, Threads: searching(searchFew)},

	"vq_seed":     {Params: listParams{}, Block: blockThreads, Threads: oneBlock},
	"vq_draw":     {Params: listParams{}, Block: blockThreads, Threads: oneBlock},
	"vq_approach": {Params: listParams{}, Threads: func(e *extent) int { return e.drawn }},
	"vq_grow":     {Params: mostParams{}, Block: blockThreads, Threads: oneBlock},
	"vq_resume": {Params: resumeParams{}, Grid: func(_ *gpu.Info, batch []extent) gpu.Grid {
		return gpu.Grid{Blocks: [3]int{(len(batch) + gpu.BlockThreads - 1) / gpu.BlockThreads}, Threads: [3]int{gpu.BlockThreads}}
	}},
	"vq_gather":   {Params: addParams{}, Grid: addingGrid},
	"vq_centre":   {Params: mostParams{}, Threads: func(e *extent) int { return e.words * e.k }},
	"vq_farthest": {Params: mostParams{}, Threads: func(e *extent) int { return e.blocks }},
	"vq_halves":   {Params: halvesParams{}, Threads: func(e *extent) int { return warp * e.words }},
	"vq_beyond":   {Params: addParams{}, Grid: addingGrid},
	"vq_nearest":  {Params: mostParams{}, Threads: func(e *extent) int { return warp * e.words }},
	"vq_order":    {Params: orderParams{}, Threads: func(e *extent) int { return e.words }},
	"vq_shift":    {Params: shiftParams{}, Block: blockThreads, Threads: oneBlock},

	"vq_count":    {Params: listParams{}, Threads: func(e *extent) int { return (e.blocks + countBlocks - 1) / countBlocks }},
	"vq_renumber": {Params: listParams{}, Threads: func(e *extent) int { return e.blocks }},
	"vq_sides":    {Params: listParams{}, Threads: func(e *extent) int { return e.words * e.words }},
	"vq_ranks":    {Params: listParams{}, Threads: func(e *extent) int { return warp * e.blocks }},

	"vq_code": {Params: codeParams{}, Grid: codingGrid(2 * warp)},

	"vq_edges":      {Params: listParams{}, Threads: func(e *extent) int { return e.words }},
	"vq_decode":     {Params: decodeParams{}, Grid: codingGrid(warp)},
	"vq_decode_256": {Params: decodeParams{}, Grid: codingGrid(warp)},
	"vq_places":     {Params: listParams{}, Threads: func(e *extent) int { return warp * e.blocks }},
	"vq_expect":     {Params: decodeParams{}, Grid: codingGrid(3 * warp)},

	"vq_expand": {Params: listParams{}, Threads: func(e *extent) int { return e.pixels }},
	"vq_expand_grey": {Params: expandGreyParams{}, Grid: func(info *gpu.Info, one []extent) gpu.Grid {
		// Few large blocks of threads, because each brings the codebook: up to 64 KiB.
		e := &one[0]
		blocks := (e.pixels/64 + blockThreads - 1) / blockThreads
		return gpu.Grid{
			Blocks:  [3]int{min(blocks, 2*info.Multiprocessors)},
			Threads: [3]int{blockThreads}, Shared: 16 * e.words,
		}
	}},
}}

const (
	warp          = 32
	searchThreads = 256
	blockThreads  = 1024 // where an item has one block of threads, and where a block brings a codebook
	countBlocks   = 16   // that a thread of vq_count takes

	// Blocks that a block of threads searches for: with many blocks, of 64 samples fewer,
	// and in the kernels for few blocks.
	searchMany   = 1024
	searchMany64 = 512
	searchFew    = 256
)

// codingGrid is the grid of coders and decoders of threads each.
func codingGrid(threads int) func(*gpu.Info, []extent) gpu.Grid {
	return func(_ *gpu.Info, one []extent) gpu.Grid {
		return gpu.Grid{Blocks: [3]int{one[0].coders}, Threads: [3]int{threads}, Shared: one[0].shared}
	}
}

func oneBlock(*extent) int { return blockThreads }

// searching is the threads of a search in which a block of threads takes per blocks.
func searching(per int) func(e *extent) int {
	each := per / searchThreads
	return func(e *extent) int { return (e.blocks + each - 1) / each }
}

// addingGrid is the grid of the kernels that add blocks to cells. The cells of a codebook
// are collected in shared memory where they take no more than half of it.
func addingGrid(info *gpu.Info, batch []extent) gpu.Grid {
	const words = 8 // of four samples, for a thread at least
	most, shared := 0, 0
	for i := range batch {
		e := &batch[i]
		most = max(most, e.blocks*e.k/4)
		if bytes := 4 * e.words * (e.k + 1); bytes <= info.SharedMemory/2 {
			shared = max(shared, bytes)
		}
	}
	blocks := (most + words*gpu.BlockThreads - 1) / (words * gpu.BlockThreads)
	// Every block of threads brings its sums to those of the others.
	blocks = min(blocks, max(1, 8*info.Multiprocessors/len(batch)))
	return gpu.Grid{Blocks: [3]int{blocks, len(batch)}, Threads: [3]int{gpu.BlockThreads}, Shared: shared}
}

// The entries of the lists that kernels take, each the struct of that name in CUDA
// without the word device.
type (
	// deviceImage is an image and where its blocks go.
	deviceImage struct {
		Luma     gpu.Ptr `cuda:"uint8_t"`       // slices x grid of luma x K
		Chroma   gpu.Ptr `cuda:"uint8_t"`       // slices x (Co, Cg) x grid of chroma x K; null for grey
		Pixels   gpu.Ptr `cuda:"const uint8_t"` // slices x height x width x channels
		Width    uint32
		Height   uint32
		Slices   uint32
		Channels uint32 // 1 or 3
		Half     uint32 // 1: chroma of half width and height
		P        uint32 // rows of a block
		Q        uint32 // columns of a block
		Unused   uint32
	}

	// deviceSample is blocks to train on, drawn from all.
	deviceSample struct {
		Out    gpu.Ptr `cuda:"uint32_t"`       // most x K
		Blocks gpu.Ptr `cuda:"const uint32_t"` // m x K
		M      uint32
		Most   uint32
		K      uint32
		Unused uint32
	}

	// deviceSearch is a search for the nearest codewords.
	deviceSearch struct {
		Keys   gpu.Ptr `cuda:"uint64_t"`       // m; may be null
		Table  gpu.Ptr `cuda:"uint16_t"`       // m; may be null
		Blocks gpu.Ptr `cuda:"const uint32_t"` // m x K
		Words  gpu.Ptr `cuda:"const uint32_t"` // n x K
		Rest   gpu.Ptr `cuda:"const uint32_t"` // not 0: there is nothing to do; may be null
		M      uint32
		N      uint32
	}

	// deviceTraining is one codebook in training.
	deviceTraining struct {
		Blocks       gpu.Ptr `cuda:"const uint32_t"` // m x K
		Keys         gpu.Ptr `cuda:"uint64_t"`       // m, of the last search
		Words        gpu.Ptr `cuda:"uint8_t"`        // n x K
		Last         gpu.Ptr `cuda:"uint8_t"`        // n x K, words as they were before the pass
		Sums         gpu.Ptr `cuda:"uint32_t"`       // n x K; 0 before the blocks are added up
		Counts       gpu.Ptr `cuda:"uint32_t"`       // n; likewise
		Far          gpu.Ptr `cuda:"uint64_t"`       // n, of vq_farthest; 0 before
		A            gpu.Ptr `cuda:"uint8_t"`        // n x K, the codewords of the first halves of the cells
		B            gpu.Ptr `cuda:"uint8_t"`        // n x K, of the second ones
		Gains        gpu.Ptr `cuda:"uint64_t"`       // n, of the halves
		Directions   gpu.Ptr `cuda:"int16_t"`        // n x K, twice from the first half to the second
		Limits       gpu.Ptr `cuda:"int32_t"`        // n, of the products with directions, beyond which the second half is
		Beyond       gpu.Ptr `cuda:"uint32_t"`       // n x K, sums of the second halves; 0 between the steps
		BeyondCounts gpu.Ptr `cuda:"uint32_t"`       // n; likewise
		Others       gpu.Ptr `cuda:"uint64_t"`       // n, keys of the nearest other codewords
		Costs        gpu.Ptr `cuda:"uint64_t"`       // n, what it costs when a cell joins that of the other
		Cheap        gpu.Ptr `cuda:"uint16_t"`       // n, the cells by ascending cost
		Dear         gpu.Ptr `cuda:"uint16_t"`       // n, the cells by descending gain
		Near         gpu.Ptr `cuda:"uint32_t"`       // of the blocks that the first codewords are drawn from
		State        gpu.Ptr `cuda:"uint32_t"`       // see State in train.cuh; 0 at first
		M            uint32
		N            uint32
		K            uint32
		Unused       uint32
	}

	// deviceExpansion is pixels of an image that its index tables are expanded to.
	deviceExpansion struct {
		Pixels      gpu.Ptr `cuda:"uint8_t"`        // count x channels
		Luma        gpu.Ptr `cuda:"const uint16_t"` // slices x grid of luma
		Chroma      gpu.Ptr `cuda:"const uint16_t"` // slices x (Co, Cg) x grid of chroma; null for grey
		Words       gpu.Ptr `cuda:"const uint8_t"`  // n x K
		ChromaWords gpu.Ptr `cuda:"const uint8_t"`  // n_chroma x K; null for grey
		First       uint64
		Count       uint64
		Width       uint32
		Height      uint32
		Channels    uint32 // 1 or 3
		Half        uint32 // 1: chroma of half width and height
		P           uint32
		Q           uint32
		N           uint32
		NChroma     uint32
	}

	// deviceIndex is an index table.
	deviceIndex struct {
		Table   gpu.Ptr `cuda:"uint16_t"`       // m
		Counts  gpu.Ptr `cuda:"uint32_t"`       // most, added to
		To      gpu.Ptr `cuda:"const uint16_t"` // the new numbers; null where all codewords are used
		Words   gpu.Ptr `cuda:"const uint8_t"`  // n x p x q
		Up      gpu.Ptr `cuda:"uint32_t"`       // n x n: lower edge of u against upper edge of c, and c
		Left    gpu.Ptr `cuda:"uint32_t"`       // n x n: right edge of u against left edge of c
		Spans   gpu.Ptr `cuda:"uint32_t"`       // n: greatest less least sample
		Symbols gpu.Ptr `cuda:"uint32_t"`       // m
		M       uint32
		N       uint32 // codewords
		Most    uint32 // codewords before the renumbering
		Rows    uint32 // blocks of a plane, downwards
		Cols    uint32 // and across
		Step    uint32 // rows of a segment
		Shift   uint32 // of the codeword of least mismatch
		P       uint32
		Q       uint32
		Unused  uint32
	}
)

// The index coder on a device: see code.cuh.
const (
	chunkBlocks    = 32 // that the model is ahead of the range coder
	chunkDecisions = chunkBlocks * (2*indexBits - 1)
	decisionsRoom  = chunkDecisions + warp // with a word of each lane for what is none
	mixedPlaces    = 4*indexBits - 3       // decisions of ranks of any length, but for those that are not mixed
)

type (
	// deviceSegment is a segment of an index table to code.
	deviceSegment struct {
		Out      gpu.Ptr `cuda:"uint8_t"`        // room
		Symbols  gpu.Ptr `cuda:"const uint32_t"` // blocks
		Blocks   uint32
		Cols     uint32 // blocks of a row
		N        uint32 // codewords
		Contexts uint32
		Room     uint32
		Unused   uint32
	}

	// deviceTables are the tables of the index coder.
	deviceTables struct {
		Logistic [65]int32
		Stretch  [4096]int16
		Rates    [64]uint16
	}

	// deviceCoder is the state of a segment in shared memory. The estimates of mixed decisions are in global memory.
	deviceCoder struct {
		Tables    deviceTables                        `cuda:"Tables"`
		Weights   [mixedPlaces * mixed]int32          // of the estimates of each place
		Low       [(indexBits + 1) * indexBits]uint32 // estimates of the bits that are not mixed, by length, then by bit
		Counts    [2]uint32                           // decisions of two chunks
		Decisions [2 * chunkDecisions]uint32
	}

	codeParams struct {
		Estimates gpu.Ptr `cuda:"uint32_t"` // words of each block of threads
		Lengths   gpu.Ptr `cuda:"uint32_t"` // count
		List      gpu.Ptr `cuda:"const Segment"`
		Tables    gpu.Ptr `cuda:"const Tables"`
		Count     uint32
		Words     uint32
	}
)

// The index decoder on a device: see segments.cuh and expect.cuh.
type (
	// deviceBook is a codebook, and what the index decoder has to know of its codewords: see vq_edges.
	deviceBook struct {
		Words          gpu.Ptr `cuda:"const uint8_t"` // n x p x q
		Edges          gpu.Ptr `cuda:"uint32_t"`      // n x 4
		Neighbours     gpu.Ptr `cuda:"uint32_t"`      // n x 4
		MoreEdges      gpu.Ptr `cuda:"uint32_t"`      // n x 2; null but for blocks of 8x8
		MoreNeighbours gpu.Ptr `cuda:"uint32_t"`      // n x 2; likewise
		N              uint32
		P              uint32
		Q              uint32
		Unused         uint32
	}

	// deviceStream is the stream of a segment of an index table.
	deviceStream struct {
		In      gpu.Ptr `cuda:"const uint8_t"` // length
		Table   gpu.Ptr `cuda:"uint16_t"`      // blocks, of the segment
		Row     gpu.Ptr `cuda:"uint32_t"`      // cols, for the last row that was decoded; blocks, the symbols, where a table is expected
		Book    gpu.Ptr `cuda:"const Book"`
		Damaged gpu.Ptr `cuda:"uint32_t"` // set to 1 where the bytes are not those of a segment
		Length  uint32
		Blocks  uint32
		Cols    uint32 // blocks of a row
		Unused  uint32
	}

	decodeParams struct {
		Estimates gpu.Ptr `cuda:"uint32_t"` // words of each block of threads; in vq_expect one more for each lane
		List      gpu.Ptr `cuda:"const Stream"`
		Tables    gpu.Ptr `cuda:"const Tables"`
		Count     uint32
		Words     uint32 // of estimates
	}

	// devicePrepared is what is known of a block before the model comes to it, where its index is expected; see expect.cuh.
	devicePrepared struct {
		Contexts [mixed]uint32 // where their estimates begin
		Masks    [8]uint32     // of places 0 to 31 a bit for each that is decided, for each that is 1, and both of the bits that are not mixed; then of those behind
		Place    uint32        // of its first decision among those of the chunk
		Last     uint32        // of its last decision, and as many further as its bits that are not mixed begin behind the first of all
		Unused   [2]uint32
	}

	// deviceExpecting is chunks of a segment of which the indices are expected, in shared memory: two that are prepared, and the
	// decisions of two.
	deviceExpecting struct {
		Prepared  [2 * chunkBlocks]devicePrepared `cuda:"Prepared"`
		Decisions [2 * decisionsRoom]uint32
		Tables    deviceTables `cuda:"Tables"`
		Counts    [4]uint32    // decisions of the last chunks
	}
)

// The parameters of the kernels. Those that have two of one size are passed as a whole.
type (
	listParams struct {
		List gpu.Ptr
	}
	// searchParams is what the searches take.
	searchParams struct {
		One    deviceSearch `cuda:"Search"`       // the only one, which a kernel has at hand sooner than from a list
		List   gpu.Ptr      `cuda:"const Search"` // of several; null: there is one
		Most   uint32       // codewords that take part, of each codebook
		Unused uint32
	}
	mostParams struct {
		List gpu.Ptr
		Most uint32 // codewords that take part, of each codebook
	}
	resumeParams struct {
		List  gpu.Ptr `cuda:"const Training"`
		Count uint32
		All   uint32 // 1: also where split has all codewords
	}
	addParams struct {
		List   gpu.Ptr `cuda:"const Training"`
		Most   uint32
		Shared uint32 // bytes of shared memory that the launch brings
	}
	halvesParams struct {
		List  gpu.Ptr `cuda:"const Training"`
		Most  uint32
		First uint32 // 1: start from the farthest blocks
	}
	orderParams struct {
		List  gpu.Ptr `cuda:"const Training"`
		Most  uint32
		Costs uint32 // 1: by costs, too
	}
	shiftParams struct {
		List   gpu.Ptr `cuda:"const Training"`
		Most   uint32
		Bold   uint32
		Over   uint32
		Unused uint32
	}
	expandGreyParams struct {
		Pixels gpu.Ptr `cuda:"uint8_t"`        // height x width
		Table  gpu.Ptr `cuda:"const uint16_t"` // height/4 x width/4
		Words  gpu.Ptr `cuda:"const uint8_t"`  // n x 16
		Width  uint32
		Height uint32
		N      uint32
		Unused uint32
	}
)

// Modules are all kernels, see [codec.DeviceCodec].
func (Codec) Modules() []*gpu.Module { return []*gpu.Module{&module, comparison.Module()} }
