//go:build cuda && cgo

package webp

// do puts a step for some pictures into the stream. Frames are theirs, and params the
// list of them on the card; their parts begin in the gang's buffer at partsAt, and their
// results at downAt.
func (g *gang) do(s step, list []*ask, frames []cardFrame, partsAt [][]int, downAt []int, params *listParams) error {
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
	case stepSetGroups:
		for i, a := range list {
			b := a.canvas.groups
			if err := g.stream.Copy(b, 0, g.up.device, partsAt[i][0], b.Size); err != nil {
				return err
			}
		}
	case stepAssign:
		return g.launches(frames, params, "webp_rows", "webp_assign")
	case stepHistograms:
		return g.launches(frames, params, "webp_histograms")
	case stepPack:
		return g.launches(frames, params, "webp_pack")
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
func (g *gang) launches(frames []cardFrame, params *listParams, kernels ...string) error {
	for _, k := range kernels {
		most := 0
		for i := range frames {
			most = max(most, frames[i].threads(k))
		}
		if err := launch(g.card, k, most, len(frames), params); err != nil {
			return err
		}
	}
	return nil
}

// load starts the kernels that make pixels of samples. All pictures of a gang have the
// same options.
func (g *gang) load(list []*ask, frames []cardFrame, params *listParams) error {
	most := 0
	for i := range frames {
		most = max(most, frames[i].pixels())
	}
	p := &loadParams{List: params.List}
	if list[0].canvas.exact {
		p.Exact = 1
	}
	if err := launch(g.card, "webp_load", most, len(frames), p); err != nil {
		return err
	}
	return launch(g.card, "webp_subtract_green", most, len(frames), params)
}

func (f *cardFrame) pixels() int { return int(f.Width) * int(f.Height) }

// tiles is how many of 1<<bits the picture has.
func (f *cardFrame) tiles(bits uint32) int {
	return tiles(int(f.Width), int(bits)) * tiles(int(f.Height), int(bits))
}

// Pixels that a thread takes.
const (
	packPixels      = 4
	histogramPixels = 16
)

// rowWords is row_words of groups.cuh.
func rowWords(n int) int { return (n + 63) / 64 * 32 }

// threads is how many a kernel takes for the picture.
func (f *cardFrame) threads(kernel string) int {
	switch kernel {
	case "webp_predict":
		return f.tiles(f.ModeBits) * min(32, 1<<(2*f.ModeBits)/4)
	case "webp_colours":
		return 32 * f.tiles(f.ColourBits)
	case "webp_tile_prices", "webp_assign":
		return 32 * f.tiles(f.GroupBits)
	case "webp_rows":
		return int(f.Symbols) * rowWords(int(f.N))
	case "webp_histograms":
		return (f.pixels() + histogramPixels - 1) / histogramPixels
	case "webp_pack":
		return (f.pixels() + packPixels - 1) / packPixels
	}
	return f.pixels()
}
