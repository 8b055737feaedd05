package neuquant

import (
	_ "embed"

	"github.com/pelmill/pelmill/gpu"
)

//go:embed ptx/kernels.ptx
var kernels75 string

//go:embed ptx/kernels_80.ptx
var kernels80 string

// cardModule is the steps on a card, with minima of a warp in one instruction from compute
// capability 8.0 on.
var cardModule = gpu.Module{Name: "neuquant", Variants: []string{kernels75, kernels80}}

// cardProblem is struct Problem of problem.cuh, where its fields are explained.
type cardProblem struct {
	Samples, Values, Index, Entries  gpu.Ptr
	Network                          gpu.Ptr
	Bins, Alphas, Counts             gpu.Ptr
	Colours, Weights, Numbers, Rests gpu.Ptr
	Nearest                          gpu.Ptr
	N, K, Opaque                     uint32
	Cycle, Cycles                    uint32
	Stride, Decay                    uint32
	_                                uint32
}

// The parameters of the kernels: a list with an entry for each problem, and what is the
// same for all.
type (
	listParams struct {
		List gpu.Ptr
	}
	trainParams struct {
		List               gpu.Ptr
		Count, First, Most uint32
	}
	refineParams struct {
		List   gpu.Ptr
		Passes uint32
	}
)

// kernelParams names the kernels with their parameters.
var kernelParams = map[string]any{
	"nq_train":      trainParams{},
	"nq_bins":       listParams{},
	"nq_count_bins": listParams{},
	"nq_list_bins":  listParams{},
	"nq_refine":     refineParams{},
	"nq_map":        listParams{},
}
