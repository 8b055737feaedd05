package jpeg2000

import (
	"bytes"
	"image"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/raster"
)

// photoLevels are the decomposition levels where there is no trial.
const photoLevels = 5

// choose encodes the image as its options ask for and returns the file.
func (e *encoder) choose() ([]byte, error) {
	stream, err := e.chosen()
	if err != nil {
		return nil, err
	}
	file := e.options.wrap(e.image, stream, nil)
	if e.options.effort == effortBest && e.options.boxed() && !e.options.Lossy() && e.image.Depth == 1 {
		return e.orPalette(file)
	}
	return file, nil
}

// chosen returns the codestream.
func (e *encoder) chosen() ([]byte, error) {
	if e.trials() {
		return e.best(e.first())
	}
	c, err := e.single()
	if err != nil {
		return nil, err
	}
	return e.codestream(c)
}

// trials says whether choices are tried. What serves loss best is known: levels, and square
// blocks.
func (e *encoder) trials() bool { return e.options.effort == effortBest && !e.options.Lossy() }

// first is what the options fix, with square blocks where they leave the choice.
func (e *encoder) first() choice {
	c := choice{levels: e.options.levels, block: e.options.block, style: e.options.style}
	if c.block == (image.Point{}) {
		c.block = image.Pt(6, 6)
	}
	if e.options.ht() {
		c.style |= codestream.HT
	}
	return c
}

// single is the choice without trials.
func (e *encoder) single() (choice, error) {
	c := e.first()
	if c.levels != automatic {
		return c, nil
	}
	c.levels = e.usefulLevels(photoLevels)
	if e.options.effort != effortDefault || e.options.Lossy() || !e.repeats() {
		return c, nil
	}
	var err error
	c.levels, err = e.sample(c)
	return c, err
}

// usefulLevels is at most levels, and no more than there are until one sample is left.
func (e *encoder) usefulLevels(levels int) int {
	for levels > 0 && max(e.image.Width, e.image.Height)>>(levels-1) <= 1 {
		levels--
	}
	return levels
}

// repeats says whether half of the pixels are like one of the two before them, in every fourth
// row: then the image may be a drawing or a screen. Where it is not, a transform pays, and a
// sample would cost a fifth of the time of all. Of the photographs of the Kodak suite no more
// than a fifth of the pixels are like the one before, of images that a transform does not
// serve four fifths and more. Images of one square are always sampled.
func (e *encoder) repeats() bool {
	m := e.image
	if max(m.Width, m.Height) <= sampleSide {
		return true
	}
	n := m.Channels * m.BytesPerSample()
	pixels, like := 0, 0
	for y := 0; y < m.Height*m.Depth; y += 4 {
		row := m.Pix[y*m.Width*n:][:m.Width*n]
		for at := 2 * n; at < len(row); at += n {
			pixel := row[at:][:n]
			if bytes.Equal(pixel, row[at-n:at]) || bytes.Equal(pixel, row[at-2*n:at-n]) {
				like++
			}
		}
		pixels += max(0, m.Width-2)
	}
	return 2*like >= pixels
}

// The sample that decides whether there is to be a wavelet transform at all: squares of
// sampleSide, on a grid over the image, about one in sampleShare of all.
const (
	sampleSide  = 128
	sampleShare = 10
)

// sample returns the levels of c, or 0 if a sample of the image takes fewer bytes
// without a transform, as drawings and screens do.
func (e *encoder) sample(c choice) (int, error) {
	squares := image.Pt((e.image.Width+sampleSide-1)/sampleSide, (e.image.Height+sampleSide-1)/sampleSide)
	without := c
	without.levels = 0
	difference := 0
	for k := range (squares.X*squares.Y + sampleShare - 1) / sampleShare {
		i := min(k*sampleShare+k*3%sampleShare, squares.X*squares.Y-1) // on no column alone
		at := image.Pt(i%squares.X*sampleSide, i/squares.X*sampleSide)
		area := image.Rectangle{at, at.Add(image.Pt(sampleSide, sampleSide))}.Intersect(image.Rect(0, 0, e.image.Width, e.image.Height))
		part := &encoder{ctx: e.ctx, workers: e.workers, image: raster.Crop(e.image, area), options: &defaults}
		with, err := part.codestream(c)
		if err != nil {
			return 0, err
		}
		plain, err := part.codestream(without)
		if err != nil {
			return 0, err
		}
		difference += len(with) - len(plain)
	}
	if difference > 0 {
		return 0, nil
	}
	return c.levels, nil
}

// best tries levels, block shapes and the bypass, and takes the smallest codestream, the
// first of several. What options fix is not tried. Levels from 4 on differ by little, and
// block shapes are tried for all of them; below 4 for the best alone.
func (e *encoder) best(c choice) ([]byte, error) {
	e.cache = blockCache{}
	levels := []int{5, 4, 6, 7, 0, 1, 2, 3}
	if c.levels != automatic {
		levels = []int{c.levels}
	}
	t := trial{encoder: e}
	for _, n := range levels {
		if n == c.levels || n == e.usefulLevels(n) {
			t.try(choice{n, c.block, c.style})
		}
	}
	if e.options.block == (image.Point{}) {
		t.shapes(levels)
	}
	if c.style&(codestream.Bypass|codestream.HT) == 0 {
		best := t.choice
		best.style |= codestream.Bypass
		t.try(best)
	}
	return t.stream, t.err
}

// trial holds the best of the choices that were tried.
type trial struct {
	encoder *encoder
	choice  choice
	stream  []byte
	err     error
}

func (t *trial) try(c choice) {
	if t.err != nil {
		return
	}
	stream, err := t.encoder.codestream(c)
	if t.err = err; err == nil && (t.stream == nil || len(stream) < len(t.stream)) {
		t.choice, t.stream = c, stream
	}
}

// shapes tries code-blocks that are not square.
func (t *trial) shapes(levels []int) {
	found := t.choice
	for _, block := range []image.Point{{X: 5, Y: 7}, {X: 7, Y: 5}} {
		for _, n := range levels {
			if n == found.levels || n >= 4 && found.levels >= 4 && n == t.encoder.usefulLevels(n) {
				t.try(choice{n, block, found.style})
			}
		}
	}
}
