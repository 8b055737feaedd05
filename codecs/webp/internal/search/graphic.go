package search

import (
	"cmp"
	"slices"

	"github.com/pelmill/pelmill/codecs/webp/internal/backref"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
)

// strategy is a way to transform an image before backward references are looked for.
type strategy struct {
	kind      int // format.ColourIndexing, SubtractGreen, PredictorTransform (with subtract green), or noTransform
	order     int // of the palette: transform.ByValue and so on
	predictor int // log2 of the side of the predictor's tiles, or oneMode
	colour    int // log2 of the side of the colour transform's tiles; 0: none
}

const (
	noTransform = 4 // behind the kinds of package format
	oneMode     = 9 // stands for the largest tiles of the predictor
)

// trial is a strategy, and what has been done by it so far.
type trial struct {
	strategy
	stream     *bitstream.Stream       // nil: nothing yet
	references backref.ReferenceSearch // in the pixels of the stream
	parser     *backref.Parser         // what made the stream's parse; nil: nothing that the effort can go on with
	size       uint64                  // estimate for the stream, 1/65536 bit
}

// graphic returns the stream of the image by the most promising strategy.
func (s *chooser) graphic(seen *Analysis) (*bitstream.Stream, error) {
	list, err := s.shortlist(seen.strategies(false))
	if err != nil {
		return nil, err
	}
	t := &list[0]
	if err := s.parse(t); err != nil {
		return nil, err
	}
	return s.group(t, seen.groupTiles(t.kind))
}

// tryGraphics writes the image by each of the most promising strategies and with tiles of
// all sizes for the entropy image.
func (s *chooser) tryGraphics(seen *Analysis) error {
	list, err := s.shortlist(seen.strategies(true))
	if err != nil {
		return err
	}
	for i := range list {
		t := list[i]
		list[i] = trial{} // what it keeps is as large as the image
		if err := s.parse(&t); err != nil {
			return err
		}
		for bits := smallestGroupTile; bits <= largestGroupTile; bits++ {
			out, err := s.group(&t, bits)
			if err != nil {
				return err
			}
			if err := s.try(out); err != nil {
				return err
			}
		}
		t.references.Release()
	}
	return nil
}

// parse chooses backward references and a colour cache by the costs of one prefix code
// group.
func (s *chooser) parse(t *trial) error {
	plan := backref.ReferencePlans[s.effort]
	if t.stream == nil {
		var err error
		if t.stream, t.references, err = s.transform(t.strategy, s.p); err != nil {
			return err
		}
	}
	if t.parser == nil {
		t.parser = backref.NewParser(t.references, plan)
		t.parser.Start(t.stream)
	}
	t.parser.Refine(t.stream, plan)
	return nil
}

// group returns a stream with an entropy image on tiles of 1<<bits, and backward references
// by the costs of its groups.
func (s *chooser) group(t *trial, bits int) (*bitstream.Stream, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	out := *t.stream
	out.Alpha = s.alpha
	t.parser.Group(&out, backref.ReferencePlans[s.effort], bits)
	return &out, t.references.Failed()
}

// maxTried is how many strategies effort 9 tries to the end. It was set with the list of
// strategies; what trying more of them would give was not measured.
const maxTried = 4

