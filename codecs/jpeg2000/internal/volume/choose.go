package volume

import (
	"context"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// Effort says how the coding of a volume is chosen.
type Effort int

const (
	// Fast tries levels along z, and no levels at all, on a sample of the slices, and
	// takes code-blocks of 32x32x4, as many samples as those of Part 1.
	Fast Effort = iota
	// Default tries 0 to 2 levels along z on the whole volume, with code-blocks of
	// 64x64x64, and code-blocks of one slice with Part 1's five levels. These are the
	// slices coded one by one but for their headers, so that no volume takes more.
	Default
	// Best tries also fewer levels and code-blocks of 128x128x16.
	Best
)

// The sides of code-blocks, as log2.
var (
	smallBlock = [axes]int{5, 5, 2}
	largeBlock = [axes]int{6, 6, 6}
	wideBlock  = [axes]int{7, 7, 4}
	sliceBlock = [axes]int{6, 6, 0}
)

// LargeBlock are the samples of the code-blocks that [Default] and [Best] try first.
const LargeBlock = 1 << 18

const (
	volumeLevels = 3 // along x and y: more gained nothing with large code-blocks
	sliceLevels  = 5 // the usual number of Part 1
	mostLevelsZ  = 2
	sampleSlices = 16
)

// Encode returns a codestream of an image of at most [MaxSide] samples along a side, and how
// it is coded. Which codings are tried depends on the samples, never on the pool.
func Encode(ctx context.Context, p *pool.Pool, m *raster.Image, effort Effort) ([]byte, Coding, error) {
	s := NewSearch(m, effort)
	var e *encoder
	for t := range s.Trials() {
		if e == nil || e.image != t.Image {
			e = newEncoder(p, t.Image)
		}
		t.File, t.Err = e.encode(ctx, &t.Coding)
	}
	return s.File, s.Coding, s.Err
}

// newCoding is a coding of m with at most the given levels: fewer where one sample is left
// before.
func newCoding(m *raster.Image, levels, levelsZ int, block [axes]int) Coding {
	planar := levelsOf(max(m.Width, m.Height), levels)
	return Coding{Levels: [axes]int{planar, planar, min(planar, levelsOf(m.Depth, levelsZ))}, BlockExp: block}
}

// search keeps the smallest codestream, the first of equals.
type search struct {
	image  *raster.Image
	first  int // the slice of the volume that image begins with
	yield  func(*Trial) bool
	file   []byte
	coding Coding
	err    error
}

// try has the image encoded with a coding and returns the size; 0 after an error.
func (s *search) try(c Coding) int {
	if s.err != nil {
		return 0
	}
	t := &Trial{Image: s.image, First: s.first, Coding: c}
	if s.err = errEnded; s.yield(t) {
		s.err = t.Err
	}
	if s.err != nil {
		s.file = nil
		return 0
	}
	if s.file == nil || len(t.File) < len(s.file) {
		s.file, s.coding = t.File, c
	}
	return len(t.File)
}

// levelsZ tries levels along z as long as one more makes the volume smaller, and returns the
// least size.
func (s *search) levelsZ(levels int, block [axes]int) int {
	least, last := 0, Coding{}
	for z := range mostLevelsZ + 1 {
		c := newCoding(s.image, levels, z, block)
		if z > 0 && c == last {
			break
		}
		n := s.try(c)
		if z > 0 && n >= least {
			break
		}
		least, last = n, c
	}
	return least
}

// ofSample is a search on a sample of the slices.
func (s *search) ofSample() *search {
	m, first := sample(s.image)
	return &search{image: m, first: first, yield: s.yield}
}

// fast chooses by the sample.
func (s *search) fast() {
	trial := s.ofSample()
	least := trial.levelsZ(volumeLevels, smallBlock)
	planar, z := volumeLevels, trial.coding.Levels[axisZ]
	if trial.try(newCoding(trial.image, 0, 0, smallBlock)) < least {
		planar, z = 0, 0
	}
	if s.err = trial.err; s.err == nil {
		s.try(newCoding(s.image, planar, z, smallBlock))
	}
}

// sampleLevels says whether levels of decomposition make a sample smaller, as they do
// but for drawings and labels.
func (s *search) sampleLevels() bool {
	trial := s.ofSample()
	with := trial.try(newCoding(trial.image, volumeLevels, 0, largeBlock))
	without := trial.try(newCoding(trial.image, 0, 0, largeBlock))
	s.err = trial.err
	return with <= without
}

// sample are the slices in the middle of m, from slice first on.
func sample(m *raster.Image) (part *raster.Image, first int) {
	n := min(m.Depth, sampleSlices)
	slice := m.Size() / m.Depth
	first = (m.Depth - n) / 2
	some := *m
	some.Depth = n
	some.Pix = m.Pix[first*slice:][: n*slice : n*slice]
	return &some, first
}
