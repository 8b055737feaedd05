// Package search decides how an image is coded: it looks at the image, chooses among the
// ways to transform it, and takes the chosen ones through the passes that settle modes,
// multipliers, backward references and prefix code groups. The steps that go over all
// pixels are behind the interface Steps, in memory or on a device, with the same results.
package search

import (
	"cmp"
	"context"
	"slices"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/backref"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
)

// strategy is a way to transform an image before its copies are looked for.
type strategy struct {
	kind      int // of its transform: ColourIndexing, SubtractGreen, PredictorTransform, or plain
	order     int // of the palette
	predictor int // log2 of the tiles' sides; uniform: one mode for all
	colour    int
}

const (
	noTransform = 4
	oneMode     = 9
)

// Choose returns the stream of p, which is not changed, or none but what it comes to where
// several were written.
func Choose(ctx context.Context, c *pool.Pool, d Steps, p format.Pixels, alpha bool, effort int) (*bitstream.Stream, error) {
	seen := Analyse(p, AnalysisPixels)
	f := backref.ReferencePlans[effort]
	var best *bitstream.Stream
	// try keeps the smallest, which may be on the device no longer than until the next.
	try := func(s *bitstream.Stream) error {
		if s.Written == nil {
			s.Alpha = alpha
			s.Written = s.Write(c)
		}
		if s.Packer != nil && s.Packer.Failed() != nil {
			return s.Packer.Failed()
		}
		if best == nil || len(s.Written) < len(best.Written) {
			best = &bitstream.Stream{Written: s.Written}
		}
		return nil
	}
	if seen.IsPhoto() {
		s, err := Photo(ctx, c, d, p, effort)
		if err != nil {
			return nil, err
		}
		s.Alpha = alpha
		if !f.TryAll {
			return s, nil
		}
		if err := try(s); err != nil {
			return nil, err
		}
		s.Release()
		// More passes settle elsewhere, which is not always better.
		if s, err = Photo(ctx, c, d, p, quickEffort); err != nil {
			return nil, err
		}
		if err := try(s); err != nil {
			return nil, err
		}
		return best, nil
	}
	list, err := shortlist(ctx, c, d, p, seen.strategies(f.TryAll), effort)
	if err != nil {
		return nil, err
	}
	for i, a := range list {
		list[i] = trial{}
		s, q := a.stream, a.parser
		if s == nil {
			if s, a.copier, err = a.transform(ctx, c, d, p, effort); err != nil {
				return nil, err
			}
		}
		if q == nil {
			q = backref.NewParser(a.copier, f)
			q.Start(s)
		}
		q.Refine(s, f)
		for _, bits := range a.groupBits(p, &seen, f.TryAll) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			t := *s
			t.Alpha = alpha
			q.Group(&t, f, bits)
			if err := q.V.Failed(); err != nil {
				return nil, err
			}
			if len(list) == 1 && !f.TryAll {
				return &t, nil
			}
			if err := try(&t); err != nil {
				return nil, err
			}
		}
		q.V.Release()
	}
	if f.TryAll && seen.equal < 3*seen.pixels/4 {
		// Copies may not be worth what they do to the transforms.
		s, err := Photo(ctx, c, d, p, effort)
		if err != nil {
			return nil, err
		}
		if err := try(s); err != nil {
			return nil, err
		}
		s.Release()
	}
	if f.TryAll {
		// More candidates lead the search by prices to another end, not always a better.
		s, err := Choose(ctx, c, d, p, alpha, quickEffort)
		if err != nil {
			return nil, err
		}
		if err := try(s); err != nil {
			return nil, err
		}
	}
	return best, nil
}

// smallBy is how the small images of a stream are parsed.
func smallBy(effort int) bitstream.SmallParser {
	if effort < 2 {
		return backref.ParseSmallQuickly
	}
	return backref.ParseSmall
}

// maxTried is how many strategies are tried to the end where all are considered.
const maxTried = 4

// trial is a strategy for an image, and what has been done by it so far.
type trial struct {
	strategy
	stream *bitstream.Stream       // nil: nothing yet
	copier backref.ReferenceSearch // for its pixels
	parser *backref.Parser         // that made its parse; nil: none that the effort can go on with
	size   uint64                  // of the stream, about
}

// shortlist returns the most promising strategies, by a quick parse: one, by a sample of
// the image, or several where an effort tries everything.
func shortlist(ctx context.Context, c *pool.Pool, d Steps, p format.Pixels, all []strategy, effort int) ([]trial, error) {
	most, part := 1, p
	if backref.ReferencePlans[effort].TryAll {
		most = maxTried
	} else {
		part = sample(p)
	}
	quick := backref.ReferencePlans[min(effort, quickEffort)]
	list := make([]trial, len(all))
	for i, a := range all {
		list[i].strategy = a
	}
	if len(all) <= most {
		return list, nil
	}
	for i := range list {
		t := &list[i]
		s, v, err := t.transform(ctx, c, d, part, effort)
		if err != nil {
			return nil, err
		}
		q := backref.NewParser(v, quick)
		q.Start(s)
		for _, h := range v.Histograms(format.EntropyImage{}) {
			t.size += entropy.GroupSizeEstimate(h) + format.ExtraBitsOf(h)<<entropy.Log2Bits
		}
		for _, u := range s.Transforms {
			t.size += mapSize(u.Data) << entropy.Log2Bits
		}
		if err := v.Failed(); err != nil {
			return nil, err
		}
		if part.H == p.H {
			t.stream, t.copier = s, v
			if effort <= quickEffort {
				t.parser = q
			} else {
				s.Parse = format.Parse{} // it begins anew, and is as large as the image
			}
		} else {
			v.Release()
		}
	}
	slices.SortStableFunc(list, func(a, b trial) int { return cmp.Compare(a.size, b.size) })
	for _, t := range list[most:] {
		if t.copier != nil {
			t.copier.Release()
		}
	}
	clear(list[most:]) // what they keep is as large as the image
	return list[:most], nil
}

