package pcwt

import (
	"sync"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/fit"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/model"
)

// mostOffset is the greatest q offset that is tried, two octaves.
const mostOffset = 8

// withOffsets is h with the q offsets of planes that promise the smallest files for some slices, or nil if these are 0.
// Coding with offsets of 0 counts the tokens in each context; what they would take in the tables of other contexts says the
// best offset of each level class and band.
func (e *encoder) withOffsets(h *header, slices []sampled) *header {
	shifted := h.copy()
	if shifted.setTables() != nil {
		return nil
	}
	counts := make([][len(planeParams{}.offsets)]fit.Counts, len(h.planes))
	var mu sync.Mutex
	for i := range shifted.planes {
		shifted.planes[i].count = func(class int, entries []uint32) {
			mu.Lock()
			defer mu.Unlock()
			for _, k := range entries {
				counts[i][class][k/constants.Tokens][k%constants.Tokens]++
			}
		}
	}
	k := &coders{side: h.side()}
	e.cores.Each(len(slices), func(i int) { e.code(shifted, k, slices[i].pyramids, slices[i].number) })
	if e.ctx.Err() != nil {
		return nil
	}
	any := false
	for i := range shifted.planes {
		p := &shifted.planes[i]
		p.count = nil
		for class := range p.offsets {
			p.offsets[class] = bestOffset(&counts[i][class], &p.tables.Set.Tables)
			any = any || p.offsets[class] != 0
		}
	}
	if !any {
		return nil
	}
	return shifted
}

// bestOffset is the offset with which counts take least, of equal ones that nearest to 0. Contexts keep their tokens: those whose
// residuals have raw bits of the scale are left as they are.
func bestOffset(counts *fit.Counts, tables *[constants.TableCount]constants.Table) (best int8) {
	least := -1.
	for k := range 2*mostOffset + 1 {
		d := (k + 1) / 2 // 0, 1, -1, 2 ...
		if k%2 == 0 {
			d = -d
		}
		bits := 0.
		for i := range counts {
			q := i % constants.Contexts
			to := i
			if q > 0 && q < firstRawContext {
				to = i - q + min(int(model.WithOffset(int32(q), int32(d))), constants.Contexts-1)
			}
			bits += fit.Cost(&counts[i], &tables[to])
		}
		if least < 0 || bits < least {
			best, least = int8(d), bits
		}
	}
	return best
}

// firstRawContext is the first context that also stands for greater ones, with raw bits.
const firstRawContext = 40
