package webp

import (
	"cmp"
	"context"
	"slices"

	"github.com/pelmill/pelmill/codecs/pool"
)

// strategy is a way to transform an image before its copies are looked for.
type strategy struct {
	kind      int // of its transform: colourIndexing, subtractGreen, predictorTransform, or plain
	order     int // of the palette
	predictor int // log2 of the tiles' sides; uniform: one mode for all
	colour    int
}

const (
	noTransform = 4
	oneMode     = 9
)

// choose returns the stream of p, which is not changed, or none but what it comes to where
// several were written.
func choose(ctx context.Context, c *pool.Pool, d steps, p pixels, alpha bool, effort int) (*stream, error) {
	seen := analyse(p, analysisPixels)
	f := referencePlans[effort]
	var best *stream
	// try keeps the smallest, which may be on the device no longer than until the next.
	try := func(s *stream) error {
		if s.written == nil {
			s.alpha = alpha
			s.written = s.write(c)
		}
		if s.packer != nil && s.packer.failed() != nil {
			return s.packer.failed()
		}
		if best == nil || len(s.written) < len(best.written) {
			best = &stream{written: s.written}
		}
		return nil
	}
	if seen.isPhoto() {
		s, err := photo(ctx, c, d, p, effort)
		if err != nil {
			return nil, err
		}
		s.alpha = alpha
		if !f.tryAll {
			return s, nil
		}
		if err := try(s); err != nil {
			return nil, err
		}
		s.release()
		// More passes settle elsewhere, which is not always better.
		if s, err = photo(ctx, c, d, p, quickEffort); err != nil {
			return nil, err
		}
		if err := try(s); err != nil {
			return nil, err
		}
		return best, nil
	}
	list, err := shortlist(ctx, c, d, p, seen.strategies(f.tryAll), effort)
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
			q = newParser(a.copier, f)
			q.start(s)
		}
		q.refine(s, f)
		for _, bits := range a.groupBits(p, &seen, f.tryAll) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			t := *s
			t.alpha = alpha
			q.group(&t, f, bits)
			if err := q.v.failed(); err != nil {
				return nil, err
			}
			if len(list) == 1 && !f.tryAll {
				return &t, nil
			}
			if err := try(&t); err != nil {
				return nil, err
			}
		}
		q.v.release()
	}
	if f.tryAll && seen.equal < 3*seen.pixels/4 {
		// Copies may not be worth what they do to the transforms.
		s, err := photo(ctx, c, d, p, effort)
		if err != nil {
			return nil, err
		}
		if err := try(s); err != nil {
			return nil, err
		}
		s.release()
	}
	if f.tryAll {
		// More candidates lead the search by prices to another end, not always a better.
		s, err := choose(ctx, c, d, p, alpha, quickEffort)
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
func smallBy(effort int) smallParser {
	if effort < 2 {
		return parseSmallQuickly
	}
	return parseSmall
}

// maxTried is how many strategies are tried to the end where all are considered.
const maxTried = 4

// trial is a strategy for an image, and what has been done by it so far.
type trial struct {
	strategy
	stream *stream         // nil: nothing yet
	copier referenceSearch // for its pixels
	parser *parser         // that made its parse; nil: none that the effort can go on with
	size   uint64          // of the stream, about
}

// shortlist returns the most promising strategies, by a quick parse: one, by a sample of
// the image, or several where an effort tries everything.
func shortlist(ctx context.Context, c *pool.Pool, d steps, p pixels, all []strategy, effort int) ([]trial, error) {
	most, part := 1, p
	if referencePlans[effort].tryAll {
		most = maxTried
	} else {
		part = sample(p)
	}
	quick := referencePlans[min(effort, quickEffort)]
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
		q := newParser(v, quick)
		q.start(s)
		for _, h := range v.histograms(entropyImage{}) {
			t.size += groupSizeEstimate(h) + extraBitsOf(h)<<log2Bits
		}
		for _, u := range s.transforms {
			t.size += mapSize(u.data) << log2Bits
		}
		if err := v.failed(); err != nil {
			return nil, err
		}
		if part.h == p.h {
			t.stream, t.copier = s, v
			if effort <= quickEffort {
				t.parser = q
			} else {
				s.parse = parse{} // it begins anew, and is as large as the image
			}
		} else {
			v.release()
		}
	}
	slices.SortStableFunc(list, func(a, b trial) int { return cmp.Compare(a.size, b.size) })
	for _, t := range list[most:] {
		if t.copier != nil {
			t.copier.release()
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
func sample(p pixels) pixels {
	if len(p.argb) <= wholeSample || p.h <= sampleStrips*sampleRows {
		return p
	}
	out := pixels{w: p.w}
	for y := 0; y < p.h; y += sampleStrips * sampleRows {
		n := min(sampleRows, p.h-y)
		out.argb = append(out.argb, p.argb[y*p.w:(y+n)*p.w]...)
		out.h += n
	}
	return out
}

// quickEffort is the effort at which strategies are compared first, at most.
const quickEffort = 6

// mapSize estimates the bits of a transform's data, of which what stands above or to
// the left costs nothing.
func mapSize(p pixels) (n uint64) {
	for i, v := range p.argb {
		if i > 0 && v == p.argb[i-1] || i >= p.w && v == p.argb[i-p.w] {
			n++
		} else {
			n += 6
		}
	}
	return n
}

// transform returns the stream of p, which is not changed, as literals, and a copier for
// its pixels.
func (a strategy) transform(ctx context.Context, c *pool.Pool, d steps, p pixels, effort int) (*stream, referenceSearch, error) {
	s := &stream{width: p.w, height: p.h, small: smallBy(effort)}
	var made predictorSearch
	switch a.kind {
	case noTransform:
		s.pixels = p
	case subtractGreen:
		s.pixels = withoutGreen(c, p)
		s.transforms = []transform{{kind: subtractGreen}}
	case colourIndexing:
		palette := orderPalette(p, paletteOf(p.argb), a.order)
		s.pixels = indexPixels(p, palette)
		s.transforms = []transform{{kind: colourIndexing, data: pixels{len(palette), 1, palette}}}
	case predictorTransform:
		plan := predictorPlan{predictor: a.predictor, colour: a.colour, modePasses: 1, modeSkip: 1, colourPasses: 1, colourSkip: 1}
		switch {
		case effort < 2:
			plan.colour = 0
		case effort < 6:
			plan.colourSkip = 4
		case effort > 6:
			plan.modePasses, plan.colourPasses = 2, 2
		}
		if a.predictor == oneMode {
			plan.predictor = 8
		}
		var err error
		if made, err = d.predictorSearch(p); err != nil {
			return nil, nil, err
		}
		if err := newPasses(c, made, plan).transforms(ctx); err != nil {
			return nil, nil, err
		}
		found, err := made.result()
		if err != nil {
			return nil, nil, err
		}
		s.pixels = made.transformed()
		s.transforms = append([]transform{{kind: subtractGreen}}, found.transforms(p.w, p.h)...)
	}
	v, err := d.referenceSearch(s.pixels, made)
	return s, v, err
}

// prefixGroupBits are log2 of the sides of tiles for groups.
func (a strategy) groupBits(p pixels, seen *analysis, all bool) []int {
	if all {
		return []int{3, 4, 5, 6}
	}
	if a.kind == predictorTransform {
		return []int{3}
	}
	if seen.equal*10 < seen.pixels*9 {
		return []int{4}
	}
	return []int{5}
}

// isPhoto says whether the image is one in which copies do not pay: less than 2 of 5
// pixels equal a neighbour, and few repeat what was before.
func (s *analysis) isPhoto() bool {
	return 5*s.equal < 2*s.pixels && 8*s.repeats < s.pixels-s.equal && s.colours == nil
}

// strategies are what is worth trying.
func (s *analysis) strategies(all bool) []strategy {
	few := strategy{kind: colourIndexing, order: byNeed}
	tiled := strategy{kind: predictorTransform, predictor: 3, colour: 5}
	one := strategy{kind: predictorTransform, predictor: oneMode}
	if all {
		list := []strategy{{kind: subtractGreen}, {kind: noTransform}, {kind: predictorTransform, predictor: 2, colour: 4}, tiled, {kind: predictorTransform, predictor: 4, colour: 5}, one}
		if s.colours != nil {
			list = append(list, few, strategy{kind: colourIndexing, order: byValue}, strategy{kind: colourIndexing, order: byNeighbours})
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
	case s.colours != nil && s.green > others*9<<log2Bits:
		return []strategy{few}
	}
	return []strategy{{kind: subtractGreen}}
}
