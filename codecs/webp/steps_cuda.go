//go:build cuda && cgo

package webp

import (
	"github.com/pelmill/pelmill/codecs/webp/internal/backref"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// do puts a step for some images into the stream. Frames are theirs, and params the
// list of them on the card; their results begin
// in the batch's buffer at downAt.
func (g *batch) do(s step, list []*request, frames []deviceSlot, downAt []int, params *listParams) error {
	switch s {
	case stepLoad:
		return g.load(list, frames, params)
	case stepFill:
		for _, a := range list {
			if err := g.stream.Fill(a.canvas.modes, 0, a.canvas.modes.Size, a.canvas.mode); err != nil {
				return err
			}
		}
		return g.launches(frames, params, "webp_residuals", "webp_transform_colours")
	case stepPredict:
		return g.launches(frames, params, "webp_predict", "webp_residuals", "webp_transform_colours")
	case stepRecolour:
		return g.launches(frames, params, "webp_colours", "webp_transform_colours")
	case stepTilePrices:
		return g.launches(frames, params, "webp_tile_prices")
	case stepSetGroups, stepPixels: // what goes to the card stays there
	case stepAssign:
		return g.launches(frames, params, "webp_rows", "webp_assign")
	case stepHistograms:
		return g.launches(frames, params, "webp_histograms")
	case stepSearch:
		return g.launches(frames, params, "webp_equal", "webp_reach", "webp_keys", "webp_link", "webp_carry", "webp_join", "webp_count_candidates", "webp_offsets")
	case stepCandidates:
		return g.launches(frames, params, "webp_candidates")
	case stepHits:
		return g.launches(frames, params, "webp_colours_of_chunks", "webp_carry_colours", "webp_hits")
	case stepPack:
		return g.launches(frames, params, "webp_pack")
	case stepCacheCounts:
		return g.launches(frames, params, "webp_clear_parse", "webp_place_copies", "webp_cache_counts")
	case stepCountCopies:
		return g.launches(frames, params, "webp_clear_parse", "webp_place_copies", "webp_set_cache", "webp_count_copies")
	case stepSeed:
		return g.cluster(frames, params, true)
	case stepCluster:
		return g.cluster(frames, params, false)
	case stepPackCopies:
		return g.launches(frames, params, "webp_clear_parse", "webp_place_copies", "webp_set_cache", "webp_pack_copies")
	case stepFetch:
		for i, a := range list {
			at := downAt[i]
			for _, b := range a.fetch {
				if err := g.stream.Copy(g.down.device, at, b, 0, b.Size); err != nil {
					return err
				}
				at += roundUp(b.Size)
			}
		}
	}
	return nil
}

// launches starts kernels one after the other.
func (g *batch) launches(frames []deviceSlot, params *listParams, kernels ...string) error {
	return launches(g, frames, params, kernels)
}

func launches[P any](g *batch, frames []deviceSlot, params *P, kernels []string) error {
	for _, k := range kernels {
		most, block := 0, blockThreads(k)
		for i := range frames {
			most = max(most, frames[i].threads(k))
		}
		if err := launchKernel(g.deviceLane, k, most, block, len(frames), params); err != nil {
			return err
		}
		if g.kernels {
			g.mark(k)
		}
	}
	return nil
}

// blockThreads is how many threads a block of a kernel has.
func blockThreads(kernel string) int {
	switch kernel {
	case "webp_cluster_order", "webp_cluster_worst", "webp_cluster_merge", "webp_cluster_end":
		return bigBlock
	}
	return cardThreads
}

// settle starts the kernels of one pass over the tiles: see tileLists.settle.
func (g *batch) settle(frames []deviceSlot, params *listParams) error {
	if err := g.launchStep(frames, params, 0, "webp_cluster_clear"); err != nil {
		return err
	}
	return g.launches(frames, params, "webp_cluster_count", "webp_cluster_rows", "webp_cluster_assign")
}

// cluster starts the kernels that choose groups, from the first on or from those there
// are: see the function cluster.
func (g *batch) cluster(frames []deviceSlot, params *listParams, first bool) error {
	if err := g.launches(frames, params, "webp_clear_parse", "webp_place_copies", "webp_set_cache", "webp_cluster_tiles", "webp_cluster_table"); err != nil {
		return err
	}
	rounds := 1
	if first {
		if err := g.seed(frames, params); err != nil {
			return err
		}
		rounds = 2
	}
	if err := g.settle(frames, params); err != nil {
		return err
	}
	for range rounds {
		if err := g.launchStep(frames, params, 0, "webp_cluster_clear"); err != nil {
			return err
		}
		if err := g.launches(frames, params, "webp_cluster_count", "webp_cluster_pairs", "webp_cluster_merge"); err != nil {
			return err
		}
		if err := g.settle(frames, params); err != nil {
			return err
		}
	}
	return g.launches(frames, params, "webp_cluster_end", "webp_count_copies")
}

// seed starts the kernels that choose the first groups: see tileLists.seed.
func (g *batch) seed(frames []deviceSlot, params *listParams) error {
	if err := g.launchStep(frames, params, 0, "webp_cluster_price"); err != nil {
		return err
	}
	if err := g.launches(frames, params, "webp_cluster_order"); err != nil {
		return err
	}
	if err := g.settle(frames, params); err != nil {
		return err
	}
	if err := g.launchStep(frames, params, 0, "webp_cluster_clear"); err != nil {
		return err
	}
	if err := g.launches(frames, params, "webp_cluster_count", "webp_cluster_rows", "webp_cluster_own"); err != nil {
		return err
	}
	first, end := entropy.MaxStartGroups, 0
	for i := range frames {
		first, end = min(first, int(frames[i].N)/2), max(end, int(frames[i].N))
	}
	for k := first; k < end; k++ {
		if err := g.launchStep(frames, params, k, "webp_cluster_worst", "webp_cluster_price"); err != nil {
			return err
		}
	}
	return g.launchStep(frames, params, 1, "webp_cluster_clear")
}

// launchStep is launches for kernels that know which step of several it is.
func (g *batch) launchStep(frames []deviceSlot, params *listParams, step int, kernels ...string) error {
	return launches(g, frames, &clusterParams{params.List, uint32(step)}, kernels)
}

// load starts the kernels that make pixels of samples. All images of a batch have the
// same options.
func (g *batch) load(list []*request, frames []deviceSlot, params *listParams) error {
	most := 0
	for i := range frames {
		most = max(most, frames[i].pixels())
	}
	p := &loadParams{List: params.List}
	if list[0].canvas.exact {
		p.Exact = 1
	}
	if err := launchKernel(g.deviceLane, "webp_load", most, cardThreads, len(frames), p); err != nil {
		return err
	}
	return launchKernel(g.deviceLane, "webp_subtract_green", most, cardThreads, len(frames), params)
}

func (f *deviceSlot) pixels() int { return int(f.Width) * int(f.Height) }

// tiles is how many of 1<<bits the image has.
func (f *deviceSlot) tiles(bits uint32) int {
	return format.Tiles(int(f.Width), int(bits)) * format.Tiles(int(f.Height), int(bits))
}

// Pixels that a thread takes.
const (
	packPixels      = 4
	histogramPixels = 16
	offsetPixels    = 8
)

// Pixels of a chunk (match.cuh, cache.cuh), and entries of its table.
const (
	linkPixels  = 1 << 16
	linkEntries = 1 << backref.KeyBits
	hitPixels   = 1 << 14
	hitEntries  = 1 << format.MaxCacheBits
)

// pieces is how many of the given size n pixels make.
func pieces(n, size int) int { return (n + size - 1) / size }

// words is how many words of equal a row has.
func (f *deviceSlot) words() int { return pieces(f.pixels(), 32) }

// rowWords is row_words of groups.cuh.
func rowWords(n int) int { return (n + 63) / 64 * 32 }

// threads is how many a kernel takes for the image.
func (f *deviceSlot) threads(kernel string) int {
	switch kernel {
	case "webp_predict":
		return f.tiles(f.ModeBits) * min(32, 1<<(2*f.ModeBits)/4)
	case "webp_colours":
		return 32 * f.tiles(f.ColourBits)
	case "webp_tile_prices", "webp_assign", "webp_cluster_tiles", "webp_cluster_price", "webp_cluster_own", "webp_cluster_count", "webp_cluster_assign":
		return 32 * f.tiles(f.GroupBits)
	case "webp_rows":
		return int(f.Symbols) * rowWords(int(f.N))
	case "webp_histograms":
		return (f.pixels() + histogramPixels - 1) / histogramPixels
	case "webp_equal":
		return 32 * f.words()
	case "webp_reach":
		return f.words() * int(f.Rows)
	case "webp_link":
		return 32 * pieces(f.pixels(), linkPixels)
	case "webp_carry":
		return linkEntries
	case "webp_colours_of_chunks", "webp_hits":
		return cardThreads * pieces(f.pixels(), hitPixels)
	case "webp_carry_colours":
		return hitEntries
	case "webp_offsets":
		return pieces(f.pixels(), offsetPixels)
	case "webp_place_copies":
		return 32 * int(f.Copied)
	case "webp_cluster_table":
		return cardThreads
	case "webp_cluster_order", "webp_cluster_worst", "webp_cluster_merge", "webp_cluster_end":
		return bigBlock
	case "webp_cluster_clear":
		return entropy.MaxStartGroups * int(f.Symbols)
	case "webp_cluster_pairs":
		return 32 * entropy.MaxStartGroups * entropy.MaxStartGroups
	case "webp_cluster_rows":
		return cardThreads * int(f.N)
	case "webp_pack", "webp_pack_copies":
		return (f.pixels() + packPixels - 1) / packPixels
	}
	return f.pixels()
}
