package webp

import (
	_ "embed"

	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/comparison"
)

//go:embed ptx/kernels.ptx
var kernels75 string

// kernels is the steps on a device. Their grids follow from the slots of a batch.
var kernels = gpu.Table[slot]{
	Module: &gpu.Module{Name: "webp", Variants: []string{kernels75}},
	Kernels: map[string]gpu.Entry[slot]{
		"webp_load":           {Params: slotParams{}, Threads: (*slot).pixels},
		"webp_subtract_green": {Params: slotParams{}, Threads: (*slot).pixels},

		"webp_choose_modes":       {Params: slotParams{}, Threads: (*slot).modeThreads},
		"webp_residuals":          {Params: slotParams{}, Threads: (*slot).pixels},
		"webp_choose_multipliers": {Params: slotParams{}, Threads: func(s *slot) int { return warp * s.tiles(s.ColourBits) }},
		"webp_apply_multipliers":  {Params: slotParams{}, Threads: (*slot).pixels},

		"webp_tile_costs":      {Params: slotParams{}, Threads: (*slot).tileThreads},
		"webp_costs_by_symbol": {Params: slotParams{}, Threads: func(s *slot) int { return int(s.Symbols) * costWords(int(s.GroupCount)) }},
		"webp_assign_groups":   {Params: slotParams{}, Threads: (*slot).tileThreads},
		"webp_count_tiles":     {Params: slotParams{}, Threads: (*slot).groupTiles},
		"webp_place_groups":    {Params: slotParams{}, Threads: func(*slot) int { return warp }},
		"webp_order_tiles":     {Params: slotParams{}, Threads: (*slot).groupTiles},
		"webp_histograms":      {Params: slotParams{}, Threads: (*slot).histogramThreads},

		"webp_equal":            {Params: slotParams{}, Threads: func(s *slot) int { return warp * s.words() }},
		"webp_reach":            {Params: slotParams{}, Threads: func(s *slot) int { return s.words() * int(s.Rows) }},
		"webp_keys":             {Params: slotParams{}, Threads: (*slot).pixels},
		"webp_link":             {Params: slotParams{}, Threads: func(s *slot) int { return warp * pieces(s.pixels(), linkPixels) }},
		"webp_carry":            {Params: slotParams{}, Threads: func(*slot) int { return linkEntries }},
		"webp_join":             {Params: slotParams{}, Threads: (*slot).pixels},
		"webp_count_candidates": {Params: slotParams{}, Threads: (*slot).pixels},
		"webp_offsets":          {Params: slotParams{}, Threads: func(s *slot) int { return pieces(s.pixels(), offsetPixels) }},
		"webp_candidates":       {Params: slotParams{}, Threads: (*slot).pixels},

		"webp_cache_chunks": {Params: slotParams{}, Threads: (*slot).cacheThreads},
		"webp_carry_caches": {Params: slotParams{}, Threads: func(*slot) int { return cacheEntries }},
		"webp_cache_hits":   {Params: slotParams{}, Threads: (*slot).cacheThreads},

		"webp_clear_parse":      {Params: slotParams{}, Threads: (*slot).pixels},
		"webp_place_references": {Params: slotParams{}, Threads: func(s *slot) int { return warp * int(s.ReferenceCount) }},
		"webp_set_cache":        {Params: slotParams{}, Threads: (*slot).pixels},
		"webp_cache_counts":     {Params: slotParams{}, Threads: (*slot).pixels},
		"webp_count_symbols":    {Params: slotParams{}, Threads: (*slot).pixels},

		"webp_cluster_tiles":       {Params: slotParams{}, Threads: (*slot).tileThreads},
		"webp_cluster_all_costs":   {Params: slotParams{}, Threads: func(*slot) int { return gpu.BlockThreads }},
		"webp_cluster_tile_costs":  {Params: roundParams{}, Threads: (*slot).tileThreads},
		"webp_cluster_own_costs":   {Params: slotParams{}, Threads: (*slot).tileThreads},
		"webp_cluster_order":       {Params: slotParams{}, Block: imageBlock, Threads: func(*slot) int { return imageBlock }},
		"webp_cluster_clear":       {Params: roundParams{}, Threads: func(s *slot) int { return entropy.MaxStartGroups * int(s.Symbols) }},
		"webp_cluster_count":       {Params: slotParams{}, Threads: (*slot).tileThreads},
		"webp_cluster_group_costs": {Params: slotParams{}, Threads: func(s *slot) int { return gpu.BlockThreads * int(s.GroupCount) }},
		"webp_cluster_assign":      {Params: slotParams{}, Threads: (*slot).tileThreads},
		"webp_cluster_worst":       {Params: roundParams{}, Block: imageBlock, Threads: func(*slot) int { return imageBlock }},
		"webp_cluster_pairs":       {Params: slotParams{}, Threads: func(*slot) int { return warp * entropy.MaxStartGroups * entropy.MaxStartGroups }},
		"webp_cluster_merge":       {Params: slotParams{}, Block: imageBlock, Threads: func(*slot) int { return imageBlock }},
		"webp_cluster_result":      {Params: slotParams{}, Block: imageBlock, Threads: func(*slot) int { return imageBlock }},

		"webp_pack_references": {Params: slotParams{}, Threads: func(s *slot) int { return pieces(s.pixels(), packPixels) }},
		"webp_pack_literals":   {Params: slotParams{}, Threads: func(s *slot) int { return pieces(s.pixels(), packPixels) }},
	},
}

