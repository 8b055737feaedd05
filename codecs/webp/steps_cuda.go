package webp

import (
	"github.com/pelmill/pelmill/codecs/webp/internal/backref"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// deviceSteps is the steps of one image of a batch on a device.
type deviceSteps struct {
	batch *batch
	exact bool

	// The pixels that were loaded from image; nil: there are none.
	loadedFrom *raster.Image
	loaded     format.Pixels
}

func (d *deviceSteps) setLoaded(p format.Pixels, m *raster.Image) { d.loaded, d.loadedFrom = p, m }

func (d *deviceSteps) PredictorSearch(p format.Pixels) (search.PredictorSearch, error) {
	return d.newPredictorSearch(p)
}

func (d *deviceSteps) ReferenceSearch(p format.Pixels, of search.PredictorSearch) (backref.ReferenceSearch, error) {
	return d.newReferenceSearch(p, of)
}

// start puts the kernels of a step for some images into the stream. slots are theirs and
// params the list of them on the device; their results begin at results of b.down.
func (b *batch) start(s step, list []*request, slots []slot, results []int, params *slotParams) error {
	switch s {
	case stepLoad:
		return b.launch(slots, params, "webp_load", "webp_subtract_green")
	case stepTransform:
		return b.launch(slots, params, "webp_residuals", "webp_apply_multipliers")
	case stepChooseModes:
		return b.launch(slots, params, "webp_choose_modes", "webp_residuals", "webp_apply_multipliers")
	case stepChooseMultipliers:
		return b.launch(slots, params, "webp_choose_multipliers", "webp_apply_multipliers")
	case stepTileCosts:
		return b.launch(slots, params, "webp_tile_costs")
	case stepPixels: // what goes to the device stays there
	case stepSetGroups:
		return b.launch(slots, params, "webp_count_tiles", "webp_place_groups", "webp_order_tiles")
	case stepAssignGroups:
		return b.launch(slots, params, "webp_costs_by_symbol", "webp_assign_groups", "webp_count_tiles", "webp_place_groups", "webp_order_tiles")
	case stepHistograms:
		return b.launch(slots, params, "webp_histograms")
	case stepChains:
		return b.launch(slots, params, "webp_equal", "webp_reach", "webp_keys", "webp_link", "webp_carry", "webp_join", "webp_count_candidates", "webp_offsets")
	case stepCandidates:
		return b.launch(slots, params, "webp_candidates")
	case stepHits:
		return b.launch(slots, params, "webp_cache_chunks", "webp_carry_caches", "webp_cache_hits")
	case stepPackLiterals:
		return b.launch(slots, params, "webp_pack_literals")
	case stepCacheCounts:
		return b.launch(slots, params, "webp_clear_parse", "webp_place_references", "webp_cache_counts")
	case stepCountSymbols:
		return b.launch(slots, params, "webp_clear_parse", "webp_place_references", "webp_set_cache", "webp_count_symbols")
	case stepSeedAndCluster:
		return b.cluster(slots, params, true)
	case stepCluster:
		return b.cluster(slots, params, false)
	case stepPackReferences:
		return b.launch(slots, params, "webp_clear_parse", "webp_place_references", "webp_set_cache", "webp_pack_references")
	case stepFetch:
		for i, r := range list {
			at := results[i]
			for _, from := range r.fetch {
				if err := b.stream.Copy(b.down, at, from.buffer, from.at, from.size); err != nil {
					return err
				}
				at += roundUp(from.size)
			}
		}
	}
	return nil
}

// launch starts kernels one after the other.
func (b *batch) launch(slots []slot, params *slotParams, names ...string) error {
	return launch(b, slots, params, names)
}

// launchRound is launch for kernels that run in several rounds.
func (b *batch) launchRound(slots []slot, params *slotParams, round int, names ...string) error {
	return launch(b, slots, &roundParams{params.Slots, uint32(round)}, names)
}

func launch[P any](b *batch, slots []slot, params *P, names []string) error {
	for _, name := range names {
		if err := gpu.LaunchFor(&kernels, b.stream, name, slots, params); err != nil {
			return err
		}
		if b.kernels {
			b.mark(name)
		}
	}
	return nil
}

// assignTiles starts the kernels of one pass over the tiles: see the function of that
// name in package entropy.
func (b *batch) assignTiles(slots []slot, params *slotParams) error {
	if err := b.launchRound(slots, params, 0, "webp_cluster_clear"); err != nil {
		return err
	}
	return b.launch(slots, params, "webp_cluster_count", "webp_cluster_group_costs", "webp_cluster_assign")
}

// cluster starts the kernels that choose prefix code groups, from the first ones on or
// from those there are: see [entropy.Cluster].
func (b *batch) cluster(slots []slot, params *slotParams, seed bool) error {
	if err := b.launch(slots, params, "webp_clear_parse", "webp_place_references", "webp_set_cache", "webp_cluster_tiles", "webp_cluster_all_costs"); err != nil {
		return err
	}
	rounds := 1
	if seed {
		if err := b.seed(slots, params); err != nil {
			return err
		}
		rounds = 2
	}
	if err := b.assignTiles(slots, params); err != nil {
		return err
	}
	for range rounds {
		if err := b.launchRound(slots, params, 0, "webp_cluster_clear"); err != nil {
			return err
		}
		if err := b.launch(slots, params, "webp_cluster_count", "webp_cluster_pairs", "webp_cluster_merge"); err != nil {
			return err
		}
		if err := b.assignTiles(slots, params); err != nil {
			return err
		}
	}
	return b.launch(slots, params, "webp_cluster_result", "webp_count_symbols")
}

// seed starts the kernels that choose the first groups.
func (b *batch) seed(slots []slot, params *slotParams) error {
	if err := b.launchRound(slots, params, 0, "webp_cluster_tile_costs"); err != nil {
		return err
	}
	if err := b.launch(slots, params, "webp_cluster_order"); err != nil {
		return err
	}
	if err := b.assignTiles(slots, params); err != nil {
		return err
	}
	if err := b.launchRound(slots, params, 0, "webp_cluster_clear"); err != nil {
		return err
	}
	if err := b.launch(slots, params, "webp_cluster_count", "webp_cluster_group_costs", "webp_cluster_own_costs"); err != nil {
		return err
	}
	first, end := entropy.MaxStartGroups, 0
	for i := range slots {
		first, end = min(first, int(slots[i].GroupCount)/2), max(end, int(slots[i].GroupCount))
	}
	for k := first; k < end; k++ {
		if err := b.launchRound(slots, params, k, "webp_cluster_worst", "webp_cluster_tile_costs"); err != nil {
			return err
		}
	}
	return b.launchRound(slots, params, 1, "webp_cluster_clear")
}
