package webp

import (
	"cmp"
	"context"
	"slices"

	"github.com/pelmill/pelmill/codecs/pool"
)

// copying is how an effort looks for copies, caches and groups.
type copying struct {
	near, depth int // of newMatcher
	stop        int // a candidate as long as this ends the search
	nice        int // of an end of such a copy only the last few are tried
	fine        int // ends up to this length are all tried

	passes      int // by the prices of the parse before
	groupPasses int // and by the prices of groups
	groups      int // to start with at most; 0: none

	everything bool // try the best strategies of all, and keep the smallest file
}

// copyings by effort.
var copyings = [10]copying{
	0: {near: 4, depth: 2, stop: 64, nice: 16, fine: 8},
	1: {near: 4, depth: 3, stop: 64, nice: 16, fine: 8, groups: 12},
	2: {near: 8, depth: 4, stop: 64, nice: 16, fine: 8, passes: 1, groups: 32},
	3: {near: 12, depth: 8, stop: 128, nice: 16, fine: 12, passes: 1, groups: 32},
	4: {near: 12, depth: 12, stop: 256, nice: 16, fine: 12, passes: 1, groups: 32},
	5: {near: 24, depth: 16, stop: 256, nice: 16, fine: 12, passes: 1, groups: 32},
	6: {near: 24, depth: 8, stop: 64, nice: 16, fine: 12, passes: 1, groupPasses: 1, groups: 32},
	7: {near: 24, depth: 32, stop: 256, nice: 32, fine: 16, passes: 2, groupPasses: 2, groups: 32},
	8: {near: 40, depth: 64, stop: 1024, nice: 64, fine: 32, passes: 2, groupPasses: 3, groups: 32},
	9: {near: 60, depth: 128, stop: longestCopy, nice: 64, fine: 32, passes: 2, groupPasses: 3, groups: 32, everything: true},
}

// strategy is a way to transform an image before its copies are looked for.
type strategy struct {
	kind      int // of its transform: colourIndexing, subtractGreen, predictorTransform, or plain
	order     int // of the palette
	predictor int // log2 of the tiles' sides; uniform: one mode for all
	colour    int
}

const (
	plain   = 4
	uniform = 9
)

// choose returns the stream of p, which is not changed, or none but what it comes to where
// several were written.
func choose(ctx context.Context, c *pool.Pool, d device, p pixels, alpha bool, effort int) (*stream, error) {
	seen := count(p, censusPixels)
	f := copyings[effort]
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
	if seen.photo() {
		s, err := photo(ctx, c, d, p, plans[effort])
		if err != nil {
			return nil, err
		}
		s.alpha = alpha
		if !f.everything {
			return s, nil
		}
		if err := try(s); err != nil {
			return nil, err
		}
		s.release()
		// More passes settle elsewhere, which is not always better.
		if s, err = photo(ctx, c, d, p, plans[quickEffort]); err != nil {
			return nil, err
		}
		if err := try(s); err != nil {
			return nil, err
		}
		return best, nil
	}
	list, err := shortlist(ctx, c, d, p, seen.strategies(f.everything), effort)
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
		for _, bits := range a.groupBits(p, &seen, f.everything) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			t := *s
			t.alpha = alpha
			q.group(&t, f, bits)
			if err := q.v.failed(); err != nil {
				return nil, err
			}
			if len(list) == 1 && !f.everything {
				return &t, nil
			}
			if err := try(&t); err != nil {
				return nil, err
			}
		}
		q.v.release()
	}
	if f.everything && seen.equal < 3*seen.pixels/4 {
		// Copies may not be worth what they do to the transforms.
		s, err := photo(ctx, c, d, p, plans[effort])
		if err != nil {
			return nil, err
		}
		if err := try(s); err != nil {
			return nil, err
		}
		s.release()
	}
	if f.everything {
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

// mostTried is how many strategies are tried to the end where all are considered.
const mostTried = 4

// trial is a strategy for an image, and what has been done by it so far.
type trial struct {
	strategy
	stream *stream // nil: nothing yet
	copier copier  // for its pixels
	parser *parser // that made its parse; nil: none that the effort can go on with
	size   uint64  // of the stream, about
}

// shortlist returns the most promising strategies, by a quick parse: one, by a sample of
// the image, or several where an effort tries everything.
func shortlist(ctx context.Context, c *pool.Pool, d device, p pixels, all []strategy, effort int) ([]trial, error) {
	most, part := 1, p
	if copyings[effort].everything {
		most = mostTried
	} else {
		part = sample(p)
	}
	quick := copyings[min(effort, quickEffort)]
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
		for _, h := range v.histograms(groups{}) {
			t.size += groupSize(h) + extraBits(h)<<log2Bits
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

// extraBits are the bits of lengths and distances that follow their symbols.
func extraBits(h []uint32) (n uint64) {
	for s := 4; s < 40; s++ {
		n += uint64(h[distanceAt+s]) * uint64(s/2-1)
		if s < 24 {
			n += uint64(h[lengthAt+s]) * uint64(s/2-1)
		}
	}
	return n
}

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
func (a strategy) transform(ctx context.Context, c *pool.Pool, d device, p pixels, effort int) (*stream, copier, error) {
	s := &stream{width: p.w, height: p.h}
	var made canvas
	switch a.kind {
	case plain:
		s.pixels = p
	case subtractGreen:
		s.pixels = withoutGreen(c, p)
		s.transforms = []transform{{kind: subtractGreen}}
	case colourIndexing:
		palette := order(p, colours256(p.argb), a.order)
		s.pixels = index(p, palette)
		s.transforms = []transform{{kind: colourIndexing, data: pixels{len(palette), 1, palette}}}
	case predictorTransform:
		plan := plan{predictor: a.predictor, colour: a.colour, modePasses: 1, modeSkip: 1, colourPasses: 1, colourSkip: 1}
		switch {
		case effort < 2:
			plan.colour = 0
		case effort < 6:
			plan.colourSkip = 4
		case effort > 6:
			plan.modePasses, plan.colourPasses = 2, 2
		}
		if a.predictor == uniform {
			plan.predictor = 8
		}
		var err error
		if made, err = d.canvas(p); err != nil {
			return nil, nil, err
		}
		if err := newChooser(c, made, plan).transforms(ctx); err != nil {
			return nil, nil, err
		}
		found, err := made.result()
		if err != nil {
			return nil, nil, err
		}
		s.pixels = made.coded()
		s.transforms = append([]transform{{kind: subtractGreen}}, found.transforms(p.w, p.h)...)
	}
	v, err := d.copier(s.pixels, made)
	return s, v, err
}

// groupBits are log2 of the sides of tiles for groups.
func (a strategy) groupBits(p pixels, seen *census, all bool) []int {
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

// photo says whether the image is one in which copies do not pay: less than 2 of 5
// pixels equal a neighbour, and few repeat what was before.
func (s *census) photo() bool {
	return 5*s.equal < 2*s.pixels && 8*s.repeats < s.pixels-s.equal && s.colours == nil
}

// strategies are what is worth trying.
func (s *census) strategies(all bool) []strategy {
	few := strategy{kind: colourIndexing, order: byNeed}
	tiled := strategy{kind: predictorTransform, predictor: 3, colour: 5}
	one := strategy{kind: predictorTransform, predictor: uniform}
	if all {
		list := []strategy{{kind: subtractGreen}, {kind: plain}, {kind: predictorTransform, predictor: 2, colour: 4}, tiled, {kind: predictorTransform, predictor: 4, colour: 5}, one}
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
