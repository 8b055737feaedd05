package webp

import (
	_ "embed"

	"github.com/pelmill/pelmill/gpu"
)

//go:embed kernels.ptx
var kernels75 string

// cardModule is the steps on a card.
var cardModule = gpu.Module{Name: "webp", Variants: []string{kernels75}}

// cardFrame is struct Frame of frame.cuh, where its fields are explained.
type cardFrame struct {
	Source, Argb, Residual, Coded   gpu.Ptr
	Modes, ModePrices               gpu.Ptr
	Multipliers, MultiplierPrices   gpu.Ptr
	Groups, Prices, GroupPrices     gpu.Ptr
	Result, Codes, State            gpu.Ptr
	Words, First                    uint64
	Width, Height, Channels, Opaque uint32
	ModeBits, ColourBits, GroupBits uint32
	N, Symbols, Near, Skip, Count   uint32
	Steps                           [8]uint32
}

// The parameters of the kernels: a list with a frame for each picture.
type (
	listParams struct {
		List gpu.Ptr
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
	"webp_pack":              listParams{},
}