const (
	wholeSample  = 1 << 17 // pixels of an image that is its own sample
	sampleRows   = 32      // of a strip
	sampleStrips = 8       // of which one is taken
)

// sample returns strips of a large image.
func sample(p format.Pixels) format.Pixels {
	if len(p.ARGB) <= wholeSample || p.H <= sampleStrips*sampleRows {
		return p
	}
	out := format.Pixels{W: p.W}
	for y := 0; y < p.H; y += sampleStrips * sampleRows {
		n := min(sampleRows, p.H-y)
		out.ARGB = append(out.ARGB, p.ARGB[y*p.W:(y+n)*p.W]...)
		out.H += n
	}
	return out
}

// quickEffort is the effort at which strategies are compared first, at most.
const quickEffort = 6

// mapSize estimates the bits of a transform's data, of which what stands above or to
// the left costs nothing.
func mapSize(p format.Pixels) (n uint64) {
	for i, v := range p.ARGB {
		if i > 0 && v == p.ARGB[i-1] || i >= p.W && v == p.ARGB[i-p.W] {
			n++
		} else {
			n += 6
		}
	}
	return n
}

// transform returns the stream of p, which is not changed, as literals, and a copier for
// its pixels.
func (a strategy) transform(ctx context.Context, c *pool.Pool, d Steps, p format.Pixels, effort int) (*bitstream.Stream, backref.ReferenceSearch, error) {
	s := &bitstream.Stream{Width: p.W, Height: p.H, Small: smallBy(effort)}
	var made PredictorSearch
	switch a.kind {
	case noTransform:
		s.Pixels = p
	case format.SubtractGreen:
		s.Pixels = transform.WithoutGreen(c, p)
		s.Transforms = []format.Transform{{Kind: format.SubtractGreen}}
	case format.ColourIndexing:
		palette := transform.OrderPalette(p, transform.PaletteOf(p.ARGB), a.order)
		s.Pixels = transform.IndexPixels(p, palette)
		s.Transforms = []format.Transform{{Kind: format.ColourIndexing, Data: format.Pixels{W: len(palette), H: 1, ARGB: palette}}}
	case format.PredictorTransform:
		plan := predictorPlan{predictor: a.predictor, colour: a.colour, modePasses: 1, modeSkip: 1, colourPasses: 1, ColourSkip: 1}
		switch {
		case effort < 2:
			plan.colour = 0
		case effort < 6:
			plan.ColourSkip = 4
		case effort > 6:
			plan.modePasses, plan.colourPasses = 2, 2
		}
		if a.predictor == oneMode {
			plan.predictor = 8
		}
		var err error
		if made, err = d.PredictorSearch(p); err != nil {
			return nil, nil, err
		}
		if err := NewPasses(c, made, plan).Transforms(ctx); err != nil {
			return nil, nil, err
		}
		found, err := made.Result()
		if err != nil {
			return nil, nil, err
		}
		s.Pixels = made.Transformed()
		s.Transforms = append([]format.Transform{{Kind: format.SubtractGreen}}, found.Transforms(p.W, p.H)...)
	}
	v, err := d.ReferenceSearch(s.Pixels, made)
	return s, v, err
}

// prefixGroupBits are log2 of the sides of tiles for groups.
func (a strategy) groupBits(p format.Pixels, seen *analysis, all bool) []int {
	if all {
		return []int{3, 4, 5, 6}
	}
	if a.kind == format.PredictorTransform {
		return []int{3}
	}
	if seen.equal*10 < seen.pixels*9 {
		return []int{4}
	}
	return []int{5}
}

// IsPhoto says whether the image is one in which copies do not pay: less than 2 of 5
// pixels equal a neighbour, and few repeat what was before.
func (s *analysis) IsPhoto() bool {
	return 5*s.equal < 2*s.pixels && 8*s.repeats < s.pixels-s.equal && s.colours == nil
}

// strategies are what is worth trying.
func (s *analysis) strategies(all bool) []strategy {
	few := strategy{kind: format.ColourIndexing, order: transform.ByNeed}
	tiled := strategy{kind: format.PredictorTransform, predictor: 3, colour: 5}
	one := strategy{kind: format.PredictorTransform, predictor: oneMode}
	if all {
		list := []strategy{{kind: format.SubtractGreen}, {kind: noTransform}, {kind: format.PredictorTransform, predictor: 2, colour: 4}, tiled, {kind: format.PredictorTransform, predictor: 4, colour: 5}, one}
		if s.colours != nil {
			list = append(list, few, strategy{kind: format.ColourIndexing, order: transform.ByValue}, strategy{kind: format.ColourIndexing, order: transform.ByNeighbours})
		}
		return list
	}
	others := uint64(max(1, s.pixels-s.equal))
	direct := s.green / others * (others - uint64(s.repeats))
	spatial := s.spatial / others * (others - others/8)
	switch {
	case len(s.colours) > 0 && len(s.colours) <= 16:
		return []strategy{few}
	case spatial < direct && s.repeats*8 > int(others):
		return []strategy{tiled, one}
	case spatial < direct:
		return []strategy{tiled}
	case s.colours != nil && s.green > others*9<<entropy.Log2Bits:
		return []strategy{few}
	}
	return []strategy{{kind: format.SubtractGreen}}
}