// shortlist returns the most promising strategies by a quick parse: one, by a sample of the
// image, or, where an effort tries several, maxTried of them by the whole image.
func (s *chooser) shortlist(all []strategy) ([]trial, error) {
	most, part := 1, s.p
	if backref.ReferencePlans[s.effort].TryAll {
		most = maxTried
	} else {
		part = sample(s.p)
	}
	list := make([]trial, len(all))
	for i, a := range all {
		list[i].strategy = a
	}
	if len(all) <= most {
		return list, nil
	}
	for i := range list {
		if err := s.estimate(&list[i], part); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(list, func(a, b trial) int { return cmp.Compare(a.size, b.size) })
	for _, t := range list[most:] {
		if t.references != nil {
			t.references.Release()
		}
	}
	clear(list[most:]) // what they keep is as large as the image
	return list[:most], nil
}

// estimate sets the size of a trial by a greedy parse of part of the image, and keeps what
// it made where that is all of the image.
func (s *chooser) estimate(t *trial, part format.Pixels) error {
	out, references, err := s.transform(t.strategy, part)
	if err != nil {
		return err
	}
	parser := backref.NewParser(references, backref.ReferencePlans[min(s.effort, defaultEffort)])
	parser.Start(out)
	for _, h := range references.Histograms(format.EntropyImage{}) {
		t.size += entropy.GroupSizeEstimate(h) + format.ExtraBitsOf(h)<<entropy.Log2Bits
	}
	for _, u := range out.Transforms {
		t.size += dataSize(u.Data) << entropy.Log2Bits
	}
	if err := references.Failed(); err != nil {
		return err
	}
	if part.H < s.p.H {
		references.Release()
		return nil
	}
	t.stream, t.references = out, references
	if s.effort <= defaultEffort {
		t.parser = parser
	} else {
		out.Parse = format.Parse{} // the effort parses anew, and this one is as large as the image
	}
	return nil
}

// A sample is one of sampleStrips strips of sampleRows rows each. An eighth of an image
// tells strategies apart as well as a quarter did: with it, effort 6 of 32 graphics gave
// 2,066,610 instead of 2,064,964 bytes (with another change beside it).
const (
	wholeSample  = 1 << 17 // pixels of an image that is its own sample
	sampleRows   = 32
	sampleStrips = 8
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

// Estimates for an element of a transform's data, in bits. The history has no source for
// them; they only help to compare strategies.
const (
	repeatedElementBits = 1 // that equals its left or upper neighbour
	newElementBits      = 6
)

// dataSize estimates the bits of a transform's data.
func dataSize(p format.Pixels) (n uint64) {
	for i, v := range p.ARGB {
		if i > 0 && v == p.ARGB[i-1] || i >= p.W && v == p.ARGB[i-p.W] {
			n += repeatedElementBits
		} else {
			n += newElementBits
		}
	}
	return n
}

// transform returns the stream of p, which is not changed, after the transforms of a
// strategy and with all pixels as literals, and the search for references in them.
func (s *chooser) transform(a strategy, p format.Pixels) (*bitstream.Stream, backref.ReferenceSearch, error) {
	out := &bitstream.Stream{Width: p.W, Height: p.H, Small: smallParser(s.effort)}
	var made PredictorSearch
	switch a.kind {
	case noTransform:
		out.Pixels = p
	case format.SubtractGreen:
		out.Pixels = transform.WithoutGreen(s.pool, p)
		out.Transforms = []format.Transform{{Kind: format.SubtractGreen}}
	case format.ColourIndexing:
		palette := transform.OrderPalette(p, transform.PaletteOf(p.ARGB), a.order)
		out.Pixels = transform.IndexPixels(p, palette)
		out.Transforms = []format.Transform{{Kind: format.ColourIndexing, Data: format.Pixels{W: len(palette), H: 1, ARGB: palette}}}
	case format.PredictorTransform:
		var err error
		if made, err = s.steps.PredictorSearch(p); err != nil {
			return nil, nil, err
		}
		if err := NewPasses(s.pool, made, s.tilePlan(a)).Transforms(s.ctx); err != nil {
			return nil, nil, err
		}
		found, err := made.Result()
		if err != nil {
			return nil, nil, err
		}
		out.Pixels = made.Transformed()
		out.Transforms = append([]format.Transform{{Kind: format.SubtractGreen}}, found.Transforms(p.W, p.H)...)
	}
	references, err := s.steps.ReferenceSearch(out.Pixels, made)
	return out, references, err
}

// tilePlan is how the modes and multipliers of a graphic are chosen: in one pass each, or
// two above the default effort, which at effort 6 was 155 instead of 135 ns/pixel for
// 2,060,336 instead of 2,064,964 bytes of 32 graphics.
func (s *chooser) tilePlan(a strategy) PredictorPlan {
	plan := PredictorPlan{Predictor: a.predictor, Colour: a.colour, ModePasses: 1, ModeSkip: 1, ColourPasses: 1, ColourSkip: 1}
	switch {
	case s.effort < 2:
		plan.Colour = 0
	case s.effort < defaultEffort:
		plan.ColourSkip = 4
	case s.effort > defaultEffort:
		plan.ModePasses, plan.ColourPasses = 2, 2
	}
	if a.predictor == oneMode {
		plan.Predictor = largestModeTile
	}
	return plan
}

// largestModeTile is log2 of the side of the largest tiles by which modes are chosen: the
// costs of 256 x 256 pixels still add up in 32 bits (entropy.MaxCost).
const largestModeTile = 8
