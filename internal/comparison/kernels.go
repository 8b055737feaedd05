package comparison

import (
	_ "embed"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

//go:embed ptx/kernels.ptx
var kernels75 string

// kernels is the steps on a device.
var kernels = gpu.Table[deviceSlice]{
	Module: &gpu.Module{Name: "compare", Variants: []string{kernels75}},
	Kernels: map[string]gpu.Entry[deviceSlice]{
		"compare_windows": {Params: listParams{}, Threads: func(s *deviceSlice) int { return int(s.Windows) }},
		"compare_totals":  {Params: listParams{}, Block: warp, Threads: func(s *deviceSlice) int { return warp * colours(int(s.Channels)) }},
		"compare_samples": {Params: listParams{}, Block: blockThreads, Threads: func(s *deviceSlice) int {
			return (int(s.Width)*int(s.Height) + threadPixels - 1) / threadPixels
		}},
	},
}

// Module is the kernels of the package.
func Module() *gpu.Module { return kernels.Module }

const (
	warp         = 32
	blockThreads = 256 // of compare_samples
	threadPixels = 16  // that each of them has at least, where there are as many
)

// deviceSlice is a slice of an image of a batch.
type deviceSlice struct {
	Original gpu.Ptr `cuda:"const uint8_t"` // height x width x channels
	Decoded  gpu.Ptr `cuda:"const uint8_t"` // likewise
	Indices  gpu.Ptr `cuda:"double"`        // colours x windows
	Found    gpu.Ptr `cuda:"Found"`
	Windows  uint64
	Across   uint32 // windows of a row
	Width    uint32
	Height   uint32
	Channels uint32 // 1 to 4
}

// deviceFound is what the kernels find of a slice. It begins with zeros.
type deviceFound struct {
	Different uint64    // samples
	Squares   uint64    // sum of their squared differences
	Totals    [4]uint64 // sum of the indices of each colour, the bits of a double
}

// listParams are the parameters of the kernels: the slices of the batch.
type listParams struct{ Slices gpu.Ptr }

// colours are the channels but alpha.
func colours(channels int) int { return channels - (channels+1)%2 }

// windowsOf are the windows of a slice: of a row, and all.
func windowsOf(s raster.Shape) (across, all int) {
	across = s.Width/raster.WindowStride - 1
	return across, across * (s.Height/raster.WindowStride - 1)
}
