package webp

import (
	_ "embed"

	"github.com/pelmill/pelmill/gpu"
)

//go:embed ptx/kernels.ptx
var kernels75 string

// module is the steps on a card.
var module = gpu.Module{Name: "webp", Variants: []string{kernels75}}

// deviceSlot is struct Frame of frame.cuh, where its fields are explained.
type deviceSlot struct {
	Source, Argb, Residual, Coded   gpu.Ptr
	Modes, ModePrices               gpu.Ptr
	Multipliers, MultiplierPrices   gpu.Ptr
	Groups, Prices, GroupPrices     gpu.Ptr
	Result, Codes, State            gpu.Ptr
	Length, Value, Hits, Counts     gpu.Ptr
	Tables, Distances               gpu.Ptr
	DistanceCodes, Ends             gpu.Ptr
	Equal, Reach, Prev, Offsets     gpu.Ptr
	Copies                          gpu.Ptr
	Words, First                    uint64
	Width, Height, Channels, Opaque uint32
	ModeBits, ColourBits, GroupBits uint32
	N, Symbols, Near, Skip, Count   uint32
	Steps                           [8]uint32
	CacheBits                       uint32
	Rows, Bands, Depth, Stop        uint32
	Copied                          uint32
}

// The parameters of the kernels: a list with a frame for each image.
type (
	listParams struct {
		List gpu.Ptr
	}
	clusterParams struct {
		List gpu.Ptr
		Step uint32
	}
	loadParams struct {
		List  gpu.Ptr
		Exact uint32
	}
)

// kernelParams names the kernels with their parameters.
var kernelParams = map[string]any{
	"webp_load":              loadParams{},
	"webp_subtract_green":    listParams{},
	"webp_predict":           listParams{},
	"webp_residuals":         listParams{},
	"webp_colours":           listParams{},
	"webp_transform_colours": listParams{},
	"webp_tile_prices":       listParams{},
	"webp_rows":              listParams{},
	"webp_assign":            listParams{},
	"webp_histograms":        listParams{},
	"webp_equal":             listParams{},
	"webp_reach":             listParams{},
	"webp_keys":              listParams{},
	"webp_link":              listParams{},
	"webp_carry":             listParams{},
	"webp_join":              listParams{},
	"webp_count_candidates":  listParams{},
	"webp_offsets":           listParams{},
	"webp_candidates":        listParams{},
	"webp_colours_of_chunks": listParams{},
	"webp_carry_colours":     listParams{},
	"webp_hits":              listParams{},
	"webp_clear_parse":       listParams{},
	"webp_place_copies":      listParams{},
	"webp_set_cache":         listParams{},
	"webp_cache_counts":      listParams{},
	"webp_count_copies":      listParams{},
	"webp_cluster_tiles":     listParams{},
	"webp_cluster_table":     listParams{},
	"webp_cluster_price":     clusterParams{},
	"webp_cluster_own":       listParams{},
	"webp_cluster_order":     listParams{},
	"webp_cluster_clear":     clusterParams{},
	"webp_cluster_count":     listParams{},
	"webp_cluster_rows":      listParams{},
	"webp_cluster_assign":    listParams{},
	"webp_cluster_worst":     clusterParams{},
	"webp_cluster_pairs":     listParams{},
	"webp_cluster_merge":     listParams{},
	"webp_cluster_end":       listParams{},
	"webp_pack_copies":       listParams{},
	"webp_pack":              listParams{},
}
