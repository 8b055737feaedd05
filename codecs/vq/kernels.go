package vq

import (
	_ "embed"

	"github.com/pelmill/pelmill/gpu"
)

//go:embed ptx/kernels.ptx
var kernels75 string

//go:embed ptx/kernels_80.ptx
var kernels80 string

// cardModule is the steps on a card, with dot products by tensor cores from compute
// capability 8.0 on.
var cardModule = gpu.Module{Name: "vq", Variants: []string{kernels75, kernels80}}

// The parameters of the kernels, in the order of kernels.cu, where they are explained.
type (
	blocksParams struct {
		Luma, Chroma, Pixels           gpu.Ptr
		Width, Height, Slices          uint32
		Channels, Half, BlockP, BlockQ uint32
	}
	sampleParams struct {
		Out, Blocks           gpu.Ptr
		Seed, First, Count, M uint64
		Most, K               uint32
	}
	searchParams struct {
		Keys, Table, Blocks, Words gpu.Ptr
		M                          uint64
		N                          uint32
	}
	countParams struct {
		Counts, Table gpu.Ptr
		M             uint64
		N             uint32
	}
	renumberParams struct {
		Table, To gpu.Ptr
		M         uint64
		N         uint32
	}
	sidesParams struct {
		Up, Left, Spans, Words gpu.Ptr
		N, BlockP, BlockQ      uint32
	}
	ranksParams struct {
		Symbols, Table, Up, Left, Spans gpu.Ptr
		First, M                        uint64
		N, Rows, Cols, Step, Shift      uint32
	}
	expandParams struct {
		Pixels, Luma, Chroma, Words, ChromaWords                  gpu.Ptr
		First, Count                                              uint64
		Width, Height, Channels, Half, BlockP, BlockQ, N, NChroma uint32
	}
	expandGreyParams struct {
		Pixels, Table, Words gpu.Ptr
		Width, Height, N     uint32
	}
	errorParams struct {
		Sum, A, B gpu.Ptr
		N         uint64
	}
)

// The entries of the lists that the kernels of batches take, each the struct of that name
// there without the word batch.
type (
	batchImage struct {
		Luma, Chroma, Pixels                          gpu.Ptr
		Width, Height, Slices, Channels, Half, BP, BQ uint32
		_                                             uint32
	}
	batchSearch struct {
		Keys, Table, Blocks, Words, Rest gpu.Ptr
		M, N                             uint32
	}
	batchTraining struct {
		Blocks, Keys, Words, Last, Sums, Counts, Far gpu.Ptr
		A, B, Gains, Ways, Limits                    gpu.Ptr
		Beyond, BeyondCounts, Others, Costs          gpu.Ptr
		Cheap, Dear, Near, State                     gpu.Ptr
		M, N, K                                      uint32
		_                                            uint32
	}
	batchIndex struct {
		Table, Counts, To, Words, Up, Left, Spans, Symbols gpu.Ptr
		M, N, Most, Rows, Cols, Step, Shift, BP, BQ        uint32
		_                                                  uint32
	}
)

// Their parameters.
type (
	batchParams struct {
		List gpu.Ptr
	}
	batchMostParams struct {
		List gpu.Ptr
		Most uint32
	}
	batchResumeParams struct {
		List       gpu.Ptr
		Count, All uint32
	}
	batchAddParams struct {
		List         gpu.Ptr
		Most, Shared uint32
	}
	batchHalvesParams struct {
		List        gpu.Ptr
		Most, First uint32
	}
	batchOrderParams struct {
		List        gpu.Ptr
		Most, Costs uint32
	}
	batchShiftParams struct {
		List             gpu.Ptr
		Most, Bold, Over uint32
	}
)

// kernelParams names the kernels with their parameters.
var kernelParams = map[string]any{
	"vq_blocks":        blocksParams{},
	"vq_sample":        sampleParams{},
	"vq_search_4":      searchParams{},
	"vq_search_4_few":  searchParams{},
	"vq_search_8":      searchParams{},
	"vq_search_8_few":  searchParams{},
	"vq_search_16":     searchParams{},
	"vq_search_16_few": searchParams{},
	"vq_search_64":     searchParams{},
	"vq_search_64_few": searchParams{},
	"vq_count":         countParams{},
	"vq_renumber":      renumberParams{},
	"vq_sides":         sidesParams{},
	"vq_ranks":         ranksParams{},
	"vq_expand":        expandParams{},
	"vq_expand_grey":   expandGreyParams{},
	"vq_error":         errorParams{},

	"vq_batch_blocks":    batchParams{},
	"vq_batch_search_4":  batchMostParams{},
	"vq_batch_search_8":  batchMostParams{},
	"vq_batch_search_16": batchMostParams{},
	"vq_batch_search_64": batchMostParams{},
	"vq_batch_draw":      batchParams{},
	"vq_batch_approach":  batchParams{},
	"vq_batch_grow":      batchMostParams{},
	"vq_batch_resume":    batchResumeParams{},
	"vq_batch_gather":    batchAddParams{},
	"vq_batch_centre":    batchMostParams{},
	"vq_batch_farthest":  batchMostParams{},
	"vq_batch_halves":    batchHalvesParams{},
	"vq_batch_beyond":    batchAddParams{},
	"vq_batch_nearest":   batchMostParams{},
	"vq_batch_order":     batchOrderParams{},
	"vq_batch_shift":     batchShiftParams{},
	"vq_batch_count":     batchParams{},
	"vq_batch_renumber":  batchParams{},
	"vq_batch_sides":     batchParams{},
	"vq_batch_ranks":     batchParams{},
}

// bandBytes bounds the pixels that are on a card at a time: a larger image goes
// there in bands.
const bandBytes = 256 << 20

// band is some slices, or some rows of one slice, that a card takes at a time.
type band struct {
	slice, slices int
	row, rows     int // all rows where there are several slices
}

// bands cuts slices of h's size into bands of at most limit bytes, or of the fewest
// rows that whole blocks of all planes take.
func bands(h *header, slices, limit int) []band {
	line := h.w * h.channels()
	if whole := line * h.h; whole <= limit {
		step := limit / whole
		var list []band
		for z := 0; z < slices; z += step {
			list = append(list, band{z, min(step, slices-z), 0, h.h})
		}
		return list
	}
	unit := h.block.p
	if h.half() {
		unit *= 2
	}
	step := max(unit, limit/line/unit*unit)
	var list []band
	for z := range slices {
		for r := 0; r < h.h; r += step {
			list = append(list, band{z, 1, r, min(step, h.h-r)})
		}
	}
	return list
}
