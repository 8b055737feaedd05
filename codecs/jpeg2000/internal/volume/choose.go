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

const (
	volumeLevels = 3 // along x and y: more gained nothing with large code-blocks
	sliceLevels  = 5 // the usual number of Part 1
	mostLevelsZ  = 2
	sampleSlices = 16
)

// Encode returns a codestream of an image of at most [MaxSide] samples along a side, and how
// it is coded. Which codings are tried depends on the samples, never on the pool.
func Encode(ctx context.Context, p *pool.Pool, m *raster.Image, effort Effort) ([]byte, Coding, error) {
	s := search{encoder: newEncoder(p, m), ctx: ctx}
	switch effort {
	case Fast:
		s.fast(p, m)
	case Default:
		if sampleLevels(ctx, p, m) {
			s.levelsZ(volumeLevels, largeBlock)
			s.try(newCoding(m, sliceLevels, 0, sliceBlock))
		} else {
			s.try(newCoding(m, 0, 0, largeBlock))
			s.try(newCoding(m, 0, 0, sliceBlock))
		}
	default:
		for _, levels := range []int{0, volumeLevels - 1, volumeLevels} {
			for _, block := range [][axes]int{largeBlock, wideBlock} {
				s.levelsZ(levels, block)
			}
		}
		s.try(newCoding(m, sliceLevels, 0, sliceBlock))
		s.try(newCoding(m, 0, 0, sliceBlock))
	}
	return s.file, s.coding, s.err
}

// newCoding is a coding of m with at most the given levels: fewer where one sample is left
// before.
func newCoding(m *raster.Image, levels, levelsZ int, block [axes]int) Coding {
	planar := levelsOf(max(m.Width, m.Height), levels)
	return Coding{Levels: [axes]int{planar, planar, min(planar, levelsOf(m.Depth, levelsZ))}, BlockExp: block}
}

// search keeps the smallest codestream, the first of equals.
type search struct {
	*encoder
	ctx    context.Context
	file   []byte
	coding Coding
	err    error
}

// try encodes with a coding and returns the size; 0 after an error.
func (s *search) try(c Coding) int {
	if s.err != nil {
		return 0
	}
	file, err := s.encode(s.ctx, &c)
	if err != nil {
		s.file, s.err = nil, err
		return 0
	}
	if s.file == nil || len(file) < len(s.file) {
		s.file, s.coding = file, c
	}
	return len(file)
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

// fast chooses by the sample.
func (s *search) fast(p *pool.Pool, m *raster.Image) {
	trial := search{encoder: newEncoder(p, sample(m)), ctx: s.ctx}
	least := trial.levelsZ(volumeLevels, smallBlock)
	planar, z := volumeLevels, trial.coding.Levels[axisZ]
	if trial.try(newCoding(trial.image, 0, 0, smallBlock)) < least {
		planar, z = 0, 0
	}
	if s.err = trial.err; s.err == nil {
		s.try(newCoding(m, planar, z, smallBlock))
	}
}

// sampleLevels says whether levels of decomposition make a sample of m smaller, as they do
// but for drawings and labels.
func sampleLevels(ctx context.Context, p *pool.Pool, m *raster.Image) bool {
	trial := search{encoder: newEncoder(p, sample(m)), ctx: ctx}
	with := trial.try(newCoding(trial.image, volumeLevels, 0, largeBlock))
	return with <= trial.try(newCoding(trial.image, 0, 0, largeBlock))
}

// sample are the slices in the middle of m.
func sample(m *raster.Image) *raster.Image {
	n := min(m.Depth, sampleSlices)
	slice := m.Size() / m.Depth
	part := *m
	part.Depth = n
	part.Pix = m.Pix[(m.Depth-n)/2*slice:][: n*slice : n*slice]
	return &part
}
