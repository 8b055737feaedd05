package search

import (
	"context"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// Photo returns the stream of an image that is coded as a photograph: with subtract green,
// predictor, colour transform and entropy image as the plan of the effort says, and without
// backward references and colour cache.
func Photo(ctx context.Context, c *pool.Pool, d Steps, p format.Pixels, effort int) (*bitstream.Stream, error) {
	v, err := d.PredictorSearch(p)
	if err != nil {
		return nil, err
	}
	s := NewPasses(c, v, PredictorPlans[effort])
	if err := s.Transforms(ctx); err != nil {
		return nil, err
	}
	if err := s.grouping(ctx); err != nil {
		return nil, err
	}
	found, err := v.Result()
	if err != nil {
		return nil, err
	}
	var codes []*bitstream.GroupCodes
	if n := v.Symbols(); found.Entropy.Groups > 1 {
		codes = keepIfSmaller(c, &found.Entropy, v.Histograms(), n)
		if found.Packer != nil {
			v.SetEntropyImage(found.Entropy)
		}
	}
	return &bitstream.Stream{
		Width: p.W, Height: p.H,
		Small:      smallParser(effort),
		Transforms: append([]format.Transform{{Kind: format.SubtractGreen}}, found.Transforms(p.W, p.H)...),
		Pixels:     found.Pixels,
		Entropy:    found.Entropy,
		Coded:      codes,
		Packer:     found.Packer,
	}, nil
}

// keepIfSmaller numbers the groups of g anew, or leaves one group where that takes fewer
// bits in all, and returns the codes of the groups. hist has the histograms of the groups,
// of n symbols each. They may do without alpha where there is one value, which takes no bits.
func keepIfSmaller(c *pool.Pool, g *format.EntropyImage, hist []uint32, n int) []*bitstream.GroupCodes {
	all := make([]uint32, n)
	for group := hist; len(group) > 0; group = group[n:] {
		of := group[:len(all)]
		for i := range all {
			all[i] += of[i]
		}
	}
	old := g.Renumber()
	codes := make([]*bitstream.GroupCodes, len(hist)/n)
	c.Spans(len(hist), n, func(lo, hi int) { codes[lo/n] = bitstream.NewGroupCodes(hist[lo:hi]) })
	ids := format.Pixels{W: len(g.Group), H: 1, ARGB: make([]uint32, len(g.Group))}
	for i, k := range g.Group {
		ids.ARGB[i] = format.OpaqueBlack | uint32(k)<<8
	}
	// Backward references in the entropy image would hardly change the answer.
	many := bitstream.LiteralImageBits(c, ids) + tileSizeBits
	for _, k := range codes {
		many += k.Bits
	}
	if g.Groups < 2 || many >= leastBits(all) {
		// Most photographs are so much smaller with groups that the codes without need not be made.
		if one := bitstream.NewGroupCodes(all); g.Groups < 2 || many >= one.Bits {
			*g = format.EntropyImage{}
			return []*bitstream.GroupCodes{one}
		}
	}
	kept := make([]*bitstream.GroupCodes, len(old))
	for k, was := range old {
		kept[k] = codes[was]
	}
	return kept
}

// leastBits is not more than the bits of the codes of a group and its symbols.
func leastBits(hist []uint32) int {
	bits := uint64(0)
	for _, p := range format.WrittenAlphabets(len(hist)) {
		counts := hist[p[0]:p[1]]
		n := uint64(0)
		for _, v := range counts {
			n += uint64(v)
		}
		// Of the logarithms of the sum and of the counts each is within 1.25 of the true one.
		ideal := entropy.IdealBits(counts)
		bits += ideal - min(ideal, 3*n)
	}
	return int(bits >> entropy.Log2Bits)
}

// tileSizeBits are those of the entropy image's header that say how large its tiles are (RFC
// 9649, 3.7.2.2).
const tileSizeBits = 3

// Transforms returns the predictor and, if there is one, the colour transform.
func (c *Choices) Transforms(w, h int) []format.Transform {
	modes := format.Pixels{W: format.Tiles(w, c.ModeBits), H: format.Tiles(h, c.ModeBits), ARGB: make([]uint32, len(c.Modes))}
	for i, k := range c.Modes {
		modes.ARGB[i] = format.OpaqueBlack | uint32(k)<<8
	}
	list := []format.Transform{{Kind: format.PredictorTransform, Bits: c.ModeBits, Data: modes}}
	if m := c.Multipliers; m != nil {
		list = append(list, format.Transform{Kind: format.ColourTransform, Bits: m.Bits, Data: format.Pixels{W: m.Columns, H: len(m.Element) / m.Columns, ARGB: m.Element}})
	}
	return list
}