const (
	warp       = 32
	imageBlock = 1024 // threads of a block that has a whole image

	// Pixels that one thread takes.
	packPixels      = 4
	histogramPixels = 32
	offsetPixels    = 8

	stripPixels = 4 // of a row of a tile that a thread of webp_choose_modes takes at a time

	histogramTiles = 128 // that a block of webp_histograms counts

	// Pixels of a chunk and entries of its table, of the hash chains (match.cuh) and of the
	// colour caches (cache.cuh).
	linkPixels   = 1 << 16
	linkEntries  = 1 << 16
	cachePixels  = 1 << 14
	cacheEntries = 1 << format.MaxCacheBits
)

// slot is an image of a batch on the device. Each kernel reads what its comment names; the rest may be null or 0. Tiles
// are in raster order and 1 << bits on a side.
type slot struct {
	Source          gpu.Ptr   `cuda:"const uint8_t"`  // height x width x channels samples, or 0xAARRGGBB where channels is 0
	Argb            gpu.Ptr   `cuda:"uint32_t"`       // height x width: what the predictor predicts from
	Residual        gpu.Ptr   `cuda:"uint32_t"`       // height x width: after the predictor transform
	Coded           gpu.Ptr   `cuda:"uint32_t"`       // height x width: after all transforms
	Modes           gpu.Ptr   `cuda:"uint8_t"`        // by tile of mode_bits
	ModeCosts       gpu.Ptr   `cuda:"const uint32_t"` // 14, 1/256 bit
	Multipliers     gpu.Ptr   `cuda:"uint32_t"`       // by tile of colour_bits; null: no colour transform
	MultiplierCosts gpu.Ptr   `cuda:"const uint16_t"` // 3 x 256, 1/256 bit: red-to-blue, green-to-blue, green-to-red
	Groups          gpu.Ptr   `cuda:"uint16_t"`       // by tile of group_bits: its prefix code group; null: there is one
	Order           gpu.Ptr   `cuda:"uint32_t"`       // the tiles of groups, those of a group side by side; null: there is one group
	Costs           gpu.Ptr   `cuda:"const uint16_t"` // by group and symbol, 1/256 bit
	GroupCosts      gpu.Ptr   `cuda:"const uint32_t"` // by group, 1/256 bit: of naming it in the entropy image
	Result          gpu.Ptr   `cuda:"uint32_t"`       // what the kernel's comment says, zero before
	Codes           gpu.Ptr   `cuda:"const uint32_t"` // by group and symbol: bits << 4 | length, the first bit lowest
	Scratch         gpu.Ptr   `cuda:"uint64_t"`       // zero before: state of a running sum, costs by symbol, or Clusters
	Length          gpu.Ptr   `cuda:"uint16_t"`       // height x width, of the parse: format.Parse
	Value           gpu.Ptr   `cuda:"uint32_t"`       // height x width, of the parse
	Hits            gpu.Ptr   `cuda:"uint8_t"`        // height x width: bits of the smallest cache that has the pixel, or 0xff
	Counts          gpu.Ptr   `cuda:"uint32_t"`       // what the kernel's comment says, zero before
	Tables          gpu.Ptr   `cuda:"uint32_t"`       // by chunk, of the hash chains and of the caches, zero before
	Distances       gpu.Ptr   `cuda:"const uint32_t"` // rows, see match.cuh
	DistanceCodes   gpu.Ptr   `cuda:"const uint8_t"`  // by distance, 7 x width + 9: its least code up to 120, or 0
	Ends            gpu.Ptr   `cuda:"const uint32_t"` // of the bands of a parse: the position after the last, rising
	Equal           gpu.Ptr   `cuda:"uint32_t"`       // by word and row, see match.cuh
	Reach           gpu.Ptr   `cuda:"uint16_t"`       // by word and row, see match.cuh
	Prev            gpu.Ptr   `cuda:"uint32_t"`       // height x width: 1 + the latest earlier position with the same key, or 0
	Offsets         gpu.Ptr   `cuda:"uint32_t"`       // height x width + 1: where the candidates of a position begin
	References      gpu.Ptr   `cuda:"const uint32_t"` // of a new parse: where each begins, and code - 1 << 12 | length; null: no new one
	Words           uint64    // that result has, of the packing kernels
	First           uint64    // bit in result where packing begins
	Width           uint32    // pixels
	Height          uint32    // pixels
	Channels        uint32    // of source
	Exact           uint32    // 0: pixels of alpha 0 are loaded as 0
	Opaque          uint32    // 1: alpha is the same everywhere, and nothing looks at it
	ModeBits        uint32    // log2 of the side of a tile of the predictor
	ColourBits      uint32    // of the colour transform
	GroupBits       uint32    // of the entropy image
	GroupCount      uint32    // prefix code groups
	Symbols         uint32    // of a group
	Near            uint32    // how far the number of a tile's group may move; 0: anywhere
	Skip            uint32    // of that many rows of a tile one counts for modes and multipliers
	Count           uint32    // steps, or groups that a clustering starts with
	Steps           [8]uint32 // of the search for multipliers, in turn
	CacheBits       uint32    // of the colour cache
	Rows            uint32    // of distances
	Bands           uint32    // of a parse
	Depth           uint32    // earlier positions of the same key that are tried
	StopLength      uint32    // a candidate as long as this ends the search
	ReferenceCount  uint32    // backward references
	Unused          uint32
}

