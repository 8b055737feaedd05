package webp

import (
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/raster"
)

// The steps of the encoder that go over all pixels of an image, in the order in which a
// photograph and then a graphic takes them. Package search holds the control flow, the
// same for all devices. The steps run in Go (steps_cpu.go; the work is done in the
// packages named here) or on a device (kernels.cu and its parts, which steps_cuda.go
// starts), with the same numbers.
//
//	step                input                        output                                in Go      in CUDA        unit of parallel work
//	load                samples                      0xAARRGGBB, green subtracted          webp       load.cuh       pixel
//	transform           pixels, modes, multipliers   residuals after the transforms        transform  predictor.cuh  row
//	choose modes        pixels, cost table           mode of each tile, how often each     transform  predictor.cuh  tile of the predictor
//	choose multipliers  residuals, cost tables       multipliers of each tile, counts      transform  colour.cuh     tile of the colour transform
//	tile costs          residuals, cost table        cost of each tile                     entropy    entropy.cuh    tile of the entropy image
//	assign groups       residuals, cost tables       group of each tile, counts, regrets   entropy    entropy.cuh    tile of the entropy image
//	histograms          residuals, groups            counts by group and symbol            entropy    entropy.cuh    tile
//	chains, candidates  pixels                       backward references by position       backref    match.cuh      position
//	hits                pixels                       smallest colour cache by position     backref    cache.cuh      chunk
//	cache counts        pixels, parse                counts for each size of the cache     backref    references.cuh position
//	count symbols       pixels, parse, groups        counts by group and symbol            bitstream  references.cuh position
//	cluster             pixels, parse                group of each tile                    entropy    cluster.cuh    tile, then pair of groups
//	pack                pixels, parse, codes         bits                                  bitstream  pack.cuh       pixel
//
// The parse itself, which decides among the candidates, is serial and always on the CPU.

// steps runs the steps of one image.
type steps interface {
	search.Steps

	// setLoaded says that p has the pixels of m as they were loaded. A device may load
	// p's pixels from m instead of taking them. Neither is changed from then on.
	setLoaded(p format.Pixels, m *raster.Image)
}
