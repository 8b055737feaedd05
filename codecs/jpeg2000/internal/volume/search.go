package volume

import (
	"errors"
	"iter"

	"github.com/pelmill/pelmill/raster"
)

// Search is the choice of a volume's coding by trials, which whoever runs it encodes. The
// smallest codestream is its result.
type Search struct {
	File   []byte
	Coding Coding
	Err    error // of the trial that failed

	image  *raster.Image
	effort Effort
}

// Trial is a volume, or some of its slices, that is to be encoded with a coding.
type Trial struct {
	Image  *raster.Image
	First  int // the slice of the volume that Image begins with
	Coding Coding

	// The answer: the codestream, see [Coding.File].
	File []byte
	Err  error
}

// errEnded is the error of a search that was not run to its end.
var errEnded = errors.New("jpeg2000: the search for the coding of a volume was ended")

// NewSearch is a search for an image of at most [MaxSide] samples along a side.
func NewSearch(m *raster.Image, effort Effort) *Search { return &Search{image: m, effort: effort} }

// Trials are the trials of the search. What is tried depends on the answers to those
// before, which have to be given before the next one is asked for.
func (s *Search) Trials() iter.Seq[*Trial] {
	return func(yield func(*Trial) bool) {
		whole := search{image: s.image, yield: yield}
		whole.run(s.effort)
		s.File, s.Coding, s.Err = whole.file, whole.coding, whole.err
	}
}

// run tries what the effort says.
func (s *search) run(effort Effort) {
	switch effort {
	case Fast:
		s.fast()
	case Default:
		if s.sampleLevels() {
			s.levelsZ(volumeLevels, largeBlock)
			s.try(newCoding(s.image, sliceLevels, 0, sliceBlock))
		} else {
			s.try(newCoding(s.image, 0, 0, largeBlock))
			s.try(newCoding(s.image, 0, 0, sliceBlock))
		}
	default:
		for _, levels := range []int{0, volumeLevels - 1, volumeLevels} {
			for _, block := range [][axes]int{largeBlock, wideBlock} {
				s.levelsZ(levels, block)
			}
		}
		s.try(newCoding(s.image, sliceLevels, 0, sliceBlock))
		s.try(newCoding(s.image, 0, 0, sliceBlock))
	}
}