// The parameters of the kernels: the slots of the batch's images, and for kernels that
// run in several rounds which one it is.
type (
	slotParams struct {
		Slots gpu.Ptr
	}
	roundParams struct {
		Slots gpu.Ptr
		Round uint32
	}
)

func (s *slot) pixels() int { return int(s.Width) * int(s.Height) }

// tiles is how many of 1<<bits the image has.
func (s *slot) tiles(bits uint32) int {
	return format.Tiles(int(s.Width), int(bits)) * format.Tiles(int(s.Height), int(bits))
}

// groupTiles is how many tiles the entropy image has.
func (s *slot) groupTiles() int { return s.tiles(s.GroupBits) }

// tileThreads is a warp for each of these.
func (s *slot) tileThreads() int { return warp * s.groupTiles() }

// histogramThreads is a block for some tiles where these are in order, and a thread for some pixels where there is one group.
func (s *slot) histogramThreads() int {
	if s.Order == 0 {
		return pieces(s.pixels(), histogramPixels)
	}
	return gpu.BlockThreads * pieces(s.groupTiles(), histogramTiles)
}

// modeThreads is as many for each tile of the predictor as it has strips, a warp at most.
func (s *slot) modeThreads() int {
	return s.tiles(s.ModeBits) * min(warp, 1<<(2*s.ModeBits)/stripPixels)
}

// cacheThreads is a block for each chunk.
func (s *slot) cacheThreads() int { return gpu.BlockThreads * pieces(s.pixels(), cachePixels) }

// pieces is how many of the given size n pixels make.
func pieces(n, size int) int { return (n + size - 1) / size }

// words is how many words a row of equal has: a bit for each pixel.
func (s *slot) words() int { return pieces(s.pixels(), 32) }

// costWords is how many words the costs of a symbol in n groups take: cost_words of
// entropy.cuh.
func costWords(n int) int { return (n + 15) / 16 * 8 }

// Modules are all kernels, see [codec.DeviceCodec].
func (Codec) Modules() []*gpu.Module {
	return []*gpu.Module{kernels.Module, decoderKernels.Module, comparison.Module()}
}
