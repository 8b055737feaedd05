// Package search decides how an image is coded: it looks at the image, chooses among the
// ways to transform it, and takes the chosen ones through the passes that settle modes,
// multipliers, backward references and prefix code groups. The steps that go over all
// pixels are behind the interface Steps, in memory or on a device, with the same results.
//
//	Choose           choose.go     a photograph, or a graphic; effort 9 tries both and more
//	  Analyse        analysis.go   which of the two, and which transforms may suit a graphic
//	  Photo          photo.go      predictor, colour transform and entropy image in passes
//	    Passes       passes.go     the passes, as predictorplans.go has them by effort
//	  chooser.graphic  graphic.go  transforms by strategy, then backward references and colour
//	                               cache (package backref), then the entropy image
package search

import (
	"context"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/backref"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// defaultEffort is what effort 9 also tries, and at most the effort by which strategies are
// compared.
const defaultEffort = 6

// chooser chooses how one image is coded.
type chooser struct {
	ctx    context.Context
	pool   *pool.Pool
	steps  Steps
	p      format.Pixels
	alpha  bool
	effort int
	best   *bitstream.Stream // with nothing but Written; nil: none is written yet
}

// Choose returns the stream of p, which is not changed. Where an effort writes several
// streams to compare them, the result has the bits of the smallest and nothing else.
func Choose(ctx context.Context, c *pool.Pool, d Steps, p format.Pixels, alpha bool, effort int) (*bitstream.Stream, error) {
	s := &chooser{ctx: ctx, pool: c, steps: d, p: p, alpha: alpha, effort: effort}
	seen := Analyse(p, AnalysisPixels)
	switch all := backref.ReferencePlans[effort].TryAll; {
	case seen.IsPhoto() && all:
		// More passes settle elsewhere, up to 2 % larger for photographs with few colours
		// in use, so the default is tried as well.
		for _, e := range []int{effort, defaultEffort} {
			if err := s.tryPhoto(e); err != nil {
				return nil, err
			}
		}
		return s.best, nil
	case seen.IsPhoto():
		return s.photo(effort)
	case all:
		if err := s.everything(&seen); err != nil {
			return nil, err
		}
		return s.best, nil
	}
	seen.weigh(p, AnalysisPixels)
	return s.graphic(&seen)
}

// photo returns the stream of the image coded as a photograph.
func (s *chooser) photo(effort int) (*bitstream.Stream, error) {
	out, err := Photo(s.ctx, s.pool, s.steps, s.p, effort)
	if err != nil {
		return nil, err
	}
	out.Alpha = s.alpha
	return out, nil
}

// tryPhoto writes the image as a photograph.
func (s *chooser) tryPhoto(effort int) error {
	out, err := s.photo(effort)
	if err != nil {
		return err
	}
	if err := s.try(out); err != nil {
		return err
	}
	out.Release()
	return nil
}

// everything writes the image by all strategies that are worth it, as a photograph where
// that may be smaller, and as the default effort does.
func (s *chooser) everything(seen *Analysis) error {
	if err := s.tryGraphics(seen); err != nil {
		return err
	}
	if seen.mayBePhoto() {
		if err := s.tryPhoto(s.effort); err != nil {
			return err
		}
	}
	// More candidates lead the parses by costs to another result, not always a smaller one.
	out, err := Choose(s.ctx, s.pool, s.steps, s.p, s.alpha, defaultEffort)
	if err != nil {
		return err
	}
	return s.try(out)
}

// try writes a stream and keeps its bits if they are the fewest so far. What the stream has
// on a device is not needed any longer.
func (s *chooser) try(out *bitstream.Stream) error {
	if out.Written == nil {
		out.Written = out.Write(s.pool)
	}
	if out.Packer != nil && out.Packer.Failed() != nil {
		return out.Packer.Failed()
	}
	if s.best == nil || len(out.Written) < len(s.best.Written) {
		s.best = &bitstream.Stream{Written: out.Written}
	}
	return nil
}

// smallParser is how the small images of a stream, such as its modes, are parsed. Efforts 0
// and 1 take the quick parse, which made effort 1 a seventh faster without changing the size
// of 32 graphics.
func smallParser(effort int) bitstream.SmallParser {
	if effort < 2 {
		return backref.ParseSmallQuickly
	}
	return backref.ParseSmall
}
